"""Moves the vectors of decision functions, together with their coefficients.

Merging leaves a vector where it best approximates the sum of two, not where it separates the classes best.
L-BFGS lowers the objective of the refit (:mod:`svmfast.methods.budget.refit`) over vectors, coefficients and
bias together, as in the second stage of Wu, Schölkopf and Bakir, "A Direct Method for Building Sparse Kernel
Learning Algorithms" (JMLR 7, 2006). With G_ij = 1/n loss'(f(x_i)) theta_j K(u_j, x_i),

    dP/du_j = 2 gamma (sum_i G_ij (x_i - u_j) + lambda theta_j sum_k theta_k K(u_j, u_k) (u_k - u_j))
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.optimize import minimize

from svmfast.methods.budget.refit import KernelCache, Refit, RefitProblem
from svmfast.methods.budget.sgd import BudgetExpansion, StepOptions, TrainingBlock
from svmfast.methods.budget.training import BudgetRun, Pair
from svmfast.rows import FloatArray
from svmfast.threads import interruptible, map_in_threads, one_blas_thread

#: Rows to which the vectors of a decision function are fitted, and those whose terms are computed at a time.
MOST_ROWS, _PIECE = 100_000, 2048
#: Steps that L-BFGS remembers.
_MEMORY = 20


def moved_vectors(run: BudgetRun, found: Sequence[BudgetExpansion]) -> list[BudgetExpansion]:
    """Move the vectors of all pairs of a run."""
    blocks = run.rows.fitted(MOST_ROWS, [(pair.first, pair.second) for pair in run.pairs], run.threads)
    inner = run.threads if len(run.pairs) == 1 else 1

    def of_pair(one: tuple[Pair, BudgetExpansion, TrainingBlock]) -> BudgetExpansion:
        pair, expansion, block = one
        options, bias = run.step_options(pair), run.options.bias is not False
        return moved(expansion, block, options, steps=run.options.move, bias=bias, threads=inner)

    pairs = list(zip(run.pairs, found, blocks, strict=True))
    with one_blas_thread():
        # A solver that does not return to Python for long cannot be stopped in this thread.
        return interruptible(partial(map_in_threads, of_pair, pairs, run.threads))


def moved(
    start: BudgetExpansion,
    rows: TrainingBlock,
    options: StepOptions,
    *,
    steps: int,
    bias: bool = True,
    threads: int = 1,
) -> BudgetExpansion:
    """Take `steps` steps of L-BFGS from the coefficients that are refitted to the rows."""
    n, (m, columns) = len(rows.targets), start.vectors.shape
    if not n or not m:
        return start
    problem, everything = RefitProblem(start, options, bias=bias), np.arange(n)
    fit = Refit(problem, n)
    while not fit.done:
        fit.advance(problem.sums(rows, everything, fit.trial, KernelCache(0)))

    def packed(one: BudgetExpansion) -> FloatArray:
        return np.concatenate([one.vectors.ravel(), one.coef, [one.bias] * bias])

    def unpacked(x: FloatArray) -> BudgetExpansion:
        vectors, rest = x[: m * columns].reshape(m, columns).copy(), x[m * columns :]
        return BudgetExpansion(vectors, rest[:m].copy(), float(rest[m]) if bias else 0.0)

    def packed_objective(x: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective(unpacked(x), rows, options, threads)
        return value, packed(gradient)

    limits = {"maxiter": steps, "maxcor": _MEMORY}
    found = minimize(packed_objective, packed(fit.expansion()), jac=True, method="L-BFGS-B", options=limits)
    return unpacked(found.x)


def objective(
    at: BudgetExpansion, rows: TrainingBlock, options: StepOptions, threads: int = 1
) -> tuple[float, BudgetExpansion]:
    """The objective of the refit over rows, and its gradient by vectors, coefficients and bias."""
    n, m = len(rows.targets), len(at.coef)
    problem, theta = RefitProblem(at, options), np.append(at.coef, at.bias)
    penalty = problem.penalty()[:m, :m]
    pull = np.sum(penalty * at.coef, axis=1)
    value, coef, bias = 0.5 * float(np.sum(pull * at.coef)), pull.copy(), 0.0
    # Of the terms G_ij and lambda theta_j theta_k K_jk: their sums over i or k, and with the vectors.
    terms = penalty * at.coef * at.coef[:, None]
    mass, moments = terms.sum(axis=0), terms @ at.vectors
    pieces = [np.arange(k, min(k + _PIECE, n)) for k in range(0, n, _PIECE)]
    for one in map_in_threads(partial(problem.pulls, rows, theta), pieces, threads):
        value += one.loss / n
        coef += one.gradient[:m] / n
        bias += float(one.gradient[m]) / n
        mass += one.terms.sum(axis=0) / n
        moments += (rows.rows.take(one.active).to_scipy().T @ one.terms).T / n
    return value, BudgetExpansion(2 * options.gamma * (moments - mass[:, None] * at.vectors), coef, bias)
