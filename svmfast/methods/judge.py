"""The rows on which an approximation is judged while it is made: which of them would be certified?

The exact decision values of these rows are known. A certified value lies within its bound of the exact one
and is in practice far closer, so a row counts when its exact values exceed the bounds: no polynomial is
evaluated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.terms import Terms
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows

# Rows that are looked at: enough to tell a share of 99 % from one of 98 %.
MOST_ROWS = 20_000
# Regression without a tolerance: an error bar counts up to this share of the values' spread.
REGRESSION_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Judge:
    """Rows, densely in the model's features, with the exact model's values.

    Attributes
    ----------
    head : Head
    rows : Rows
    points : (n, d) float64
        The same rows in the columns of the support vectors.
    outside : (n,) float64
        Squared norm of each row's entries in columns that no support vector uses.
    values : (n, p) float64
    tolerance : float or None
        Regression: the largest error bar that counts as certified.
    of_data : bool
        The rows are the user's, not support vectors and points between them.
    """

    head: Head
    rows: Rows
    points: FloatArray
    outside: FloatArray
    values: FloatArray
    tolerance: float | None
    of_data: bool

    def __len__(self) -> int:
        return len(self.points)

    def certified(self, rows: NDArray[np.int64], bounds: FloatArray) -> NDArray[np.bool_]:
        """Tell which of `rows` would be certified under the bounds ``(len(rows), p)``."""
        tolerance = self.tolerance if self.head.is_regression else None
        return certified_rows(self.head, self.values[rows], bounds, tolerance=tolerance)

    def squared_distances(self, rows: NDArray[np.int64], centre: FloatArray) -> FloatArray:
        """Return ``||z - centre||^2`` of `rows`, all columns counted."""
        u = self.points[rows] - centre
        squared: FloatArray = np.einsum("ij,ij->i", u, u) + self.outside[rows]
        return squared


def judge_of(
    model: KernelExpansion,
    terms: Terms,
    data: Rows | None,
    *,
    tolerance: float | None = None,
    seed: int = 0,
    threads: int = 1,
) -> Judge:
    """Return the judge: a sample of `data`, or of the support vectors and of points between them.

    Parameters
    ----------
    model : KernelExpansion
    terms : Terms
        Of the same model.
    data : Rows or None
        Rows like those to be predicted; labels play no part.
    tolerance : float, optional
        For regression; by default a hundredth of the standard deviation of the exact values.
    seed : int
        Of the sample.
    threads : int
    """
    rng = np.random.default_rng(seed)
    if data is not None:
        if len(data) > MOST_ROWS:
            data = data.take(np.sort(rng.permutation(len(data))[:MOST_ROWS]))
        points = terms.dense(data)
        outside = np.maximum(data.squared_norms() - np.einsum("ij,ij->i", points, points), 0.0)
        rows = data
    else:
        points = _near_support_vectors(terms.points, rng)
        outside = np.zeros(len(points))
        inside = Rows.from_dense(points)
        columns = terms.features[inside.indices].astype(np.int32)
        rows = inside.renumbered(columns, model.n_features)
    values = model.decision_values(rows, threads=threads)
    if tolerance is None and model.head.is_regression:
        tolerance = REGRESSION_SHARE * float(values.std()) if values.size else 0.0
    return Judge(model.head, rows, points, outside, values, tolerance, data is not None)


def _near_support_vectors(points: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Support vectors, and as many points on the way from one to a near other one."""
    n = len(points)
    if n < 2:
        return points
    start = np.sort(rng.permutation(n)[: MOST_ROWS // 2])
    others = rng.integers(0, n, size=(len(start), 8))
    squared = np.stack([((points[start] - points[others[:, k]]) ** 2).sum(axis=1) for k in range(8)], axis=1)
    nearest = others[np.arange(len(start)), np.where(squared > 0, squared, np.inf).argmin(axis=1)]
    step = rng.uniform(0, 0.5, size=(len(start), 1))
    return np.concatenate([points[start], points[start] + step * (points[nearest] - points[start])])
