"""The optimization of one cell's expansion: landmarks, coefficients, offsets and width, by gradient descent.

    E = 1/2 sum_p (coef_p^T K(U, U) coef_p + ||pseudo_p||^2) + C sum_i w_i loss(y_i, f(x_i))
    f_p(x) = sum_j coef_pj K(u_j, x) + sum_t pseudo_pt K(u_i(t), x) K(u_j(t), x) - rho_p

The loss is the squared hinge or the squared residual. This is the second stage of compress (Xu et al.,
Compressed Support Vector Machines, equation 10) in a cell of a routed model, but with the training loss in
place of the distance from an exact model; the DC-Pred++ paper stops at k-means centroids. Sums over rows are
native and do not depend on the number of threads; the minimizer is SciPy's L-BFGS-B.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.rows import FloatArray

IntArray = NDArray[np.int64]


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
        x, targets, weights = (np.ascontiguousarray(one) for one in (x, targets, weights))
        self._native = _core.CellFit(x, targets, weights, int(hinge))

    def objective(
        self, at: CellExpansion, cost: float, threads: int = 1
    ) -> tuple[float, FloatArray, FloatArray, FloatArray, float]:
        """Compute E and its gradients with respect to vectors, coefficients, offsets and gamma."""
        value, by_vectors, by_coef, by_rho, by_gamma = self._native.evaluate(
            at.vectors, at.coef, at.rho, at.gamma, at.pairs, threads
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
