"""Coefficients for fixed support vectors: Newton's method on the squared hinge, in the primal.

The vectors that budgeted SGD leaves are good, its coefficients are noisy: the step size 1/(lambda t) is still
large after n C steps. With the vectors u_1..u_B fixed the problem is small, smooth and convex:

    min over theta, b of  lambda/2 theta^T K theta + 1/n sum_i w_i/2 max(0, 1 - y_i f(x_i))^2
    f(x) = sum_j theta_j K(u_j, x) + b          (regression: max(0, |f(x_i) - y_i| - epsilon)^2)

Chapelle, "Training a Support Vector Machine in the Primal" (Neural Computation 19, 2007); reduced bases:
Keerthi, Chapelle and DeCoste, "Building Support Vector Machines with Reduced Classifier Complexity" (JMLR 7,
2006). Sums and the linear solve are native, in one order for any number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.rows import FloatArray
from svmfast.solvers.budgeted_sgd import LOSSES, BudgetExpansion, StepOptions, TrainingBlock

#: Newton stops when the objective falls by less than this share of itself.
TOLERANCE = 1e-6
MAX_ITERATIONS = 30
_SHORTEST_STEP = 2.0**-12
#: Added to the Hessian's diagonal, times its mean: nearly equal vectors make it singular.
_RIDGE = 1e-12

#: Yields the training rows block by block, each with the order in which to take them.
Blocks = Callable[[], Iterable[tuple[TrainingBlock, NDArray[np.int64]]]]


@dataclass(frozen=True)
class RefitReport:
    """How a refit went.

    Attributes
    ----------
    iterations, passes : int
        Newton steps; how often all rows were read.
    objective_before, objective : float
        Of the smooth problem above, at the start and at the end.
    converged : bool
    seconds : float
    """

    iterations: int
    passes: int
    objective_before: float
    objective: float
    converged: bool
    seconds: float


def refit(
    start: BudgetExpansion,
    blocks: Blocks,
    count: int,
    options: StepOptions,
    *,
    bias: bool = True,
    threads: int = 1,
) -> tuple[BudgetExpansion, RefitReport]:
    """Return the best coefficients for the vectors of `start`.

    Parameters
    ----------
    start : BudgetExpansion
        Vectors, and the coefficients to begin with.
    blocks : callable
        Gives all training rows anew at each call, always in the same order.
    count : int
        Their number n.
    options : StepOptions
        Gamma, lambda, loss, epsilon and weights are taken from it.
    bias : bool
        Fit a bias, which is not regularised; without it the bias stays 0.
    threads : int

    Returns
    -------
    BudgetExpansion, RefitReport
    """
    begin = time.perf_counter()
    m = len(start.coef)
    native = _core.Refit(
        np.ascontiguousarray(start.vectors),
        options.gamma,
        LOSSES[options.loss],
        options.epsilon,
        *options.weights,
        bias,
    )
    penalty = np.zeros((m + bias, m + bias))
    penalty[:m, :m] = options.lambda_ * native.gram()
    passes = 0

    def evaluate(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        nonlocal passes
        passes += 1
        loss, gradient, hessian = 0.0, np.zeros(m + bias), np.zeros((m + bias, m + bias))
        for block, order in blocks():
            part, _, slope, curvature = native.sums(*block.arrays(), order, theta, True, threads)
            loss += part
            gradient += slope
            hessian += curvature
        # Not "@": BLAS may sum in another order on a machine with another number of cores.
        pull = _product(penalty, theta)
        value = loss / count + 0.5 * float(np.sum(pull * theta))
        return value, gradient / count + pull, hessian / count + penalty

    theta = np.append(start.coef, start.bias) if bias else start.coef.copy()
    value, gradient, hessian = evaluate(theta)
    before, iterations, converged = value, 0, False
    while not converged and iterations < MAX_ITERATIONS:
        step = _newton_step(hessian, gradient)
        length = 1.0
        trial = evaluate(theta + step)
        while not trial[0] <= value and length > _SHORTEST_STEP:
            length /= 2
            trial = evaluate(theta + length * step)
        if not trial[0] <= value:
            converged = True  # rounding is all that is left to gain
            break
        iterations += 1
        theta = theta + length * step
        converged = value - trial[0] <= TOLERANCE * value
        value, gradient, hessian = trial
    fitted = BudgetExpansion(start.vectors, theta[:m].copy(), float(theta[m]) if bias else 0.0)
    seconds = time.perf_counter() - begin
    return fitted, RefitReport(iterations, passes, before, value, converged, seconds)


def _product(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    result: FloatArray = np.sum(matrix * vector, axis=1)
    return result


def _newton_step(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    """Solve hessian step = -gradient with as little ridge as makes the Hessian positive definite."""
    n = len(gradient)
    mean = float(np.trace(hessian)) / n if n else 0.0
    ridge = _RIDGE
    while True:
        step = _core.solve_symmetric(hessian + ridge * mean * np.eye(n), -gradient)
        if len(step) == n:
            return step
        ridge *= 100
