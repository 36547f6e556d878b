"""Options of ``approximate``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from svmfast.errors import OptionError
from svmfast.options import Bounded, Seeded, option
from svmfast.values import Bytes, Choice, Duration, Real, Share, Switch, WholeOrAuto

#: The most rows of data that are used: enough to distinguish a share of 99 % from one of 98 %.
MOST_ROWS = 20_000
#: Highest degree of a polynomial.
MOST_ORDER = 16
#: Most cells.
MOST_CELLS = 1 << 16
#: Default share of the rows that "auto" aims to certify.
TARGET = 0.99


@dataclass(frozen=True, kw_only=True)
class ApproximateOptions(Seeded, Bounded):
    """Options of ``approximate``."""

    order: int | str = option(
        2,
        WholeOrAuto(0, MOST_ORDER),
        "Degree of the polynomials, of C(features + K, K) numbers each. auto: the cheapest that suffices.",
        metavar="K|auto",
    )
    cells: int | str = option(
        1,
        WholeOrAuto(1, MOST_CELLS),
        "Expand about N centers, for large gamma; a row uses the nearest. auto: as many as needed.",
    )
    target_certified: float | None = option(
        None,
        Share(whole=True),
        "The share of rows with a proven label (regression: a value within `tolerance`) that auto aims at.",
        shown=f"{TARGET:.0%}",
    )
    tolerance: float | None = option(
        None,
        Real(0, above=True),
        "Regression: a row is certified if its error bound is at most T (default: 1% of the values' spread).",
        metavar="T",
    )
    max_bytes: int | None = option(
        None,
        Bytes(),
        "Store coefficients with fewer digits and drop negligible ones until the file is this small; the "
        "certificate includes the error.",
        metavar="32k",
    )
    center: str = option(
        "auto",
        Choice("auto", "mean", "origin"),
        "Center of the expansion: the mean of the support vectors, the origin (as in the paper), or the "
        "better of the two.",
    )
    certificate: str = option(
        "full",
        Choice("full", "row-norms", "none"),
        "The error bound: full costs O(SVs^2) per cell; row-norms costs O(SVs) and certifies fewer rows.",
    )
    embed_exact: bool = option(
        False,
        Switch(),
        "Keep the exact model in the file; it answers the rows that are not certified (regression: with "
        "predict `tolerance`).",
    )
    time_limit: float | None = option(
        None,
        Duration(),
        "auto: search for about this long, such as 90s or 10m, and use the best found so far.",
    )
    force: bool = option(
        False,
        Switch(),
        "Write the model even if more than 10% of the labels (regression: of the values' spread) differ or "
        "the exact model is the better choice.",
    )

    @property
    def free(self) -> bool:
        """Whether `order` or `cells` is auto, so that the exact model may be the better choice."""
        return "auto" in (self.order, self.cells)

    @property
    def chooses(self) -> bool:
        """Whether orders, cells or digits are chosen by rows."""
        return self.order == "auto" or self.cells != 1 or self.max_bytes is not None

    @property
    def target(self) -> float:
        """The share of the rows to certify, 0 to 1."""
        return TARGET if self.target_certified is None else self.target_certified

    def check(self, given: Collection[str]) -> None:
        """Raise OptionError for options that contradict each other."""
        if self.target_certified is not None and not self.free:
            raise OptionError("`target_certified` is only used with `order` auto or `cells` auto")
        if self.time_limit is not None and not self.free:
            raise OptionError("`time_limit` is only used with `order` auto or `cells` auto")
        if self.tolerance is not None and not (self.chooses or "data" in given):
            raise OptionError("`tolerance` is only used with `data`, `order` auto, `cells` or `max_bytes`")
        if self.certificate == "none" and self.embed_exact:
            raise OptionError("`embed_exact` needs a certificate, and `certificate` is none")
        if self.certificate == "none" and self.free:
            raise OptionError("`order` auto and `cells` auto need a certificate, and `certificate` is none")
        if "calibrate" in given and self.chooses:
            raise OptionError("`calibrate` needs one cell, a fixed `order` and no `max_bytes`")
