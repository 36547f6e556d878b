"""Budgeted SGD training: at most B support vectors per decision function, in a few passes over the rows.

Papers: Wang, Crammer and Vucetic (JMLR 13, 2012), Glasmachers and Qaadan (2018); the refit of the
coefficients: Keerthi, Chapelle and DeCoste (JMLR 7, 2006). Multiclass is one-against-one, as in LIBSVM; the
result is a LIBSVM model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError, SingleClassError
from svmfast.methods.budget.model import Finished, assemble, finish
from svmfast.methods.budget.options import BudgetTrainOptions
from svmfast.methods.budget.report import BudgetTrainReport, PassStatus
from svmfast.methods.budget.training_run import BudgetRun
from svmfast.methods.common.scores import head_quality
from svmfast.models.expansion import KernelExpansion
from svmfast.progress import Progress, counting, silent
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality
from svmfast.solvers.training_data import MemorySource, TrainingSource, random_order
from svmfast.threads import map_in_threads

__all__ = ["BudgetTrainOptions", "BudgetTrainReport", "Checkpointing", "budget_train", "cross_validate"]

#: Default limit on the memory of the machines, in bytes.
MEMORY = 4 << 30
_FOLDS = 4

State = tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]


@dataclass(frozen=True)
class Checkpointing:
    """How the state of a run is saved.

    Attributes
    ----------
    save : callable(meta, arrays)
        Called with the whole state after every `every` rows visited, and before the run stops.
    every : int
    resume : (meta, arrays) or None
        The state to continue from.
    should_stop : callable() -> bool
        Called often. If it returns true, the state is saved and KeyboardInterrupt is raised.
    """

    save: Callable[[Mapping[str, Any], Mapping[str, NDArray[Any]]], None]
    every: int
    resume: State | None = None
    should_stop: Callable[[], bool] = lambda: False


def budget_train(
    source: TrainingSource,
    options: BudgetTrainOptions,
    *,
    validate: tuple[Rows, FloatArray] | None = None,
    threads: int = 1,
    memory: int = MEMORY,
    progress: Progress = silent,
    observe: Callable[[PassStatus], None] | None = None,
    checkpoints: Checkpointing | None = None,
) -> tuple[KernelExpansion, BudgetTrainReport]:
    """Train an RBF model on a budget.

    Parameters
    ----------
    source : TrainingSource
        For example :class:`svmfast.solvers.training_data.MemorySource`.
    options : BudgetTrainOptions
    validate : (Rows, (m,) float64), optional
        Held-out rows and labels, on which candidates are compared and the score is reported.
    threads : int
        Does not change the model.
    memory : int
        Limit on the memory for the machines, in bytes.
    progress : Progress
    observe : callable(PassStatus), optional
        Called after every pass.
    checkpoints : Checkpointing, optional

    Returns
    -------
    KernelExpansion, BudgetTrainReport
        The model's vectors are rounded to the eight digits of a LIBSVM file, so that saving does not change
        it.

    Raises
    ------
    OptionError, TrainingRowError, SingleClassError, MemoryLimitError
    """
    begin = time.perf_counter()
    run = BudgetRun(source, options, validate, threads, memory)
    if checkpoints and checkpoints.resume:
        run.restore(*checkpoints.resume)
    every = checkpoints.every if checkpoints else None
    seconds, visited = run.seconds, run.visited
    while not run.ended:
        epoch = run.epoch
        due = run.advance(every)
        progress(run.visited, run.total, "train")
        if observe and run.epoch > epoch:
            observe(_status(run, validate, run.visited - visited, run.seconds - seconds))
        if checkpoints:
            stop = checkpoints.should_stop()
            if due or stop:
                checkpoints.save(*run.save())
            if stop:
                raise KeyboardInterrupt
    stop_asked = checkpoints.should_stop if checkpoints else lambda: False
    if checkpoints:
        checkpoints.save(*run.save())
    progress(0, None, "refit" if options.keep == "refit" else "finish")
    finished = finish(run, stop_asked)
    model = assemble(run, finished)
    score = _score(run, model, validate)
    return model, _report(run, finished, model, score, time.perf_counter() - begin)


def cross_validate(
    rows: Rows,
    labels: FloatArray,
    folds: int,
    options: BudgetTrainOptions,
    *,
    threads: int = 1,
    progress: Progress = silent,
) -> FloatArray:
    """Cross-validate: predict every row by a model that was trained without the row's fold.

    Folds are stratified as in LIBSVM, with the seed of `options`.

    Parameters
    ----------
    rows : Rows
    labels : (n,) float64
    folds : int
        At least 2, and at most the number of rows; larger numbers are reduced to that.
    options : BudgetTrainOptions
    threads : int
        Folds that are trained at a time; does not change the predictions.
    progress : Progress

    Returns
    -------
    (n,) float64
        Predictions.

    Raises
    ------
    OptionError, TrainingRowError, SingleClassError
    """
    if folds < 2:
        raise OptionError(f"`folds` is {folds}; cross validation needs at least 2")
    n = len(rows)
    if n < 2:
        raise OptionError(f"{n} rows; cross validation needs at least 2")
    if options.is_classifier and len(np.unique(labels)) == 1:
        raise SingleClassError(labels[0])
    folds = min(folds, n)
    fold = np.empty(n, dtype=np.int64)
    # Each class is shuffled and dealt out in turn, so that each fold gets its share of the class.
    strata = np.unique(labels, return_inverse=True)[1] if options.is_classifier else np.zeros(n, np.int64)
    dealt = 0
    for stratum in range(int(strata.max()) + 1):
        members = np.flatnonzero(strata == stratum)
        shuffled = members[random_order(len(members), options.seed, stratum, _FOLDS)]
        fold[shuffled] = (np.arange(len(members)) + dealt) % folds
        dealt += len(members)
    plain = replace(options, probability=False)

    def predict(number: int) -> tuple[NDArray[np.int64], FloatArray]:
        out, rest = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        # All rows of the other class may be in this fold.
        if options.is_classifier and np.all(labels[rest] == labels[rest[0]]):
            return out, np.full(len(out), labels[rest[0]])
        source = MemorySource(rows.take(rest), labels[rest])
        model, _ = budget_train(source, plain)
        return out, model.head.predict(model.decision_values(rows.take(out)))

    predictions = np.empty(n)
    counted = counting(predict, progress, folds, "cross validation")
    for out, values in map_in_threads(counted, range(folds), threads):
        predictions[out] = values
    return predictions


def _status(
    run: BudgetRun, validate: tuple[Rows, FloatArray] | None, visited: int, seconds: float
) -> PassStatus:
    found = [pair.machine.statistics() for pair in run.pairs]
    steps = sum(s.steps for s in found)
    share = visited / run.visited if run.visited else 0.0
    score = None
    if validate is not None:
        present = []
        for pair in run.pairs:
            e = pair.machine.expansion()
            present.append(Finished(e, e.coef > 0, 0.0, 0.0, None, False))
        score = _score(run, assemble(run, present), validate)
    return PassStatus(
        epoch=run.epoch,
        passes=run.options.passes,
        steps_per_second=steps * share / seconds if seconds else 0.0,
        support_vectors=sum(s.support_vectors for s in found),
        budget=run.options.budget * len(found),
        merge_frequency=sum(s.maintained for s in found) / steps if steps else 0.0,
        validation=score,
    )


def _score(
    run: BudgetRun, model: KernelExpansion, validate: tuple[Rows, FloatArray] | None
) -> Quality | None:
    if validate is None or not len(validate[1]):
        return None
    rows, labels = validate
    return head_quality(model.head, model.decision_values(rows, threads=run.threads), labels)


def _report(
    run: BudgetRun, finished: list[Finished], model: KernelExpansion, score: Quality | None, seconds: float
) -> BudgetTrainReport:
    found = [pair.machine.statistics() for pair in run.pairs]
    fits = [one.refit for one in finished if one.refit is not None]
    lambdas = [pair.machine.options.lambda_ for pair in run.pairs]
    steps = sum(s.steps for s in found)
    step_seconds, maintenance_seconds = run.spent()
    compared = run.options.keep != "last" and len(finished) > 0
    return BudgetTrainReport(
        rows=int(run.rows.counts.sum()),
        held_out=run.source.n_rows - int(run.rows.counts.sum()),
        features=len(run.source.columns),
        classes=len(run.rows.classes),
        functions=len(run.pairs),
        budget=run.options.budget,
        passes=run.options.passes,
        steps=steps,
        violations=sum(s.violations for s in found),
        maintained=sum(s.maintained for s in found),
        merged=sum(s.merged for s in found),
        gamma=run.gamma,
        lambda_min=min(lambdas, default=0.0),
        lambda_max=max(lambdas, default=0.0),
        degradation=sum(s.degradation for s in found),
        step_seconds=step_seconds,
        maintenance_seconds=maintenance_seconds,
        train_seconds=run.seconds,
        total_seconds=seconds,
        steps_per_second=steps / step_seconds if step_seconds else 0.0,
        support_vectors=len(model.sv),
        selection=run.rows.selection.origin if compared else "",
        selection_rows=len(run.rows.selection.labels) if compared else 0,
        loss_iterate=float(np.mean([one.loss_iterate for one in finished])) if compared else None,
        loss_returned=float(np.mean([one.loss for one in finished])) if compared else None,
        refitted=sum(one.refitted for one in finished),
        refit_iterations=max((fit.iterations for fit in fits), default=0),
        refit_seconds=sum(fit.seconds for fit in fits),
        objective_before=sum(fit.objective_before for fit in fits) if fits else None,
        objective=sum(fit.objective for fit in fits) if fits else None,
        validation=score,
        maintenance=run.options.maintenance,
    )
