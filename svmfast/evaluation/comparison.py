"""A comparison of models with the exact one, and its forms: text, CSV, Markdown, HTML and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from svmfast.class_scores import ClassScore, class_word, with_names
from svmfast.display import count, shown
from svmfast.errors import UnsupportedError
from svmfast.evaluation.benchmark import Benchmark, ComparedModel, check_same_question
from svmfast.evaluation.result import BOUND, ModelResult
from svmfast.evaluation.words import ABSENT, WIDTH, aligned, differing, markdown_table, percent, whole
from svmfast.figures import Figures, figure, figures_of
from svmfast.models.scaling import Scaling
from svmfast.pages.page import TableCell, TableRow, page, table, text
from svmfast.pages.scatter import SPEED_TITLE, Axes, Mark, efficient, scatter, y_title
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.values import percentage

#: The heads of a table, and its lines.
Table = tuple[list[str], list[list[str]]]
#: Colors of the exact model, and of the others.
_COLORS = ("#7a7f87", "#0072b2")


@dataclass(frozen=True, repr=False)
class Comparison(Figures):
    """Figures of several models on the same rows; the exact model comes first."""

    data_path: str | None
    rows: int = figure("Rows that the models were compared on.")
    features: int = figure("Features of the rows: the largest index.")
    threads: int = figure("Threads.")
    linear_seconds: float = figure("Prediction time of a linear model on these rows.")
    models: tuple[ModelResult, ...] = figure(
        "Every model with its figures (docs/compare.md), the exact one first."
    )
    #: The name of each label, if the classes have names.
    class_names: Mapping[float, str] | None = None
    #: Limit on the share of labels that differ; regression: on `values_differing_percent`.
    max_diff: float | None = None

    def __str__(self) -> str:
        """The table of ``svmfast compare``."""
        return aligned(*self.cells(), WIDTH)

    __repr__ = __str__

    def title(self) -> str:
        """One line that describes the rows."""
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        about = f"{self.data_path}: {self.rows:,} rows, {self.features:,} features; {threads}"
        # The wall clock's times varied too much, see evaluation/timing.
        return about + "; speed-ups of processor time" * any(row.speed.processor for row in self.models)

    def lines(self, *, wide: bool = False) -> list[str]:
        """The table as text; with `wide`, all figures, one per line."""
        return aligned(*self.cells(wide=wide), None if wide else WIDTH).splitlines()

    def cells(self, *, wide: bool = False, short: bool = True) -> Table:
        """The table for people: a line for each model, or if `wide` for each figure and class.

        With `short`, models are named by their shortest different ends.
        """
        names, columns = [shown(row.path) for row in self.models], []
        names = short_names(names) if short else names
        for one in figures_of(ModelResult):
            column = [one.cell(row) for row in self.models] if one.head else []
            shows = wide or one.main or (one.head == BOUND and self.max_diff is not None)
            if one.head and set(column) != {ABSENT} and shows:
                columns.append([one.head, *column])
            if one.head == BOUND and not wide and self._only_exact_labels:
                columns += self._worst_labels()
        if wide:
            return ["", *names], [*columns, *self._recalls(), *self._by_label(), *self._confusions()]
        heads, *lines = map(list, zip(["model", *names], *columns, strict=True))
        return heads, lines

    def to_csv(self) -> str:
        """CSV with one line per model, all digits, and the keys of the JSON form.

        Instead of ``classes`` there is a column ``recall_LABEL`` for each class that has rows, instead of
        ``by_exact_label`` a column ``labels_differing_LABEL`` for each label of the exact model, and instead
        of the interval of the speed-up ``speedup_low`` and ``speedup_high``. The confusion table is left out.
        """
        models = self.to_dict()["models"]
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

    def to_markdown(self, *, wide: bool = False) -> str:
        """The table in Markdown."""
        return markdown_table(*self.cells(wide=wide, short=False))

    def to_html(self) -> bytes:
        """An HTML page with a figure and a sortable table; it needs no other files and no network."""
        heads, lines = self.cells()
        rows = [
            TableRow([TableCell(words, _sort_key(words)) for words in line], one.kind)
            for line, one in zip(lines, self.models, strict=True)
        ]
        body = [
            f"<h1>{text(self.title())}</h1>",
            self._scatter([shown(line[0]) for line in lines]),
            table(heads, rows),
            '<p class="soft">All figures refer to the answers that predict gives with each file, compared '
            "with those of the first model, the exact one.</p>",
        ]
        return page("svmfast compare", body)

    def _scatter(self, names: Sequence[str]) -> str:
        """The plot of speed against difference."""
        exact, regression = self.models[0], self.models[0].values_differing_percent is not None
        points = [
            (one.speedup, one.labels_differing_percent or one.values_differing_percent or 0.0)
            for one in self.models
        ]
        what = "values differ by {:.3g}% of their spread" if regression else "{:.3g}% of the labels differ"
        marks = [
            Mark(
                name=name,
                group=one.kind,
                color=_COLORS[one is not exact],
                x=x,
                y=y,
                details=[what.format(y), f"{x:.3g} times the exact model's speed"],
                efficient=front,
            )
            for name, one, (x, y), front in zip(names, self.models, points, efficient(points), strict=True)
        ]
        axes = Axes("speed", SPEED_TITLE, y_title(regression=regression), "x", (1.0, "exact"))
        caption = f"On {self.rows:,} rows. The best models lie at the top right; efficient ones are joined."
        return scatter(marks, axes, caption)

    def to_dict(self) -> dict[str, Any]:
        """The figures that docs/compare.md describes, as plain types."""
        values = with_names(super().to_dict(), self.class_names)
        of_data = {"path": self.data_path, "rows": values.pop("rows"), "features": values.pop("features")}
        return {"data": of_data, **values}

    def beyond_the_limit(self) -> list[str]:
        """One line for each model whose labels, or values, differ by more than `max_diff` here."""
        if self.max_diff is None:
            return []
        limit, found = percentage(self.max_diff), []
        for row in self.models:
            labels, values = row.labels_differing_percent, row.values_differing_percent
            if labels is not None and labels > limit:
                share = f"{labels:.3g}% of the labels differ ({row.labels_differing:,} of {self.rows:,})"
                found.append(f"{row.path}: {share}, more than {limit:g}%")
            if values is not None and values > limit:
                what = f"values differ by {values:.4g}% of their spread"
                found.append(f"{row.path}: {what}, more than {limit:g}%")
        return found

    def warnings(self) -> list[str]:
        """One line for each model with a row that violates its certificate."""
        return [
            f"{row.path}: {count(row.violations, 'row')} break the certificate: some value is farther "
            "from EXACT's than its bound"
            for row in self.models
            if row.violations
        ]

    @property
    def _only_exact_labels(self) -> bool:
        """Whether the true labels say nothing about single classes: there are none, or all are equal."""
        return sum(score.rows > 0 for score in self.models[0].classes) <= 1

    def _word(self, label: float) -> str:
        return class_word(label, self.class_names)

    def _worst_labels(self) -> list[list[str]]:
        """The column of EXACT's label of which the largest share differs; nothing if none differs."""
        found = [row.worst_label for row in self.models]
        cells = [ABSENT if one is None else f"{self._word(one.label)}: {_of_label(one)}" for one in found]
        return [["worst label", *cells]] if any(found) else []

    def _recalls(self) -> list[list[str]]:
        by_model = [{score.label: score for score in row.classes} for row in self.models]
        return [
            [
                f"recall of {self._word(score.label)} ({score.rows:,} rows)",
                *(percent(scores[score.label].recall, 2) for scores in by_model),
            ]
            for score in self.models[0].classes
            if score.rows
        ]

    def _by_label(self) -> list[list[str]]:
        """A line for each label of the exact model: of the rows with it, those that differ."""
        by_model = [{one.label: one for one in row.by_exact_label or ()} for row in self.models]
        return [
            [
                f"differ of EXACT's {self._word(one.label)} ({one.rows:,} rows)",
                *(_of_label(found.get(one.label)) for found in by_model),
            ]
            for one in self.models[0].by_exact_label or ()
        ]

    def _confusions(self) -> list[list[str]]:
        """A line for each pair of different labels that occur as target and prediction of a row."""
        counts = [
            {}
            if (found := row.confusion) is None
            else {
                (true, given): n
                for true, line in zip(found.labels, found.counts, strict=True)
                for given, n in zip(found.labels, line, strict=True)
                if n and given != true
            }
            for row in self.models
        ]
        return [
            [" taken for ".join(map(self._word, pair)), *(whole(one.get(pair, 0)) for one in counts)]
            for pair in sorted(set().union(*counts))
        ]


