"""Training of a leaf of DC-Pred++: local model, landmarks and pseudo landmarks, linear model, optimization.

Hsieh, Si and Dhillon, "Fast Prediction for Large-Scale Kernel Machines", section 4. With c(x) the kernel
values of the landmarks and the pseudo landmarks, G ~ C W C^T. For a sampled block I of rows,

    W = pinv(C_I) G_II pinv(C_I)^T,

clipped to be positive semidefinite. Training with that kernel means training a linear model on c(x) W^(1/2).

The paper stops at k-means centroids. Here landmarks, coefficients, offsets and width are then optimized by

    E = 1/2 sum_p (coef_p^T K(U, U) coef_p + ||pseudo_p||^2) + C sum_i w_i loss(y_i, f(x_i))
    f_p(x) = sum_j coef_pj K(u_j, x) + sum_t pseudo_pt K(u_i(t), x) K(u_j(t), x) - rho_p

with the squared hinge or the squared residual: the second stage of compress (Xu et al., equation 10) with
the training loss. Sums over rows are native and do not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from svmfast import _core
from svmfast.kernels import NATIVE_KINDS, Kernel
from svmfast.methods.common.problem import class_weights_of
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.train.training import TrainOptions, train
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.solvers.kernel_clusters import k_means
from svmfast.solvers.nystrom import EIGENVALUE_CUTOFF
from svmfast.solvers.squared_hinge import solve_squared_hinge


@dataclass(frozen=True, eq=False)
class CellExpansion:
    #: (m, d)
    vectors: FloatArray
    gamma: float
    #: (p, m + q), pseudo landmarks last.
    coef: FloatArray
    #: (p,)
    rho: FloatArray
    #: (q, 2) pairs of landmarks whose kernel values are multiplied.
    pairs: IntArray
    #: (q, m) distances of the pseudo landmarks from the landmarks, in place of `pairs`.
    distances: FloatArray

    @property
    def landmarks(self) -> int:
        return len(self.vectors)


class CellProblem:
    """The n rows of one cell with ``(n, p)`` targets and weights >= 0; squared hinge loss, or squares."""

    def __init__(self, x: FloatArray, targets: FloatArray, weights: FloatArray, hinge: bool) -> None:
        # The native objective has a factor 1/2 that the loss has not.
        each = np.repeat(2 * weights[:, None], targets.shape[1], axis=1)
        rows, of, targets = Rows.from_dense(x), np.zeros(len(x), np.int64), np.ascontiguousarray(targets)
        rbf = NATIVE_KINDS["rbf"]
        self._native = _core.ReducedSetObjective(rbf, 0.0, 0, hinge, rows, x.shape[1], of, targets, each)

    def objective(
        self, at: CellExpansion, cost: float, threads: int = 1
    ) -> tuple[float, FloatArray, FloatArray, FloatArray, float]:
        """Compute E and its gradients with respect to vectors, coefficients, offsets and gamma."""
        value, by_vectors, by_coef, by_rho, by_gamma, _ = self._native.evaluate(
            at.vectors, at.coef, at.rho, np.array([at.landmarks]), at.gamma, at.pairs, False, threads
        )
        by_vectors *= cost
        by_coef *= cost
        m, u, g = at.landmarks, at.vectors, at.gamma
        own = at.coef[:, :m]
        dot = u @ u.T
        squares = np.diag(dot)
        distance = np.maximum(squares[:, None] + squares - 2 * dot, 0)
        gram = np.exp(-g * distance)
        pulled = own @ gram
        penalty = np.sum(pulled * own) + np.sum(at.coef[:, m:] ** 2)
        by_coef[:, :m] += pulled
        by_coef[:, m:] += at.coef[:, m:]
        joint = (own.T @ own) * gram
        by_vectors -= 2 * g * (joint.sum(axis=1)[:, None] * u - joint @ u)
        by_gamma = cost * by_gamma - 0.5 * float(np.sum(joint * distance))
        return cost * value + 0.5 * float(penalty), by_vectors, by_coef, cost * by_rho, by_gamma


#: Bound on the change of the logarithm of the width.
_FARTHEST = 3.0
#: Eigenvalues of K(U, U) below this share of the largest are raised to it.
_FLOOR = 1e-6


def _whitening(at: CellExpansion) -> tuple[FloatArray, FloatArray]:
    """Compute the symmetric square root of the inverse of K(U, U), and the inverse of that root."""
    squares = (at.vectors**2).sum(axis=1)
    distance = np.maximum(squares[:, None] + squares - 2 * at.vectors @ at.vectors.T, 0)
    values, vectors = np.linalg.eigh(np.exp(-at.gamma * distance))
    values = np.sqrt(np.maximum(values, _FLOOR * values[-1]))
    return (vectors / values) @ vectors.T, (vectors * values) @ vectors.T


def move_landmarks(
    problem: CellProblem, start: CellExpansion, cost: float, iterations: int, *, threads: int = 1
) -> CellExpansion:
    """Optimize all parameters by L-BFGS; `start` has no `distances`, since these have no useful gradient."""
    from scipy.optimize import minimize

    m, d = start.vectors.shape
    p, width = start.coef.shape
    if iterations <= 0 or m * d == 0:  # without features all rows equal the landmark
        return start
    # Variables are scaled so that unit steps change E by similar amounts. Vectors are in units of the
    # kernel's width. Coefficients are weights of features that are orthonormal in the kernel's space at the
    # start. All landmarks depend on the width, so it changes more slowly: otherwise it would dominate the
    # first step.
    unit = 1 / np.sqrt(2 * start.gamma)
    slow = 1 / np.sqrt(m * d)
    ends = (m * d, m * d + p * width)
    root, inverse = _whitening(start)

    def mixed(coef: FloatArray, by: FloatArray) -> FloatArray:
        return np.hstack([coef[:, :m] @ by, coef[:, m:]])

    def unpack(z: FloatArray) -> CellExpansion:
        return replace(
            start,
            vectors=np.multiply(z[: ends[0]].reshape(m, d), unit),
            gamma=start.gamma * float(np.exp(_FARTHEST * np.tanh(slow * z[-1] / _FARTHEST))),
            coef=mixed(z[ends[0] : ends[1]].reshape(p, width), root),
            rho=z[ends[1] : -1],
        )

    unit_of_value = 0.0  # the first value: L-BFGS-B's tolerance is absolute below 1

    def fun(z: FloatArray) -> tuple[float, FloatArray]:
        nonlocal unit_of_value
        at = unpack(z)
        value, by_vectors, by_coef, by_rho, by_gamma = problem.objective(at, cost, threads)
        unit_of_value = unit_of_value or value or 1.0
        by_vectors *= unit
        by_weights = mixed(by_coef, root)
        by_width = slow * by_gamma * at.gamma * (1 - np.tanh(slow * z[-1] / _FARTHEST) ** 2)
        by = np.concatenate([by_vectors.ravel(), by_weights.ravel(), by_rho, [by_width]])
        return value / unit_of_value, by / unit_of_value

    weights = mixed(start.coef, inverse)
    z0 = np.concatenate([start.vectors.ravel() / unit, weights.ravel(), start.rho, [0.0]])
    limits = {"maxiter": iterations, "maxfun": 3 * iterations + 20}
    with np.errstate(over="ignore", invalid="ignore"):  # the line search shortens the step
        result = minimize(
            fun, z0, jac=True, method="L-BFGS-B", options={"maxcor": 20, "ftol": 1e-9, "gtol": 0.0, **limits}
        )
    if not result.fun < 1:  # no step helps
        return start
    moved = unpack(result.x)
    # Not parts of the minimizer's array.
    return replace(moved, vectors=moved.vectors.copy(), coef=moved.coef.copy(), rho=moved.rho.copy())


#: The most rows for training the local model, which only gives weights for k-means.
LOCAL_ROWS = 2000
_CACHE_MEGABYTES = 40.0
#: Number of rows on which W is estimated, in addition to four per landmark.
BLOCK_ROWS = 400
#: Singular values below this share of the largest count as zero in pinv, since the block is only a sample.
_PINV_CUTOFF = 1e-6
#: The smallest weight, relative to the largest: points of weight 0 would not count for k-means.
_LEAST_WEIGHT = 1e-6


@dataclass(frozen=True, eq=False)
class LeafRows:
    """The n rows of a leaf, followed by nearby rows of other leaves."""

    x: FloatArray
    #: (n, p) targets of the functions that are not constant in the leaf.
    targets: FloatArray
    #: Whether the targets are classes.
    hinge: bool
    #: (n,) weight of each row in this leaf.
    nearness: FloatArray
    #: (n,) weights of the rows' classes.
    class_weights: FloatArray | None
    #: Number of the leaf's own rows.
    own: int
    #: Vectors of an exact model and their squared coefficients, in place of a local model.
    given: tuple[FloatArray, FloatArray] | None = None

    @property
    def weights(self) -> FloatArray:
        return self.nearness if self.class_weights is None else self.nearness * self.class_weights


def train_leaf(
    rows: LeafRows, options: DcpredOptions, gamma: float, cost: float, seed: tuple[int, int], threads: int
) -> CellExpansion:
    """Algorithm 1 of the paper, then L-BFGS on the landmarks; triangle pseudo landmarks are added last."""
    rng = np.random.default_rng(seed)
    p, iterations = rows.targets.shape[1], options.iterations
    points, worth = _candidates(rows, options, gamma, cost, rng)
    count = min(options.landmarks, max(1, rows.own // 2))
    vectors = weighted_centroids(points, count, worth, int(rng.integers(2**31)))
    pairs = np.zeros((0, 2), dtype=np.int64)
    width = _wide_enough(rows.x, vectors, gamma) if iterations else gamma
    if options.pseudo == "poly":
        pairs = sample_pairs(vectors, width, options.pseudo_count, rng)
    coef, none = np.zeros((p, len(vectors) + len(pairs))), np.zeros((0, len(vectors)))
    cell = CellExpansion(vectors, width, coef, np.zeros(p), pairs, none)
    cell = _with_coefficients(cell, rows, cost, iterations, rng)
    if iterations:
        problem = CellProblem(rows.x, rows.targets, rows.weights, rows.hinge)
        cell = move_landmarks(problem, cell, cost, iterations, threads=threads)
    if options.pseudo == "triangle":
        chosen = points[rng.permutation(len(points))[: options.pseudo_count]]
        squares = (chosen**2).sum(axis=1)[:, None] + (cell.vectors**2).sum(axis=1)
        distances = np.sqrt(np.maximum(squares - 2 * chosen @ cell.vectors.T, 0))
        cell = _with_coefficients(replace(cell, distances=distances), rows, cost, iterations, rng)
    return cell


def _wide_enough(x: FloatArray, vectors: FloatArray, gamma: float) -> float:
    """Keep gamma, or choose a smaller value if the landmarks are far from the rows.

    Rows whose kernel values are all nearly zero have no gradient, and the width would diverge. With the
    returned gamma, the kernel value at the mean squared distance from the nearest landmark is at least 1/e.
    """
    squares = (vectors**2).sum(axis=1)
    nearest = 0.0
    for start in range(0, len(x), LOCAL_ROWS):
        part = x[start : start + LOCAL_ROWS]
        distance = (squares - 2 * part @ vectors.T).min(axis=1) + (part**2).sum(axis=1)
        nearest += float(np.maximum(distance, 0).sum())
    return gamma if gamma * nearest <= len(x) else len(x) / nearest


def _with_coefficients(
    cell: CellExpansion, rows: LeafRows, cost: float, iterations: int, rng: np.random.Generator
) -> CellExpansion:
    features = cell_features(rows.x, cell)
    if iterations and len(cell.pairs):
        root = penalty_root(cell)
    else:
        root = feature_root(rows.x, features, cell.gamma, rng)
    coef, rho = solve_linear(features, root, rows.targets, rows.weights, cost, rows.hinge)
    return replace(cell, coef=coef, rho=rho)


def _candidates(
    rows: LeafRows, options: DcpredOptions, gamma: float, cost: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray | None]:
    """Choose the points from which k-means computes landmarks, and their weights."""
    x = rows.x
    if options.kmeans == "plain":
        return x, None
    if rows.given is not None and len(rows.given[0]) >= 2 * options.landmarks:
        return rows.given
    chosen = np.arange(len(x))
    if len(x) > LOCAL_ROWS:
        chosen = np.sort(rng.choice(len(x), LOCAL_ROWS, replace=False))
    x, targets = x[chosen], rows.targets[chosen]
    if not rows.hinge:
        gram = Kernel("rbf", gamma).matrix(x, x)
        gram[np.diag_indices_from(gram)] += 1 / (2 * cost)
        alpha = np.linalg.solve(gram, targets - targets.mean(axis=0))
        return x, (alpha * alpha).sum(axis=1)
    which = (targets[:, 0] > 0).astype(np.int64) if targets.shape[1] == 1 else targets.argmax(axis=1)
    of_class = class_weights_of(which, None if rows.class_weights is None else rows.class_weights[chosen])
    how = TrainOptions(gamma=gamma, C=cost, eps=0.01, cache_size=_CACHE_MEGABYTES, weights=of_class)
    local = train(Rows.from_dense(x), which, how)
    vectors, worth = local.sv.to_dense(x.shape[1]), (local.sv_coef**2).sum(axis=0)
    if len(vectors) >= 2 * options.landmarks:
        return vectors, worth
    return np.vstack([vectors, x]), np.concatenate([worth, np.zeros(len(x))])


def weighted_centroids(x: FloatArray, count: int, weights: FloatArray | None, seed: int) -> FloatArray:
    """Compute up to `count` landmarks, the k-means centroids of rows with weights >= 0; None: all equal.

    Theorem 3 of Hsieh, Si and Dhillon: if the weights are the squared coefficients of the model, the k-means
    objective bounds the distance of the Nystrom approximation's solution from the exact one.
    """
    if count >= len(x):
        return np.array(x)
    if count == 0:
        return np.zeros((0, x.shape[1]))
    if weights is not None:
        top = float(weights.max())
        weights = np.maximum(weights, _LEAST_WEIGHT * top) if top > 0 else None
    return k_means(x, count, seed=seed, max_iterations=20, weights=weights)


def sample_pairs(vectors: FloatArray, gamma: float, count: int, rng: np.random.Generator) -> IntArray:
    """Draw up to `count` distinct degree-2 monomials c_i c_j, i <= j, ``(q, 2)``.

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
    """Compute c(x), ``(n, m + q)``, for training."""
    values = Kernel("rbf", at.gamma).matrix(x, at.vectors)
    if len(at.pairs):
        return np.hstack([values, values[:, at.pairs[:, 0]] * values[:, at.pairs[:, 1]]])
    if len(at.distances):
        r = np.sqrt(-np.log(np.maximum(values, 1e-300)) / at.gamma)
        bound = np.stack([np.abs(r - v).max(axis=1) for v in at.distances], axis=1)
        return np.hstack([values, np.exp(-at.gamma * bound * bound)])
    return values


