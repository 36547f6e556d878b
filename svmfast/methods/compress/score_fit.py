"""Least squares for scores of classes: all coefficients of all classes in one system.

A row asks for s_i - s_j = f with the weight w, for each pair of its winning class. With the kernel values
and a last -1 in phi, E is a quadratic function of the coefficients C, ``(k, m + 1)``, whose gradient
the native objective gives. Conjugate gradients minimize it without its k(m + 1) x k(m + 1) matrix, which is
close to L x G: L is the Laplacian of the classes, whose edges are the sums of the weights of their rows, and
G the mean of phi phi^T with the rows' weights. Their inverses precondition the system. L is singular, since
equal changes of all scores change nothing; its pseudo-inverse keeps their sum at 0.
"""

from __future__ import annotations

import numpy as np

from svmfast.errors import NotFiniteError
from svmfast.methods.compress.metric import Metric
from svmfast.methods.compress.reduced_set import ReducedSet, Target
from svmfast.rows import FloatArray
from svmfast.solvers.nystrom import symmetric_eigen
from svmfast.threads import one_blas_thread

#: Eigenvalues of G below this share of their mean count as so large, which keeps coefficients finite.
_RIDGE = 1e-10
#: Iterations end where E is estimated to be at most this share above its minimum.
_CLOSE, _MOST_ITERATIONS = 1e-6, 200


def solve_scores(target: Target, vectors: FloatArray, metric: Metric | None = None) -> ReducedSet:
    """Find the coefficients and offsets of the scores for these vectors that minimize E."""
    target, vectors = target.within(metric), np.ascontiguousarray(vectors)

    def made(c: FloatArray) -> ReducedSet:
        coef, rho = np.ascontiguousarray(c[:, :-1]), np.ascontiguousarray(c[:, -1])
        return ReducedSet(vectors, coef, rho, np.array([len(vectors)]))

    def slope(c: FloatArray) -> tuple[float, FloatArray]:
        value, (_, by_coef, by_rho) = target.gradient(made(c))
        return value, np.column_stack([by_coef, by_rho])

    with one_blas_thread():
        of_classes, of_vectors = _preconditioner(target, vectors)
        c = np.zeros((len(of_classes), len(of_vectors)))
        value, at_zero = slope(c)
        rest, direction, size = -at_zero, np.zeros_like(c), 1.0
        for _ in range(_MOST_ITERATIONS):
            step = of_classes @ rest @ of_vectors
            before, size = size, float(np.sum(rest * step))
            if not size > 2 * _CLOSE * value:
                break
            direction = step + size / before * direction
            bent = slope(direction)[1] - at_zero
            curvature = float(np.sum(direction * bent))
            if not curvature > 0:
                break
            length = size / curvature
            c += length * direction
            rest -= length * bent
            value -= length * size / 2
    solved = made(c)
    return ReducedSet(vectors, solved.coef, solved.rho, solved.sizes, metric)


def _preconditioner(target: Target, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The pseudo-inverse of L, ``(k, k)``, and the inverse of G, ``(m + 1, m + 1)``."""
    k, m, weight = target.values.shape[1] + 1, len(vectors), target.weight
    edges = np.zeros((k, k))
    for w in np.unique(target.winner):
        edges[w, np.arange(k) != w] = weight[target.winner == w].sum(axis=0)
    edges += edges.T
    laplacian = np.diag(edges.sum(axis=1)) - edges
    gram, of_rows = np.zeros((m + 1, m + 1)), weight.sum(axis=1)
    for at in range(0, len(target), target.block):
        few = slice(at, at + target.block)
        phi = np.full((len(of_rows[few]), m + 1), -1.0)
        phi[:, :-1] = target.kernel.matrix(target.rows[few].to_dense(target.n_columns), vectors)
        gram += phi.T @ (phi * of_rows[few, None])
    if not np.isfinite(gram).all():
        raise NotFiniteError("a system of equations has coefficients that are not finite")
    values, axes = symmetric_eigen(gram / (of_rows.sum() or 1.0))
    inverse = (axes / np.maximum(values, _RIDGE * (values.mean() or 1.0))) @ axes.T
    return np.linalg.pinv(laplacian, hermitian=True), inverse
