"""Reduced sets: a few vectors whose kernel expansion is close to given decision values.

The objective, a function of the vectors u_j, their coefficients and the offsets rho (Xu et al., Compressed
Support Vector Machines, equation 10, with the gradient, which they do not give), is

    E = 1/2 sum_i sum_p w_ip r_ip^2,   r_ip = sum_j c_pj K(u_j, x_i) - rho_p - f_p(x_i)
    dE/dc_pj = sum_i w_ip r_ip K_ij          dE/drho_p = - sum_i w_ip r_ip
    rbf: dE/du_j = 2 gamma sum_i q_ij (x_i - u_j),   q_ij = K_ij sum_p w_ip r_ip c_pj

It is minimized by L-BFGS, which held-out rows stop. For given vectors, finding coefficients and offsets is a
linear least squares problem, which is solved exactly. The functions of a multiclass model are LIBSVM's pairs,
so a vector of class i is used by all pairs with class i. A row counts only for the pairs of its winning
class: these decide its label, and the training of the other pairs did not see rows of this class either.
With a score s_c for each class, of all vectors, the value of a pair is s_i - s_j, i < j (score_fit.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.caches import cached
from svmfast.errors import OptionError
from svmfast.kernels import NATIVE_KINDS, DecisionEngine, Kernel
from svmfast.methods.compress.metric import Metric, matrix_of
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.ridge import solve_with_ridge
from svmfast.threads import interruptible, map_in_threads, one_blas_thread
from svmfast.votes import pairs_of_each

#: The kernel in the coordinates of a metric.
ROUND = Kernel("rbf", 1.0)
#: Tikhonov term of the least squares problem, relative to the mean of the diagonal. It keeps coefficients
#: finite if vectors coincide, and is far below the precision of a model file.
_RIDGE = 1e-10
#: Limits on the rows that the least squares fit holds at a time, and on their dense entries.
_BLOCK, _BLOCK_ENTRIES = 4096, 1 << 24


@dataclass(frozen=True, eq=False)
class ReducedSet:
    #: (m, d).
    vectors: FloatArray
    #: (max(k - 1, 1), m), as LIBSVM's ``sv_coef`` for k > 2 classes; otherwise one row. Of scores (k, m).
    coef: FloatArray
    #: (p,). Of scores (k,).
    rho: FloatArray
    #: (k,) number of vectors of each class for k > 2; otherwise, and of scores, (1,).
    sizes: NDArray[np.int64]
    #: If there is one, the vectors are in its coordinates, and the kernel is exp(-distance^2).
    metric: Metric | None = None

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def scores(self) -> bool:
        """Whether there is a function for each class instead of each pair."""
        return len(self.sizes) == 1 and len(self.coef) > 1

    @property
    def arrays(self) -> list[FloatArray]:
        """What is optimized."""
        arrays = [self.vectors, self.coef, self.rho]
        return arrays if self.metric is None else [*arrays, self.metric.map]


class Target:
    """n rows, with the exact values of each row's winner's functions in the order of the other classes.

    `winner` is each row's winning class, ascending, 0 for a single function; `values` ``(n, max(k - 1, 1))``.
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Rows,
        n_columns: int,
        winner: NDArray[np.int64],
        values: FloatArray,
        weight: FloatArray,
        *,
        threads: int = 1,
    ) -> None:
        if kernel.kind not in NATIVE_KINDS:
            raise OptionError(f"no gradient for a {kernel.kind} kernel")
        self.kernel, self.rows, self.n_columns, self.threads = kernel, rows, n_columns, threads
        self.winner = np.ascontiguousarray(winner, dtype=np.int64)
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        self.weight = np.ascontiguousarray(weight, dtype=np.float64)
        self.total_weight = float(self.weight.sum()) or 1.0
        self._native = _core.ReducedSetObjective(
            NATIVE_KINDS[kernel.kind],
            kernel.coef0,
            kernel.degree,
            False,
            rows,
            n_columns,
            self.winner,
            self.values,
            self.weight,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def within(self, metric: Metric | None) -> Target:
        """The same target for mapped rows."""
        if metric is None:
            return self
        given = self.winner, self.values, self.weight
        return Target(ROUND, metric(self.matrix), len(metric.map), *given, threads=self.threads)

    def gradient(self, reduced: ReducedSet) -> tuple[float, list[FloatArray]]:
        """E, and its gradient by each of `reduced.arrays`."""
        metric = reduced.metric
        here = self.within(metric)
        given = reduced.vectors, reduced.coef, reduced.rho, reduced.sizes, here.kernel.gamma
        none, mapped = np.zeros((0, 2), np.int64), metric is not None
        value, *found, _, by_rows = here._native.evaluate(*given, none, mapped, self.threads)
        if metric is not None:
            pull = by_rows[:, :-1] - by_rows[:, -1:] * here.rows.to_dense(here.n_columns)
            found.append((self.matrix.T @ pull).T - np.outer(pull.sum(axis=0), metric.center))
        return value, found

    @cached
    def matrix(self) -> Any:
        """The rows as a matrix."""
        return matrix_of(self.rows, self.n_columns)

    @property
    def block(self) -> int:
        """How many rows may be dense at a time."""
        return max(1, min(_BLOCK, _BLOCK_ENTRIES // max(self.n_columns, 1)))

    @property
    def mean(self) -> FloatArray:
        """The mean row."""
        return np.bincount(self.rows.indices, self.rows.values, self.n_columns) / max(1, len(self))

    def decisions(self, reduced: ReducedSet) -> FloatArray:
        """The expansion's decision values ``(n, width)`` for the functions of each row's winner."""
        k, metric = len(reduced.sizes), reduced.metric
        nr_sv = reduced.sizes if k > 1 else None
        vectors = Rows.from_dense(reduced.vectors)
        kernel, rows = (self.kernel, self.rows) if metric is None else (ROUND, metric(self.matrix))
        engine = DecisionEngine(kernel, vectors, reduced.coef, reduced.rho, nr_sv)
        values = engine.decision_values(rows, threads=self.threads)
        if reduced.scores:
            others = self.winner[:, None] != np.arange(values.shape[1])
            values = values[~others][:, None] - values[others].reshape(self.values.shape)
            values[np.arange(values.shape[1]) < self.winner[:, None]] *= -1
        if k == 1:
            return values
        return np.take_along_axis(values, pairs_of_each(k)[self.winner], axis=1)

    def error(self, reduced: ReducedSet) -> float:
        """The weighted mean of the squared residuals, 2 E / sum of the weights."""
        residual = self.decisions(reduced) - self.values
        return float(np.sum(self.weight * residual * residual)) / self.total_weight


def solve_coefficients(
    target: Target, vectors: FloatArray, sizes: NDArray[np.int64], metric: Metric | None = None
) -> ReducedSet:
    """Find the coefficients and offsets for these vectors that minimize E exactly.

    Each function has its own coefficients, so the problem splits into one per function, with (vectors + 1)
    unknowns (for a pair: the vectors of both classes). Each is solved by Cholesky from the normal equations.
    """
    target, groups, m = target.within(metric), len(sizes), len(vectors)
    edge = np.concatenate([[0], np.cumsum(sizes)])
    parts = [np.arange(edge[g], edge[g + 1]) for g in range(groups)]
    pairs = [(i, j) for i in range(groups) for j in range(i + 1, groups)] or [(0, 0)]
    columns = [np.concatenate([parts[i], parts[j]]) if i < j else parts[0] for i, j in pairs]
    normal = [np.zeros((len(c) + 1, len(c) + 1)) for c in columns]
    right = [np.zeros(len(c) + 1) for c in columns]
    start = np.searchsorted(target.winner, np.arange(groups + 1))

    def add(f: int, mine: int, other: int, kernel: FloatArray, begin: int, end: int) -> None:
        q = max(other - (other > mine), 0)
        weight = target.weight[begin:end, q]
        # The offset is an extra column of -1.
        design = np.empty((end - begin, len(columns[f]) + 1))
        design[:, :-1] = kernel if groups == 1 else kernel[:, columns[f]]
        design[:, -1] = -1
        weighted = design * weight[:, None]
        normal[f] += weighted.T @ design
        right[f] += weighted.T @ target.values[begin:end, q]

    number = {pair: f for f, pair in enumerate(pairs)}
    with one_blas_thread():
        for g in range(groups):
            others = [h for h in range(groups) if h != g] or [0]
            for begin in range(int(start[g]), int(start[g + 1]), target.block):
                end = min(begin + target.block, int(start[g + 1]))
                rows = target.rows[begin:end].to_dense(target.n_columns)
                kernel = target.kernel.matrix(rows, vectors)
                jobs = [(number[min(g, h), max(g, h)], g, h, kernel, begin, end) for h in others]
                map_in_threads(lambda job: add(*job), jobs, target.threads)
        solved = map_in_threads(
            lambda system: _solve(*system), zip(normal, right, strict=True), target.threads
        )
    coef = np.zeros((max(groups - 1, 1), m))
    rho = np.array([s[-1] for s in solved])
    if groups == 1:
        coef[0] = solved[0][:-1]
    else:
        for (i, j), solution in zip(pairs, solved, strict=True):
            coef[j - 1, edge[i] : edge[i + 1]] = solution[: sizes[i]]
            coef[i, edge[j] : edge[j + 1]] = solution[sizes[i] : -1]
    return ReducedSet(np.ascontiguousarray(vectors), coef, rho, sizes, metric)


def _solve(normal: FloatArray, right: FloatArray) -> FloatArray:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    def cholesky(matrix: FloatArray, wanted: FloatArray) -> FloatArray | None:
        try:
            factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return None
        solution: FloatArray = cho_solve(factor, wanted, check_finite=False)
        return solution

    return interruptible(lambda: solve_with_ridge(normal, right, cholesky, ridge=_RIDGE))


def allocate(count: int, groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Divide `count` vectors among classes in proportion to size; each nonempty class gets at least one."""
    share = count * groups / groups.sum()
    sizes: NDArray[np.int64] = np.minimum(np.maximum(np.floor(share), groups > 0), groups).astype(np.int64)
    while sizes.sum() != count:
        more = sizes.sum() < count
        lack = (
            np.where(sizes < groups, share - sizes, -np.inf)
            if more
            else np.where(sizes > 1, sizes - share, -np.inf)
        )
        sizes[int(np.argmax(lack))] += 1 if more else -1
    return sizes


#: Corrections that L-BFGS keeps (as measured, 20 need a third fewer evaluations than 10).
_MEMORY = 20
#: Iterations between two checks on the held-out rows.
_CHECK_EVERY = 20
#: The optimization goes on while a check finds an error below this share of the best one.
_CLEARLY_BETTER = 0.999


@dataclass(frozen=True)
class Optimized:
    #: The best set on the held-out rows.
    reduced: ReducedSet
    iterations: int
    #: ``held-out`` (no improvement for some time), ``converged`` or ``limit``.
    stopped: str


class Variables:
    """A reduced set as one array: vectors in units of the kernel's width, the others of their RMS."""

    def __init__(self, target: Target, start: ReducedSet) -> None:
        kernel, metric = target.kernel if start.metric is None else ROUND, start.metric
        rbf = kernel.kind == "rbf" and kernel.gamma > 0
        unit, scale = 1 / np.sqrt(2 * kernel.gamma) if rbf else _rms(start.vectors), _rms(start.coef)
        self.start, self.units = start, [unit, scale, scale]
        if metric is not None:
            center, mean = metric.center, target.mean
            square = float(target.rows.squared_norms().mean() + center @ (center - 2 * mean))
            self.units.append(1 / np.sqrt(2 * square) if square > 0 else 1.0)

    def pack(self, arrays: list[FloatArray]) -> FloatArray:
        return np.concatenate([one.ravel() / unit for one, unit in zip(arrays, self.units, strict=True)])

    def unpack(self, x: FloatArray) -> ReducedSet:
        before = self.start.arrays
        parts = np.split(x, np.cumsum([one.size for one in before])[:-1])
        found = [
            np.multiply(part.reshape(old.shape), unit)
            for part, old, unit in zip(parts, before, self.units, strict=True)
        ]
        metric = self.start.metric and replace(self.start.metric, map=found[3])
        return replace(self.start, vectors=found[0], coef=found[1], rho=found[2], metric=metric)

    def gradient(self, arrays: list[FloatArray]) -> FloatArray:
        return np.concatenate([one.ravel() * unit for one, unit in zip(arrays, self.units, strict=True)])


class EarlyStop:
    """The best set so far on the held-out rows; stops after `patience` checks without a clear improvement."""

    def __init__(self, held_out: Target, start: ReducedSet, patience: int) -> None:
        self.held_out, self.patience = held_out, patience
        self.best, self.best_error = start, held_out.error(start)
        self._last_clear_gain = 0  # an iteration

    def check(self, reduced: ReducedSet, iteration: int) -> bool:
        error = self.held_out.error(reduced)
        if error < self.best_error:
            # A smaller gain is accepted, but is not a reason to go on.
            if error < _CLEARLY_BETTER * self.best_error:
                self._last_clear_gain = iteration
            self.best, self.best_error = reduced, error
        return iteration - self._last_clear_gain >= self.patience * _CHECK_EVERY


class _StoppedEarly(Exception):
    pass


def optimize(
    target: Target,
    start: ReducedSet,
    held_out: Target,
    *,
    max_iterations: int,
    patience: int = 8,
    progress: Progress = silent,
) -> Optimized:
    """Run L-BFGS until `held_out` stops it."""
    from scipy.optimize import minimize

    if max_iterations == 0:  # L-BFGS-B would still make one
        return Optimized(start, 0, "limit")
    variables, best = Variables(target, start), EarlyStop(held_out, start, patience)
    iterations = 0
    # L-BFGS-B's tolerances are absolute below 1.
    first_value = 0.5 * target.error(start) * target.total_weight or 1.0

    def fun(x: FloatArray) -> tuple[float, FloatArray]:
        value, found = target.gradient(variables.unpack(x))
        return value / first_value, variables.gradient(found) / first_value

    def callback(x: FloatArray) -> None:
        nonlocal iterations
        iterations += 1
        progress(iterations, max_iterations, "moving vectors")
        if iterations % _CHECK_EVERY == 0 and best.check(variables.unpack(x), iterations):
            raise _StoppedEarly

    options: dict[str, float] = {"ftol": 1e-11, "gtol": 1e-10, "maxcor": _MEMORY}
    options |= {"maxiter": max_iterations, "maxfun": 4 * max_iterations + 20}
    try:
        with one_blas_thread():
            x = variables.pack(start.arrays)
            result = minimize(fun, x, jac=True, method="L-BFGS-B", callback=callback, options=options)
        best.check(variables.unpack(result.x), iterations)
        stopped = "converged" if iterations < max_iterations else "limit"
    except _StoppedEarly:
        stopped = "held-out"
    return Optimized(best.best, iterations, stopped)


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values * values))) or 1.0 if values.size else 1.0
