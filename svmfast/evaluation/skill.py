"""Whether a model predicts rows better than chance; if not, they may belong to another problem."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmfast.rows import FloatArray
from svmfast.score import percent

#: With at least _ENOUGH_ROWS rows, accuracy must exceed chance by _DEVIATIONS standard deviations.
_ENOUGH_ROWS, _DEVIATIONS = 50, 2.0


@dataclass(frozen=True)
class Skill:
    """The improvement of a model's predictions over chance."""

    rows: int
    #: Cohen's kappa, (accuracy - chance) / (1 - chance); regression: 1 - mean squared error / variance of the
    #: targets. At most 1.
    share: float
    #: Accuracy, and that of chance, in percent; regression: mean squared error and variance.
    found: float
    chance: float
    #: The predictions are better than chance.
    some: bool


def skill(predicted: FloatArray, target: FloatArray, *, regression: bool) -> Skill:
    """The improvement of n > 0 predictions over chance.

    Chance means that the predicted labels are randomly permuted. The variance of the number of correct ones
    is that of Hoeffding's combinatorial central limit theorem (Annals of Mathematical Statistics 22, 1951).
    If all targets are of one class, chance cannot be distinguished from skill, and any correct label counts
    as skill.
    """
    if regression:
        return _skill_of_values(predicted, target)
    n = len(target)
    right = int(np.count_nonzero(predicted == target))
    labels = np.unique(np.concatenate((predicted, target)))
    if (target == target[0]).all():
        return Skill(n, right / n, percent(right, n), 0.0, right > 0)
    predicted, true = (
        np.array([np.count_nonzero(values == label) for label in labels]) / n
        for values in (predicted, target)
    )
    chance = float(predicted @ true)
    # Sum over all pairs of rows of the squared centered agreements, by pairs of labels.
    centered = np.eye(len(labels)) - true[:, None] - predicted[None, :] + chance
    variance = n * n * float(predicted @ (centered**2) @ true) / max(1, n - 1)
    needed = _DEVIATIONS * math.sqrt(variance) if n >= _ENOUGH_ROWS else 0.0
    share = (right / n - chance) / (1 - chance) if chance < 1 else 0.0
    return Skill(n, share, percent(right, n), 100 * chance, right > n * chance + needed)


def _skill_of_values(predicted: FloatArray, target: FloatArray) -> Skill:
    with np.errstate(over="ignore", invalid="ignore"):
        error, variance = float(np.mean((predicted - target) ** 2)), float(target.var())
    share = 1 - error / variance if variance else float(error == 0)
    return Skill(len(target), share, error, variance, share > 0)
