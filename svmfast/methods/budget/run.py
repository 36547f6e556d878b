"""A run of ``budget-train``, and its candidates for ``frontier``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.methods.budget.checkpoint import checkpointing
from svmfast.methods.budget.options import BudgetTrainOptions
from svmfast.methods.budget.report import PassStatus
from svmfast.methods.budget.training import budget_train, cross_validate
from svmfast.methods.common.file_sizes import FileSizes
from svmfast.methods.common.problem import warn_of_absent
from svmfast.methods.common.scores import FoldScore, remark_on_classes
from svmfast.methods.grid import RATE, Candidate, Grid, NotTried
from svmfast.methods.method import GivenStream, Inputs, Outcome, Setting
from svmfast.solvers.training_data import expand

#: Budgets of the candidates for ``frontier``, and their number of passes.
BUDGETS, PASSES = (50, 100, 200, 500), 5


def run(inputs: Inputs, options: BudgetTrainOptions, setting: Setting) -> Outcome:
    """Train on `data`, or cross-validate."""
    data = inputs.stream("data")
    warn_of_absent(options.weights, data.source.labels.values, data.name, setting)
    if options.folds is not None:
        score = _cross_validated(data, options.folds, options, setting)
        score = replace(score, by_class=True, names=setting.names_of_labels())
        remark_on_classes(score.quality, setting)
        return Outcome(None, score)
    held = inputs["validate"]
    show = setting.status

    def observe(status: PassStatus) -> None:
        assert show is not None, "passed only if status lines are wanted"
        show("train", status.line())

    with checkpointing(options, data, held, setting) as checkpoints:
        model, report = budget_train(
            data.source,
            options,
            validate=None if held is None else (held.rows, held.labels),
            threads=setting.threads,
            memory=options.memory,
            progress=setting.progress,
            observe=None if show is None else observe,
            checkpoints=checkpoints,
        )
    remark_on_classes(report.validation, setting)
    return Outcome(model, replace(report, working_sets=0 if data.in_memory else data.source.n_sets))


def _cross_validated(
    data: GivenStream, folds: int, options: BudgetTrainOptions, setting: Setting
) -> FoldScore:
    source = data.source
    if not data.in_memory:
        raise UnsupportedError("cross validation needs all rows in memory", "allow more with `memory`")
    whole = source.working_set(0, 0, 0)
    rows = expand(whole.rows, source.columns, source.n_features)
    if not options.gamma:  # by the features of all data, since a fold may lack some
        options = replace(options, gamma=1.0 / source.n_features if source.n_features else 1.0)
    predicted = cross_validate(
        rows, whole.labels, folds, options, threads=setting.threads, progress=setting.progress
    )
    return FoldScore.of(predicted, whole.labels, folds, regression=not options.is_classifier)


def candidates(grid: Grid) -> tuple[list[Candidate], list[NotTried]]:
    """Return the candidates for ``frontier``: some budgets below the number of support vectors."""
    model = grid.exact
    kernel, head = model.kernel, model.head
    if kernel.kind != "rbf" or head.svm_type == "one_class":
        what = "one-class models" if kernel.kind == "rbf" else f"the {kernel.kind} kernel"
        return [], [NotTried("budget-train", f"does not train {what}")]
    # LIBSVM's files do not contain C. It is the largest |coefficient| if any support vector is bounded.
    cost = float(np.abs(model.sv_coef).max(initial=0.0)) or 1.0
    common: dict[str, Any] = {"svm_type": "epsilon_svr"} if head.is_regression else {}
    common |= {"C": float(f"{cost:.6g}"), "gamma": kernel.gamma, "passes": PASSES}
    sizes, pairs = FileSizes(grid), max(1, head.n_functions)
    found: dict[int, Candidate] = {}

    def bytes_of(budget: int) -> int | None:
        return sizes.expansion(budget * pairs)

    def add(budget: int, level: int, sized: bool = False) -> None:
        options = {**common, "budget": budget, "seed": grid.seed}
        # The passes, and the refit; a row takes part in the pairs of its class.
        work = len(model.sv_coef) * grid.rows * budget * (2 * PASSES * grid.width + 2 * budget)
        most, seconds = bytes_of(budget), work / RATE
        name = f"budget-train-{budget}"
        found[budget] = Candidate(name, level, options, ("data",), most, sized, seconds)

    most = len(model.sv) - 1
    for level, budget in enumerate(budget for budget in BUDGETS if budget <= most):
        add(budget, level)
    if fitting := sizes.largest(bytes_of, most):
        add(fitting, sum(budget < fitting for budget in BUDGETS), sized=True)
    return list(found.values()), []
