"""The linear SVM with squared hinge loss in the primal, for several problems on the same features at once.

    min_w  1/2 ||w||^2 + C sum_i weight_i max(0, 1 - y_i f_i)^2,   f_i = phi_i . w

It is solved by Newton's method, with conjugate gradients for the step and a backtracking line search (Keerthi
and DeCoste 2005; Lin, Weng and Keerthi 2008). Only products with the feature matrix are needed, so it may
have any structure.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmfast.rows import FloatArray

MAX_NEWTON = 60
MAX_CG = 250
MAX_HALVINGS = 30


def solve_squared_hinge(
    forward: Callable[[FloatArray], FloatArray],
    backward: Callable[[FloatArray], FloatArray],
    targets: FloatArray,
    cost: float,
    squared_features: FloatArray,
    *,
    tolerance: float = 1e-3,
    start: FloatArray | None = None,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return the ``(r, K)`` weights of K problems with the same features.

    `forward` returns Phi @ w, ``(n, K)``, and `backward` Phi^T @ v, ``(r, K)``. The targets ``(n, K)`` are +1
    or -1. `squared_features` are the column sums of Phi^2, with the rows' weights: the diagonal of the
    Hessian if all rows were active, for the preconditioner. The iteration starts at `start` (zero by default)
    and stops when the norm of each problem's gradient is at most `tolerance` times its norm at w = 0.
    """
    n, problems = targets.shape
    costs = np.full((n, 1), cost) if weights is None else cost * weights[:, None]
    w = np.zeros((len(squared_features), problems)) if start is None else start.copy()
    f = forward(w) if start is not None else np.zeros((n, problems))
    first = np.linalg.norm(2 * backward(costs * targets), axis=0)
    first[first == 0] = 1
    for _ in range(MAX_NEWTON):
        slack = np.maximum(0.0, 1 - targets * f)
        gradient = w - backward(2 * costs * targets * slack)
        ratio = np.linalg.norm(gradient, axis=0) / first
        going = np.flatnonzero(ratio > tolerance)
        if not len(going):
            break
        active = (slack[:, going] > 0).astype(np.float64)
        step = _newton_step(forward, backward, gradient[:, going], active, cost, costs, squared_features)
        moved = forward(step)
        slope = np.einsum("ij,ij->j", gradient[:, going], step)
        scale = _line_search(w[:, going], f[:, going], step, moved, targets[:, going], costs, slope)
        w[:, going] += scale * step
        f[:, going] += scale * moved
    return w


def _newton_step(
    forward: Callable[[FloatArray], FloatArray],
    backward: Callable[[FloatArray], FloatArray],
    gradient: FloatArray,
    active: FloatArray,
    cost: float,
    costs: FloatArray,
    squared_features: FloatArray,
) -> FloatArray:
    """Solve (I + 2C Phi_a^T Phi_a) step = -gradient by preconditioned CG, for all columns at once."""
    share = active.mean(axis=0)
    inverse = 1 / (1 + 2 * cost * np.outer(squared_features, share))
    step = np.zeros_like(gradient)
    residual = -gradient
    z = inverse * residual
    direction = z.copy()
    rz = np.einsum("ij,ij->j", residual, z)
    # Loose far from the solution, tight near it (forcing sequence of truncated Newton methods).
    goal = 0.1 * np.sqrt(rz)
    for _ in range(MAX_CG):
        product = direction + backward(2 * costs * active * forward(direction))
        curvature = np.einsum("ij,ij->j", direction, product)
        live = (np.sqrt(rz) > goal) & (curvature > 0)
        if not live.any():
            break
        alpha = np.where(live, rz / np.where(live, curvature, 1), 0)
        step += alpha * direction
        residual = residual - alpha * product
        z = inverse * residual
        rz_next = np.einsum("ij,ij->j", residual, z)
        beta = np.where(live, rz_next / np.where(live, rz, 1), 0)
        direction = z + beta * direction
        rz = np.where(live, rz_next, rz)
    return step


def _line_search(
    w: FloatArray,
    f: FloatArray,
    step: FloatArray,
    moved: FloatArray,
    targets: FloatArray,
    costs: FloatArray,
    slope: FloatArray,
) -> FloatArray:
    """Halve each column's step until its objective decreases sufficiently (Armijo)."""

    def objective(scale: FloatArray) -> FloatArray:
        slack = np.maximum(0.0, 1 - targets * (f + scale * moved))
        new = w + scale * step
        loss = np.einsum("i,ij,ij->j", costs[:, 0], slack, slack)
        value: FloatArray = 0.5 * np.einsum("ij,ij->j", new, new) + loss
        return value

    scale = np.ones(w.shape[1])
    before = objective(np.zeros_like(scale))
    for _ in range(MAX_HALVINGS):
        bad = objective(scale) > before + 1e-4 * scale * slope
        if not bad.any():
            break
        scale[bad] /= 2
    return scale
