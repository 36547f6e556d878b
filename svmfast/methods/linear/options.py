"""Options of ``linear``."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.options import option
from svmfast.values import Choice, Real


@dataclass(frozen=True, kw_only=True)
class LinearOptions:
    """Options of ``linear``."""

    C: float = option(1.0, Real(0, above=True), "Cost C of the loss.", "-c")
    task: str = option("svc", Choice("svc", "ridge"), "svc: classification; ridge: regression.")
