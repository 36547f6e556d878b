"""Budgeted SGD training: at most B support vectors per decision function, in a few passes over the rows.

Papers: Wang, Crammer and Vucetic (JMLR 13, 2012), Glasmachers and Qaadan (2018); the refit of the
coefficients: Keerthi, Chapelle and DeCoste (JMLR 7, 2006). Multiclass is one-against-one, as in LIBSVM; the
result is a LIBSVM model.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.display import count
from svmfast.errors import OptionError, SingleClassError, UnsupportedError
from svmfast.figures import Figures, computed, figure
from svmfast.methods.budget import BudgetTrainOptions
from svmfast.methods.budget.finish import Finished, assemble, finish, present
from svmfast.methods.budget.training import BudgetRun, Checkpointing, bytes_of_machines, checkpointing
from svmfast.methods.common.problem import FoldScore, head_quality, remark_on_classes, warn_of_absent
from svmfast.methods.grid import Candidate, Grid, NotTried
from svmfast.methods.method import ALONE, GivenStream, Inputs, Outcome, Setting
from svmfast.models.expansion import KernelExpansion
from svmfast.progress import counting
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality
from svmfast.solvers.training_data import MemorySource, TrainingSource, expand, occurring, random_order
from svmfast.threads import map_in_threads


@dataclass(frozen=True, kw_only=True)
class BudgetTrainReport(Figures):
    """The report of a run; figures are sums over the decision functions unless stated otherwise."""

    rows: int = figure("Training rows.")
    held_out: int = figure("Rows held out.", key="rows_held_out")
    features: int = figure("Features that occur.")
    classes: int = figure("Classes; 0 for regression.", key="n_classes")
    functions: int = figure("Decision functions.")
    budget: int = figure("Most support vectors of a function.")
    passes: int = figure("Times every row was visited.")
    steps: int = figure("Steps of the descent.")
    violations: int = figure("Steps that added a support vector.")
    maintained: int = figure("Steps that met a full budget.")
    merged: int = figure("Steps that merged.")
    gamma: float = figure("Gamma of the kernel.")
    lambda_min: float = figure("Smallest lambda of a function.")
    lambda_max: float = figure("Largest lambda of a function.")
    degradation: float = figure("Sum of the squared weight degradations.")
    step_seconds: float = figure("Time in steps, added up over threads.")
    maintenance_seconds: float = figure("The part of it that kept the budget.")
    train_seconds: float = figure("Time by the clock in the passes.")
    #: Of the whole run.
    total_seconds: float
    steps_per_second: float = figure("Steps per second on one core.")
    support_vectors: int = figure("Support vectors of the model.")
    selection: str = figure("What candidates were compared on.")
    selection_rows: int = figure("On how many rows.")
    loss_iterate: float | None = figure(
        "Loss of the last iterate there, the share of wrong labels or mean squared error of a function."
    )
    loss_returned: float | None = figure("The same of what was returned.")
    refitted: int = figure("Functions whose refit was returned.")
    refit_iterations: int = figure("Most Newton steps of a function.")
    refit_seconds: float = figure("Time of the refit.")
    objective_before: float | None = figure("The refit's objective before it.")
    objective: float | None = figure("The refit's objective.")
    validation: Quality | None = figure(
        "The figures of `training` on the validation rows; null without them."
    )
    #: The way of keeping the budget.
    maintenance: str
    working_sets: int = figure("Pieces of a temporary file; 0: all rows were in memory.", default=0)

    @computed.figure("Share of the steps that met a full budget.")
    def merge_frequency(self) -> float:
        return self.maintained / self.steps if self.steps else 0.0

    def lines(self) -> list[str]:
        r, classifies = self, self.classes > 0
        kind = (
            f"{r.classes} classes, {count(r.functions, 'decision function')}" if classifies else "regression"
        )
        rows = count(r.rows, "row") + (f" ({r.held_out:,} more held out)" if r.held_out else "")
        stream = f", in {r.working_sets} working sets from a temporary file" if r.working_sets else ""
        lines = [f"data        {rows}, {count(r.features, 'feature')}, {kind}{stream}"]
        if r.functions:
            same = r.lambda_min == r.lambda_max
            lambdas = f"{r.lambda_min:.6g}" + ("" if same else f" to {r.lambda_max:.6g}")
            share = r.maintenance_seconds / r.step_seconds if r.step_seconds else 0.0
            lines += [
                f"problem     gamma {r.gamma:.6g}, lambda {lambdas}",
                f"steps       {r.steps:,} in {r.passes} passes, "
                f"{r.steps_per_second:,.0f} per second and core; "
                f"{r.step_seconds:.2f} s, {100 * share:.0f} % of it keeping the budget of {r.budget:,}",
                f"{r.maintenance:<12}{r.maintained:,} times, {100 * r.merge_frequency:.2f} % of the steps; "
                f"total weight degradation {r.degradation:.6g}",
            ]
        if r.objective is not None:
            returned = "returned" if r.refitted else "not returned: the iterate is better"
            if r.functions > 1:
                returned = f"returned for {r.refitted} of {r.functions}"
            lines.append(
                f"refit       objective {r.objective_before:.6g} -> {r.objective:.6g} in "
                f"{r.refit_iterations} Newton steps, {r.refit_seconds:.2f} s; {returned}"
            )
        if r.loss_iterate is not None and r.selection_rows:
            unit, factor = ("% wrong", 100.0) if classifies else ("mean squared error", 1.0)
            lines.append(
                f"compared    on {r.selection_rows:,} {r.selection}: iterate {factor * r.loss_iterate:.4g}, "
                f"returned {factor * (r.loss_returned or 0.0):.4g} {unit}"
            )
        if r.validation is not None:
            lines.append(f"validation  {r.validation.line()}")
        lines.append(f"time        {r.total_seconds:.2f} s, of which {r.train_seconds:.2f} s in the passes")
        lines.append(f"model       {count(r.support_vectors, 'support vector')}")
        return lines


#: Budgets of the candidates for ``frontier``, and their number of passes.
BUDGETS, PASSES = (50, 100, 200, 500), 5
_FOLDS = 4  # the seed of the folds

Labelled = tuple[Rows, FloatArray]


def run(inputs: Inputs, options: BudgetTrainOptions, setting: Setting) -> Outcome:
    data, held = inputs.stream("data"), inputs["validate"]
    warn_of_absent(options.weights, data.source.labels.values, data.name, setting)
    if options.folds is not None:
        score = _fold_score(data, options.folds, options, setting)
        score = replace(score, by_class=True, names=setting.names_of_labels())
        remark_on_classes(score.quality, setting)
        return Outcome(None, score)
    validate = None if held is None else (held.rows, held.labels)
    with checkpointing(options, data, held, setting) as checkpoints:
        model, report = budget_train(data.source, options, setting, validate, checkpoints)
    remark_on_classes(report.validation, setting)
    return Outcome(model, replace(report, working_sets=0 if data.in_memory else data.source.n_sets))


def budget_train(
    source: TrainingSource,
    options: BudgetTrainOptions,
    setting: Setting = ALONE,
    validate: Labelled | None = None,
    checkpoints: Checkpointing | None = None,
) -> tuple[KernelExpansion, BudgetTrainReport]:
    """Train an RBF model on a budget; the number of threads does not change it.

    Candidates are compared on the rows of `validate`, and their score is reported. With `checkpoints`, the
    state is saved after every ``options.checkpoint_every`` rows visited and before the run stops, which it
    does by a KeyboardInterrupt. The model's vectors are rounded to the eight digits of a LIBSVM file, so that
    saving does not change it.
    """
    begin = time.perf_counter()
    run = BudgetRun(source, options, validate, setting.threads)
    if checkpoints and checkpoints.resume:
        run.restore(*checkpoints.resume)
    every = options.checkpoint_every if checkpoints else None
    seconds, visited = run.seconds, run.visited
    while not run.ended:
        epoch = run.epoch
        due = run.advance(every)
        setting.progress(run.visited, run.total, "train")
        if setting.status and run.epoch > epoch:
            line = _status(run, validate, run.visited - visited, run.seconds - seconds)
            setting.status("train", line)
        if checkpoints:
            stop = setting.should_stop()
            if due or stop:
                checkpoints.save(*run.save())
            if stop:
                raise KeyboardInterrupt
    if checkpoints:
        checkpoints.save(*run.save())
    setting.progress(0, None, "refit" if options.keep == "refit" else "finish")
    finished = finish(run, setting.should_stop if checkpoints else lambda: False)
    model = assemble(run, finished)
    score = _score(run, model, validate)
    return model, _report(run, finished, model, score, time.perf_counter() - begin)


def _fold_score(data: GivenStream, folds: int, options: BudgetTrainOptions, setting: Setting) -> FoldScore:
    source = data.source
    if not data.in_memory:
        raise UnsupportedError("cross validation needs all rows in memory", "allow more with `memory`")
    whole = source.working_set(0, 0, 0)
    rows = expand(whole.rows, source.columns, source.n_features)
    if not options.gamma:  # by the features of all data, since a fold may lack some
        options = replace(options, gamma=1.0 / source.n_features if source.n_features else 1.0)
    predicted = cross_validate(rows, whole.labels, folds, options, setting)
    return FoldScore.of(predicted, whole.labels, folds, regression=not options.is_classifier)


def cross_validate(
    rows: Rows, labels: FloatArray, folds: int, options: BudgetTrainOptions, setting: Setting = ALONE
) -> FloatArray:
    """Predict every row by a model that was trained without the row's fold.

    Folds are stratified as in LIBSVM, with the seed of `options`; more folds than rows are reduced. As many
    folds as threads are trained at a time, but no more than fit into ``options.memory``.
    """
    n, classes = len(rows), len(np.unique(labels)) if options.is_classifier else 0
    if n < 2:
        raise OptionError(f"{n} rows; cross validation needs at least 2")
    if classes == 1:
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
        model, _ = budget_train(MemorySource(rows.take(rest), labels[rest]), plain)
        return out, model.head.predict(model.decision_values(rows.take(out)))

    predictions = np.empty(n)
    counted = counting(predict, setting.progress, folds, "cross validation")
    functions = max(1, classes * (classes - 1) // 2)
    needed = bytes_of_machines(options, functions, len(occurring(rows))) + 12 * len(rows.values)
    at_once = min(setting.threads, max(1, options.memory // max(1, needed)))
    for out, values in map_in_threads(counted, range(folds), at_once):
        predictions[out] = values
    return predictions


def _status(run: BudgetRun, validate: Labelled | None, visited: int, seconds: float) -> str:
    """Describe the state at the end of a pass, with the speed since the run began or continued."""
    found = [pair.machine.statistics() for pair in run.pairs]
    steps, vectors = sum(s.steps for s in found), sum(s.support_vectors for s in found)
    speed = steps * visited / run.visited / seconds if run.visited and seconds else 0.0
    merging = sum(s.maintained for s in found) / steps if steps else 0.0
    parts = [
        f"pass {run.epoch}/{run.options.passes}",
        f"{speed:,.0f} steps/s",
        f"budget {vectors:,}/{run.options.budget * len(found):,}",
        f"{100 * merging:.1f}% of steps merge",
    ]
    score = None if validate is None else _score(run, assemble(run, present(run)), validate)
    return ", ".join(parts if score is None else [*parts, score.line()])


def _score(run: BudgetRun, model: KernelExpansion, validate: Labelled | None) -> Quality | None:
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
    steps, trained = sum(s.steps for s in found), int(run.rows.counts.sum())
    step_seconds, maintenance_seconds = run.spent()
    compared = run.options.keep != "last" and len(finished) > 0
    return BudgetTrainReport(
        rows=trained,
        held_out=run.source.n_rows - trained,
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


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    model = grid.exact
    kernel, head = model.kernel, model.head
    if kernel.kind != "rbf" or head.svm_type == "one_class":
        what = "one-class models" if kernel.kind == "rbf" else f"the {kernel.kind} kernel"
        return [], [NotTried("budget-train", f"does not train {what}")]
    # LIBSVM's files do not contain C. It is the largest |coefficient| if any support vector is bounded.
    cost = float(np.abs(model.sv_coef).max(initial=0.0)) or 1.0
    common: dict[str, Any] = {"svm_type": "epsilon_svr"} if head.is_regression else {}
    common |= {"C": float(f"{cost:.6g}"), "gamma": kernel.gamma, "passes": PASSES}
    budgets = {budget for budget in (*BUDGETS, grid.vectors // max(1, head.n_functions)) if budget}
    return [
        Candidate(f"budget-train-{budget}", level, {**common, "budget": budget, "seed": grid.seed}, ("data",))
        for level, budget in enumerate(sorted(budgets))
        if budget < len(model.sv)
    ], []
