"""Whether a model predicts rows better than chance; if not, they may belong to another problem."""

from __future__ import annotations

import math

import numpy as np

from svmfast.rows import FloatArray

#: With at least _ENOUGH_ROWS rows, accuracy must exceed chance by _DEVIATIONS standard deviations.
_ENOUGH_ROWS, _DEVIATIONS = 50, 2.0


def better_than_chance(predicted: FloatArray, target: FloatArray, *, regression: bool) -> bool:
    """Whether n > 0 predictions are better than chance.

    Chance means that the predicted labels are randomly permuted, or for regression the targets' mean. The
    variance of the number of correct labels is that of Hoeffding's combinatorial central limit theorem
    (Annals of Mathematical Statistics 22, 1951). If all targets are of one class, chance cannot be
    distinguished from skill, and any correct label counts.
    """
    if regression:
        with np.errstate(over="ignore", invalid="ignore"):
            error, variance = float(np.mean((predicted - target) ** 2)), float(target.var())
        return error < variance or error == 0
    n, right = len(target), int(np.count_nonzero(predicted == target))
    if (target == target[0]).all():
        return right > 0
    labels = np.unique(np.concatenate((predicted, target)))
    given, true = (
        np.array([np.count_nonzero(values == label) for label in labels]) / n
        for values in (predicted, target)
    )
    chance = float(given @ true)
    # Sum over all pairs of rows of the squared centered agreements, by pairs of labels.
    centered = np.eye(len(labels)) - true[:, None] - given[None, :] + chance
    variance = n * n * float(given @ (centered**2) @ true) / max(1, n - 1)
    return right > n * chance + (_DEVIATIONS * math.sqrt(variance) if n >= _ENOUGH_ROWS else 0.0)
