"""The report of a budgeted training run."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.display import count
from svmfast.figures import Figures, computed, figure
from svmfast.score import Quality


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
        """Share of the steps in which the budget was full."""
        return self.maintained / self.steps if self.steps else 0.0

    def lines(self) -> list[str]:
        """Return the report as text."""
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
