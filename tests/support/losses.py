"""Losses of models, from their figures."""

from __future__ import annotations

from svmfast.evaluation.loss import Estimate, Loss
from svmfast.score import Quality


def loss(differing: float, lost: float = 0.0, balanced: float = 0.0) -> Loss:
    quality = Quality(accuracy=90.0 - lost, balanced_accuracy=80.0 - balanced)
    estimates = (Estimate(x, x - 0.1, x + 0.1) for x in (differing, lost, balanced))
    return Loss(1000, quality, round(10 * differing), *estimates)
