"""What ``svmfast approximate`` prints of its report."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svmfast.methods.approximate.report import ApproximationReport


def report_lines(report: ApproximationReport, model: str, output: str, before: int, after: int) -> list[str]:
    """Return the lines of the report; `before` and `after` are the files' bytes."""
    of = f"{report.n_sv:,} support vectors, {report.features:,} features"
    lines = [
        _difference(report),
        f"model       {model}: {report.svm_type}, {report.kernel} kernel, {of}, "
        f"{report.functions:,} decision function{'s' * (report.functions != 1)}",
    ]
    if report.exact:
        lines.append(f"expansion   order {report.order}, exact: this kernel is a polynomial")
    else:
        lines += _expansion_lines(report)
    if report.certified_percent is not None:
        what = "have a value" if report.labels_differing is None else "have a label"
        proven = f"of them {what} that is provably the exact model's (svmfast predict --certify)"
        if report.labels_differing is None:
            proven = "of them are provably within the tolerance (svmfast predict --certify)"
        lines.append(f"certified   {report.certified_percent:.2f}% {proven}")
    if report.speedup_with_fallback is not None:
        lines.append(
            f"raced       {report.speedup_with_fallback:.2f} times as fast as the exact model, which answers "
            "the rows that are not certified (predict --exact)"
        )
    lines.append(f"numbers     {report.numbers_before:,} -> {report.coefficients:,}")
    counts = f"{report.operations_before:,.0f} -> {report.operations:,.0f}"
    lines.append(f"operations  {counts} multiply-adds a row (counted)")
    factor = f"{before / after:.1f}x smaller" if after < before else f"{after / before:.1f}x LARGER"
    lines.append(f"bytes       {before:,} -> {after:,} ({factor})")
    lines.append(f"time        {report.seconds:.2f} s")
    lines.append(f"written     {output}")
    return lines


def _difference(report: ApproximationReport) -> str:
    """The first line: how far the result is from the exact model."""
    rows = f"{report.measured_rows:,} "
    rows += "rows of --data that chose nothing" if report.measured_on == "data" else report.measured_on
    if not report.measured_rows:
        return "differing   not measured: the model has no support vectors"
    if report.values_differing_percent is not None:
        return f"differing   values by {report.values_differing_percent:.3g}% of their spread, on {rows}"
    share = f"{report.labels_differing_percent:.2f}% of the labels"
    line = f"differing   {share}, {report.labels_differing:,} of {rows}"
    alone = report.labels_differing_without_fallback
    return line if alone is None else f"{line}; {alone:,} without the embedded model"


def _expansion_lines(report: ApproximationReport) -> list[str]:
    """Where and to which order; and how that was found, if it was."""
    orders = ", ".join(f"order {order}: {count:,}" for order, count in report.orders.items())
    where = f"about the {report.center}" if report.cells == 1 else f"about {report.cells:,} centres"
    line = f"expansion   order {report.order} {where}" + (", calibrated" if report.calibrated else "")
    if len(report.orders) > 1:
        line += f" ({orders})"
    if report.center_errors:
        errors = ", ".join(f"{name} {error:.3g}" for name, error in report.center_errors.items())
        line += f"; mean error on the support vectors: {errors}"
    lines = [line, f"gamma       {report.gamma:.6g}"]
    if report.cells == 1:
        lines[-1] += (
            f"; the validity bound of order {min(report.orders, default=report.order)} holds below "
            f"{report.gamma_max_paper:.6g} (about the origin), {report.gamma_max_centred:.6g} (about the "
            "mean), for rows no farther out than the support vectors"
        )
    for step in report.steps:
        lines.append(
            f"tried       {step.cells:,} cell{'s' * (step.cells != 1)}, orders up to {step.order}: "
            f"{step.certified_percent:.2f}% foreseen certified, {step.operations:,.0f} multiply-adds a row "
            "with the exact model's for the others"
        )
    if report.time_limit_reached:
        lines.append("            then the time limit was reached")
    return lines
