"""Turns the machines of a training run into a LIBSVM model, with coefficients refitted for fixed vectors.

Budgeted SGD finds good vectors but noisy coefficients, because the step size 1/(lambda t) is still large
after n C steps. With the vectors u_1..u_B fixed, Newton's method in the primal solves the small problem

    min over theta, b of  lambda/2 theta^T K theta + 1/n sum_i w_i/2 max(0, 1 - y_i f(x_i))^2
    f(x) = sum_j theta_j K(u_j, x) + b          (regression: max(0, |f(x_i) - y_i| - epsilon)^2)

Chapelle, "Training a Support Vector Machine in the Primal" (Neural Computation 19, 2007); reduced bases:
Keerthi, Chapelle and DeCoste, "Building Support Vector Machines with Reduced Classifier Complexity" (JMLR 7,
2006). Kernel values are native, sums and the linear solver NumPy's; the order of summation does not depend on
the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from svmfast import _core
from svmfast.errors import NotFiniteError
from svmfast.kernels import Kernel
from svmfast.methods.budget.sgd import BudgetExpansion, StepOptions, TrainingBlock
from svmfast.methods.budget.training import BudgetRun, Pair
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import BoolArray, FloatArray, IntArray, Rows
from svmfast.solvers.arithmetic import eight_digits
from svmfast.solvers.platt import fit_sigmoid, laplace_scale
from svmfast.solvers.ridge import solve_with_ridge
from svmfast.solvers.training_data import expand
from svmfast.threads import interruptible, map_in_threads, one_blas_thread

#: Newton's method stops when the objective decreases by less than this share.
TOLERANCE = 1e-6
MAX_ITERATIONS = 30
_SHORTEST_STEP = 2.0**-12
#: Parts of the rows that are summed separately, and kernel values that a part computes at a time; both fixed,
#: so that sums do not depend on the threads.
_PARTS, _BLOCK = 4, 1 << 17


@dataclass(frozen=True, eq=False)
class _Point:
    value: float
    gradient: FloatArray
    hessian: FloatArray


class Refit:
    """A refit in progress. The caller passes the rows, so that several refits can share a pass over them.

    Until :attr:`done` is true, pass every training row to :meth:`add`, always in the same order, and then
    call :meth:`advance`. `start` has the vectors and initial coefficients, `count` is the number of training
    rows n. A bias is fitted without regularization, or it is 0. `room` bytes of kernel values are kept from
    one pass to the next.
    """

    #: Calls of :meth:`add` in this pass, and the sums of its rows.
    _calls: int
    _loss: float
    _gradient: FloatArray
    _hessian: FloatArray

    def __init__(
        self, start: BudgetExpansion, count: int, options: StepOptions, *, bias: bool = True, room: int = 0
    ) -> None:
        self._vectors, self._count, self._options = np.ascontiguousarray(start.vectors), count, options
        m, columns = self._vectors.shape
        self._bias, self._size = bias, m + bias
        self._kept: dict[tuple[int, int, int], FloatArray] = {}
        self._room = room
        # One column of the vectors after another, padded to whole octets with room for the bias.
        self._basis, self._squares = np.zeros((columns, (m // 8 + 1) * 8)), np.zeros((m // 8 + 1) * 8)
        self._basis[:, :m] = self._vectors.T
        self._squares[:m] = np.einsum("ij,ij->i", self._vectors, self._vectors)
        self._penalty = np.zeros((self._size, self._size))
        own = TrainingBlock(Rows.from_dense(self._vectors), self._squares[:m], np.zeros(m))
        self._penalty[:m, :m] = options.lambda_ * self._kernel(own, np.arange(m))[:, :m]
        self._theta = np.append(start.coef, start.bias) if bias else start.coef.copy()
        self._point: _Point | None = None
        self._step, self._length = np.zeros(self._size), 0.0
        #: Newton steps.
        self.iterations = 0
        self.done = False
        self._restart()

    def add(self, block: TrainingBlock, order: IntArray, threads: int = 1) -> None:
        """Add the rows of a block with the numbers ``order``."""
        trial = self._theta + self._length * self._step
        call, self._calls = self._calls, self._calls + 1
        found = map_in_threads(
            lambda part: self._sums(block, order, trial, (call, part)), range(_PARTS), threads
        )
        for loss, gradient, hessian in found:
            self._loss += loss
            self._gradient += gradient
            self._hessian += hessian

    def _kernel(self, block: TrainingBlock, order: IntArray) -> FloatArray:
        """Compute the kernel values of rows with all vectors, and a column of 1 for the bias, and padding."""
        m = len(self._vectors)
        values: FloatArray = _core.rbf_rows(
            block.rows, block.norms, order, self._basis, self._squares, self._options.gamma
        )
        values[:, m] = 1
        return values

    def _sums(
        self, block: TrainingBlock, order: IntArray, theta: FloatArray, part: tuple[int, int]
    ) -> tuple[float, FloatArray, FloatArray]:
        """Sum loss, gradient and Hessian over a part of the rows; those with a positive loss are active."""
        loss, gradient, hessian = 0.0, np.zeros(self._size), np.zeros((self._size, self._size))
        step = 1 + _BLOCK // (1 + self._size)
        # Of the active rows; memory that is new for every block takes longer than the copy.
        room = np.empty((min(step, len(order)), self._basis.shape[1]))
        for begin in range(step * part[1], len(order), step * _PARTS):
            rows = order[begin : begin + step]
            key, y = (*part, begin), block.targets[rows]
            kernel = self._kept.get(key)
            if kernel is None:
                kernel = self._kernel(block, rows)
                size = 8 * len(rows) * self._basis.shape[1]
                if size <= self._room:
                    self._room -= size
                    self._kept[key] = kernel
            with np.errstate(over="ignore", invalid="ignore"):
                f = kernel[:, : self._size] @ theta
                if self._options.loss == "hinge":
                    slack, direction = 1 - y * f, -y
                    weight = np.where(y > 0, self._options.weights[1], self._options.weights[0])
                else:
                    slack, direction = np.abs(f - y) - self._options.epsilon, np.where(f > y, 1.0, -1.0)
                    weight = np.ones(len(y))
                active = np.flatnonzero(slack > 0)
                np.take(kernel, active, axis=0, out=room[: len(active)], mode="clip")
                kernel, slack, weight = room[: len(active), : self._size], slack[active], weight[active]
                weighted = weight * slack
                loss += 0.5 * float(weighted @ slack)
                gradient += (direction[active] * weighted) @ kernel
                if self._options.weights != (1.0, 1.0):
                    kernel *= np.sqrt(weight)[:, None]
                hessian += kernel.T @ kernel
        return loss, gradient, hessian

    def advance(self) -> None:
        """After all rows were added, accept the trial or shorten the step, and choose the next trial."""
        trial = self._theta + self._length * self._step
        # Not "@", because the order in which BLAS sums may depend on the number of cores.
        pull = np.sum(self._penalty * trial, axis=1)
        value = self._loss / self._count + 0.5 * float(np.sum(pull * trial))
        point = _Point(
            value, self._gradient / self._count + pull, self._hessian / self._count + self._penalty
        )
        if self._point is None:
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

    def _go_from(self, point: _Point) -> None:
        self._point = point
        self.done = self.done or self.iterations == MAX_ITERATIONS
        if not self.done:
            # Nearly equal vectors make the Hessian singular. If no row is active and lambda is nearly 0, both
            # the Hessian and the gradient are 0.
            self._step, self._length = solve_with_ridge(point.hessian, -point.gradient, _cholesky), 1.0

    def _restart(self) -> None:
        if self.done:
            self._kept.clear()
        self._calls, self._loss = 0, 0.0
        self._gradient, self._hessian = np.zeros(self._size), np.zeros((self._size, self._size))

    def expansion(self) -> BudgetExpansion:
        m = self._size - self._bias
        bias = float(self._theta[m]) if self._bias else 0.0
        return BudgetExpansion(self._vectors, self._theta[:m].copy(), bias)


def _cholesky(matrix: FloatArray, right: FloatArray) -> FloatArray | None:
    try:
        np.linalg.cholesky(matrix)
        return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


#: A refit holds about this many matrices of (B + 1)^2 numbers.
REFIT_MATRICES = 8


@dataclass(frozen=True, eq=False)
class Finished:
    """The result of a run for one pair."""

    #: Its vectors are rounded as in the model file.
    expansion: BudgetExpansion
    #: (m,) which vectors come from rows of the pair's first class; the sign of a refitted coefficient does
    #: not tell.
    first_class: BoolArray


def finish(run: BudgetRun) -> list[Finished]:
    """Choose an expansion for each pair."""

    def rounded(pair: Pair) -> BudgetExpansion:
        taken = pair.machine.expansion()
        for what, values in (
            ("coefficients", taken.coef),
            ("a bias", np.array(taken.bias)),
            ("support vectors", taken.vectors),
        ):
            if not np.isfinite(values).all():
                raise NotFiniteError(
                    f"training ended with {what} outside the range of floating point; "
                    f"lambda is {pair.machine.options.lambda_:g}, gamma {run.gamma:g}"
                )
        return BudgetExpansion(eight_digits(taken.vectors), taken.coef, taken.bias)

    def chosen(of_pair: tuple[Pair, BudgetExpansion, Refit | None]) -> Finished:
        pair, iterate, fit = of_pair
        found = iterate
        if fit is not None:
            fitted = fit.expansion()
            if run.loss(pair, fitted) <= run.loss(pair, iterate):
                found = fitted
        return Finished(found, iterate.coef > 0)

    iterates = run.for_pairs(rounded)
    fits: list[Refit | None] = [None] * len(iterates)
    if run.options.keep == "refit":
        with one_blas_thread(numpy_only=True):
            fits = _refits(run, iterates)
    return map_in_threads(chosen, list(zip(run.pairs, iterates, fits, strict=True)), run.threads)


def _refits(run: BudgetRun, iterates: list[BudgetExpansion]) -> list[Refit | None]:
    """Refit all pairs. As many as fit into memory are refitted together and share each pass over the rows."""
    found: list[Refit | None] = []
    at_once = run.options.memory // 4 // (REFIT_MATRICES * 8 * (run.options.budget + 1) ** 2)
    at_once = max(run.threads, at_once)
    room = run.options.memory // 4 // min(at_once, max(1, len(run.pairs)))
    for first in range(0, len(run.pairs), at_once):
        pairs = run.pairs[first : first + at_once]
        fits = [
            Refit(iterate, pair.count, pair.machine.options, bias=run.options.bias is not False, room=room)
            for pair, iterate in zip(pairs, iterates[first : first + at_once], strict=True)
        ]
        _refit_in_step(run, pairs, fits)
        found += fits
    return found


def _refit_in_step(run: BudgetRun, pairs: Sequence[Pair], fits: Sequence[Refit]) -> None:
    inner = run.threads if len(pairs) == 1 else 1
    while going := [both for both in zip(pairs, fits, strict=True) if not both[1].done]:
        for number in range(run.source.n_sets):
            working = run.rows.prepared(0, number)
            everything = np.arange(len(working.labels), dtype=np.int64)

            def add(both: tuple[Pair, Refit], working=working, everything=everything) -> None:  # type: ignore[no-untyped-def]
                pair, fit = both
                block, order = run.rows.of_pair(pair.first, pair.second, working, everything)
                fit.add(block, order, threads=inner)

            map_in_threads(add, going, run.threads)
            del working, everything, add  # memory holds one working set
        # LAPACK cannot be stopped, so it does not run in this thread.
        interruptible(partial(map_in_threads, lambda both: both[1].advance(), going, run.threads))


def assemble(run: BudgetRun, finished: list[Finished]) -> KernelExpansion:
    """Combine the pairs into a LIBSVM model: vectors by class, each with a coefficient per other class."""
    kernel = Kernel("rbf", run.gamma)
    if not run.options.is_classifier:
        only = finished[0].expansion
        return KernelExpansion(
            head=Head("epsilon_svr", prob_a=_laplace(run, only)),
            kernel=kernel,
            sv=_own_columns(run, [only.vectors]),
            sv_coef=only.coef[None, :].copy(),
            rho=np.array([-only.bias]),
        )
    k = len(run.rows.classes)
    groups: list[list[tuple[FloatArray, int, FloatArray]]] = [[] for _ in range(k)]
    for pair, one in zip(run.pairs, finished, strict=True):
        e, first = one.expansion, one.first_class
        groups[pair.first].append((e.vectors[first], pair.second - 1, e.coef[first]))
        groups[pair.second].append((e.vectors[~first], pair.first, e.coef[~first]))
    nr_sv = np.array([sum(len(coef) for _, _, coef in group) for group in groups], dtype=np.int64)
    sv_coef = np.zeros((max(k - 1, 1), int(nr_sv.sum())))
    at, blocks = 0, []
    for vectors, row, coef in (part for group in groups for part in group):
        sv_coef[row, at : at + len(coef)] = coef
        at += len(coef)
        blocks.append(vectors)
    prob_a, prob_b = _sigmoids(run, finished)
    return KernelExpansion(
        head=Head("c_svc", labels=run.rows.classes.astype(np.int64), prob_a=prob_a, prob_b=prob_b),
        kernel=kernel,
        sv=_own_columns(run, blocks),
        sv_coef=sv_coef,
        rho=np.array([-one.expansion.bias for one in finished]),
        nr_sv=nr_sv,
    )


def _own_columns(run: BudgetRun, blocks: list[FloatArray]) -> Rows:
    if not blocks:
        return Rows.empty(run.source.n_features)
    rows = Rows.concatenate([Rows.from_dense(block) for block in blocks])
    return expand(rows, run.source.columns, run.source.n_features)


def _sigmoids(run: BudgetRun, finished: list[Finished]) -> tuple[FloatArray | None, FloatArray | None]:
    if not run.options.probability:
        return None, None
    fitted = np.zeros((2, len(run.pairs)))
    for p, (pair, one) in enumerate(zip(run.pairs, finished, strict=True)):
        rows, positive = run.rows.held_out.of_pair(pair.first, pair.second)
        fitted[:, p] = fit_sigmoid(run.decisions(one.expansion, rows), positive)
    return fitted[0], fitted[1]


def _laplace(run: BudgetRun, only: BudgetExpansion) -> FloatArray | None:
    held = run.rows.held_out
    if not run.options.probability or not len(held.labels):
        return None
    return np.array([laplace_scale(held.labels - run.decisions(only, held.rows))])
