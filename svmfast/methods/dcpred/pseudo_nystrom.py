"""The Nystrom approximation extended by pseudo landmarks, and linear models on its features.

Hsieh, Si and Dhillon, "Fast Prediction for Large-Scale Kernel Machines", section 4. With c(x) the kernel
values of the landmarks and the pseudo landmarks, G ~ C W C^T. For a sampled block I of rows,

    W = pinv(C_I) G_II pinv(C_I)^T,

clipped to be positive semidefinite. Training with that kernel means training a linear model on c(x) W^(1/2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmfast.kernels import Kernel
from svmfast.methods.dcpred.cell_fit import CellExpansion
from svmfast.rows import FloatArray
from svmfast.solvers.nystrom import EIGENVALUE_CUTOFF
from svmfast.solvers.squared_hinge import solve_squared_hinge

IntArray = NDArray[np.int64]

#: Number of rows on which W is estimated, in addition to four per landmark.
BLOCK_ROWS = 400
#: Singular values below this share of the largest count as zero in pinv, since the block is only a sample.
_PINV_CUTOFF = 1e-6


def sample_pairs(vectors: FloatArray, gamma: float, count: int, rng: np.random.Generator) -> IntArray:
    """Return up to `count` distinct degree-2 monomials c_i c_j, i <= j, ``(q, 2)``.

    c_i c_j = K(u_i, u_j)^(1/2) exp(-2 gamma ||x - (u_i + u_j)/2||^2). A product is a narrower kernel centered
    between two landmarks, and its height decreases with their distance. Pairs are drawn with probabilities
    proportional to the height.
    """
    m = len(vectors)
    i, j = np.triu_indices(m)
    if count <= 0 or m == 0:
        return np.zeros((0, 2), dtype=np.int64)
    height = 0.5 * np.log(np.maximum(Kernel("rbf", gamma).matrix(vectors, vectors)[i, j], 1e-300))
    # Taking the largest log-weights plus Gumbel noise draws without replacement.
    drawn = np.argsort(-(height + rng.gumbel(size=len(height))), kind="stable")[:count]
    drawn.sort()
    return np.ascontiguousarray(np.stack([i[drawn], j[drawn]], axis=1).astype(np.int64))


def cell_features(x: FloatArray, at: CellExpansion) -> FloatArray:
    """Return c(x), ``(n, m + q)``, for training."""
    values = Kernel("rbf", at.gamma).matrix(x, at.vectors)
    if len(at.pairs):
        return np.hstack([values, values[:, at.pairs[:, 0]] * values[:, at.pairs[:, 1]]])
    if len(at.distances):
        r = np.sqrt(-np.log(np.maximum(values, 1e-300)) / at.gamma)
        bound = np.stack([np.abs(r - v).max(axis=1) for v in at.distances], axis=1)
        return np.hstack([values, np.exp(-at.gamma * bound * bound)])
    return values


def feature_root(x: FloatArray, features: FloatArray, gamma: float, rng: np.random.Generator) -> FloatArray:
    """Return R with W = R R^T, ``(m + q, r)``, from a block of the rows."""
    n, width = features.shape
    size = min(n, BLOCK_ROWS + 4 * width)
    block = np.sort(rng.choice(n, size, replace=False)) if size < n else np.arange(n)
    inverse = np.linalg.pinv(features[block], rcond=_PINV_CUTOFF)
    middle = inverse @ Kernel("rbf", gamma).matrix(x[block], x[block]) @ inverse.T
    values, vectors = np.linalg.eigh((middle + middle.T) / 2)
    kept = values > EIGENVALUE_CUTOFF * max(float(values[-1]), 0.0)
    root: FloatArray = vectors[:, kept] * np.sqrt(values[kept])
    return root


def penalty_root(at: CellExpansion) -> FloatArray:
    """Return R, ``(m + q, r)``, with R R^T the inverse of the penalty in ``cell_fit``.

    It is used for landmarks that are optimized together with their products: where that penalty is large, the
    initial coefficients must be small.
    """
    m, q = at.landmarks, len(at.pairs)
    values, vectors = np.linalg.eigh(Kernel("rbf", at.gamma).matrix(at.vectors, at.vectors))
    kept = values > EIGENVALUE_CUTOFF * max(float(values[-1]), 0.0)
    root = np.zeros((m + q, int(kept.sum()) + q))
    root[:m, : root.shape[1] - q] = vectors[:, kept] / np.sqrt(values[kept])
    root[m:, root.shape[1] - q :] = np.eye(q)
    return root


def solve_linear(
    features: FloatArray,
    root: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    cost: float,
    loss: str,
) -> tuple[FloatArray, FloatArray]:
    """Train a linear model on `features` times `root`; return the features' coefficients and the offsets.

        min 1/2 ||w||^2 + C sum_i weights_i loss(y_i, phi_i . w - rho),   coef = root w

    `features` are ``(n, m + q)``, `root` ``(m + q, r)``, the coefficients ``(p, m + q)``.
    """
    phi = features @ root
    if loss == "squares":
        mean = weights @ targets / weights.sum()
        center = weights @ phi / weights.sum()
        left = (phi - center) * weights[:, None]
        system = left.T @ (phi - center)
        system[np.diag_indices_from(system)] += 1 / (2 * cost)
        w = np.linalg.solve(system, left.T @ (targets - mean))
        return np.ascontiguousarray((root @ w).T), center @ w - mean
    phi = np.hstack([phi, np.ones((len(phi), 1))])
    found = solve_squared_hinge(
        lambda w: np.asarray(phi @ w),
        lambda v: np.asarray(phi.T @ v),
        targets,
        cost,
        np.einsum("i,ij,ij->j", weights, phi, phi),
        weights=weights,
        tolerance=1e-2,
    )
    return np.ascontiguousarray((root @ found[:-1]).T), -found[-1]
