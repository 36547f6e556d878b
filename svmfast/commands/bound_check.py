"""``svmfast bound-check``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from svmfast.command import QUIET_BUT_REPORT, Verb
from svmfast.commands import listed
from svmfast.options import MemoryOfModels, argument, option
from svmfast.values import Choice, InputFile, ModelFile, Real, Share, Whole


@dataclass(frozen=True, kw_only=True)
class Files:
    """What is read."""

    data: str = argument(InputFile("data"))


@dataclass(frozen=True, kw_only=True)
class BoundCheckOptions(MemoryOfModels):
    """Options of ``bound-check``."""

    model: Any = option(
        None, ModelFile(), "Check whether the rows of DATA are inside the bound of this model."
    )
    gamma: float | None = option(
        None, Real(0, above=True), "Without `model`: check the rows against each other for this kernel width."
    )
    order: int | None = option(
        None,
        Whole(0, 16),
        "Order of the expansion to check; an approximated model is checked with its own orders.",
        metavar="K",
        shown="2",
    )
    center: Literal["auto", "origin", "mean"] | None = option(
        None,
        Choice("auto", "origin", "mean"),
        "Center of the expansion of an exact model: the origin (as in the paper), the mean, or (auto) the "
        "better of the two.",
        shown="auto",
    )
    require_certified: float | None = option(
        None,
        Share(zero=True, whole=True),
        "Decide instead by whether at least this share of the labels (regression: values) is certified, for "
        "example 99%.",
    )
    tolerance: float | None = option(
        None,
        Real(0),
        "A row is certified only if its error bound is at most this; regression needs it.",
        metavar="ERROR",
    )


COMMAND = Verb(
    **listed("bound-check"),
    description="""
        Check for which gamma an approximation of an RBF model is accurate on DATA.

        Inside the validity bound every term of the expansion is accurate to 3.05 %. At order 2 the bound is
        the paper's, max||x||^2 ||z||^2 < 1/(16 gamma^2) over the support vectors x and a row z; other orders
        have other constants in place of 1/16. Without a model the rows of DATA serve as both x and z, and
        gamma_max is where the first row leaves the bound. 'centered' measures all vectors from their mean, as
        approximate can.

        With `model` or `gamma` the exit status is the result: 0 if every row is inside, else 1. An
        approximated model is checked with its own orders and centers. If it has a certificate, the share of
        rows whose label is provably the exact model's (regression: whose error bound is at most `tolerance`)
        is printed too, and `require_certified` decides by that share.
        """,
    takes=(Files, BoundCheckOptions),
    quiet=QUIET_BUT_REPORT,
)
