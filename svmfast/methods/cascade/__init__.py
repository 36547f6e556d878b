"""Join `fast`, a model of any kind, and `exact`, the LIBSVM model that it replaces, in one file.

predict then answers a row with `fast` if its decision values are far enough from every boundary, and with
`exact` otherwise. This distance is chosen on `data` so that `max_diff` holds with `confidence`. The guarantee
is statistical and holds for rows like these at any gamma; a certificate (approximate) is a proof for each
row.

A fifth of the rows, drawn at random, decides whether the two together cost less than `exact` alone; the rest
chooses the distance, so that the guarantee holds for the file that is written. Duplicate rows are refused.

Exit status 1: on the deciding rows `exact` alone costs no more; nothing was written.
"""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.methods.method import Input, Method
from svmfast.options import Bounded, Seeded, option, switch
from svmfast.solvers.intervals import CONFIDENCE
from svmfast.values import Share, Whole

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
    force: bool = switch(
        "Write the model even if a class is lost or the exact model alone is faster on this machine; nothing "
        "is timed.",
    )
    rows: int = option(MOST_ROWS, Whole(1), "Use at most this many rows of `data`, drawn at random.")


METHOD = Method(
    name="cascade",
    summary="Join a fast and an exact model under a guarantee.",
    description=__doc__,
    group="convert",
    inputs=(
        Input(name="fast", content="model", help="A model of any kind."),
        Input(name="exact", content="exact model", help="The LIBSVM model that it replaces."),
        Input(
            name="data",
            content="rows",
            flag="--data",
            labels="ignored",
            most=MOST_ROWS,
            copies=0,
            help="Rows like those to predict, on which neither model was trained.",
        ),
    ),
    options=CascadeOptions,
    run="svmfast.methods.cascade.run:run",
    color="#000000",
    reports=("svmfast.methods.cascade.join:CascadeReport",),
)
