"""What ``svmfast meka`` tells of its work."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from svmfast.cli.json_report import show
from svmfast.cli.messages import line, lines
from svmfast.methods.common.error_statement import held_out
from svmfast.methods.common.probability_lines import probability_lines as outcome

if TYPE_CHECKING:
    from svmfast.methods.meka.fit import CrossValidation, ErrorReport, MekaReport
    from svmfast.models.routed import RoutedModel
    from svmfast.rows import Rows

#: Rows on which the cost of a prediction is measured.
_COST_ROWS = 100_000


def show_fit(
    report: MekaReport,
    made: RoutedModel,
    rows: Rows,
    model: str,
    size: int,
    *,
    as_json: bool,
    quiet: bool,
    jobs: int,
) -> None:
    """Tell of a training run: JSON on stdout, lines on stderr, with the measured cost of a prediction."""
    from svmfast.evaluation.linear import linear_seconds
    from svmfast.evaluation.timing import measure

    rows = rows[: min(len(rows), _COST_ROWS)]
    predict = measure(lambda: made.head.predict(made.decision_values(rows, threads=jobs)), limit_seconds=5)[1]
    linear = linear_seconds(made.head, rows, threads=jobs)
    cost = {
        "seconds": predict.seconds,
        "linear_seconds": linear.seconds,
        "linear_cost": predict.seconds / linear.seconds,
        "counted_cost": report.multiply_adds / report.linear_multiply_adds,
        "rows": len(rows),
    }
    if as_json:
        values = asdict(report)
        values["phase_seconds"] = values.pop("seconds")
        values["held_out"] = held_out(report.held_out)
        values["kernel_bytes"] = values.pop("bytes")
        show({"bytes": size, **values, "prediction": cost})
    if not quiet:
        lines(_lines(report, model, size, cost), err=True)


def _lines(report: MekaReport, model: str, size: int, cost: dict[str, float]) -> list[str]:
    name = "C" if report.task == "svc" else "lambda"
    number = f"{report.train_score:.6g}"
    score = f"accuracy {number}%" if report.task == "svc" else f"RMSE {number}"
    lines = _score_lines(report.task, report.cross_validation)
    ranks = f"{min(report.ranks)} to {max(report.ranks)}"
    lines += [
        f"data        {report.rows:,} rows, {report.features:,} features, {report.clusters} clusters",
        f"kernel      {report.kernel}, gamma {report.gamma:.6g}, {name} {report.strength:.6g}",
        f"blocks      ranks {ranks}, {report.links} links, {report.bytes / 2**20:.1f} MiB",
        f"training    {score} on the training rows",
    ]
    if report.held_out:
        h = report.held_out
        line = f"held out    |error| median {h['q50']:.3g}, 90 % {h['q90']:.3g}, 99 % {h['q99']:.3g}"
        if "labels_differing" in h:
            line += f"; {h['labels_differing']:.0f} of {h['rows']:.0f} labels differ"
        lines.append(line)
    lines += outcome(report.probabilities, report.held_out)
    lines += [
        f"prediction  {cost['linear_cost']:.3g} times a linear model's time, "
        f"{cost['counted_cost']:.3g} times its multiply-adds",
        f"model       {model}: {report.landmarks:,} landmarks, {size:,} bytes",
        "time        " + ", ".join(f"{what} {seconds:.2f} s" for what, seconds in report.seconds.items()),
    ]
    return lines


def _score_lines(task: str, scores: tuple[CrossValidation, ...]) -> list[str]:
    name = "C" if task == "svc" else "lambda"
    unit = "accuracy {:.4f}%" if task == "svc" else "RMSE {:.6g}"
    return [
        f"cross       gamma {s.gamma:.6g}, {name} {s.strength:.6g}: {unit.format(s.score)}" for s in scores
    ]


def show_scores(task: str, scores: tuple[CrossValidation, ...], folds: int, as_json: bool) -> None:
    """Print the scores of a grid on stdout; the last line as svm-train's."""
    best = (max if task == "svc" else min)(scores, key=lambda s: s.score)
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
    name = "Accuracy" if task == "svc" else "RMSE"
    line(f"Cross Validation {name} = {best.score:g}{'%' if task == 'svc' else ''}")


def show_error(report: ErrorReport, as_json: bool) -> None:
    """Print kernel errors on stdout."""
    if as_json:
        values = asdict(report)
        blocks = values["exact_blocks"]
        for one in (values, *values["baselines"], *([] if blocks is None else [blocks])):
            one["build_seconds"], one["kernel_bytes"] = one.pop("seconds"), one.pop("bytes")
        values["phase_seconds"] = values.pop("stages")
        show({"task": "error", **values})
        return
    rows = f"{report.rows:,} rows, compared on {report.sampled_rows:,}"
    line(f"{report.kernel} kernel, gamma {report.gamma:.6g}; {rows}; {report.clusters} clusters")
    line(f"{'method':<20} {'rank':>6} {'relative error':>15} {'seconds':>9} {'MiB':>9}")
    rank = _extent(report.ranks)
    name = "meka" if report.form == "low-rank" else f"exact blocks ({report.clusters})"
    lines: list[tuple[str, str, float, float, float]] = [
        (name, rank, report.relative_error, report.seconds, report.bytes)
    ]
    lines += [(b.name, str(b.rank), b.relative_error, b.seconds, b.bytes) for b in report.baselines]
    for what, of_rank, error, seconds, size in lines:
        line(f"{what:<20} {of_rank:>6} {error:>15.6f} {seconds:>9.2f} {size / 2**20:>9.1f}")
    small = report.exact_blocks
    if report.low_rank_error is None:
        return
    line(f"low-rank blocks without links: {report.block_diagonal_error:.6f}")
    if small is not None and report.form == "low-rank":
        line(f"exact blocks of {small.clusters} clusters, same memory: {small.relative_error:.6f}")
    elif small is not None:
        line(
            f"low-rank blocks with links: {report.low_rank_error:.6f}; exact blocks of smaller clusters are "
            f"closer at the same memory (to train so: --block-only --clusters {small.clusters})"
        )


def _extent(ranks: tuple[int, ...]) -> str:
    return str(ranks[0]) if min(ranks) == max(ranks) else f"<={max(ranks)}"
