"""Platt's sigmoid by Newton's method: Lin, Lin and Weng, "A Note on Platt's Probabilistic Outputs" (2007).

Parameters, stopping rule and limits are those of LIBSVM's ``sigmoid_train``.
"""

from __future__ import annotations

import numpy as np

from svmfast.errors import OptionError
from svmfast.rows import BoolArray, FloatArray

_MAX_ITERATIONS = 100
_SHORTEST_STEP = 1e-10
_RIDGE = 1e-12
_GRADIENT = 1e-5


def fit_sigmoid(decisions: FloatArray, positive: BoolArray) -> tuple[float, float]:
    """A and B of P(positive | f) = 1 / (1 + exp(A f + B)), from rows that were not trained on."""
    first = np.asarray(positive, dtype=bool)
    if first.shape != decisions.shape:
        raise OptionError(f"{len(decisions)} decision values need as many classes, got {first.shape}")
    n_positive = int(np.count_nonzero(first))
    n_negative = len(first) - n_positive
    target = np.where(first, (n_positive + 1.0) / (n_positive + 2.0), 1.0 / (n_negative + 2.0))
    a, b = 0.0, float(np.log((n_negative + 1.0) / (n_positive + 1.0)))
    value = _cost(a * decisions + b, target)
    for _ in range(_MAX_ITERATIONS):
        z = a * decisions + b
        small = np.exp(-np.abs(z))
        p = np.where(z >= 0, small, 1.0) / (1.0 + small)
        variance = small / (1.0 + small) ** 2
        h11 = float(np.sum(decisions * decisions * variance)) + _RIDGE
        h22 = float(np.sum(variance)) + _RIDGE
        h21 = float(np.sum(decisions * variance))
        slope = target - p
        g1, g2 = float(np.sum(decisions * slope)), float(np.sum(slope))
        if abs(g1) < _GRADIENT and abs(g2) < _GRADIENT:
            break
        determinant = h11 * h22 - h21 * h21
        da = -(h22 * g1 - h21 * g2) / determinant
        db = -(-h21 * g1 + h11 * g2) / determinant
        descent = g1 * da + g2 * db
        step = 1.0
        while step >= _SHORTEST_STEP:
            trial = _cost((a + step * da) * decisions + b + step * db, target)
            if trial < value + 0.0001 * step * descent:
                a, b, value = a + step * da, b + step * db, trial
                break
            step /= 2
        else:
            break
    return a, b


def _cost(z: FloatArray, target: FloatArray) -> float:
    """The cross entropy, computed without overflow."""
    return float(np.sum(np.where(z >= 0, target * z, (target - 1.0) * z) + np.log1p(np.exp(-np.abs(z)))))


def laplace_scale(residuals: FloatArray) -> float:
    """Sigma of the Laplace density of regression residuals, as in LIBSVM's ``svm_svr_probability``.

    A second estimate leaves out the residuals beyond five standard deviations of a first one. The n > 0 rows
    should not have been trained on.
    """
    sizes = np.abs(residuals)
    limit = 5.0 * np.sqrt(2.0 * float(np.mean(sizes)) ** 2)
    kept = sizes[sizes <= limit]
    return float(np.mean(kept))
