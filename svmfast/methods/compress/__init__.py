"""Replace the support vectors of MODEL by a few vectors whose positions are optimized.

The result is a LIBSVM model, unless `metric` or `scores` asks for another. The report, on stderr, shows how
much it differs from MODEL on held-out rows.
Exit status 1: no model smaller than MODEL meets the limits; nothing was written.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from svmfast.errors import OptionError
from svmfast.methods.method import Input, Method
from svmfast.options import Bounded, Seeded, option, switch
from svmfast.values import Bytes, Choice, Share, Whole, WholeOr

#: Default limit on the rows of data that are used.
MOST_ROWS = 60_000
#: Options that set the size.
TARGETS = ("sv", "ratio", "max_diff", "max_bytes", "max_flash")


@dataclass(frozen=True, kw_only=True)
class CompressOptions(Seeded, Bounded):
    """Options of ``compress``."""

    sv: int | None = option(None, Whole(1), "Number of support vectors to keep.")
    ratio: float | None = option(None, Share(), "The same, as a share of the model's.", metavar="5%")
    max_diff: float | None = option(
        None,
        Share(),
        "Find the smallest number for which at most this share of the labels of the rows for choices differs "
        "(regression: root mean square difference relative to the spread of the values).",
        metavar="0.5%",
    )
    max_bytes: int | None = option(
        None, Bytes(), "Find the largest number whose file is at most this large.", metavar="32k"
    )
    max_flash: int | None = option(
        None,
        Bytes(),
        "The same for the tables of the model in C, which export writes, in single precision.",
        metavar="64k",
    )
    rows: int | None = option(
        None,
        Whole(1),
        "Use at most this many rows of `data`, drawn at random. Default: 60,000, or 30,000 if the support "
        "vectors are sampled too (a model of more than 10,000, and more than 10 for each one kept; not with "
        "`max_diff`).",
    )
    start: str = option(
        "auto",
        Choice("auto", "kmeans", "lars"),
        "Initial vectors: k-means centers of the support vectors, or those that LARS selects; auto tries "
        "both if LARS fits, and keeps the better on held-out rows.",
    )
    metric: Any = option(
        "none",
        WholeOr("none", "auto", "full"),
        "Learn a linear map of the rows, and keep vectors in its coordinates, of which fewer suffice (rbf): "
        "N coordinates, or full, as many as columns. auto tries several numbers and no map, and keeps what "
        "is best on held-out rows (no map for more than 2,000 columns, or where it exceeds `memory`). With a "
        "map, the model is a file of svmfast, unless `libsvm_form` is given.",
    )
    libsvm_form: bool = switch(
        "Write a model with a map as a LIBSVM model for svm-predict and the map, with which svmfast scale "
        "(`restore`) maps its rows.",
    )
    scores: str = option(
        "pairs",
        Choice("pairs", "classes", "auto"),
        "For three or more classes: LIBSVM's functions of pairs of classes, or one score for each class, of "
        "all vectors; the largest wins. Scores are closer where few vectors serve many classes. auto tries "
        "both, and keeps the better on held-out rows. With scores, the model is a file of svmfast, without "
        "probabilities.",
    )
    select_only: bool = switch("Do not move the initial vectors (the baseline).")
    iterations: int = option(800, Whole(0), "Maximum number of L-BFGS steps.")

    def check(self, given: Collection[str]) -> None:
        named = [f"`{name}`" for name in TARGETS if getattr(self, name) is not None]
        if len(named) != 1:
            every = ", ".join(f"`{name}`" for name in TARGETS[:-1])
            raise OptionError(
                f"give the size by exactly one of {every} and `{TARGETS[-1]}`; "
                f"got {' and '.join(named) or 'none'}"
            )
        if self.metric != "none" and (self.select_only or self.start == "lars"):
            raise OptionError(
                "with `metric` vectors start from kmeans and are moved; leave out `select_only` and `start`"
            )
        if self.libsvm_form and self.scores != "pairs":
            raise OptionError(
                "LIBSVM's models have no scores of classes; leave out `scores` or `libsvm_form`"
            )


METHOD = Method(
    name="compress",
    summary="Replace many support vectors by a few optimized ones.",
    description=__doc__,
    group="convert",
    inputs=(
        Input(name="model", content="exact model", role="exact"),
        Input(
            name="data",
            content="rows",
            flag="--data",
            help="Rows on which to stay close to MODEL. Labels are used only for probabilities; rows without "
            "labels need `unlabelled`.",
            required=False,
            labels="used",
            most=MOST_ROWS,
            copies=3,
        ),
    ),
    options=CompressOptions,
    run="svmfast.methods.compress.search:run",
    candidates="svmfast.methods.compress.search:candidates",
    color="#D55E00",
    reports=("svmfast.methods.compress.report:CompressReport",),
)
