"""A comparison as plain values, JSON, CSV, Markdown, or cells of a table."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from svmfast.class_scores import ClassScore, class_word, shown_label, with_names
from svmfast.display import shown
from svmfast.evaluation.compare import ComparisonData, ModelResult
from svmfast.evaluation.json_values import finite
from svmfast.evaluation.timing import Speed
from svmfast.score import OF_CLASSES, OF_VALUES

#: Characters with a meaning in a line of Markdown; an underscore within a word is not emphasis.
_MARKDOWN = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])")

#: The figures by key, in the order of the JSON object; docs/compare.md explains them.
_MODEL_KEYS: dict[str, Callable[[ModelResult], Any]] = {
    "path": lambda row: row.path,
    "kind": lambda row: row.kind,
    "accuracy": lambda row: row.accuracy,
    "balanced_accuracy": lambda row: row.balanced_accuracy,
    "auc": lambda row: row.auc,
    "auc_error": lambda row: row.auc_error,
    "mse": lambda row: row.mse,
    "scc": lambda row: row.scc,
    "rmse": lambda row: row.rmse,
    "mae": lambda row: row.mae,
    "r2": lambda row: row.r2,
    "labels_differing": lambda row: row.labels_differing,
    "labels_differing_percent": lambda row: row.labels_differing_percent,
    "labels_differing_limit_percent": lambda row: row.labels_differing_limit_percent,
    "values_differing_percent": lambda row: row.values_differing_percent,
    "mean_abs_error": lambda row: row.mean_abs_error,
    "max_abs_error": lambda row: row.max_abs_error,
    "inside_bound_percent": lambda row: row.inside_bound_percent,
    "bytes": lambda row: row.n_bytes,
    "load_seconds": lambda row: row.load_seconds,
    "parse_seconds": lambda row: row.parse_seconds,
    "predict_seconds": lambda row: row.predict_seconds,
    "predict_seconds_fastest": lambda row: row.predict_seconds_range[0],
    "predict_seconds_slowest": lambda row: row.predict_seconds_range[1],
    "speedup": lambda row: row.speed.ratio,
    "speedup_interval": lambda row: [row.speed.low, row.speed.high],
    "speedup_clock": lambda row: row.speed.clock,
    "linear_cost": lambda row: row.linear_cost,
    "multiply_adds": lambda row: row.multiply_adds,
    "linear_cost_counted": lambda row: row.linear_cost_counted,
    "exact_percent": lambda row: row.exact_percent,
    "certified_percent": lambda row: row.certified_percent,
    "violations": lambda row: row.violations,
    "labels_differing_with_fallback": lambda row: row.labels_differing_with_fallback,
    "accuracy_with_fallback": lambda row: row.accuracy_with_fallback,
    "balanced_accuracy_with_fallback": lambda row: row.balanced_accuracy_with_fallback,
    "predict_seconds_with_fallback": lambda row: row.predict_seconds_with_fallback,
    "speedup_with_fallback": lambda row: _ratio(row.speed_with_fallback),
    "labels_differing_without_fallback": lambda row: row.labels_differing_without_fallback,
    "accuracy_without_fallback": lambda row: row.accuracy_without_fallback,
    "balanced_accuracy_without_fallback": lambda row: row.balanced_accuracy_without_fallback,
    "predict_seconds_without_fallback": lambda row: row.predict_seconds_without_fallback,
    "speedup_without_fallback": lambda row: _ratio(row.speed_without_fallback),
    "mean_abs_error_without_fallback": lambda row: row.mean_abs_error_without_fallback,
    "max_abs_error_without_fallback": lambda row: row.max_abs_error_without_fallback,
    "by_exact_label": lambda row: _by_exact_label(row),
    "classes": lambda row: [score.as_dict() for score in row.classes],
    "confusion": lambda row: None if row.confusion is None else row.confusion.as_dict(),
}
#: The column of the confidence bound, which the table also has if there is a limit.
_BOUND = "95% bound"
#: Columns of the table: head, cell, and whether only --wide shows it. Columns without any value are left out.
_COLUMNS: tuple[tuple[str, Callable[[ModelResult], str], bool], ...] = (
    ("accuracy", lambda row: percent(row.accuracy, 2), False),
    ("balanced", lambda row: percent(row.balanced_accuracy, 2), False),
    ("ROC AUC", lambda row: _ABSENT if row.auc is None else f"{row.auc:.4f}", True),
    ("labels differ", lambda row: differing(row.labels_differing, row.labels_differing_percent), False),
    (_BOUND, lambda row: percent(row.labels_differing_limit_percent, 3), True),
    ("MSE", lambda row: number(row.mse), False),
    ("SCC", lambda row: number(row.scc), False),
    ("RMSE", lambda row: number(row.rmse), True),
    ("MAE", lambda row: number(row.mae), True),
    ("R^2", lambda row: number(row.r2), True),
    ("values differ", lambda row: percent(row.values_differing_percent, 3), False),
    ("speed-up", lambda row: faster(row.speed), False),
    ("bytes", lambda row: whole(row.n_bytes), False),
    ("certified", lambda row: percent(row.certified_percent, 2), False),
    ("violations", lambda row: whole(row.violations), True),
    ("by exact", lambda row: percent(row.exact_percent, 2), True),
    ("mean error", lambda row: number(row.mean_abs_error), True),
    ("max error", lambda row: number(row.max_abs_error), True),
    ("inside bound", lambda row: percent(row.inside_bound_percent, 1), True),
    ("load", lambda row: seconds(row.load_seconds), True),
    ("predict", lambda row: seconds(row.predict_seconds), True),
    ("linear cost", lambda row: times(row.linear_cost), True),
    ("counted", lambda row: times(row.linear_cost_counted), True),
    ("differ with fallback", lambda row: whole(row.labels_differing_with_fallback), True),
    ("accuracy with fallback", lambda row: percent(row.accuracy_with_fallback, 2), True),
    ("predict with fallback", lambda row: seconds(row.predict_seconds_with_fallback), True),
    ("speed-up with fallback", lambda row: faster(row.speed_with_fallback), True),
    ("differ without fallback", lambda row: whole(row.labels_differing_without_fallback), True),
    ("accuracy without fallback", lambda row: percent(row.accuracy_without_fallback, 2), True),
    ("predict without fallback", lambda row: seconds(row.predict_seconds_without_fallback), True),
    ("speed-up without fallback", lambda row: faster(row.speed_without_fallback), True),
)
#: Width of the table without --wide, in characters.
WIDTH = 100
_ABSENT = "-"


def as_dict(comparison: ComparisonData) -> dict[str, Any]:
    """Return the comparison as plain JSON types.

    ``{"data": {"path", "rows", "features"}, "threads", "linear_seconds", "models": [{...}]}``; classification
    has ``accuracy``, ``classes`` and so on, regression ``mse`` and so on; figures that do not apply are None
    (JSON null). docs/compare.md lists all keys.
    """
    # Keys that only the other task has.
    absent = OF_CLASSES if _is_regression(comparison) else OF_VALUES
    return {
        "data": {
            "path": comparison.data_path,
            "rows": comparison.rows,
            "features": comparison.features,
        },
        "threads": comparison.threads,
        "linear_seconds": comparison.linear_seconds,
        "models": [
            with_names(
                {key: finite(get(row)) for key, get in _MODEL_KEYS.items() if key not in absent},
                comparison.class_names,
            )
            for row in comparison.models
        ],
    }


def as_json(comparison: ComparisonData) -> str:
    """Return the comparison as JSON text."""
    return json.dumps(as_dict(comparison), indent=2, allow_nan=False) + "\n"


def as_csv(comparison: ComparisonData) -> str:
    """Return a header and one line per model, with all digits and the keys of the JSON form.

    Instead of ``classes`` there is a column ``recall_LABEL`` for each class that has rows, instead of
    ``by_exact_label`` a column ``labels_differing_LABEL`` for each label of the exact model, and instead of
    the interval of the speed-up ``speedup_low`` and ``speedup_high``. The confusion table is left out.
    """
    models = as_dict(comparison)["models"]
    for line in models:
        line.pop("confusion", None)
        line["speedup_low"], line["speedup_high"] = line.pop("speedup_interval")
        for known in line.pop("by_exact_label") or ():
            line[f"labels_differing_{known['label']}"] = known["labels_differing"]
        for found in line.pop("classes", ()):
            if found["rows"]:
                line[f"recall_{found['label']}"] = found["recall"]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(models[0]), lineterminator="\n")
    writer.writeheader()
    # Line breaks in a name are escaped; the JSON form has the name unchanged.
    writer.writerows([{**row, "path": shown(row["path"])} for row in models])
    return out.getvalue()


def _is_regression(comparison: ComparisonData) -> bool:
    return comparison.models[0].values_differing_percent is not None


def short_names(paths: Sequence[str]) -> list[str]:
    """Return the shortest ends of the paths, in whole folders, that are different."""
    parts = [path.split("/") for path in paths]
    names = []
    for own, path in zip(parts, paths, strict=True):
        others = [other for other, its in zip(parts, paths, strict=True) if its != path]
        length = next((n for n in range(1, len(own)) if all(o[-n:] != own[-n:] for o in others)), len(own))
        names.append("/".join(own[-length:]))
    return names


def cells(
    comparison: ComparisonData, *, wide: bool = False, short: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Return heads and lines of the table for people.

    Parameters
    ----------
    comparison : ComparisonData
    wide : bool
        Show all figures, with a line for each figure (including the recall of each class that has rows) and a
        column for each model. Otherwise there is a line for each model, and columns for the main figures.
    short : bool
        Use the shortest ends of the paths that are different as names of the models.
    """
    names = [shown(row.path) for row in comparison.models]
    if short:
        names = short_names(names)
    columns = []
    for head, get, detail in _COLUMNS:
        column = [get(row) for row in comparison.models]
        shows = wide or not detail or (head == _BOUND and comparison.max_diff is not None)
        if set(column) != {_ABSENT} and shows:
            columns.append([head, *column])
        if head == _BOUND and not wide and _only_exact_labels(comparison):
            columns += _worst_labels(comparison)
    if wide:
        details = [*_recalls(comparison), *_by_label(comparison), *_confusions(comparison)]
        return ["", *names], columns + details
    heads, *lines = zip(["model", *names], *columns, strict=True)
    return list(heads), [list(line) for line in lines]


