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


@dataclass(frozen=True, eq=False)
class _Point:
    value: float
    gradient: FloatArray
    hessian: FloatArray


class Refit:
    """A refit in progress. The caller passes the rows, so that several refits can share a pass over them.

    Until :attr:`done` is true, pass every training row to :meth:`add`, always in the same order, and then
    call :meth:`advance`. `start` has the vectors and initial coefficients, `count` is the number of training
    rows n. A bias is fitted without regularization, or it is 0.
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
        #: The objective of the smooth problem above, at the start and at the end.
        self.objective_before = self.objective = 0.0
        #: Newton steps, and the time spent.
        self.iterations, self.seconds = 0, 0.0
        self.done = False
        self._restart()

    def add(self, block: TrainingBlock, order: NDArray[np.int64], threads: int = 1) -> None:
        """Add the rows of a block with the numbers ``order``."""
        begin = time.perf_counter()
        trial = self._theta + self._length * self._step
        loss, _, gradient, hessian = self._native.sums(*block.arrays(), order, trial, True, threads)
        self._loss += loss
        self._gradient += gradient
        self._hessian += hessian
        self.seconds += time.perf_counter() - begin

    def advance(self) -> None:
        """After all rows were added, accept the trial or shorten the step, and choose the next trial."""
        begin = time.perf_counter()
        trial = self._theta + self._length * self._step
        # Not "@", because the order in which BLAS sums may depend on the number of cores.
        pull = np.sum(self._penalty * trial, axis=1)
        value = self._loss / self._count + 0.5 * float(np.sum(pull * trial))
        point = _Point(
            value, self._gradient / self._count + pull, self._hessian / self._count + self._penalty
        )
        if self._point is None:
            self.objective_before = value
            self._go_from(point)
        elif value <= self._point.value:
            self.iterations += 1
            self._theta = trial
            self.done = self._point.value - value <= TOLERANCE * self._point.value
            self._go_from(point)
        elif self._length > _SHORTEST_STEP:
            self._length /= 2
        else:
            self.done = True  # what remains is rounding error
        self._restart()
        self.seconds += time.perf_counter() - begin

    def _go_from(self, point: _Point) -> None:
        self._point, self.objective = point, point.value
        self.done = self.done or self.iterations == MAX_ITERATIONS
        if not self.done:
            # Nearly equal vectors make the Hessian singular. If no row is active and lambda is nearly 0, both
            # the Hessian and the gradient are 0.
            self._step, self._length = solve_with_ridge(point.hessian, -point.gradient, _cholesky), 1.0

    def _restart(self) -> None:
        self._loss = 0.0
        self._gradient, self._hessian = np.zeros(self._size), np.zeros((self._size, self._size))

    def expansion(self) -> BudgetExpansion:
        """The vectors with the coefficients found."""
        m = self._size - self._bias
        bias = float(self._theta[m]) if self._bias else 0.0
        return BudgetExpansion(self._vectors, self._theta[:m].copy(), bias)


def _cholesky(matrix: FloatArray, right: FloatArray) -> FloatArray | None:
    found: FloatArray = _core.solve_symmetric(matrix, right)
    return found if len(found) == len(right) else None
