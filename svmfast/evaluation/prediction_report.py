"""Counts that are collected while rows are predicted, block by block, and the report at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from svmfast.class_scores import with_names
from svmfast.display import count
from svmfast.models.answer import Answer
from svmfast.models.base import Model
from svmfast.models.requirements import LABELS, Columns
from svmfast.prediction_words import not_the_vote, unknown_features
from svmfast.rows import FloatArray, Rows
from svmfast.score import Score, percent


class PredictionReport:
    """Counts of a prediction of rows with or without labels.

    Parameters
    ----------
    model : Model
        The model that predicts.
    columns : Columns
        What is predicted besides labels.
    labelled : bool
        Whether the rows have labels.
    falls_back : bool
        Whether an exact model answers the rows that are not certified.
    auc : bool
        Whether the ROC AUC is measured if there is a single decision value.
    class_names : mapping of float to str, optional
        The name of each label, to show with it.

    Attributes
    ----------
    rows : int
    score : Score
        Score of the predictions.
    certified, outside, single : int or None
        Rows that are certified, rows outside the validity bound, and rows that single precision answered;
        None if these were not requested.
    rows_with_unknown : int
        Rows with features beyond the model's.
    differing_from_vote : int
        Rows whose most probable label differs from the winner of the vote.
    notes : list of str
        Remarks of the reader of the data.
    """

    def __init__(
        self,
        model: Model,
        columns: Columns = LABELS,
        *,
        labelled: bool = True,
        falls_back: bool = False,
        auc: bool = False,
        class_names: Mapping[float, str] | None = None,
    ) -> None:
        self.model, self.labelled, self.falls_back = model, labelled, falls_back
        self.columns = columns
        self.class_names = class_names
        self._ranked = auc and labelled and model.head.sides is not None
        self.score = Score(by_class=True, sides=model.head.sides if self._ranked else None)
        self.rows = 0
        self.differing_from_vote = 0
        self.outside: int | None = 0 if columns.bound else None
        self.certified: int | None = None
        self.single: int | None = None
        self.rows_with_unknown = 0
        self.notes: list[str] = []
        self._unknown_by_name = 0
        self._largest_column = -1
        self._earlier = 0

    def add(self, rows: Rows, labels: FloatArray, answer: Answer, *, named: bool = False) -> None:
        """Count a block of rows and its answer; `named` tells whether the columns have names."""
        self.rows += len(rows)
        if self.labelled:
            values = answer.decisions[:, 0] if self._ranked else None
            regression = self.model.head.is_regression
            self.score.add(answer.predicted, labels, regression=regression, decisions=values)
        self.differing_from_vote += answer.differing_from_vote
        if answer.inside is not None and self.outside is not None:
            self.outside += len(answer) - int(answer.inside.sum())
        if answer.certified is not None:
            self.certified = (self.certified or 0) + int(answer.certified.sum())
        if answer.single is not None:
            self.single = (self.single or 0) + int(answer.single.sum())
        known = self.model.n_features
        if rows.n_columns > known and rows.nnz:
            # Columns ascend within a row, so the last one is the largest; skip rows without entries.
            filled = rows.indptr[1:] > rows.indptr[:-1]
            last = rows.indices[rows.indptr[1:][filled] - 1]
            unknown = int(np.count_nonzero(last >= known))
            self.rows_with_unknown += unknown
            if named:  # another warning lists the names of the columns
                self._unknown_by_name += unknown
            else:
                self._largest_column = max(self._largest_column, int(last.max()))

    def empty(self) -> PredictionReport:
        """Return a report with the same settings and no counts."""
        return PredictionReport(
            self.model,
            self.columns,
            labelled=self.labelled,
            falls_back=self.falls_back,
            class_names=self.class_names,
        )

    def state(self) -> dict[str, Any]:
        """Return all counts as plain values for :meth:`merge`."""
        return {
            "rows": self.rows,
            "score": self.score.state(),
            "differing_from_vote": self.differing_from_vote,
            "outside": self.outside,
            "certified": self.certified,
            "single": self.single,
            "rows_with_unknown": self.rows_with_unknown,
            "unknown_by_name": self._unknown_by_name,
            "largest_column": self._largest_column,
            "notes": list(self.notes),
        }

    def merge(self, state: Mapping[str, Any], *, earlier: bool = False) -> None:
        """Add the counts of another report with the same settings, but not its notes.

        Parameters
        ----------
        state : mapping
            The other report's :meth:`state`.
        earlier : bool
            Whether an earlier run predicted these rows.
        """
        self.rows += state["rows"]
        self.score.merge(state["score"])
        self.differing_from_vote += state["differing_from_vote"]
        if state["outside"] is not None:
            self.outside = (self.outside or 0) + state["outside"]
        if state["certified"] is not None:
            self.certified = (self.certified or 0) + state["certified"]
        if state["single"] is not None:
            self.single = (self.single or 0) + state["single"]
        self.rows_with_unknown += state["rows_with_unknown"]
        self._unknown_by_name += state["unknown_by_name"]
        self._largest_column = max(self._largest_column, state["largest_column"])
        if earlier:
            self._earlier += state["rows"]

    def __repr__(self) -> str:
        return "\n".join([f"<prediction of {count(self.rows, 'row')}>", *self.lines()])

    def lines(self) -> list[str]:
        """Return svm-predict's last lines; none if there are no rows or no labels."""
        if not self.labelled or not self.rows:
            return []
        score = self.score
        if self.model.head.is_regression:
            return [
                f"Mean squared error = {score.mean_squared_error:g} (regression)",
                f"Squared correlation coefficient = {score.squared_correlation:g} (regression)",
            ]
        return [f"Accuracy = {score.accuracy:g}% ({score.correct}/{score.total}) (classification)"]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        score, model = self.score, self.model
        found: dict[str, Any] = {"rows": self.rows, "kind": model.kind, "svm_type": model.head.svm_type}
        if not self.labelled:
            pass  # no score
        elif model.head.is_regression:
            found |= score.quality(regression=True).as_dict()
        else:
            quality = score.quality(regression=False).as_dict()
            found |= {"correct": score.correct, **with_names(quality, self.class_names)}
        certified = self.certified
        share = None if certified is None or not self.rows else percent(certified, self.rows)
        return {
            **found,
            "certified": certified,
            "certified_percent": share,
            "single_precision": self.single,
            "outside_bound": self.outside,
            "rows_with_unknown_features": self.rows_with_unknown,
            "differing_from_vote": self.differing_from_vote,
        }

    def remarks(self) -> Iterator[str]:
        """Yield remarks that svm-predict does not make."""
        rows = count(self.rows, "row")
        yield from self.notes
        if not self.rows:
            return
        if not self.labelled:
            new = f"{count(self.rows - self._earlier, 'row')} predicted"
            new += f", {self._earlier:,} by earlier runs" if self._earlier else ""
            yield f"{new}; without labels there is no score"
        elif not self.model.head.is_regression:
            yield from self.score.quality(regression=False).neglected_lines(self.class_names)
        by_index = self.rows_with_unknown - self._unknown_by_name
        if by_index:
            yield unknown_features(by_index, self.rows, self._largest_column, self.model.n_features)
        if self.differing_from_vote:
            yield not_the_vote(self.differing_from_vote, self.rows)
        if self.outside is not None:
            yield f"{self.outside:,} of {rows} outside the validity bound"
        regression = self.model.head.is_regression
        if self.single is not None and (self.single or regression):
            tail = ", the others in double" * (self.single < self.rows)
            yield f"{self.single:,} of {rows} answered in single precision{tail}"
        if self.certified is None:
            return
        yield from self._certified_lines(self.certified)

    def _certified_lines(self, certified: int) -> Iterator[str]:
        """Yield how many rows are certified, for which label, and whose probabilities they have."""
        rows, head = count(self.rows, "row"), self.model.head
        others = self.rows - certified
        tail = f"; {others:,} answered by the exact model" if self.falls_back else ""
        share = f"{percent(certified, self.rows):.4g}%" if self.rows else "-"
        if self.model.assumed_error is not None:
            yield (
                f"{certified:,} of {rows} beyond an assumed error of "
                f"{self.model.assumed_error:g} ({share}; statistical, not proven){tail}"
            )
        elif self.columns.probability and head.is_classifier:
            label = "the most probable label (`probability`)"
            yield f"{certified:,} of {rows}: {label} is certified ({share}){tail}"
        else:
            yield f"{certified:,} of {rows} certified ({share}){tail}"
        if self.columns.probability and self.falls_back and certified and others and not head.is_regression:
            fast = "approximation" if self.model.assumed_error is None else "fast model"
            yield (
                f"the probabilities are a mixture: the {fast}'s in {count(certified, 'row')}, "
                f"the exact model's in {others:,}"
            )
