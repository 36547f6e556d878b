"""A comparison as plain values, JSON, CSV, Markdown, or cells of a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from svmfast.class_scores import ClassScore, class_word, shown_label, with_names
from svmfast.display import shown
from svmfast.evaluation.compare import ComparisonData, ModelResult
from svmfast.evaluation.json_values import finite
from svmfast.evaluation.timing import Speed
from svmfast.evaluation.words import (
    ABSENT,
    aligned,
    area,
    differing,
    faster,
    markdown,
    number,
    percent,
    seconds,
    times,
    whole,
)
from svmfast.score import OF_CLASSES, OF_VALUES


@dataclass(frozen=True)
class Figure:
    """A figure of a model: its key in JSON and CSV and, if it has a head, its column in the tables.

    Attributes
    ----------
    key : str
    head : str
        Of its column; a column without any value is left out. Empty: the figure is in JSON and CSV only.
    words : callable
        Returns its cell, given the attribute of the model's result.
    main : bool
        Whether its column is shown without --wide.
    attribute : str
        By default the key.
    value : callable
        Returns JSON's value, given the attribute. docs/compare.md explains all figures.
    """

    key: str
    head: str = ""
    words: Callable[[Any], str] = str
    main: bool = False
    attribute: str = ""
    value: Callable[[Any], Any] = lambda found: found

    def found(self, row: ModelResult) -> Any:
        """Return the attribute of a model's result."""
        return getattr(row, self.attribute or self.key)


def _shares(digits: int) -> Callable[[float | None], str]:
    return lambda value: percent(value, digits)


def _halves(ending: str) -> tuple[Figure, ...]:
    words = ending.replace("_", " ")
    return (
        Figure(f"labels_differing_{ending}", f"differ {words}", whole),
        Figure(f"accuracy_{ending}", f"accuracy {words}", _shares(2)),
        Figure(f"balanced_accuracy_{ending}"),
        Figure(f"predict_seconds_{ending}", f"predict {words}", seconds),
        Figure(f"speedup_{ending}", f"speed-up {words}", faster, attribute=f"speed_{ending}", value=_ratio),
    )


#: The column of the confidence bound, which the table also has if there is a limit.
_BOUND = "95% bound"


def _figures() -> tuple[Figure, ...]:
    """Return every figure once, in the order of the tables and of JSON."""
    return (
        Figure("path"),
        Figure("kind"),
        Figure("accuracy", "accuracy", _shares(2), main=True),
        Figure("balanced_accuracy", "balanced", _shares(2), main=True),
        Figure("auc", "ROC AUC", area),
        Figure("auc_error"),
        Figure("labels_differing", "labels differ", differing, True, "differing", lambda found: found[0]),
        Figure("labels_differing_percent"),
        Figure("labels_differing_limit_percent", _BOUND, _shares(3)),
        Figure("mse", "MSE", number, main=True),
        Figure("scc", "SCC", number, main=True),
        Figure("rmse", "RMSE", number),
        Figure("mae", "MAE", number),
        Figure("r2", "R^2", number),
        Figure("values_differing_percent", "values differ", _shares(3), main=True),
        Figure("speedup", "speed-up", faster, True, "speed", _ratio),
        Figure("speedup_interval", attribute="speed", value=lambda speed: [speed.low, speed.high]),
        Figure("speedup_clock", attribute="speed", value=lambda speed: speed.clock),
        Figure("bytes", "bytes", whole, True, "n_bytes"),
        Figure("certified_percent", "certified", _shares(2), main=True),
        Figure("violations", "violations", whole),
        Figure("exact_percent", "by exact", _shares(2)),
        Figure("mean_abs_error", "mean error", number),
        Figure("max_abs_error", "max error", number),
        Figure("inside_bound_percent", "inside bound", _shares(1)),
        Figure("load_seconds", "load", seconds),
        Figure("parse_seconds"),
        Figure("predict_seconds", "predict", seconds),
        Figure("predict_seconds_fastest", attribute="predict_seconds_range", value=lambda ends: ends[0]),
        Figure("predict_seconds_slowest", attribute="predict_seconds_range", value=lambda ends: ends[1]),
        Figure("linear_cost", "linear cost", times),
        Figure("multiply_adds"),
        Figure("linear_cost_counted", "counted", times),
        *_halves("with_fallback"),
        *_halves("without_fallback"),
        Figure("mean_abs_error_without_fallback"),
        Figure("max_abs_error_without_fallback"),
        Figure("by_exact_label", attribute="differing_by_label", value=_by_exact_label),
        Figure("classes", value=lambda scores: [score.as_dict() for score in scores]),
        Figure("confusion", value=lambda found: None if found is None else found.as_dict()),
    )


#: Width of the table without --wide, in characters.
WIDTH = 100


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
                {one.key: finite(one.value(one.found(row))) for one in _figures() if one.key not in absent},
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
    for one in _figures():
        column = [one.words(one.found(row)) for row in comparison.models]
        shows = wide or one.main or (one.head == _BOUND and comparison.max_diff is not None)
        if one.head and set(column) != {ABSENT} and shows:
            columns.append([one.head, *column])
        if one.head == _BOUND and not wide and _only_exact_labels(comparison):
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
                ABSENT if one is None else f"{class_word(one.label, names)}: {_of_label(one)}"
                for one in found
            ),
        ]
    ]


def _of_label(one: ClassScore | None) -> str:
    if one is None:
        return ABSENT
    return differing((one.rows - one.correct, 100 * (one.rows - one.correct) / one.rows))


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


def _by_exact_label(found: Sequence[ClassScore] | None) -> list[dict[str, Any]] | None:
    if found is None:
        return None
    return [
        {
            "label": shown_label(one.label),
            "rows": one.rows,
            "labels_differing": one.rows - one.correct,
            "labels_differing_percent": 100 * (one.rows - one.correct) / one.rows,
        }
        for one in found
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


def as_text(comparison: ComparisonData, *, wide: bool = False) -> str:
    """Return the table of :func:`cells` in aligned plain text, within :data:`WIDTH` columns unless `wide`.

    A model's name that is too long is continued on the next line.
    """
    heads, lines = cells(comparison, wide=wide, short=True)
    return aligned(heads, lines, None if wide else WIDTH)


def _ratio(speed: Speed | None) -> float | None:
    return None if speed is None else speed.ratio
