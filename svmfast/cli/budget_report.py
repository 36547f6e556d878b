"""What ``svmfast budget-train`` says of a run: a line for a pass, and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmfast.cli.messages import count

if TYPE_CHECKING:
    from svmfast.methods.budget.options import BudgetTrainOptions, BudgetTrainReport, PassStatus


def status_line(status: PassStatus) -> str:
    """Return what is worth knowing at the end of a pass."""
    parts = [
        f"pass {status.epoch}/{status.passes}",
        f"{status.steps_per_second:,.0f} steps/s",
        f"budget {status.support_vectors:,}/{status.budget:,}",
        f"{100 * status.merge_frequency:.1f}% of steps merge",
    ]
    if status.accuracy is not None:
        parts.append(f"accuracy {status.accuracy:.3f}%")
    if status.mean_squared_error is not None:
        parts.append(f"mean squared error {status.mean_squared_error:.6g}")
    return ", ".join(parts)


def report_lines(
    report: BudgetTrainReport, given: BudgetTrainOptions, target: str, size: int, streamed: int
) -> list[str]:
    """Return the report of a run; `streamed` working sets came from a temporary file (0: none)."""
    r = report
    kind = (
        f"{r.classes} classes, {count(r.functions, 'decision function')}"
        if given.is_classifier
        else "regression"
    )
    rows = count(r.rows, "row") + (f" ({r.held_out:,} more held out)" if r.held_out else "")
    stream = f", in {streamed} working sets from a temporary file" if streamed else ""
    lines = [f"data        {rows}, {count(r.features, 'feature')}, {kind}{stream}"]
    if r.functions:
        same = r.lambda_min == r.lambda_max
        lambdas = f"{r.lambda_min:.6g}" + ("" if same else f" to {r.lambda_max:.6g}")
        share = r.maintenance_seconds / r.step_seconds if r.step_seconds else 0.0
        lines += [
            f"problem     gamma {r.gamma:.6g}, lambda {lambdas}",
            f"steps       {r.steps:,} in {r.passes} passes, {r.steps_per_second:,.0f} a second and core; "
            f"{r.step_seconds:.2f} s, {100 * share:.0f} % of it keeping the budget of {r.budget:,}",
            f"{given.maintenance:<12}{r.maintained:,} times, {100 * r.merge_frequency:.2f} % of the steps; "
            f"weight degradation {r.degradation:.6g} in all",
        ]
    if r.objective is not None:
        returned = f"returned for {r.refitted} of {r.functions}" if r.functions > 1 else (
            "returned" if r.refitted else "not returned: the iterate does better"
        )  # fmt: skip
        lines.append(
            f"refit       objective {r.objective_before:.6g} -> {r.objective:.6g} in "
            f"{r.refit_iterations} Newton steps, {r.refit_seconds:.2f} s; {returned}"
        )
    if r.loss_iterate is not None and r.selection_rows:
        unit, factor = ("% wrong", 100.0) if given.is_classifier else ("mean squared error", 1.0)
        lines.append(
            f"compared    on {r.selection_rows:,} {r.selection}: iterate {factor * r.loss_iterate:.4g}, "
            f"returned {factor * (r.loss_returned or 0.0):.4g} {unit}"
        )
    if r.validation_accuracy is not None:
        lines.append(f"validation  accuracy {r.validation_accuracy:.4f} %")
    if r.validation_mse is not None:
        lines.append(f"validation  mean squared error {r.validation_mse:.6g}")
    lines.append(f"time        {r.total_seconds:.2f} s, of which {r.train_seconds:.2f} s in the passes")
    lines.append(f"written     {target}: {count(r.support_vectors, 'support vector')}, {size:,} bytes")
    return lines
