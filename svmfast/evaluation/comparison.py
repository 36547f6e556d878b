"""A comparison of models with the exact one, as text and as JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from svmfast.class_scores import NamedFigures, class_word
from svmfast.display import aligned, count, shown
from svmfast.evaluation.result import BOUND, ModelResult
from svmfast.evaluation.words import share
from svmfast.figures import ABSENT, cell, figure, figures_of
from svmfast.pages.notebook import folded, plain_table
from svmfast.values import percentage


@dataclass(frozen=True)
class Comparison(NamedFigures):
    """Figures of several models on the same rows; the exact model comes first."""

    data_path: str | None
    rows: int = figure("Rows that the models were compared on.")
    features: int = figure("Features of the rows: the largest index.")
    threads: int = figure("Threads.")
    models: tuple[ModelResult, ...] = figure("Every model with its figures, the exact one first.")
    #: The name of each label, if the classes have names.
    class_names: Mapping[float, str] | None = None
    #: Limit on the share of labels that differ; regression: on `values_differing_percent`.
    max_diff: float | None = None

    def heading(self) -> str:
        """One line that describes the rows."""
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        about = f"{self.data_path or 'the data'}: {self.rows:,} rows, {self.features:,} features; {threads}"
        # The wall clock's times varied too much, see evaluation/timing.
        return about + "; speed-ups of processor time" * any(row.speed.processor for row in self.models)

    def lines(self, *, wide: bool = False) -> list[str]:
        """The table: a line for each model, or if `wide` for each figure and class."""
        return aligned(*self.cells(wide=wide))

    def html(self) -> list[str]:
        return [plain_table(*self.cells()), folded("all figures", plain_table(*self.cells(wide=True)))]

    def cells(self, *, wide: bool = False) -> tuple[list[str], list[list[str]]]:
        """The heads and lines of the table; names leave out the folders that all models share."""
        paths = [shown(row.path).split("/") for row in self.models]
        shared = len(os.path.commonprefix([path[:-1] for path in paths]))  # noqa: RUF071  # of lists
        columns = []
        names = ["/".join(path[shared:]) for path in paths]
        for one in figures_of(ModelResult):
            column = [one.cell(row) for row in self.models] if one.head else []
            shows = wide or one.main or (one.head == BOUND and self.max_diff is not None)
            if one.head and set(column) != {ABSENT} and shows:
                columns.append([one.head, *column])
        if wide:
            return ["", *names], [*columns, *self._recalls()]
        heads, *lines = map(list, zip(["model", *names], *columns, strict=True))
        return heads, lines

    def beyond_the_limit(self) -> list[str]:
        """One line for each model whose labels, or values, differ by more than `max_diff` here."""
        if self.max_diff is None:
            return []
        limit, found = percentage(self.max_diff), []
        for row in self.models:
            labels, values = row.labels_differing_percent, row.values_differing_percent
            share = labels if values is None else values
            if values is not None:
                what = f"values differ by {values:.4g}% of their spread"
            else:
                what = f"{labels:.3g}% of the labels differ ({row.labels_differing:,} of {self.rows:,})"
            if share is not None and share > limit:
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

    def _recalls(self) -> list[list[str]]:
        by_model = [{score.label: score for score in row.classes} for row in self.models]
        return [
            [
                f"recall of {class_word(score.label, self.class_names)} ({score.rows:,} rows)",
                *(cell(scores[score.label].recall, share(2)) for scores in by_model),
            ]
            for score in self.models[0].classes
            if score.rows
        ]
