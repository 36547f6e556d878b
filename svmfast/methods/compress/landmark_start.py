"""Starts of a reduced set: a few vectors that represent many support vectors.

``kmeans``  centroids, with each support vector weighted by the size of its coefficients;
``lars``    the first support vectors that least-angle regression of the L2-SVM objective selects (Xu et al.,
            Compressed Support Vector Machines, equations 5 to 9, in Gram form, which needs no eigenvectors).
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from svmfast.kernels import Kernel
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.kernel_clusters import k_means
from svmfast.threads import one_blas_thread

IntArray = NDArray[np.int64]


def lars_bytes(n: int, n_columns: int) -> int:
    """The bytes that ``lars`` needs for `n` vectors: K, H and LARS's copy of H, and dense vectors."""
    return 8 * n * (3 * n + n_columns)


def start_vectors(
    how: str,
    kernel: Kernel,
    sv: Rows,
    coef: FloatArray,
    count: int,
    *,
    n_columns: int,
    seed: int,
    memory: int,
) -> FloatArray:
    """Find `count` dense vectors that represent the n support vectors of one class.

    `coef` is ``(width, n)``.
    """
    if count >= len(sv):
        return sv.to_dense(n_columns)
    if count == 0:
        return np.zeros((0, n_columns))
    rng = np.random.default_rng([seed, len(sv), count])
    with one_blas_thread():
        if how == "kmeans":
            return _centroids(sv, coef, count, n_columns, int(rng.integers(2**31)), memory)
        chosen = _least_angle(kernel, sv, coef, count, n_columns, rng)
    return sv.take(np.sort(chosen)).to_dense(n_columns)


def _centroids(sv: Rows, coef: FloatArray, count: int, n_columns: int, seed: int, memory: int) -> FloatArray:
    weight = np.sqrt((coef * coef).sum(axis=0))
    weight = np.maximum(weight, 1e-12 * weight.max() if weight.max() > 0 else 1.0)
    # Dense arithmetic is several times faster if it fits; k-means copies its data once.
    entries = len(sv) * n_columns
    dense = entries < 1 << 24 or (sv.density > 0.05 and 16 * entries <= memory)
    data = sv.to_dense(n_columns) if dense else sv.renumbered(sv.indices, n_columns).to_scipy()
    return k_means(data, count, seed=seed, max_iterations=50, weights=weight)


def _least_angle(
    kernel: Kernel, sv: Rows, coef: FloatArray, count: int, n_columns: int, rng: np.random.Generator
) -> IntArray:
    """The vectors that LARS selects, and random ones if it ends early."""
    x = sv.to_dense(n_columns)
    gram = kernel.matrix(x, x)
    target = gram @ coef.T
    # H = K/2 + C K^2 and C K yt. The file does not contain C; it is the largest |coefficient| if one is
    # bounded.
    c = float(np.abs(coef).max()) or 1.0
    right = c * (gram @ target)
    hessian = gram @ gram
    hessian *= c
    gram *= 0.5
    hessian += gram
    del gram
    # LARS compares correlations, so columns are scaled to length 1 (Omega's have squared length H_jj).
    length = np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
    hessian /= length
    hessian /= length[:, None]
    right /= length[:, None]
    taken = [_path(hessian, np.ascontiguousarray(right[:, f]), count) for f in range(right.shape[1])]
    # A class of a multiclass model has one target per pair: take their first steps in turn, then the second
    # ones.
    chosen: list[int] = []
    seen: set[int] = set()
    for step in range(max(len(t) for t in taken)):
        for order in taken:
            if step < len(order) and order[step] not in seen and len(chosen) < count:
                seen.add(order[step])
                chosen.append(order[step])
    rest = np.setdiff1d(np.arange(len(sv)), chosen)
    return np.append(np.array(chosen, dtype=np.int64), rng.permutation(rest)[: count - len(chosen)])


def _path(hessian: FloatArray, right: FloatArray, count: int) -> list[int]:
    """The vectors in the order in which LARS selects them, until `count` are active or it ends."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lars_path_gram

    steps = count
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            _, active, _, done = lars_path_gram(
                Xy=right,
                Gram=hessian,
                n_samples=len(right),
                max_iter=steps,
                method="lar",
                return_path=False,
                return_n_iter=True,
            )
        if len(active) >= count or done < steps or steps >= 4 * count + 16:
            return [int(a) for a in active[:count]]
        steps += count - len(active) + 1
