"""How well each class is recognized: precision, recall and F1 of every class, and the balanced accuracy.

All figures are percentages, like svm-predict's accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.display import count
from svmfast.figures import Figures, computed, figure
from svmfast.prediction_words import MAX_LINES as MAX_LINES
from svmfast.prediction_words import MIN_ROWS as MIN_ROWS
from svmfast.prediction_words import class_word as class_word
from svmfast.prediction_words import shown_label as shown_label

FloatArray = NDArray[np.float64]

#: With more distinct labels, classes are not counted, so that memory stays bounded for any file.
MAX_CLASSES = 1000
#: A conversion loses a class if less than this percentage of its rows keep their label, of at least so many.
LOST, LOST_ROWS = 50.0, 2


@dataclass(frozen=True)
class ClassScore(Figures):
    """The counts and scores of one class, in percent; a ratio whose denominator is 0 is None."""

    label: float = figure("The label.", value=shown_label)
    rows: int = figure("Rows whose target is the label.")
    #: Rows whose prediction is the label, and those for which both hold.
    predicted: int  # type: ignore[misc]  # figures look like defaults
    correct: int  # type: ignore[misc]

    @computed.figure("Percent of the class's rows that are predicted as this class.")
    def recall(self) -> float | None:
        return 100 * self.correct / self.rows if self.rows else None

    @computed.figure("Percent of correct rows among those predicted as this class.")
    def precision(self) -> float | None:
        return 100 * self.correct / self.predicted if self.predicted else None

    @computed.figure("Harmonic mean of precision and recall, in percent.")
    def f1(self) -> float | None:
        total = self.rows + self.predicted
        return 200 * self.correct / total if total else None

    @property
    def differing(self) -> int:
        """Rows whose prediction is another label."""
        return self.rows - self.correct


class ClassCounts:
    """How often each target meets each prediction, over any number of blocks of rows, in bounded memory.

    After more than :data:`MAX_CLASSES` distinct labels, counting stops.
    """

    def __init__(self) -> None:
        self._labels = set[float]()
        #: Rows by target and prediction; None is nan.
        self._pairs: dict[tuple[float | None, float | None], int] = {}
        self._stopped = False

    def add(self, predicted: FloatArray, target: FloatArray) -> None:
        """Count n predictions and targets, both ``(n,)`` float64."""
        values = np.sort(np.concatenate([predicted, target]))  # np.unique would import np.ma, which is slow
        known = values[np.concatenate([[True], values[1:] != values[:-1]])[: len(values)]]
        known = known[~np.isnan(known)]
        if self._stopped or len(known) > MAX_CLASSES:
            self._stopped = True
            return
        rows, columns = (np.searchsorted(known, values) for values in (target, predicted))  # nan sorts last
        counts = np.bincount(rows * (len(known) + 1) + columns)
        labels = [*known.tolist(), None]
        for place in counts.nonzero()[0].tolist():
            row, column = divmod(place, len(labels))
            self._count(labels[row], labels[column], int(counts[place]))

    def _count(self, target: float | None, predicted: float | None, rows: int) -> None:
        self._pairs[target, predicted] = self._pairs.get((target, predicted), 0) + rows
        self._labels.update(label for label in (target, predicted) if label is not None)
        self._stopped = self._stopped or len(self._labels) > MAX_CLASSES

    def merge(self, other: ClassCounts) -> None:
        """Add the counts of another instance."""
        self._stopped = self._stopped or other._stopped
        for (target, predicted), rows in other._pairs.items():
            self._count(target, predicted, rows)

    def scores(self) -> tuple[ClassScore, ...]:
        """All classes that occur as target or prediction, by ascending label; none if too many."""
        if self._stopped:
            return ()
        of: dict[float | None, list[int]] = {label: [0, 0, 0] for label in (*sorted(self._labels), None)}
        for (target, predicted), rows in self._pairs.items():
            of[target][0] += rows
            of[predicted][1] += rows
            of[target][2] += rows * (target == predicted)
        return tuple(ClassScore(label, *counts) for label, counts in of.items() if label is not None)


@dataclass(frozen=True)
class LostClass:
    """A class of which a model recognizes less than half of the rows that the exact model recognizes."""

    #: The model's score, and the exact model's recall in percent.
    score: ClassScore
    recall: float


def lost_classes(predicted: FloatArray, exact: FloatArray, target: FloatArray) -> tuple[LostClass, ...]:
    """The classes that `predicted` loses in comparison with `exact`, by ascending label.

    One row alone, where `exact` recognizes no other of its class, shows nothing.
    """
    known = {score.label: score for score in class_scores(exact, target)}
    return tuple(
        LostClass(score, recall)
        for score in class_scores(predicted, target)
        if score.label in known
        and (recall := known[score.label].recall)
        and 2 * score.correct < known[score.label].correct > 1
    )


def _worst(one: ClassScore | None) -> dict[str, Any] | None:
    if one is None:
        return None
    return {"label": shown_label(one.label), "rows": one.rows, "labels_differing": one.differing}


@dataclass(frozen=True)
class KeptLabels(Figures):
    """How many rows with each label of the exact model keep it: ``correct`` of ``rows``."""

    #: Empty for regression.
    classes: tuple[ClassScore, ...] = ()

    @computed.figure(
        "Mean over the exact model's classes of the share of their rows that keep the label.",
        key="balanced_agreement_percent",
    )
    def balanced_percent(self) -> float | None:
        return balanced_accuracy(self.classes) if any(one.rows for one in self.classes) else None

    @computed.figure(
        "The exact model's class of whose rows the smallest share keeps the label.",
        key="worst_class",
        value=_worst,
    )
    def worst(self) -> ClassScore | None:
        found = [one for one in self.classes if one.rows]
        return min(found, key=lambda one: (one.correct / one.rows, -one.rows), default=None)

    def lost(self, percent: float = LOST, least: int = LOST_ROWS) -> str | None:
        """Describe the worst class of at least so many rows, if fewer than `percent` keep the label."""
        one = KeptLabels(tuple(one for one in self.classes if one.rows >= least)).worst
        if one is None or 100 * one.correct >= percent * one.rows:
            return None
        return (
            f"{100 - 100 * one.correct / one.rows:.3g}% of the labels differ on the {one.rows:,} rows to "
            f"which the exact model gives label {class_word(one.label)}, more than {100 - percent:g}%"
        )

    def lines(self) -> list[str]:
        """The line of reports, if there are classes."""
        one, balanced = self.worst, self.balanced_percent
        if one is None or balanced is None:
            return []
        share = f"{100 - 100 * one.correct / one.rows:.3g}% of {count(one.rows, 'row')}"
        return [
            f"by class     {100 - balanced:.3g}% of the labels differ in the mean of the classes, most in "
            f"class {class_word(one.label)}: {share}"
        ]


def with_names(figures: Any, names: Mapping[float, str] | None) -> Any:
    """The figures of a report, nested in any way, with the name of each class added to its label."""
    if names is None:
        return figures
    if isinstance(figures, list):
        return [with_names(one, names) for one in figures]
    if not isinstance(figures, dict):
        return figures
    found = {key: with_names(value, names) for key, value in figures.items()}
    if "label" in found and ("recall" in found or "labels_differing" in found):
        return {"label": found["label"], "name": names.get(found["label"]), **found}
    return found


class NamedFigures(Figures):
    """A report whose classes may have names: JSON has them beside the labels."""

    #: The name of each label, if the classes have names.
    class_names: Mapping[float, str] | None = None

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = with_names(super().to_dict(), self.class_names)
        return found


def class_scores(predicted: FloatArray, target: FloatArray) -> tuple[ClassScore, ...]:
    """The scores of every class."""
    counts = ClassCounts()
    counts.add(predicted, target)
    return counts.scores()


def balanced_accuracy(scores: Sequence[ClassScore]) -> float:
    """The mean recall of the classes that have rows, in percent; nan if there are no rows.

    As in scikit-learn, a class that is never predicted counts with recall 0.
    """
    recalls = [score.recall for score in scores if score.recall is not None]
    return math.fsum(recalls) / len(recalls) if recalls else math.nan
