"""Options of ``cascade``."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.options import Bounded, Seeded, option
from svmfast.solvers.intervals import CONFIDENCE
from svmfast.values import Share, Switch, Whole

#: Rows of the data that are used.
MOST_ROWS = 200_000


@dataclass(frozen=True, kw_only=True)
class CascadeOptions(Seeded, Bounded):
    """Options of ``cascade``."""

    max_diff: float = option(
        0.005,
        Share(),
        "The guarantee: at most this share of rows like these gets a label that differs from `exact`'s.",
        shown="0.5%",
    )
    confidence: float = option(
        CONFIDENCE,
        Share(),
        "The probability with which the guarantee holds.",
        shown=f"{CONFIDENCE:.0%}",
    )
    per_class: bool = option(
        False,
        Switch(),
        "The limit holds within every class (by the labels of `exact`), with `confidence` for all classes "
        "together. 0.5% at 95% needs 598 distinct rows of each class.",
    )
    force: bool = option(
        False,
        Switch(),
        "Write the model even if a class is lost or the exact model alone is faster on this machine; nothing "
        "is timed.",
    )
    rows: int = option(MOST_ROWS, Whole(1), "Use at most this many rows of `data`, drawn at random.")
