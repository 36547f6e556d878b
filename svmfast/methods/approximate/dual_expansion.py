"""A LIBSVM model as plain sums: dense support vectors, and every decision function's own coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import MemoryLimitError
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray, Rows


@dataclass(frozen=True, eq=False)
class DualExpansion:
    """sum_{i in support[p]} beta[p]_i K(points_i, .) for every decision function p.

    Attributes
    ----------
    features : (d,) int64
        Columns in which any support vector has an entry, ascending.
    points : (n, d) float64
        The support vectors in these columns.
    support : tuple of p (m,) int64
        For each function, the indices of its support vectors.
    beta : tuple of p (m,) float64
        For each function, the coefficients of its support vectors.
    """

    features: NDArray[np.int64]
    points: FloatArray
    support: tuple[NDArray[np.int64], ...]
    beta: tuple[FloatArray, ...]

    @property
    def n_functions(self) -> int:
        """Number of decision functions."""
        return len(self.support)

    def points_of(self, p: int) -> FloatArray:
        """Return the support vectors of decision function `p`, without a copy if it uses all of them."""
        support = self.support[p]
        return self.points if len(support) == len(self.points) else self.points[support]

    def dense(self, rows: Rows) -> FloatArray:
        """Return `rows` as dense vectors of the columns in `features`; other entries are left out."""
        out = np.zeros((len(rows), len(self.features)))
        at = np.searchsorted(self.features, rows.indices)
        known = at < len(self.features)
        known[known] = self.features[at[known]] == rows.indices[known]
        row = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
        out[row[known], at[known]] = rows.values[known]
        return out


def dual_expansion(model: KernelExpansion, *, memory_limit: int) -> DualExpansion:
    """Return the sums of `model` (MemoryLimitError if its dense support vectors exceed the limit)."""
    features = np.unique(model.sv.indices).astype(np.int64)
    needed = 8 * len(model.sv) * len(features)
    if needed > memory_limit:
        raise MemoryLimitError(
            f"{len(model.sv):,} support vectors of {len(features):,} features, stored densely,",
            needed,
            memory_limit,
            "raise `memory`; with so many features an expansion would not be smaller than the model",
        )
    support, beta = [], []
    head = model.head
    if head.is_classifier and model.nr_sv is not None:
        start = np.concatenate(([0], np.cumsum(model.nr_sv)))
        for i in range(head.n_classes):
            for j in range(i + 1, head.n_classes):
                mine = np.arange(start[i], start[i + 1]), np.arange(start[j], start[j + 1])
                coef = np.concatenate([model.sv_coef[j - 1][mine[0]], model.sv_coef[i][mine[1]]])
                index = np.concatenate(mine)
                # A support vector that only other pairs use has coefficient 0 here.
                used = coef != 0
                support.append(index[used])
                beta.append(coef[used])
    else:
        used = model.sv_coef[0] != 0
        support.append(np.flatnonzero(used))
        beta.append(model.sv_coef[0][used])
    dense = DualExpansion(features, np.zeros((0, 0)), (), ()).dense(model.sv)
    return DualExpansion(features, dense, tuple(support), tuple(beta))
