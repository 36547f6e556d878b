"""Train a linear model on DATA.

Try it first: if it is as accurate as the kernel model, you need nothing else. Classes are trained with the
L2-regularized squared hinge loss, one class against the rest, as LIBLINEAR does by default.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from svmfast.errors import OptionError
from svmfast.methods.method import Input, Method
from svmfast.options import Bounded, Tasked, class_weights, option
from svmfast.values import Choice, Real


@dataclass(frozen=True, kw_only=True)
class LinearOptions(Bounded, Tasked):
    """Options of ``linear``."""

    C: float = option(1.0, Real(0, above=True), "Cost C of the loss.", "-c")
    task: str = option("svc", Choice("svc", "ridge"), "svc: classification; ridge: regression.")
    weights: tuple[tuple[int, float], ...] = class_weights(
        "the rows of the class labelled I, in every one-vs-rest problem (svc)"
    )

    def check(self, given: Collection[str]) -> None:
        if self.weights and self.task != "svc":
            raise OptionError("`weights` is for classes, which a regression does not have")


METHOD = Method(
    name="linear",
    summary="Train a linear model, the baseline of every kernel model.",
    description=__doc__,
    group="train",
    inputs=(Input(name="data", content="rows", copies=3, help="Rows to train on."),),
    options=LinearOptions,
    run="svmfast.methods.linear.fit:run",
    candidates="svmfast.methods.linear.fit:candidates",
    reports=("svmfast.methods.linear.fit:LinearReport",),
    color="#555555",
)
