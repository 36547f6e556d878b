"""Counts that are collected while rows are predicted, block by block, and the report at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from svmfast.class_scores import NamedFigures
from svmfast.display import count
from svmfast.figures import computed, figure
from svmfast.models.answer import Answer
from svmfast.models.base import Model
from svmfast.models.requirements import LABELS, Columns
from svmfast.prediction_words import not_the_vote, unknown_features
from svmfast.rows import FloatArray, Rows
from svmfast.score import Quality, Score, percent

#: The counts that add up over files; None: not requested.
_SUMS = (
    "rows",
    "certified",
    "outside",
    "rows_with_unknown",
    "rows_without_feature",
    "differing_from_vote",
)


@dataclass(eq=False)
class PredictionReport(NamedFigures):
    """Counts of a prediction of rows with or without labels."""

    model: Model
    #: What is predicted besides labels.
    columns: Columns = LABELS
    #: Whether the rows have labels.
    labelled: bool = True
    #: Whether an exact model answers the rows that are not certified.
    falls_back: bool = False
    #: The name of each label, to show with it.
    class_names: Mapping[float, str] | None = None

    rows: int = figure("Rows predicted.", default=0)

    @computed.figure("The kind of model.")
    def kind(self) -> str:
        return self.model.kind

    @computed.figure("LIBSVM's name of the type.")
    def svm_type(self) -> str:
        return self.model.head.svm_type

    @computed.figure(
        "Rows with the true label.", optional=lambda of: of.labelled and not of.model.head.is_regression
    )
    def correct(self) -> int:
        return self.score.correct

    @computed.figure("The scores; None without labels.", spread=True, optional=True)
    def quality(self) -> Quality | None:
        return self.score.quality(regression=self.model.head.is_regression) if self.labelled else None

    certified: int | None = figure(
        "Rows whose label is proven to be the exact model's; null if no certificate was requested.",
        default=None,
    )

    @computed.figure("The same in percent.")
    def certified_percent(self) -> float | None:
        return None if self.certified is None or not self.rows else percent(self.certified, self.rows)

    outside: int | None = figure(
        "Rows outside the validity bound; null without `bound`.", key="outside_bound", default=None
    )
    rows_with_unknown: int = figure(
        "Rows with features that the model does not know.", key="rows_with_unknown_features", default=0
    )
    rows_without_feature: int = figure(
        "Rows that lack a feature and are not predicted (`on_null`).",
        key="rows_with_missing_features",
        default=0,
    )
    differing_from_vote: int = figure(
        "Rows whose most probable label differs from the winner of the vote.", default=0
    )
    #: The largest unknown index in rows without names of columns; -1 if there is none.
    largest_column: int = -1
    #: Remarks of the reader of the data.
    notes: list[str] = field(default_factory=list)
    score: Score = field(init=False)

    def __post_init__(self) -> None:
        self.score = Score(by_class=True)
        if self.columns.bound and self.outside is None:
            self.outside = 0

    def add(self, rows: Rows, labels: FloatArray, answer: Answer, *, named: bool = False) -> None:
        """Count a block of rows and its answer; `named` tells whether the columns have names."""
        self.rows += len(rows)
        if self.labelled:
            self.score.add(answer.predicted, labels, regression=self.model.head.is_regression)
        self.differing_from_vote += answer.differing_from_vote
        if answer.inside is not None and self.outside is not None:
            self.outside += len(answer) - int(answer.inside.sum())
        if answer.certified is not None:
            self.certified = (self.certified or 0) + int(answer.certified.sum())
        known = self.model.n_features
        if rows.n_columns > known and rows.nnz:
            # Columns ascend within a row, so the last one is the largest; skip rows without entries.
            filled = rows.indptr[1:] > rows.indptr[:-1]
            last = rows.indices[rows.indptr[1:][filled] - 1]
            self.rows_with_unknown += int(np.count_nonzero(last >= known))
            if not named:  # otherwise another warning lists the names of the columns
                self.largest_column = max(self.largest_column, int(last.max()))

    def merge(self, other: PredictionReport) -> None:
        """Add the counts of a report with the same settings, but not its notes."""
        for name in _SUMS:
            more = getattr(other, name)
            if more is not None:
                setattr(self, name, (getattr(self, name) or 0) + more)
        self.score.merge(other.score)
        self.largest_column = max(self.largest_column, other.largest_column)

    def heading(self) -> str:
        return f"prediction of {count(self.rows, 'row')}"

    def lines(self) -> list[str]:
        """svm-predict's last lines; none if there are no rows or no labels."""
        if not self.labelled or not self.rows:
            return []
        score = self.score
        if self.model.head.is_regression:
            return [
                f"Mean squared error = {score.mean_squared_error:g} (regression)",
                f"Squared correlation coefficient = {score.squared_correlation:g} (regression)",
            ]
        return [f"Accuracy = {score.accuracy:g}% ({score.correct}/{score.total}) (classification)"]

    def remarks(self) -> Iterator[str]:
        """Yield remarks that svm-predict does not make."""
        rows = count(self.rows, "row")
        yield from self.notes
        if self.rows_without_feature:
            total = count(self.rows + self.rows_without_feature, "row")
            yield f"{self.rows_without_feature:,} of {total} lack a feature and have no prediction"
        if not self.rows:
            return
        if not self.labelled:
            yield f"{rows} predicted; without labels there is no score"
        elif self.quality is not None:
            yield from self.quality.neglected_lines(self.class_names)
        if self.largest_column >= self.model.n_features:
            known, mapped = self.model.n_features, self.model.unscaled.behind_map is not None
            yield unknown_features(
                self.rows_with_unknown, self.rows, self.largest_column, known, mapped=mapped
            )
        if self.differing_from_vote:
            yield not_the_vote(self.differing_from_vote, self.rows)
        if self.outside is not None:
            yield f"{self.outside:,} of {rows} outside the validity bound"
        if self.certified is not None:
            yield self._certified_line(self.certified)

    def _certified_line(self, certified: int) -> str:
        rows, others = count(self.rows, "row"), self.rows - certified
        tail = f"; {others:,} answered by the exact model" if self.falls_back else ""
        share = f"{percent(certified, self.rows):.4g}%" if self.rows else "-"
        if self.model.assumed_error is not None:
            return (
                f"{certified:,} of {rows} beyond an assumed error of "
                f"{self.model.assumed_error:g} ({share}; statistical, not proven){tail}"
            )
        return f"{certified:,} of {rows} certified ({share}){tail}"