def _of_label(one: ClassScore | None) -> str:
    return ABSENT if one is None else differing((one.differing, 100 * one.differing / one.rows))


def _sort_key(words: str) -> float | str | None:
    """The key for sorting a cell: the number with which it begins, or its text."""
    number = words.split(" ")[0].strip("~%x").replace(",", "")
    try:
        return float(number)
    except ValueError:
        return None if words == "-" else words


def short_names(paths: Sequence[str]) -> list[str]:
    """The shortest ends of the paths, in whole folders, that are different."""
    parts = [path.split("/") for path in paths]
    names = []
    for own, path in zip(parts, paths, strict=True):
        others = [other for other, its in zip(parts, paths, strict=True) if its != path]
        length = next((n for n in range(1, len(own)) if all(o[-n:] != own[-n:] for o in others)), len(own))
        names.append("/".join(own[-length:]))
    return names


def compare(
    models: Sequence[ComparedModel],
    rows: Rows,
    targets: FloatArray,
    *,
    scaling: Scaling | None = None,
    threads: int = 1,
    repeats: int = 7,
    data_path: str | None = None,
    parse_seconds: float | None = None,
    class_names: Mapping[float, str] | None = None,
    max_diff: float | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Compare models on the same rows, the exact one first, in at most `repeats` timed predictions of each.

    UnsupportedError if they do not answer the same question, or if there are no rows. The rows still need the
    `scaling`; the models take scaled rows.
    """
    if not len(rows):
        raise UnsupportedError("there are no rows for a comparison", "give a data file with rows")
    bench = Benchmark(
        models[0],
        rows,
        targets,
        scaling=scaling,
        threads=threads,
        repeats=repeats,
        parse_seconds=parse_seconds,
    )
    for other in models[1:]:
        check_same_question(models[0], other)
    found = bench.results(models[1:], progress)
    linear = bench.linear_seconds
    return Comparison(data_path, len(rows), bench.columns, threads, linear, found, class_names, max_diff)
