"""Options of ``compress``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from svmfast.errors import OptionError
from svmfast.options import Bounded, Seeded, option
from svmfast.values import Bytes, Choice, Real, Share, Switch, Whole

#: Rows of data that are used where nobody says.
MOST_ROWS = 60_000
#: Ways to say how small.
TARGETS = ("sv", "ratio", "max_diff", "max_bytes")


@dataclass(frozen=True, kw_only=True)
class CompressOptions(Seeded, Bounded):
    """Options of ``compress``."""

    sv: int | None = option(None, Whole(1), "How many support vectors to keep.")
    ratio: float | None = option(None, Share(), "The same as a share of the model's own.", metavar="5%")
    max_diff: float | None = option(
        None,
        Share(),
        "Find the fewest for which at most this share of held-out rows gets another label (regression: root "
        "mean square difference over the spread of the values).",
        metavar="0.5%",
    )
    max_bytes: int | None = option(None, Bytes(), "Find the most whose file is this small.", metavar="32k")
    rows: int = option(MOST_ROWS, Whole(1), "Use at most this many rows of `data`, drawn at random.")
    start: str = option(
        "auto",
        Choice("auto", "kmeans", "lars", "greedy", "random"),
        "Where the vectors start; auto tries kmeans and lars and keeps the better on held-out rows.",
    )
    select_only: bool = option(False, Switch(), "Keep the start's vectors where they are (the baseline).")
    sparse_tolerance: float = option(
        0.0,
        Real(0, 1),
        "Drop entries below this share of the largest value, and let the others make up for them.",
        metavar="T",
    )
    iterations: int = option(800, Whole(0), "Most steps of L-BFGS.")

    def check(self, given: Collection[str]) -> None:
        """Refuse options that do not fit together."""
        named = [f"`{name}`" for name in TARGETS if getattr(self, name) is not None]
        if len(named) != 1:
            raise OptionError(
                "say how small in one way: `sv`, `ratio`, `max_diff` or `max_bytes`; "
                f"got {' and '.join(named) or 'none'}"
            )
        if self.sparse_tolerance and self.select_only:
            raise OptionError("`sparse_tolerance` thins moved vectors; `select_only` moves none")