def _recalls(comparison: ComparisonData) -> list[list[str]]:
    by_model = [{score.label: score for score in row.classes} for row in comparison.models]
    return [
        [
            f"recall of {class_word(score.label, comparison.class_names)} ({score.rows:,} rows)",
            *(percent(scores[score.label].recall, 2) for scores in by_model),
        ]
        for score in comparison.models[0].classes
        if score.rows
    ]


def _only_exact_labels(comparison: ComparisonData) -> bool:
    """Return whether the true labels say nothing about single classes: there are none, or all are equal."""
    return sum(score.rows > 0 for score in comparison.models[0].classes) <= 1


def _worst_labels(comparison: ComparisonData) -> list[list[str]]:
    """Return the column of EXACT's label of which the largest share differs; nothing if none differs."""
    found = [row.worst_label for row in comparison.models]
    if not any(found):
        return []
    names = comparison.class_names
    return [
        [
            "worst label",
            *(
                _ABSENT if one is None else f"{class_word(one.label, names)}: {_of_label(one)}"
                for one in found
            ),
        ]
    ]


def _of_label(one: ClassScore | None) -> str:
    if one is None:
        return _ABSENT
    return differing(one.rows - one.correct, 100 * (one.rows - one.correct) / one.rows)


def _by_label(comparison: ComparisonData) -> list[list[str]]:
    """Return a line for each label of the exact model: of the rows with it, those that differ."""
    by_model = [{one.label: one for one in row.by_exact_label} for row in comparison.models]
    return [
        [
            f"differ of EXACT's {class_word(one.label, comparison.class_names)} ({one.rows:,} rows)",
            *(_of_label(found.get(one.label)) for found in by_model),
        ]
        for one in comparison.models[0].by_exact_label
    ]


