"""Turns the machines of a training run into a LIBSVM model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import NotFiniteError
from svmfast.kernels import Kernel
from svmfast.methods.budget.pairs import Pair
from svmfast.methods.budget.refit import Refit, RefitReport
from svmfast.methods.budget.sgd import BudgetExpansion
from svmfast.methods.budget.training_run import BudgetRun
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.file_digits import eight_digits
from svmfast.solvers.platt import fit_sigmoid, laplace_scale
from svmfast.solvers.training_data import expand

#: A refit holds about this many matrices of (B + 1)^2 numbers.
REFIT_MATRICES = 8


@dataclass(frozen=True, eq=False)
class Finished:
    """The result of a run for one pair.

    Attributes
    ----------
    expansion : BudgetExpansion
        Its vectors are rounded as in the model file.
    first_class : (m,) bool
        Which vectors come from rows of the pair's first class. The sign of a refitted coefficient does not
        tell.
    loss_iterate, loss : float
        Losses of the last iterate and of the returned expansion on the selection rows.
    refit : RefitReport or None
    refitted : bool
        Whether the refit was returned.
    """

    expansion: BudgetExpansion
    first_class: NDArray[np.bool_]
    loss_iterate: float
    loss: float
    refit: RefitReport | None
    refitted: bool


def finish(run: BudgetRun, should_stop: Callable[[], bool] = lambda: False) -> list[Finished]:
    """Return the chosen expansion of each pair, after refitting coefficients if the options say so.

    Raises KeyboardInterrupt if `should_stop` returns true between two passes over the rows.
    """
    keep = run.options.keep
    iterates: dict[int, BudgetExpansion] = {}

    def collect(pair: Pair) -> None:
        taken = pair.best if keep == "best" and pair.best is not None else pair.machine.expansion()
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
        iterates[id(pair)] = BudgetExpansion(eight_digits(taken.vectors), taken.coef, taken.bias)

    run.for_pairs(collect)
    fits = _refit(run, iterates, should_stop) if keep == "refit" else {}
    results: dict[int, Finished] = {}

    def choose(pair: Pair) -> None:
        iterate = iterates[id(pair)]
        loss = run.comparison.loss(pair, iterate) if keep != "last" else 0.0
        positive = iterate.coef > 0
        if id(pair) not in fits:
            results[id(pair)] = Finished(iterate, positive, loss, loss, None, False)
            return
        fitted, report = fits[id(pair)]
        refit_loss = run.comparison.loss(pair, fitted)
        better = refit_loss <= loss
        results[id(pair)] = Finished(
            fitted if better else iterate, positive, loss, refit_loss if better else loss, report, better
        )

    run.for_pairs(choose)
    return [results[id(pair)] for pair in run.pairs]


def _refit(
    run: BudgetRun, iterates: dict[int, BudgetExpansion], should_stop: Callable[[], bool]
) -> dict[int, tuple[BudgetExpansion, RefitReport]]:
    """Refit all pairs. As many as fit into memory are refitted together and share each pass over the rows."""
    found: dict[int, tuple[BudgetExpansion, RefitReport]] = {}
    at_once = run.memory // 4 // (REFIT_MATRICES * 8 * (run.options.budget + 1) ** 2)
    at_once = max(run.threads, at_once)
    for first in range(0, len(run.pairs), at_once):
        pairs = run.pairs[first : first + at_once]
        fits = {
            id(pair): Refit(
                iterates[id(pair)], pair.count, pair.machine.options, bias=run.options.bias is not False
            )
            for pair in pairs
        }
        _refit_in_step(run, pairs, fits, should_stop)
        found |= {key: fit.result() for key, fit in fits.items()}
    return found


def _refit_in_step(
    run: BudgetRun, pairs: Sequence[Pair], fits: dict[int, Refit], should_stop: Callable[[], bool]
) -> None:
    inner = run.threads if len(pairs) == 1 else 1
    while not all(fit.done for fit in fits.values()):
        if should_stop():
            raise KeyboardInterrupt
        for number in range(run.source.n_sets):
            working = run.rows.prepared(0, number)
            everything = np.arange(len(working.labels), dtype=np.int64)

            def add(pair: Pair, working=working, everything=everything) -> None:  # type: ignore[no-untyped-def]
                if not fits[id(pair)].done:
                    fits[id(pair)].add(*run.rows.of_pair(pair, working, everything), threads=inner)

            run.for_pairs(add, pairs)
            del working, everything, add  # memory holds one working set

        def advance(pair: Pair) -> None:
            if not fits[id(pair)].done:
                fits[id(pair)].advance()

        run.for_pairs(advance, pairs)


def assemble(run: BudgetRun, finished: list[Finished]) -> KernelExpansion:
    """Combine the pairs into a LIBSVM model: vectors by class, each with a coefficient per other class."""
    kernel = Kernel("rbf", run.gamma)
    if not run.options.is_classifier:
        only = finished[0]
        return KernelExpansion(
            head=Head("epsilon_svr", prob_a=_laplace(run, only)),
            kernel=kernel,
            sv=_own_columns(run, [only.expansion.vectors]),
            sv_coef=only.expansion.coef[None, :].copy(),
            rho=np.array([-only.expansion.bias]),
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
    """Return dense vectors in compact columns as sparse rows in the input's own columns."""
    if not blocks:
        return Rows.empty(run.source.n_features)
    rows = Rows.concatenate([Rows.from_dense(block) for block in blocks])
    return expand(rows, run.source.columns, run.source.n_features)


def _sigmoids(run: BudgetRun, finished: list[Finished]) -> tuple[FloatArray | None, FloatArray | None]:
    """Fit the sigmoid of each pair on its held-out rows."""
    if not run.options.probability:
        return None, None
    a, b = np.zeros(len(run.pairs)), np.zeros(len(run.pairs))
    held = run.rows.held_out
    for p, (pair, one) in enumerate(zip(run.pairs, finished, strict=True)):
        mine = np.flatnonzero((held.codes == pair.first) | (held.codes == pair.second))
        values = run.comparison.decisions(one.expansion, held.rows.take(mine))
        a[p], b[p] = fit_sigmoid(values, held.codes[mine] == pair.first)
    return a, b


def _laplace(run: BudgetRun, only: Finished) -> FloatArray | None:
    held = run.rows.held_out
    if not run.options.probability or not len(held.labels):
        return None
    residuals = held.labels - run.comparison.decisions(only.expansion, held.rows)
    return np.array([laplace_scale(residuals)])
