"""Coefficients for fixed support vectors: Newton's method on the squared hinge loss in the primal.

Budgeted SGD finds good vectors but noisy coefficients, because the step size 1/(lambda t) is still large
after n C steps. With the vectors u_1..u_B fixed, the problem is small, smooth and convex:

    min over theta, b of  lambda/2 theta^T K theta + 1/n sum_i w_i/2 max(0, 1 - y_i f(x_i))^2
    f(x) = sum_j theta_j K(u_j, x) + b          (regression: max(0, |f(x_i) - y_i| - epsilon)^2)

Chapelle, "Training a Support Vector Machine in the Primal" (Neural Computation 19, 2007); reduced bases:
Keerthi, Chapelle and DeCoste, "Building Support Vector Machines with Reduced Classifier Complexity" (JMLR 7,
2006). Sums and the linear solver are native; the order of summation does not depend on the number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.methods.budget.sgd import LOSSES, BudgetExpansion, StepOptions, TrainingBlock
from svmfast.rows import FloatArray
from svmfast.solvers.ridge import solve_with_ridge

#: Newton's method stops when the objective decreases by less than this share.
TOLERANCE = 1e-6
MAX_ITERATIONS = 30
_SHORTEST_STEP = 2.0**-12

#: Yields the training rows in blocks, each with the order in which to visit its rows.
Blocks = Callable[[], Iterable[tuple[TrainingBlock, NDArray[np.int64]]]]


@dataclass(frozen=True)
class RefitReport:
    """The report of a refit.

    Attributes
    ----------
    iterations, passes : int
        Newton steps, and passes over the rows.
    objective_before, objective : float
        Objective of the smooth problem above, at the start and at the end.
    seconds : float
    """

    iterations: int
    passes: int
    objective_before: float
    objective: float
    seconds: float


class Refit:
    """A refit in progress. The caller passes the rows, so that several refits can share a pass over them.

    Until :attr:`done` is true, pass every training row to :meth:`add`, always in the same order, and then
    call :meth:`advance`.

    Parameters
    ----------
    start : BudgetExpansion
        Vectors and initial coefficients.
    count : int
        Number of training rows n.
    options : StepOptions
        Gives gamma, lambda, loss, epsilon and weights.
    bias : bool
        Fit a bias, which is not regularized; otherwise the bias is 0.
    """

    def __init__(
        self, start: BudgetExpansion, count: int, options: StepOptions, *, bias: bool = True
    ) -> None:
        self._vectors, self._count, self._bias = np.ascontiguousarray(start.vectors), count, bias
        m = len(start.coef)
        self._size = m + bias
        self._native = _core.Refit(
            self._vectors, options.gamma, LOSSES[options.loss], options.epsilon, *options.weights, bias
        )
        self._penalty = np.zeros((self._size, self._size))
        self._penalty[:m, :m] = options.lambda_ * self._native.gram()
        self._theta = np.append(start.coef, start.bias) if bias else start.coef.copy()
        self._point: _Point | None = None
        self._step, self._length = np.zeros(self._size), 0.0
        self._objective_before = 0.0
        self._iterations = self._passes = 0
        self._converged = self.done = False
        self._seconds = 0.0
        self._restart()

    def add(self, block: TrainingBlock, order: NDArray[np.int64], threads: int = 1) -> None:
        """Add the rows of a block with the numbers ``order``."""
        begin = time.perf_counter()
        indptr, indices, values, norms, targets = block.arrays()
        trial = self._theta + self._length * self._step
        loss, _, gradient, hessian = self._native.sums(
            indptr, indices, values, norms, targets, order, trial, True, threads
        )
        self._loss += loss
        self._gradient += gradient
        self._hessian += hessian
        self._seconds += time.perf_counter() - begin

    def advance(self) -> None:
        """After all rows were added, accept the trial or shorten the step, and choose the next trial."""
        begin = time.perf_counter()
        self._passes += 1
        trial = self._theta + self._length * self._step
        pull = _product(self._penalty, trial)
        value = self._loss / self._count + 0.5 * float(np.sum(pull * trial))
        point = _Point(
            value, self._gradient / self._count + pull, self._hessian / self._count + self._penalty
        )
        if self._point is None:
            self._objective_before = value
            self._go_from(point)
        elif value <= self._point.value:
            self._iterations += 1
            self._theta = trial
            self._converged = self._point.value - value <= TOLERANCE * self._point.value
            self._go_from(point)
        elif self._length > _SHORTEST_STEP:
            self._length /= 2
        else:
            self._converged = self.done = True  # what remains is rounding error
        self._restart()
        self._seconds += time.perf_counter() - begin

    def _go_from(self, point: _Point) -> None:
        self._point = point
        self.done = self._converged or self._iterations == MAX_ITERATIONS
        if not self.done:
            # Nearly equal vectors make the Hessian singular. If no row is active and lambda is nearly 0, both
            # the Hessian and the gradient are 0.
            self._step, self._length = solve_with_ridge(point.hessian, -point.gradient, _cholesky), 1.0

    def _restart(self) -> None:
        self._loss = 0.0
        self._gradient, self._hessian = np.zeros(self._size), np.zeros((self._size, self._size))

    def result(self) -> tuple[BudgetExpansion, RefitReport]:
        """Return the expansion with the coefficients found, and a report."""
        assert self._point is not None
        m = self._size - self._bias
        fitted = BudgetExpansion(
            self._vectors, self._theta[:m].copy(), float(self._theta[m]) if self._bias else 0.0
        )
        return fitted, RefitReport(
            self._iterations,
            self._passes,
            self._objective_before,
            self._point.value,
            self._seconds,
        )


@dataclass(frozen=True, eq=False)
class _Point:
    value: float
    gradient: FloatArray
    hessian: FloatArray


def refit(
    start: BudgetExpansion,
    blocks: Blocks,
    count: int,
    options: StepOptions,
    *,
    bias: bool = True,
    threads: int = 1,
) -> tuple[BudgetExpansion, RefitReport]:
    """Find the best coefficients for the vectors of `start`.

    Parameters
    ----------
    start, count, options, bias
        As for :class:`Refit`.
    blocks : callable
        Each call yields all training rows, always in the same order.
    threads : int

    Returns
    -------
    BudgetExpansion, RefitReport
    """
    fit = Refit(start, count, options, bias=bias)
    while not fit.done:
        for block, order in blocks():
            fit.add(block, order, threads)
        fit.advance()
    return fit.result()


def _product(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    # Not "@", because the order in which BLAS sums may depend on the number of cores.
    result: FloatArray = np.sum(matrix * vector, axis=1)
    return result


def _cholesky(matrix: FloatArray, right: FloatArray) -> FloatArray | None:
    found: FloatArray = _core.solve_symmetric(matrix, right)
    return found if len(found) == len(right) else None
