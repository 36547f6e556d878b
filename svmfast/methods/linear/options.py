"""Options of ``linear``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from svmfast.errors import OptionError
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
        """Raise OptionError for options that contradict each other."""
        if self.weights and self.task != "svc":
            raise OptionError("`weights` have no effect on regression")
