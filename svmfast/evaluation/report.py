"""A comparison as plain values, JSON, CSV, Markdown, or the cells of a table."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any

from svmfast.display import shown
from svmfast.evaluation.compare import Comparison, Row
from svmfast.evaluation.json_values import finite

#: What Markdown acts on inside a line; an underscore within a word is no emphasis.
_MARKDOWN = re.compile(r"[\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_])")

#: key -> the number to report; in the order of the JSON object. Later methods add keys, none changes meaning.
_MODEL_KEYS: dict[str, Callable[[Row], Any]] = {
    "path": lambda row: row.path,
    "kind": lambda row: row.kind,
    "accuracy": lambda row: row.accuracy,
    "mse": lambda row: row.mse,
    "scc": lambda row: row.scc,
    "labels_differing": lambda row: row.labels_differing,
    "labels_differing_percent": lambda row: row.labels_differing_percent,
    "mean_abs_error": lambda row: row.mean_abs_error,
    "max_abs_error": lambda row: row.max_abs_error,
    "inside_bound_percent": lambda row: row.inside_bound_percent,
    "bytes": lambda row: row.n_bytes,
    "load_seconds": lambda row: row.load_seconds,
    "parse_seconds": lambda row: row.parse_seconds,
    "predict_seconds": lambda row: row.predict_seconds,
    "predict_seconds_fastest": lambda row: row.predict_seconds_range[0],
    "predict_seconds_slowest": lambda row: row.predict_seconds_range[1],
    "speedup": lambda row: row.speedup,
    "linear_cost": lambda row: row.linear_cost,
    "multiply_adds": lambda row: row.multiply_adds,
    "linear_cost_counted": lambda row: row.linear_cost_counted,
    "certified_percent": lambda row: row.certified_percent,
    "violations": lambda row: row.violations,
    "labels_differing_with_fallback": lambda row: row.labels_differing_with_fallback,
    "predict_seconds_with_fallback": lambda row: row.predict_seconds_with_fallback,
    "speedup_with_fallback": lambda row: row.speedup_with_fallback,
}


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """Return the comparison as JSON's plain types.

    ``{"data": {"path", "rows", "features"}, "threads", "linear_seconds", "models": [{...}]}``; classification
    has ``accuracy``, regression ``mse`` and ``scc`` instead; a figure without meaning is None (JSON null).
    """
    regression = comparison.models[0].mse is not None
    absent = {"accuracy"} if regression else {"mse", "scc"}
    return {
        "data": {
            "path": comparison.data_path,
            "rows": comparison.rows,
            "features": comparison.features,
        },
        "threads": comparison.threads,
        "linear_seconds": comparison.linear_seconds,
        "models": [
            {key: finite(get(row)) for key, get in _MODEL_KEYS.items() if key not in absent}
            for row in comparison.models
        ],
    }


def as_json(comparison: Comparison) -> str:
    """Return the comparison as JSON text."""
    return json.dumps(as_dict(comparison), indent=2, allow_nan=False) + "\n"


def as_csv(comparison: Comparison) -> str:
    """Return one line a model under a header, with all digits and the keys of the JSON form."""
    models = as_dict(comparison)["models"]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(models[0]), lineterminator="\n")
    writer.writeheader()
    # A name stays in its line; the JSON form has it as it is.
    writer.writerows([{**row, "path": shown(row["path"])} for row in models])
    return out.getvalue()


def cells(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the lines of the table people read."""
    regression = comparison.models[0].mse is not None
    columns: list[tuple[str, Callable[[Row], str]]] = [("model", lambda row: shown(row.path))]
    if regression:
        columns += [("MSE", lambda row: number(row.mse)), ("SCC", lambda row: number(row.scc))]
    else:
        columns += [
            ("accuracy", lambda row: percent(row.accuracy, 2)),
            ("labels differ", lambda row: differing(row.labels_differing, row.labels_differing_percent)),
        ]
    columns += [
        ("mean error", lambda row: number(row.mean_abs_error)),
        ("max error", lambda row: number(row.max_abs_error)),
        ("inside bound", lambda row: percent(row.inside_bound_percent, 1)),
        ("bytes", lambda row: "-" if row.n_bytes is None else f"{row.n_bytes:,}"),
        ("load", lambda row: seconds(row.load_seconds)),
        ("predict", lambda row: seconds(row.predict_seconds)),
        ("speed-up", lambda row: times(row.speedup)),
        ("linear cost", lambda row: times(row.linear_cost)),
    ]
    if any(row.violations is not None for row in comparison.models):
        columns += [
            ("certified", lambda row: percent(row.certified_percent, 2)),
            ("violations", lambda row: whole(row.violations)),
        ]
    if any(row.labels_differing_with_fallback is not None for row in comparison.models):
        columns += [
            ("differ with fallback", lambda row: whole(row.labels_differing_with_fallback)),
            ("predict with fallback", lambda row: seconds(row.predict_seconds_with_fallback)),
            ("speed-up with fallback", lambda row: times(row.speedup_with_fallback)),
        ]
    return [head for head, _ in columns], [[get(row) for _, get in columns] for row in comparison.models]


def as_markdown(comparison: Comparison) -> str:
    """Return the table in Markdown."""
    heads, lines = cells(comparison)
    rules = ["---"] + ["---:"] * (len(heads) - 1)
    table = [heads, rules, *(map(markdown, line) for line in lines)]
    return "".join(f"| {' | '.join(line)} |\n" for line in table)


def markdown(text: str) -> str:
    """Return text that Markdown shows as it is, on one line (:func:`svmfast.display.shown`)."""
    return _MARKDOWN.sub(r"\\\g<0>", shown(text))


def as_text(comparison: Comparison) -> str:
    """Return the table in aligned plain text."""
    heads, lines = cells(comparison)
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    out = []
    for line in (heads, *lines):
        first, *rest = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        out.append("  ".join([first, *rest]).rstrip() + "\n")
    return "".join(out)


def number(value: float | None) -> str:
    """Three digits, or a dash."""
    return "-" if value is None else f"{value:.3g}"


def whole(value: int | None) -> str:
    """A count, or a dash."""
    return "-" if value is None else f"{value:,}"


def times(value: float | None) -> str:
    """A ratio, or a dash."""
    return "-" if value is None else f"{value:.3g}x"


def percent(value: float | None, digits: int) -> str:
    """A percentage, or a dash."""
    return "-" if value is None else f"{value:.{digits}f}%"


def differing(count: int | None, share: float | None) -> str:
    """``35 (0.21%)``, or a dash."""
    return "-" if count is None or share is None else f"{count:,} ({share:.3g}%)"


def seconds(value: float | None) -> str:
    """A time in the unit that suits it, or a dash."""
    if value is None:
        return "-"
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if value * factor >= 1 or unit == "µs":
            return f"{value * factor:.3g} {unit}"
    raise AssertionError("unreachable")
