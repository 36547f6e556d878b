"""The reports of a budgeted training run: after each pass, and at the end."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from svmfast.display import count
from svmfast.score import Quality


@dataclass(frozen=True)
class PassStatus:
    """The state of a run at the end of a pass.

    Attributes
    ----------
    epoch, passes : int
        Finished passes, and all passes.
    steps_per_second : float
        For all decision functions, in wall-clock time since the run began or continued.
    support_vectors, budget : int
        Totals over all decision functions.
    merge_frequency : float
        Share of the steps so far in which the budget was full.
    validation : Quality or None
        Quality of the current iterate on the validation rows.
    """

    epoch: int
    passes: int
    steps_per_second: float
    support_vectors: int
    budget: int
    merge_frequency: float
    validation: Quality | None

    def line(self) -> str:
        """Return the status line at the end of a pass."""
        parts = [
            f"pass {self.epoch}/{self.passes}",
            f"{self.steps_per_second:,.0f} steps/s",
            f"budget {self.support_vectors:,}/{self.budget:,}",
            f"{100 * self.merge_frequency:.1f}% of steps merge",
        ]
        if self.validation is not None:
            parts.append(self.validation.line())
        return ", ".join(parts)


@dataclass(frozen=True)
class BudgetTrainReport:
    """The report of a run; figures are sums over the decision functions unless stated otherwise.

    Attributes
    ----------
    rows, held_out, features, classes, functions : int
        Training rows and held-out rows; features that occur; classes (0 for regression).
    budget, passes, steps, violations, maintained, merged : int
        `violations` counts steps that added a support vector, `maintained` steps with a full budget, and
        `merged` those of them that merged two support vectors.
    gamma, lambda_min, lambda_max : float
    degradation : float
        Sum of the squared weight degradations ||w' - w||^2.
    step_seconds, maintenance_seconds : float
        Time in steps, summed over threads, and the part of it spent on maintenance.
    train_seconds, total_seconds : float
        Wall-clock time of the passes, and of the whole run.
    steps_per_second : float
        Steps divided by step_seconds: the rate of one core.
    support_vectors : int
        Number of support vectors of the model.
    selection : str
        A description of the rows on which candidates were compared.
    selection_rows : int
        Their number.
    loss_iterate, loss_returned : float or None
        The share of wrong labels (classification) or mean squared error on those rows, averaged over the
        functions, for the last iterate and for the returned model.
    refitted : int
        Functions for which the refit was returned, rather than the iterate.
    refit_iterations : int
        The largest number of Newton steps of a function.
    refit_seconds : float
    objective_before, objective : float or None
        Objective of the refit's smooth problem.
    validation : Quality or None
        Quality of the returned model on the validation rows.
    maintenance : str
        The method that kept the budget.
    working_sets : int
        Number of pieces in which the rows were read from a temporary file; 0 if all were in memory.
    """

    rows: int
    held_out: int
    features: int
    classes: int
    functions: int
    budget: int
    passes: int
    steps: int
    violations: int
    maintained: int
    merged: int
    gamma: float
    lambda_min: float
    lambda_max: float
    degradation: float
    step_seconds: float
    maintenance_seconds: float
    train_seconds: float
    total_seconds: float
    steps_per_second: float
    support_vectors: int
    selection: str
    selection_rows: int
    loss_iterate: float | None
    loss_returned: float | None
    refitted: int
    refit_iterations: int
    refit_seconds: float
    objective_before: float | None
    objective: float | None
    validation: Quality | None
    maintenance: str
    working_sets: int = 0

    @property
    def merge_frequency(self) -> float:
        """Share of the steps in which the budget was full."""
        return self.maintained / self.steps if self.steps else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        values = asdict(self)
        del values["total_seconds"], values["maintenance"]  # reported at the top level, as time and as option
        values["n_classes"] = values.pop("classes")
        values["rows_held_out"] = values.pop("held_out")
        values["merge_frequency"] = self.merge_frequency
        values["validation"] = None if self.validation is None else self.validation.as_dict()
        return values

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
            returned = f"returned for {r.refitted} of {r.functions}" if r.functions > 1 else (
                "returned" if r.refitted else "not returned: the iterate is better"
            )  # fmt: skip
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
