"""The Nystrom method: approximates a kernel matrix by some of its columns."""

from __future__ import annotations

from functools import partial

import numpy as np

from svmfast.kernels import Kernel
from svmfast.rows import FloatArray, Rows
from svmfast.threads import interruptible

#: Eigenvalues below this share of the largest count as zero: their inverse roots would amplify rounding
#: errors.
EIGENVALUE_CUTOFF = 1e-10
#: From this size on, LAPACK takes a noticeable time, and can be interrupted.
_LARGE = 500
#: Number of rows that are converted to dense at a time.
CHUNK_ROWS = 2048


def symmetric_eigen(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues of a symmetric matrix, ascending, and the eigenvectors as columns."""
    solve = partial(np.linalg.eigh, matrix)
    values, vectors = solve() if len(matrix) < _LARGE else interruptible(solve)
    return values, vectors


def eigen_descending(symmetric: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the eigenvalues in descending order, and the eigenvectors as columns."""
    values, vectors = symmetric_eigen(symmetric)
    return values[::-1].copy(), np.ascontiguousarray(vectors[:, ::-1])


def inverse_root(values: FloatArray, vectors: FloatArray, rank: int) -> FloatArray:
    """Return P = U_k S_k^(-1/2), ``(m, r)``, for which P P^T is the rank-k pseudo-inverse.

    r <= k is the number of eigenvalues that do not count as zero.
    """
    kept = min(rank, int(np.count_nonzero(values > EIGENVALUE_CUTOFF * max(float(values[0]), 0.0))))
    root: FloatArray = vectors[:, :kept] / np.sqrt(values[:kept])
    return root


def kernel_features(kernel: Kernel, rows: Rows, landmarks: FloatArray, projection: FloatArray) -> FloatArray:
    """Return K(rows, landmarks) @ projection, ``(n, r)``, a chunk of dense rows at a time."""
    out = np.empty((len(rows), projection.shape[1]))
    width = landmarks.shape[1]
    for start in range(0, len(rows), CHUNK_ROWS):
        x = rows[start : start + CHUNK_ROWS].to_dense(width)
        np.matmul(kernel.matrix(x, landmarks), projection, out=out[start : start + CHUNK_ROWS])
    return out
