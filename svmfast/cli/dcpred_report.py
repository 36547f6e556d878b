"""What ``svmfast dcpred`` tells of its work."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from svmfast.cli.json_report import show
from svmfast.cli.messages import line, lines, rounded_up
from svmfast.cli.probabilities import outcome
from svmfast.display import shell_line
from svmfast.methods.common.error_statement import held_out

if TYPE_CHECKING:
    from svmfast.methods.dcpred.fit import CrossValidation, DcpredReport
    from svmfast.models.routed import RoutedModel
    from svmfast.rows import Rows

#: Rows on which the cost of a prediction is measured.
_COST_ROWS = 100_000


def show_fit(
    report: DcpredReport,
    made: RoutedModel,
    rows: Rows,
    model: str,
    size: int,
    *,
    source: str | None = None,
    as_json: bool,
    quiet: bool,
    jobs: int,
) -> None:
    """Tell of a run: JSON on stdout, lines on stderr, with the measured cost of a prediction.

    With `source`, the exact model's file, also how predict falls back on it.
    """
    from svmfast.evaluation.linear import linear_seconds
    from svmfast.evaluation.timing import measure

    rows = rows[: min(len(rows), _COST_ROWS)]
    predict = measure(lambda: made.head.predict(made.decision_values(rows, threads=jobs)), limit_seconds=5)[1]
    linear = linear_seconds(made.head, rows, threads=jobs)
    cost = {
        "seconds": predict.seconds,
        "linear_seconds": linear.seconds,
        "linear_cost": predict.seconds / linear.seconds,
        "counted_cost": report.multiply_adds / max(1.0, report.linear_multiply_adds),
        "rows": len(rows),
    }
    if as_json:
        values = asdict(report)
        values["phase_seconds"] = values.pop("seconds")
        values["held_out"] = held_out(report.held_out)
        show({"bytes": size, **values, "prediction": cost})
    if not quiet:
        lines(_lines(report, model, size, cost), err=True)
        if source is not None:
            lines(_fallback(report, model, source), err=True)


def _fallback(report: DcpredReport, model: str, source: str) -> list[str]:
    """How to have doubtful rows answered by the exact model, as compress says it."""
    if not report.held_out or "fallback_error" not in report.held_out or "-" in (model, source):
        return []
    error = rounded_up(report.held_out["fallback_error"])
    words = ("svmfast", "predict", "DATA", model, "--exact", source, "--assume-error", error)
    return [f"fallback    {shell_line(words)} (statistical)"]


def _lines(report: DcpredReport, model: str, size: int, cost: dict[str, float]) -> list[str]:
    classes = report.task in ("svc", "labels", "pairs")
    name = "C" if classes else "lambda"
    score = f"accuracy {report.train_score:.6g}%" if classes else f"RMSE {report.train_score:.6g}"
    fitted = {"values": ", fitted to the exact decision values", "labels": ", fitted to the exact labels"}
    fitted["pairs"] = ", fitted to the exact values of the pairs"
    lines = [
        f"choice      {c.clusters} clusters on {c.levels} level(s), {c.landmarks} landmarks, "
        f"{c.pseudo_landmarks} pseudo: {c.counted_cost:.3g}x, {c.score:.6g} on held-out rows"
        for c in report.candidates
    ]
    lines += _score_lines(report.task, report.cross_validation)
    low, high = report.leaf_rows
    narrow, wide = report.leaf_gammas
    pseudo = f", {report.pseudo_landmarks:,} {report.pseudo} pseudo" if report.pseudo_landmarks else ""
    lines += [
        f"data        {report.rows:,} rows, {report.features:,} features; "
        f"{report.clusters} clusters of {low:,} to {high:,} rows",
        f"kernel      rbf, gamma {report.gamma:.6g} (leaves {narrow:.4g} to {wide:.4g})"
        + ("" if report.strength is None else f", {name} {report.strength:.6g}"),
        f"training    {score} on the training rows{fitted.get(report.task, '')}",
    ]
    held = report.held_out
    if held:
        said = []
        if "label_agreement" in held:
            said.append(
                f"{held['label_agreement']:.3%} of the labels are the exact model's; 95% confidence: "
                f"{held['agreement_low']:.2%} to {held['agreement_high']:.2%}"
            )
        if "median" in held:
            said.append(
                f"|difference| median {held['median']:.3g}, 99% below {held['quantile_99']:.3g}, "
                f"99.9% below {held['quantile_999']:.3g}"
            )
        if held.get("trained_on"):
            said.append("the exact model was trained on such rows: unseen ones agree less")
        lines.append(f"held out    {held['rows']:,.0f} rows: {'; '.join(said)}")
    lines += outcome(report.probabilities, held)
    lines += [
        f"prediction  {cost['linear_cost']:.3g} times a linear model's time, "
        f"{cost['counted_cost']:.3g} times its multiply-adds",
        f"model       {model}: {report.landmarks:,} landmarks{pseudo}, {size:,} bytes",
        "time        " + ", ".join(f"{what} {seconds:.2f} s" for what, seconds in report.seconds.items()),
    ]
    return lines


def _score_lines(task: str, scores: tuple[CrossValidation, ...]) -> list[str]:
    name = "lambda" if task == "ridge" else "C"
    unit = "RMSE {:.6g}" if task == "ridge" else "accuracy {:.4f}%"
    return [
        f"cross       gamma {s.gamma:.6g}, {name} {s.strength:.6g}: {unit.format(s.score)}" for s in scores
    ]


def show_scores(task: str, scores: tuple[CrossValidation, ...], folds: int, as_json: bool) -> None:
    """Print the scores of a grid on stdout; the last line as svm-train's."""
    best = (min if task == "ridge" else max)(scores, key=lambda s: s.score)
    if as_json:
        values = {
            "task": task,
            "folds": folds,
            "cross_validation": [asdict(s) for s in scores],
            "best": asdict(best),
        }
        show(values)
        return
    lines(_score_lines(task, scores))
    name = "RMSE" if task == "ridge" else "Accuracy"
    line(f"Cross Validation {name} = {best.score:g}{'' if task == 'ridge' else '%'}")