def feature_root(x: FloatArray, features: FloatArray, gamma: float, rng: np.random.Generator) -> FloatArray:
    """Estimate R with W = R R^T, ``(m + q, r)``, from a block of the rows."""
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
    """R with R R^T the inverse of the penalty in E: a large penalty starts small."""
    m, q = at.landmarks, len(at.pairs)
    values, vectors = np.linalg.eigh(Kernel("rbf", at.gamma).matrix(at.vectors, at.vectors))
    kept = values > EIGENVALUE_CUTOFF * max(float(values[-1]), 0.0)
    root = np.zeros((m + q, int(kept.sum()) + q))
    root[:m, : root.shape[1] - q] = vectors[:, kept] / np.sqrt(values[kept])
    root[m:, root.shape[1] - q :] = np.eye(q)
    return root


def solve_linear(
    features: FloatArray, root: FloatArray, targets: FloatArray, weights: FloatArray, cost: float, hinge: bool
) -> tuple[FloatArray, FloatArray]:
    """Train a linear model on `features` times `root`; return the features' coefficients and the offsets.

        min 1/2 ||w||^2 + C sum_i weights_i loss(y_i, phi_i . w - rho),   coef = root w

    `features` are ``(n, m + q)``, `root` ``(m + q, r)``, the coefficients ``(p, m + q)``.
    """
    phi = features @ root
    if not hinge:
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
