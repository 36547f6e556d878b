"""Losses of models, from their figures."""

from svmfast.evaluation.loss import Estimate, Loss
from svmfast.score import Quality


def loss(differing, lost=0.0, balanced=0.0):
    quality = Quality(accuracy=90.0 - lost, balanced_accuracy=80.0 - balanced)
    estimates = (Estimate(x, x - 0.1, x + 0.1) for x in (differing, lost, balanced))
    return Loss(1000, quality, round(10 * differing), *estimates)
