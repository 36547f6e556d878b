"""The Laplacian kernel exp(-gamma ||x - z||_1), in blocks of rows and of vectors to save memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmfast.rows import FloatArray, Rows

#: Number of rows, and of an expansion's vectors, at a time.
ROWS, VECTORS = 256, 32


def laplacian_matrix(x: FloatArray, z: FloatArray, gamma: float) -> FloatArray:
    """Compute the kernel values of dense rows, K[i, j] = K(x_i, z_j)."""
    out = np.empty((len(x), len(z)))
    for first in range(0, len(x), ROWS):
        some = x[first : first + ROWS]
        for begin in range(0, len(z), VECTORS):
            part = slice(begin, begin + VECTORS)
            out[first : first + ROWS, part] = _kernel(some, z[part], gamma, np.zeros(len(some)))
    return out


def _kernel(x: FloatArray, z: FloatArray, gamma: float, beyond: FloatArray) -> FloatArray:
    """Kernel values of rows that have `beyond`, ``(n,)``, in columns in which z is zero."""
    distance = np.repeat(beyond[:, None], len(z), axis=1)
    apart = np.empty_like(distance)
    with np.errstate(over="ignore"):
        for own, others in zip(np.ascontiguousarray(x.T), np.ascontiguousarray(z.T), strict=True):
            np.subtract(own[:, None], others, out=apart)
            distance += np.abs(apart, out=apart)
        distance *= -gamma
    return np.exp(distance, out=distance)


class LaplacianSums:
    """Decision values of one expansion; each row of `sv_coef` is a function."""

    def __init__(self, gamma: float, sv: Rows, sv_coef: FloatArray, rho: FloatArray) -> None:
        self._gamma, self._rho = gamma, rho
        #: Columns in use, dense vectors in these columns, and coefficients of some vectors.
        self._parts: list[tuple[NDArray[np.int32], FloatArray, FloatArray]] = []
        for first in range(0, len(sv), VECTORS):
            some = sv[first : first + VECTORS]
            columns, places = np.unique(some.indices, return_inverse=True)
            vectors = some.renumbered(places.astype(np.int32), len(columns)).to_dense()
            self._parts.append((columns, vectors, sv_coef[:, first : first + VECTORS]))

    def decision_values(self, rows: Rows) -> FloatArray:
        """Compute the ``(n, p)`` decision values; a row's sums do not depend on the other rows."""
        out = np.empty((len(rows), len(self._rho)))
        for first in range(0, len(rows), ROWS):
            some = rows[first : first + ROWS]
            block = out[first : first + ROWS]
            block[:] = -self._rho
            for columns, vectors, coef in self._parts:
                x, beyond = _in_columns(some, columns)
                values = _kernel(x, vectors, self._gamma, beyond)
                for p, weights in enumerate(coef):
                    block[:, p] += (values * weights).sum(axis=1)
        return out


def _in_columns(rows: Rows, columns: NDArray[np.int32]) -> tuple[FloatArray, FloatArray]:
    """The rows in these columns, dense, and the sum of the other values' magnitudes, ``(n,)``."""
    row = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    known = np.isin(rows.indices, columns)
    dense = np.zeros((len(rows), len(columns)))
    dense[row[known], np.searchsorted(columns, rows.indices[known])] = rows.values[known]
    others = np.where(known, 0.0, np.abs(rows.values))
    return dense, np.bincount(row, weights=others, minlength=len(rows)).astype(np.float64)
