"""The certificate's bounds in NumPy, the slow reference of the native loop (docs/certificate.md, theorem)."""

from __future__ import annotations

import numpy as np

from svmfast.certificate import SPARE_ENTRIES
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, Rows

# Beyond this exponent nothing is claimed, because the Gaussian factor comes near the underflow limit.
LARGEST_EXPONENT = 600.0
# Added to squared distances: an upper bound on what a sum of squares can lose to underflow.
LEAST_SQUARE = 1e-300


def error_bounds(
    gamma: float, degrees: FloatArray, rest: FloatArray, squared_distances: FloatArray, sums: FloatArray
) -> FloatArray:
    """Upper bounds on ``|exact - approximate|``, ``(n, p)``; infinite where nothing can be claimed.

    `degrees` ``(n or 1, p, top + 1)`` and `rest` ``(n or 1, p, 5)`` are those of each row's cell, or of the
    only cell; `sums` ``(n, p)`` are the approximate decision values before rho is subtracted.
    """
    s = np.asarray(squared_distances, dtype=np.float64)[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        r = np.sqrt(s + LEAST_SQUARE)
        top = degrees.shape[-1] - 1
        total = degrees[..., top] + np.zeros_like(sums)
        for j in range(top - 1, -1, -1):
            total = total * r + degrees[..., j]
        # The product starts with the factor, because a power of r alone could underflow.
        beyond = rest[..., 0] * r
        for _ in range(top):
            beyond = beyond * r
        bound = np.exp(-gamma * s) * total + beyond
        bound += rest[..., 1] + rest[..., 2] * s + np.abs(sums) * (rest[..., 3] + rest[..., 4] * s)
        # Covers the rounding errors of these operations.
        bound *= 1 + 1e-9
        claimed = (gamma * s < LARGEST_EXPONENT) & np.isfinite(bound)
    return np.where(claimed, bound, np.inf)


def bounds_of(model: PolynomialModel, rows: Rows) -> FloatArray:
    """The bounds of rows, from their values and their squared distances from the center."""
    decisions, cells = model.decision_values(rows), model.cells(rows)
    dense = rows.to_dense(max(rows.n_columns, model.n_features))
    centers = np.zeros((model.n_cells, dense.shape[1]))
    centers[:, model.features] = model.centers
    with np.errstate(over="ignore"):
        squared_distances = np.square(dense - centers[cells]).sum(axis=1)
    assert model.bound_degrees is not None
    assert model.bound_rest is not None
    degrees, rest = model.bound_degrees[cells], model.bound_rest[cells]
    bounds = error_bounds(model.gamma, degrees, rest, squared_distances, decisions + model.rho)
    # Longer rows take more operations than the rounding bound allows for.
    bounds[np.diff(rows.indptr) > len(model.features) + SPARE_ENTRIES] = np.inf
    return bounds
