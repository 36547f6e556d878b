"""Replace the support vectors of `model` by truncated expansions about one or more centers.

A prediction then costs the same however many support vectors there were. Linear and polynomial kernels are
polynomials already: they are converted without loss.

The report begins with the number of labels that differ from those of `model` (regression: how much the values
differ, root mean square, in percent of their standard deviation). It is measured on rows of `data` that were
not used to choose anything, or without `data` on support vectors. Above `max_diff`, or if a class is lost,
nothing is written and the exit status is 1, unless `force` is given. The same applies where order or cells
are chosen and the result is not faster.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from svmfast.errors import OptionError
from svmfast.methods.method import Input, Method
from svmfast.options import Bounded, Seeded, option, switch
from svmfast.values import Bytes, Choice, Share, WholeOr

#: The most rows of data that are used: enough to distinguish a share of 99 % from one of 98 %.
MOST_ROWS = 20_000
#: Highest degree of a polynomial: `svmfast.certificate.MAX_ORDER`, which cannot be imported without NumPy.
MOST_ORDER = 16
#: Most cells.
MOST_CELLS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class ApproximateOptions(Seeded, Bounded):
    """Options of ``approximate``."""

    order: int | str | None = option(
        None,
        WholeOr("auto", least=0, most=MOST_ORDER),
        "Degree of the polynomials, of C(features + K, K) numbers each. auto: of 1 to 4, the one with the "
        "fewest multiply-adds if the exact model answers the rows that are not certified.",
        metavar="K|auto",
        shown="2; the first of 2 to 4 within `max_diff` if `cells` is not given either",
    )
    cells: int | str | None = option(
        None,
        WholeOr("auto", most=MOST_CELLS),
        "Expand about N centers, for large gamma; a row uses the nearest. auto: 1 or 64.",
        shown="1; or 64 if `order` is not given either and 1 exceeds `max_diff`",
    )
    max_diff: float = option(
        0.01,
        Share(),
        "Write no model if more than this share of labels differs on held-out rows (regression: root mean "
        "square difference relative to the spread of the values).",
        metavar="0.5%",
        shown="1%",
    )
    max_bytes: int | None = option(
        None,
        Bytes(),
        "Write no larger file.",
        metavar="32k",
    )
    center: str = option(
        "auto",
        Choice("auto", "mean", "origin"),
        "Center of the expansion: the mean of the support vectors, the origin (as in the paper), or the one "
        "with the smaller bound on the support vectors.",
    )
    certificate: str = option(
        "full",
        Choice("full", "none"),
        "Whether to prove an error bound, which takes time O(SVs^2) per cell.",
    )
    embed_exact: bool = switch(
        "Keep the exact model in the file; it answers the rows that are not certified (regression: with "
        "predict `tolerance`).",
    )
    force: bool = switch(
        "Write the model even if more than `max_diff` differs, a class is lost, or it is not faster than the "
        "exact model; if neither `order` nor `cells` is given, that of order 2.",
    )

    @property
    def auto(self) -> bool:
        return "auto" in (self.order, self.cells)

    @property
    def open(self) -> bool:
        """Whether neither order nor cells are given."""
        return self.order is None and self.cells is None

    @property
    def centers(self) -> tuple[str, ...]:
        return ("mean", "origin") if self.center == "auto" else (self.center,)

    def check(self, given: Collection[str]) -> None:
        if self.certificate == "none" and self.embed_exact:
            raise OptionError("`embed_exact` needs a certificate, and `certificate` is none")
        if self.certificate == "none" and self.auto:
            raise OptionError("`order` auto and `cells` auto need a certificate, and `certificate` is none")


METHOD = Method(
    name="approximate",
    summary="Replace support vectors by a truncated expansion.",
    description=__doc__,
    group="convert",
    inputs=(
        Input(name="model", content="exact model", role="exact", help="The LIBSVM model."),
        Input(
            name="data",
            content="rows",
            flag="--data",
            help="Rows like those to predict, which measure the result. If they also make cells or choose an "
            "expansion, a quarter measures it; with fewer than 8 distinct rows, the support vectors then do. "
            "Labels are ignored.",
            required=False,
            labels="ignored",
            most=MOST_ROWS,
            copies=3,
        ),
    ),
    options=ApproximateOptions,
    run="svmfast.methods.approximate.run:run",
    candidates="svmfast.methods.approximate.run:candidates",
    certifies=True,
    embeds="embed_exact",
    color="#0072B2",
    reports=(
        "svmfast.methods.approximate.run:ApproximationReport",
        "svmfast.methods.approximate.run:NoExpansion",
    ),
)
