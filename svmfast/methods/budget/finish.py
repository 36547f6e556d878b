"""Turns the machines of a training run into a LIBSVM model, with refitted coefficients or their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from svmfast.kernels import Kernel
from svmfast.methods.budget.refit import KernelCache, Pass, Refit, RefitProblem, pass_sums
from svmfast.methods.budget.sgd import BudgetExpansion
from svmfast.methods.budget.training import BudgetRun, Descended, Pair
from svmfast.methods.common.equal_rows import groups_of, row_keys
from svmfast.methods.method import Kept
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import BoolArray, FloatArray, Rows
from svmfast.solvers.arithmetic import eight_digits
from svmfast.solvers.platt import fit_sigmoid, laplace_scale
from svmfast.solvers.row_blocks import block_count
from svmfast.solvers.training_data import expand
from svmfast.threads import interruptible, map_in_threads, one_blas_thread

#: A refit holds about this many matrices of (B + 1)^2 numbers.
REFIT_MATRICES = 8


@dataclass(frozen=True, eq=False)
class Finished:
    """The result of a run for one pair."""

    #: Its vectors are rounded as in the model file.
    expansion: BudgetExpansion
    #: (m,) which vectors come from rows of the pair's first class.
    first_class: BoolArray


def finish(run: BudgetRun, found: Descended, kept: Kept | None = None) -> list[Finished]:
    """Refit the expansions of all pairs, unless the iterate is kept or is better."""
    rounded = [BudgetExpansion(eight_digits(one.vectors), one.coef, one.bias) for one in found.expansions]

    def chosen(of_pair: tuple[Pair, BudgetExpansion, BoolArray, Refit | None]) -> Finished:
        pair, iterate, first_class, fit = of_pair
        best = iterate
        if fit is not None:
            fitted = fit.expansion()
            if run.loss(pair, fitted) <= run.loss(pair, iterate):
                best = fitted
        return Finished(best, first_class)

    fits: list[Refit | None] = [None] * len(rounded)
    if run.options.keep == "refit":
        with one_blas_thread(numpy_only=True):
            fits = _refits(run, rounded, kept)
    pairs = list(zip(run.pairs, rounded, found.first_class, fits, strict=True))
    return map_in_threads(chosen, pairs, run.threads)


def _refits(run: BudgetRun, iterates: list[BudgetExpansion], kept: Kept | None) -> list[Refit | None]:
    """Refit all pairs. As many as fit into memory are refitted together and share each pass over the rows."""
    found: list[Refit | None] = []
    # Sums wait in the tree, and for each thread those of two blocks.
    matrices = REFIT_MATRICES + 2 * run.threads + block_count(run.source.n_rows).bit_length()
    at_once = max(1, run.options.memory // 4 // (matrices * 8 * (run.options.budget + 1) ** 2))
    cache = KernelCache(run.options.memory // 4)
    for first in range(0, len(run.pairs), at_once):
        pairs = run.pairs[first : first + at_once]
        fits = []
        for name, (pair, iterate) in enumerate(zip(pairs, iterates[first:], strict=False), first):
            bias = run.options.bias is not False
            problem = RefitProblem(iterate, run.step_options(pair), bias=bias, name=name)
            fits.append(Refit(problem, pair.count))
            state = None if kept is None else kept.load(f"refit-{name}")
            if state is not None:
                fits[-1].restore(state)
        _refit_in_step(run, pairs, fits, cache, kept)
        found += fits
    return found


def _refit_in_step(
    run: BudgetRun, pairs: Sequence[Pair], fits: Sequence[Refit], cache: KernelCache, kept: Kept | None
) -> None:
    while going := [both for both in zip(pairs, fits, strict=True) if not both[1].done]:
        trials = [(pair.first, pair.second, fit.problem, fit.trial) for pair, fit in going]
        sums = run.source.total(pass_sums, Pass(run.rows.division, trials, cache), run.threads)
        advances = [partial(fit.advance, sums[3 * k : 3 * k + 3]) for k, (_, fit) in enumerate(going)]
        # LAPACK cannot be stopped, so it does not run in this thread.
        interruptible(partial(map_in_threads, lambda advance: advance(), advances, run.threads))
        for _, fit in going:
            if kept is not None:
                kept.save(f"refit-{fit.problem.name}", **fit.state())
            if fit.done:
                cache.forget(fit.problem.name)


def assemble(run: BudgetRun, finished: list[Finished]) -> KernelExpansion:
    """Combine the pairs into a LIBSVM model: vectors by class, each with a coefficient per other class."""
    kernel = Kernel("rbf", run.gamma)
    if not run.options.is_classifier:
        only = finished[0].expansion
        return KernelExpansion(
            head=Head("epsilon_svr", prob_a=_laplace(run, only)),
            kernel=kernel,
            sv=_own_columns(run, [Rows.from_dense(only.vectors)]),
            sv_coef=only.coef[None, :].copy(),
            rho=np.array([-only.bias]),
        )
    k = len(run.rows.classes)
    groups: list[list[tuple[FloatArray, int, FloatArray]]] = [[] for _ in range(k)]
    for pair, one in zip(run.pairs, finished, strict=True):
        e, first = one.expansion, one.first_class
        groups[pair.first].append((e.vectors[first], pair.second - 1, e.coef[first]))
        groups[pair.second].append((e.vectors[~first], pair.first, e.coef[~first]))
    blocks = [_shared(group, max(k - 1, 1)) for group in groups if group]
    prob_a, prob_b = _sigmoids(run, finished)
    return KernelExpansion(
        head=Head("c_svc", labels=run.rows.classes.astype(np.int64), prob_a=prob_a, prob_b=prob_b),
        kernel=kernel,
        sv=_own_columns(run, [vectors for vectors, _ in blocks]),
        sv_coef=np.hstack([coef for _, coef in blocks]) if blocks else np.zeros((1, 0)),
        rho=np.array([-one.expansion.bias for one in finished]),
        nr_sv=np.array([len(vectors) for vectors, _ in blocks] or [0], dtype=np.int64),
    )


def _shared(parts: list[tuple[FloatArray, int, FloatArray]], width: int) -> tuple[Rows, FloatArray]:
    """The vectors of a class, each once, and their coefficients; pairs share those that were not merged."""
    vectors = Rows.concatenate([Rows.from_dense(block) for block, _, _ in parts])
    group, first = groups_of(row_keys(vectors))
    coef = np.zeros((width, len(first)))
    number = np.repeat([row for _, row, _ in parts], [len(own) for _, _, own in parts])
    np.add.at(coef, (number, group), np.concatenate([own for _, _, own in parts]))
    return vectors.take(first), coef


def _own_columns(run: BudgetRun, blocks: list[Rows]) -> Rows:
    if not blocks:
        return Rows.empty(run.source.n_features)
    return expand(Rows.concatenate(blocks), run.source.columns, run.source.n_features)


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
