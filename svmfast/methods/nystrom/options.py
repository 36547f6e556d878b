"""Options of ``nystrom``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from svmfast.errors import OptionError
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
        """Raise OptionError for options that contradict each other."""
        if ("exact" in given) == (self.task is not None):
            raise OptionError("give either `task` or `exact`")
        if self.task == "svc" and self.lambda_ is not None:
            raise OptionError("`lambda_` is for ridge and decision values; svc has `C`")
        if self.weights and self.task != "svc":
            raise OptionError("`weights` is for classification, `task` svc")
