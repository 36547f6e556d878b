"""nystrom: a global low-rank approximation of the kernel, with landmarks by k-means."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from svmfast.errors import OptionError
from svmfast.methods.method import Input, Method
from svmfast.options import Bounded, Seeded, Tasked, class_weights, option
from svmfast.values import Choice, Real, Whole


@dataclass(frozen=True, kw_only=True)
class NystromOptions(Seeded, Bounded, Tasked):
    """Options of ``nystrom``."""

    task: str | None = option(
        None,
        Choice("svc", "ridge"),
        "svc: classification, squared hinge loss, one class against the rest; ridge: regression. Needed "
        "unless `exact` is given.",
    )
    gamma: float | None = option(
        None,
        Real(0, above=True),
        "Width of the kernel exp(-gamma |u-v|^2).",
        "-g",
        shown="1/number of features, or that of the exact model",
    )
    C: float = option(1.0, Real(0, above=True), "Cost C (svc).", "-c")
    lambda_: float | None = option(
        None,
        Real(0, above=True),
        "Regularization of ridge, and of fitting decision values.",
        shown="0.1, or 1e-6 for decision values",
    )
    weights: tuple[tuple[int, float], ...] = class_weights(
        "the rows of the class labelled I, in every one-vs-rest problem (svc)"
    )
    landmarks: int = option(256, Whole(1), "Number of landmarks.")

    def check(self, given: Collection[str]) -> None:
        if ("exact" in given) == (self.task is not None):
            raise OptionError("give either `task` or `exact`")
        if self.task == "svc" and self.lambda_ is not None:
            raise OptionError("`lambda_` is for ridge and decision values; svc has `C`")
        if self.weights and self.task != "svc":
            raise OptionError("`weights` is for classification, `task` svc")


METHOD = Method(
    name="nystrom",
    summary="Train on landmarks from k-means (Nystrom), or convert a model.",
    description="""
        Train on DATA with the kernel approximated from a few landmarks, or fit the decision values of an
        exact model (`exact`).

        The landmarks are k-means centers of the rows, and the kernel matrix K is approximated by
        C W^-1 C', where C holds the kernel values between rows and landmarks, and W those between landmarks
        (Zhang and Kwok 2010). A linear model on these features is one small expansion: a prediction costs one
        kernel value per landmark. It is the usual baseline for meka and dcpred.
        """,
    group="train",
    inputs=(
        Input(name="data", content="rows", labels="used", copies=5),
        Input(
            name="exact",
            content="exact model",
            flag="--from",
            help="Fit the decision values of this model on the rows of DATA, whose labels are ignored.",
            required=False,
        ),
    ),
    options=NystromOptions,
    run="svmfast.methods.nystrom.fit:run",
    candidates="svmfast.methods.nystrom.fit:candidates",
    reports=("svmfast.methods.nystrom.fit:NystromReport",),
    color="#56B4E9",
)
