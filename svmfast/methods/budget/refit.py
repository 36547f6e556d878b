"""Refits the coefficients of fixed vectors over all training rows, block by block.

Budgeted SGD finds good vectors but noisy coefficients, because the step size 1/(lambda t) is still large
after n C steps. With the vectors u_1..u_B fixed, Newton's method in the primal solves the small problem

    min over theta, b of  lambda/2 theta^T K theta + 1/n sum_i w_i/2 max(0, 1 - y_i f(x_i))^2
    f(x) = sum_j theta_j K(u_j, x) + b          (regression: max(0, |f(x_i) - y_i| - epsilon)^2)

Chapelle, "Training a Support Vector Machine in the Primal" (Neural Computation 19, 2007); reduced bases:
Keerthi, Chapelle and DeCoste, "Building Support Vector Machines with Reduced Classifier Complexity" (JMLR 7,
2006). Loss, gradient and Hessian are sums over fixed blocks of rows (:mod:`svmfast.solvers.row_blocks`), so
that neither threads nor workers change a bit. Kernel values are native, sums and the linear solver NumPy's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmfast import _core
from svmfast.kernels import NEGLIGIBLE
from svmfast.methods.budget.rows import Division
from svmfast.methods.budget.sgd import BudgetExpansion, StepOptions, TrainingBlock
from svmfast.rows import FloatArray, IntArray, Rows
from svmfast.solvers.ridge import solve_with_ridge
from svmfast.solvers.row_blocks import Sums
from svmfast.solvers.training_data import WorkingSet

#: Newton's method stops when the objective decreases by less than this share.
TOLERANCE = 1e-6
MAX_ITERATIONS = 30
_SHORTEST_STEP = 2.0**-12
#: Kernel values that are computed at a time.
_VALUES = 1 << 17


class KernelCache:
    """Keeps kernel values from one pass to the next, up to `room` bytes; a copy for a worker is empty."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._kept: dict[tuple[int, ...], FloatArray] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return KernelCache, (0,)

    def get(self, key: tuple[int, ...]) -> FloatArray | None:
        return self._kept.get(key)

    def keep(self, key: tuple[int, ...], values: FloatArray) -> None:
        if values.nbytes <= self.room:
            self.room -= values.nbytes
            self._kept[key] = values

    def forget(self, name: int) -> None:
        """Free the values of a refit that has ended."""
        for key in [key for key in self._kept if key[0] == name]:
            self.room += self._kept.pop(key).nbytes


@dataclass(frozen=True, eq=False)
class Pulls:
    """The loss of rows and its derivatives, by the coefficients and by the exponents of the kernel values."""

    loss: float
    gradient: FloatArray
    #: The rows that have a loss; (active, m) their derivatives by -gamma |x_i - u_j|^2.
    active: IntArray
    terms: FloatArray


