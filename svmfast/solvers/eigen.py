"""Eigenvalues of symmetric matrices; for large matrices, the computation can be interrupted."""

from __future__ import annotations

import numpy as np

from svmfast.rows import FloatArray
from svmfast.threads import interruptible

#: From this size on, LAPACK takes a noticeable time.
_LARGE = 500


def symmetric_eigen(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of a symmetric matrix, ascending, and the eigenvectors as columns."""

    def solve() -> tuple[FloatArray, FloatArray]:
        values, vectors = np.linalg.eigh(matrix)
        return values, vectors

    return solve() if len(matrix) < _LARGE else interruptible(solve)