def _by_exact_label(row: ModelResult) -> list[dict[str, Any]] | None:
    if row.labels_differing is None:
        return None
    return [
        {
            "label": shown_label(one.label),
            "rows": one.rows,
            "labels_differing": one.rows - one.correct,
            "labels_differing_percent": 100 * (one.rows - one.correct) / one.rows,
        }
        for one in row.by_exact_label
    ]


def _confusions(comparison: ComparisonData) -> list[list[str]]:
    """Return a line for each pair of different labels that occur as target and prediction of a row."""
    counts: list[dict[tuple[float, float], int]] = []
    for row in comparison.models:
        found: dict[tuple[float, float], int] = {}
        if row.confusion is not None:
            for true, line in zip(row.confusion.labels, row.confusion.counts, strict=True):
                pairs = zip(row.confusion.labels, line, strict=True)
                found |= {(true, given): n for given, n in pairs if n and given != true}
        counts.append(found)
    return [
        [
            " taken for ".join(class_word(label, comparison.class_names) for label in pair),
            *(whole(one.get(pair, 0)) for one in counts),
        ]
        for pair in sorted(set().union(*counts))
    ]


def as_markdown(comparison: ComparisonData, *, wide: bool = False) -> str:
    """Return the table of :func:`cells` in Markdown."""
    heads, lines = cells(comparison, wide=wide)
    rules = ["---"] + ["---:"] * (len(heads) - 1)
    out = [map(markdown, heads), rules, *(map(markdown, line) for line in lines)]
    return "".join(f"| {' | '.join(line)} |\n" for line in out)