class RefitProblem:
    """The problem of one decision function: the sums over the rows of a block, for any theta.

    `start` has the vectors, `options` the loss. A bias is fitted without regularization, or it is 0. `name`
    distinguishes the problems that share a cache.
    """

    def __init__(
        self, start: BudgetExpansion, options: StepOptions, *, bias: bool = True, name: int = 0
    ) -> None:
        self.vectors, self.options, self.name = np.ascontiguousarray(start.vectors), options, name
        m, columns = self.vectors.shape
        self.bias, self.size = bias, m + bias
        # One column of the vectors after another, padded to whole octets with room for the bias.
        self._basis, self._squares = np.zeros((columns, (m // 8 + 1) * 8)), np.zeros((m // 8 + 1) * 8)
        self._basis[:, :m] = self.vectors.T
        self._squares[:m] = np.einsum("ij,ij->i", self.vectors, self.vectors)

    def penalty(self) -> FloatArray:
        """Lambda K of the vectors, with zeros for the bias."""
        m = len(self.vectors)
        found = np.zeros((self.size, self.size))
        own = TrainingBlock(Rows.from_dense(self.vectors), self._squares[:m], np.zeros(m))
        found[:m, :m] = self.options.lambda_ * self._kernel(own, np.arange(m))[:, :m]
        return found

    def _kernel(self, block: TrainingBlock, order: IntArray) -> FloatArray:
        """Compute the kernel values of rows with all vectors, and a column of 1 for the bias, and padding."""
        m = len(self.vectors)
        values: FloatArray = _core.rbf_rows(
            block.rows, block.norms, order, self._basis, self._squares, self.options.gamma
        )
        values *= values >= NEGLIGIBLE
        values[:, m] = 1
        return values

    def sums(
        self, block: TrainingBlock, order: IntArray, theta: FloatArray, cache: KernelCache, place: int = 0
    ) -> Sums:
        """Sum loss, gradient and Hessian over rows; those with a positive loss are active.

        `place` distinguishes the blocks in the cache.
        """
        loss, gradient, hessian = np.zeros(1), np.zeros(self.size), np.zeros((self.size, self.size))
        step = 1 + _VALUES // (1 + self.size)
        # Of the active rows; memory that is new for every piece takes longer than the copy.
        room = np.empty((min(step, len(order)), self._basis.shape[1]))
        for begin in range(0, len(order), step):
            rows = order[begin : begin + step]
            key, y = (self.name, place, begin), block.targets[rows]
            kernel = cache.get(key)
            if kernel is None:
                kernel = self._kernel(block, rows)
                cache.keep(key, kernel)
            with np.errstate(over="ignore", invalid="ignore"):
                slack, direction, weight = losses(self.options, kernel[:, : self.size] @ theta, y)
                active = np.flatnonzero(slack > 0)
                np.take(kernel, active, axis=0, out=room[: len(active)], mode="clip")
                kernel, slack, weight = room[: len(active), : self.size], slack[active], weight[active]
                weighted = weight * slack
                loss += 0.5 * float(weighted @ slack)
                gradient += (direction[active] * weighted) @ kernel
                if self.options.weights != (1.0, 1.0):
                    kernel *= np.sqrt(weight)[:, None]
                hessian += kernel.T @ kernel
        return [loss, gradient, hessian]

    def pulls(self, block: TrainingBlock, theta: FloatArray, order: IntArray) -> Pulls:
        m = len(self.vectors)
        kernel = self._kernel(block, order)[:, : self.size]
        slack, direction, weight = losses(self.options, kernel @ theta, block.targets[order])
        active = np.flatnonzero(slack > 0)
        kernel, weighted = kernel[active], (weight * slack)[active]
        by_row = direction[active] * weighted
        terms = by_row[:, None] * kernel[:, :m] * theta[:m]
        return Pulls(0.5 * float(weighted @ slack[active]), by_row @ kernel, order[active], terms)


def losses(options: StepOptions, f: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The slack of rows, positive if they have a loss, its derivative by f, and their weights."""
    if options.loss == "hinge":
        return 1 - y * f, -y, np.where(y > 0, options.weights[1], options.weights[0])
    return np.abs(f - y) - options.epsilon, np.where(f > y, 1.0, -1.0), np.ones(len(y))


class Refit:
    """Newton's method for a problem. Until :attr:`done`, pass the sums at :attr:`trial` to :meth:`advance`.

    `count` is the number of training rows n. The coefficients start at zero: those of the descent are so
    large where lambda is small that Newton's method would not return from them.
    """

    def __init__(self, problem: RefitProblem, count: int) -> None:
        self.problem, self._count = problem, count
        self._penalty = problem.penalty()
        self._theta = np.zeros(problem.size)
        #: The objective at theta, once it is known.
        self._value: float | None = None
        self._step, self._length = np.zeros(problem.size), 0.0
        #: Newton steps.
        self.iterations = 0
        self.done = False

    @property
    def trial(self) -> FloatArray:
        """The theta whose sums are wanted."""
        return self._theta + self._length * self._step

    def advance(self, sums: Sums) -> None:
        """Accept the trial or shorten the step, and choose the next trial."""
        trial, (loss, gradient, hessian) = self.trial, sums
        # Not "@", because the order in which BLAS sums may depend on the number of cores.
        pull = np.sum(self._penalty * trial, axis=1)
        value = float(loss[0]) / self._count + 0.5 * float(np.sum(pull * trial))
        if self._value is not None and value > self._value:
            if self._length > _SHORTEST_STEP:
                self._length /= 2
            else:
                self.done = True  # what remains is rounding error
            return
        if self._value is not None:
            self.iterations += 1
            self.done = self._value - value <= TOLERANCE * self._value or self.iterations == MAX_ITERATIONS
        self._theta, self._value = trial, value
        if not self.done:
            # Nearly equal vectors make the Hessian singular. If no row is active and lambda is nearly 0, both
            # the Hessian and the gradient are 0.
            slope, curvature = gradient / self._count + pull, hessian / self._count + self._penalty
            self._step, self._length = solve_with_ridge(curvature, -slope, _cholesky), 1.0

    def state(self) -> dict[str, Any]:
        """What a refit needs to continue."""
        value = np.nan if self._value is None else self._value
        numbers = np.array([value, self._length, self.iterations, self.done], dtype=np.float64)
        return {"theta": self._theta, "step": self._step, "numbers": numbers}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._theta, self._step = state["theta"], state["step"]
        value, self._length, iterations, done = state["numbers"].tolist()
        self._value, self.iterations, self.done = value, int(iterations), bool(done)

    def expansion(self) -> BudgetExpansion:
        m = len(self.problem.vectors)
        bias = float(self._theta[m]) if self.problem.bias else 0.0
        return BudgetExpansion(self.problem.vectors, self._theta[:m].copy(), bias)


def _cholesky(matrix: FloatArray, right: FloatArray) -> FloatArray | None:
    try:
        np.linalg.cholesky(matrix)
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


@dataclass(frozen=True, eq=False)
class Pass:
    """A pass over all rows for several refits, each with its pair of classes: the argument of pass_sums."""

    division: Division
    refits: Sequence[tuple[int, int, RefitProblem, FloatArray]]
    cache: KernelCache


def pass_sums(block: WorkingSet, asked: Pass) -> Sums:
    """The sums of all refits over a block, one after another."""
    codes, norms, found = asked.division.training_codes(block), block.rows.squared_norms(), Sums()
    for first, second, problem, theta in asked.refits:
        mine = np.flatnonzero((codes == first) | (codes == second))
        targets = np.where(codes == first, 1.0, -1.0) if len(asked.division.classes) else block.labels
        rows = TrainingBlock(block.rows, norms, targets)
        found += problem.sums(rows, mine, theta, asked.cache, int(block.numbers[0]))
    return found
