"""Budgeted SGD training: at most B support vectors per decision function, in a few passes over the rows.

Papers: Wang, Crammer and Vucetic (JMLR 13, 2012), Glasmachers and Qaadan (2018); the refit of the
coefficients: Keerthi, Chapelle and DeCoste (JMLR 7, 2006). Multiclass is one-against-one, as in LIBSVM; the
result is a LIBSVM model.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmfast.display import count
from svmfast.figures import Figures, figure
from svmfast.methods.budget import BudgetTrainOptions
from svmfast.methods.budget.finish import assemble, finish
from svmfast.methods.budget.moving import moved_vectors
from svmfast.methods.budget.training import BudgetRun, Descended
from svmfast.methods.candidates import Candidate, CandidateRequest, NotTried
from svmfast.methods.common.problem import head_quality, remark_on_classes, warn_of_absent
from svmfast.methods.common.resuming import kept_results
from svmfast.methods.method import ALONE, Inputs, Kept, Outcome, Setting
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality
from svmfast.solvers.row_blocks import TrainingSource


@dataclass(frozen=True, kw_only=True)
class BudgetTrainReport(Figures):
    """The report of a run; steps and support vectors are those of all decision functions."""

    rows: int = figure("Training rows.")
    held_out: int = figure("Rows held out.", key="rows_held_out")
    features: int = figure("Features that occur.")
    classes: int = figure("Classes; 0 for regression.", key="n_classes")
    functions: int = figure("Decision functions.")
    gamma: float = figure("Gamma of the kernel.")
    lambda_min: float = figure("Smallest lambda of a function.")
    lambda_max: float = figure("Largest lambda of a function.")
    steps: int = figure("Steps of the descent.")
    merge_frequency: float = figure("Share of the steps that met a full budget.")
    train_seconds: float = figure("Time by the clock in the passes.")
    support_vectors: int = figure("Support vectors of the model.")
    validation: Quality | None = figure(
        "The figures of `training` on the validation rows; null without them."
    )
    working_sets: int = figure("Pieces of a temporary file; 1: all rows were in memory.")

    def lines(self) -> list[str]:
        r = self
        functions = count(r.functions, "decision function")
        kind = f"{r.classes} classes, {functions}" if r.classes else "regression"
        rows = count(r.rows, "row") + (f" ({r.held_out:,} more held out)" if r.held_out else "")
        stream = f", in {r.working_sets} working sets from a temporary file" if r.working_sets > 1 else ""
        lines = [f"data        {rows}, {count(r.features, 'feature')}, {kind}{stream}"]
        if r.functions:
            same = r.lambda_min == r.lambda_max
            lambdas = f"{r.lambda_min:.6g}" + ("" if same else f" to {r.lambda_max:.6g}")
            lines += [
                f"problem     gamma {r.gamma:.6g}, lambda {lambdas}",
                f"steps       {r.steps:,}, {100 * r.merge_frequency:.2f} % of them with a full budget",
            ]
        if r.validation is not None:
            lines.append(f"validation  {r.validation.line()}")
        lines.append(f"model       {count(r.support_vectors, 'support vector')}")
        return lines


#: Budgets of the candidates for ``frontier``, and their number of passes.
BUDGETS, PASSES = (50, 100, 200, 500), 5

Labelled = tuple[Rows, FloatArray]


def run(inputs: Inputs, options: BudgetTrainOptions, setting: Setting) -> Outcome:
    data, held = inputs.stream("data"), inputs["validate"]
    warn_of_absent(options.weights, data.source.labels.values, data.name, setting)
    validate = None if held is None else (held.rows, held.labels)
    model, report = budget_train(data.source, options, setting, validate)
    remark_on_classes(report.validation, setting)
    if report.support_vectors > report.rows > 0:
        setting.note(
            f"the model has more support vectors ({report.support_vectors:,}) than there are rows "
            f"({report.rows:,}), and svmfast train's never has: `budget` is for each decision function"
        )
    return Outcome(model, report)


def budget_train(
    source: TrainingSource,
    options: BudgetTrainOptions,
    setting: Setting = ALONE,
    validate: Labelled | None = None,
) -> tuple[KernelExpansion, BudgetTrainReport]:
    """Train an RBF model on a budget; the number of threads does not change it.

    The score on the rows of `validate` is reported; they choose nothing. The model's vectors are rounded to
    the eight digits of a LIBSVM file, so that saving does not change it.
    """
    begin = time.perf_counter()
    run = BudgetRun(source, options, setting.threads)
    kept = kept_results("budget-train", source, options, setting)
    found = _vectors(run, setting, kept)
    seconds = time.perf_counter() - begin
    setting.progress(0, None, "refit" if options.keep == "refit" else "finish")
    model = assemble(run, finish(run, found, kept))
    score = None
    if validate is not None and len(validate[1]):
        score = head_quality(model.head, model.decision_values(validate[0], threads=run.threads), validate[1])
    return model, _report(run, found, model, score, seconds)


def _vectors(run: BudgetRun, setting: Setting, kept: Kept | None) -> Descended:
    """The vectors that the descent finds, and that are moved if that is asked for."""
    if kept is not None and (known := kept.load("vectors")) is not None:
        return Descended.of(known)
    while not run.ended:
        run.advance()
        setting.progress(run.visited, run.total, "train")
    run.rows.forget()
    found = run.descended()
    if run.options.move:
        setting.progress(0, None, "move")
        found.expansions = moved_vectors(run, found.expansions)
    if kept is not None:
        kept.save("vectors", **found.arrays())
    return found


def _report(
    run: BudgetRun, found: Descended, model: KernelExpansion, score: Quality | None, seconds: float
) -> BudgetTrainReport:
    last = run.options.keep == "last"  # of the rows visited, otherwise of all
    lambdas = [(pair.machine.options if last else run.step_options(pair)).lambda_ for pair in run.pairs]
    counts = found.counts
    steps, full = (sum(numbers) for numbers in zip(*counts, strict=True)) if counts else (0, 0)
    trained = int(run.rows.counts.sum())
    return BudgetTrainReport(
        rows=trained,
        held_out=run.source.n_rows - trained,
        features=len(run.source.columns),
        classes=len(run.rows.classes),
        functions=len(run.pairs),
        gamma=run.gamma,
        lambda_min=min(lambdas, default=0.0),
        lambda_max=max(lambdas, default=0.0),
        steps=steps,
        merge_frequency=full / steps if steps else 0.0,
        train_seconds=seconds,
        support_vectors=len(model.sv),
        validation=score,
        working_sets=run.rows.descent.n_sets,
    )


def candidates(request: CandidateRequest) -> tuple[list[Candidate], list[NotTried]]:
    model = request.exact
    kernel, head = model.kernel, model.head
    if kernel.kind != "rbf" or head.svm_type == "one_class":
        what = "one-class models" if kernel.kind == "rbf" else f"the {kernel.kind} kernel"
        return [], [NotTried("budget-train", f"does not train {what}")]
    # LIBSVM's files do not contain C. It is the largest |coefficient| if any support vector is bounded.
    cost = float(np.abs(model.sv_coef).max(initial=0.0)) or 1.0
    common: dict[str, Any] = {"svm_type": "epsilon_svr"} if head.is_regression else {}
    common |= {"C": float(f"{cost:.6g}"), "gamma": kernel.gamma, "passes": PASSES}
    budgets = {budget for budget in (*BUDGETS, request.vectors // max(1, head.n_functions)) if budget}
    return [
        Candidate(
            f"budget-train-{budget}", level, {**common, "budget": budget, "seed": request.seed}, ("data",)
        )
        for level, budget in enumerate(sorted(budgets))
        if budget < len(model.sv)
    ], []