def markdown(text: str) -> str:
    """Return text that Markdown shows unchanged, on one line (:func:`svmfast.display.shown`)."""
    return _MARKDOWN.sub(r"\\\g<0>", shown(text))


def as_text(comparison: ComparisonData, *, wide: bool = False) -> str:
    """Return the table of :func:`cells` in aligned plain text, within :data:`WIDTH` columns unless `wide`.

    A model's name that is too long is continued on the next line.
    """
    heads, lines = cells(comparison, wide=wide, short=True)
    return aligned(heads, lines, None if wide else WIDTH)


def aligned(heads: Sequence[str], lines: Sequence[Sequence[str]], limit: int | None) -> str:
    """Return a table in plain text, at most `limit` characters wide if the figures fit.

    The first cell of a line is aligned left, and continued on the next line if it is too long; figures are
    aligned right.
    """
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    if limit is not None:
        widths[0] = min(widths[0], max(len(heads[0]), limit - sum(width + 2 for width in widths[1:])))
    out = []
    for first, *rest in (heads, *lines):
        pieces = _pieces(first, widths[0])
        figures = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        out.append("  ".join([pieces[0].ljust(widths[0]), *figures]).rstrip() + "\n")
        out += [f"{piece}\n" for piece in pieces[1:]]
    return "".join(out)


def _pieces(name: str, width: int) -> list[str]:
    """Return a name in pieces of at most `width` characters, broken after a blank if possible."""
    pieces = []
    while len(name) > width:
        blank = name.rfind(" ", 0, width)
        end = width if blank < width // 2 else blank + 1
        pieces.append(name[:end])
        name = name[end:]
    return [*pieces, name]


def number(value: float | None) -> str:
    """Return a number with three digits, or a dash."""
    return _ABSENT if value is None else f"{value:.3g}"


def whole(value: int | None) -> str:
    """Return a count, or a dash."""
    return _ABSENT if value is None else f"{value:,}"


def times(value: float | None) -> str:
    """Return a ratio such as ``0.85x``, ``12.5x`` or ``4,320x``, or a dash."""
    if value is None:
        return _ABSENT
    text = f"{value:.3g}"
    return f"{float(text):,.0f}x" if "e+" in text else f"{text}x"


def faster(speed: Speed | None) -> str:
    """Return a speed-up such as ``12.5x``, with ``~`` if its interval is wide, or a dash."""
    return _ABSENT if speed is None else ("" if speed.narrow else "~") + times(speed.ratio)


def _ratio(speed: Speed | None) -> float | None:
    return None if speed is None else speed.ratio


def percent(value: float | None, digits: int) -> str:
    """Return a percentage, or a dash."""
    return _ABSENT if value is None else f"{value:.{digits}f}%"


def differing(count: int | None, share: float | None) -> str:
    """Return a count with its share, such as ``35 (0.21%)``, or a dash."""
    return _ABSENT if count is None or share is None else f"{count:,} ({share:.3g}%)"


def seconds(value: float | None) -> str:
    """Return a time in a suitable unit, or a dash."""
    if value is None:
        return _ABSENT
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1 or unit == "µs":
            return f"{value * factor:.3g} {unit}"
    raise AssertionError("unreachable")
