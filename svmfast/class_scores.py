"""How well each class is recognized: precision, recall and F1 of every class, and the balanced accuracy.

The accuracy over all rows hides errors in a rare class. Everything here follows from three counts per class
and is used by methods and by evaluation. All figures are percentages, like svm-predict's accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.display import count
from svmfast.figures import Figures, computed, figure
from svmfast.prediction_words import MAX_LINES as MAX_LINES
from svmfast.prediction_words import MIN_ROWS as MIN_ROWS
from svmfast.prediction_words import class_word as class_word
from svmfast.prediction_words import neglected_lines as neglected_lines
from svmfast.prediction_words import shown_label as shown_label

FloatArray = NDArray[np.float64]

#: With more distinct labels, classes are not counted, so that memory stays bounded for any file.
MAX_CLASSES = 1000
#: Maximum number of classes of a confusion table.
MAX_CONFUSED = 10
#: A conversion loses a class if less than this percentage of its rows keep their label, of at least so many.
LOST, LOST_ROWS = 50.0, 2


@dataclass(frozen=True)
class ClassScore(Figures):
    """The counts and scores of one class, in percent; a ratio whose denominator is 0 is None."""

    label: float = figure("The label.", value=shown_label)
    rows: int = figure("Rows whose target is the label.")
    #: Rows whose prediction is the label, and rows for which both hold.
    predicted: int  # type: ignore[misc]  # figures look like defaults
    correct: int  # type: ignore[misc]

    @computed.figure("Percent of the class's rows that are predicted as this class.")
    def recall(self) -> float | None:
        """Percent of the class's rows that are predicted as this class; None if it has no rows."""
        return 100 * self.correct / self.rows if self.rows else None

    @computed.figure("Percent of correct rows among those predicted as this class.")
    def precision(self) -> float | None:
        """Percent of correct rows among those predicted as this class; None if there are none."""
        return 100 * self.correct / self.predicted if self.predicted else None

    @computed.figure("Harmonic mean of precision and recall, in percent.")
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall, 2 correct / (rows + predicted), in percent."""
        total = self.rows + self.predicted
        return 200 * self.correct / total if total else None

    @property
    def differing(self) -> int:
        """Rows whose prediction is another label."""
        return self.rows - self.correct


def _shown_labels(labels: Sequence[float]) -> list[float | int]:
    return list(map(shown_label, labels))


@dataclass(frozen=True)
class Confusion(Figures):
    """The confusion table: how often the rows of each class are predicted as each class."""

    labels: tuple[float, ...] = figure("The labels, ascending.", value=_shown_labels)
    counts: tuple[tuple[int, ...], ...] = figure(
        "counts[i][j] is the number of rows with target labels[i] and prediction labels[j]."
    )


class ClassCounts:
    """The counts of every class, over any number of blocks of rows, in bounded memory.

    After more than :data:`MAX_CLASSES` distinct labels, counting stops. A nan target belongs to no class.
    `labels` are listed even if they never occur.
    """

    def __init__(self, labels: Iterable[float] = ()) -> None:
        self._labels: FloatArray | None = _distinct(np.array([float(label) for label in labels]))
        # rows, predicted, correct
        self._counts = np.zeros((3, len(self._labels)), dtype=np.int64)
        self._pairs: NDArray[np.int64] | None = np.zeros((len(self._labels),) * 2, dtype=np.int64)
        self._add_labels(np.empty(0))

    def add(self, predicted: FloatArray, target: FloatArray) -> None:
        """Count n predictions and targets, both ``(n,)`` float64."""
        places = [self._places(values) for values in (target, predicted)]
        if any(found is None for found in places):  # there is a new label
            for values in (target, predicted):
                self._add_labels(values)
            places = [self._places(values) for values in (target, predicted)]
        true, given = places
        if self._labels is None or true is None or given is None:
            return
        k = len(self._labels)
        if self._pairs is None:
            for place, found in enumerate((true, given, true[true == given])):
                self._counts[place] += np.bincount(found, minlength=k + 1)[:k]
            return
        both = np.bincount(true * (k + 1) + given, minlength=(k + 1) ** 2).reshape(k + 1, k + 1)
        self._pairs += both[:k, :k]
        self._counts += np.array([both.sum(axis=1), both.sum(axis=0), both.diagonal()])[:, :k]

    def _places(self, values: FloatArray) -> NDArray[np.int64] | None:
        """The index of each label among the known ones (nan: their number); None if a label is unknown."""
        known = self._labels
        if known is None or not len(known):
            return None
        places = np.searchsorted(known, values)  # nan sorts last
        found = known[np.minimum(places, len(known) - 1)]
        return places if ((found == values) | np.isnan(values)).all() else None

    def _add_labels(self, values: FloatArray) -> None:
        """Add the labels among `values` to the known ones; stop counting if there are too many."""
        if self._labels is None:
            return
        known = self._labels
        if len(known):
            at = np.minimum(np.searchsorted(known, values), len(known) - 1)
            values = values[known[at] != values]
        labels = _distinct(np.concatenate([known, values[~np.isnan(values)]]))
        if len(labels) > MAX_CLASSES:
            self._labels = self._pairs = None
            return
        place = np.searchsorted(labels, known)
        counts = np.zeros((3, len(labels)), dtype=np.int64)
        counts[:, place] = self._counts
        if len(labels) > MAX_CONFUSED:
            self._pairs = None
        elif self._pairs is not None:
            pairs = np.zeros((len(labels),) * 2, dtype=np.int64)
            pairs[np.ix_(place, place)] = self._pairs
            self._pairs = pairs
        self._labels, self._counts = labels, counts

    def state(self) -> dict[str, Any]:
        """Return the counts as plain values, for :meth:`merge`."""
        return {
            "labels": None if self._labels is None else self._labels.tolist(),
            "counts": self._counts.tolist(),
            "pairs": None if self._pairs is None else self._pairs.tolist(),
        }

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add the counts of another instance, as its :meth:`state` returned them."""
        if state["labels"] is None:
            self._labels = self._pairs = None
        labels = np.array(state["labels"] or (), dtype=np.float64)
        self._add_labels(labels)
        if self._labels is None:
            return
        place = np.searchsorted(self._labels, labels)
        self._counts[:, place] += np.array(state["counts"], dtype=np.int64).reshape(3, -1)
        if state["pairs"] is None:
            self._pairs = None
        elif self._pairs is not None:
            k = len(labels)
            self._pairs[np.ix_(place, place)] += np.array(state["pairs"], dtype=np.int64).reshape(k, k)

    def scores(self) -> tuple[ClassScore, ...]:
        """Return all classes that occur as target or prediction, by ascending label; none if too many."""
        if self._labels is None:
            return ()
        columns = zip(self._labels.tolist(), *self._counts.tolist(), strict=True)
        return tuple(ClassScore(label, *counts) for label, *counts in columns)

    @property
    def confusion(self) -> Confusion | None:
        """The confusion table of the same classes; None for more than :data:`MAX_CONFUSED`."""
        if self._labels is None or self._pairs is None or not len(self._labels):
            return None
        return Confusion(tuple(self._labels.tolist()), tuple(map(tuple, self._pairs.tolist())))


def _distinct(values: FloatArray) -> FloatArray:
    """Return the distinct values in ascending order; np.unique would import np.ma, which is slow."""
    ordered = np.sort(values)
    differs = np.concatenate([ordered[:1] == ordered[:1], ordered[1:] != ordered[:-1]])
    distinct: FloatArray = ordered[differs]
    return distinct


@dataclass(frozen=True)
class LostClass:
    """A class of which a model recognizes less than half of the rows that the exact model recognizes."""

    #: The model's score, and the exact model's recall in percent.
    score: ClassScore
    recall: float


def lost_classes(predicted: FloatArray, exact: FloatArray, target: FloatArray) -> tuple[LostClass, ...]:
    """Return the classes that `predicted` loses in comparison with `exact`, by ascending label.

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
        """Mean over the classes of the share of their rows that keep the label, in percent."""
        return balanced_accuracy(self.classes) if any(one.rows for one in self.classes) else None

    @computed.figure(
        "The exact model's class of whose rows the smallest share keeps the label.",
        key="worst_class",
        value=_worst,
    )
    def worst(self) -> ClassScore | None:
        """The class of whose rows the smallest share keeps the label."""
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
        """Return the line of reports, if there are classes."""
        one, balanced = self.worst, self.balanced_percent
        if one is None or balanced is None:
            return []
        return [
            f"by class     {100 - balanced:.3g}% of the labels differ in the mean of the classes, most in "
            f"{class_word(one.label)}: {100 - 100 * one.correct / one.rows:.3g}% of {count(one.rows, 'row')}"
        ]


def with_names(figures: Any, names: Mapping[float, str] | None) -> Any:
    """Return the figures of a report with the name of each class added to its label.

    Each entry of ``classes`` gets a ``name`` and a confusion table gets ``names``; a label without a name has
    null. Figures may be nested.
    """
    if names is None:
        return figures
    if isinstance(figures, list):
        return [with_names(one, names) for one in figures]
    if not isinstance(figures, dict):
        return figures
    found = {key: with_names(value, names) for key, value in figures.items()}
    if "counts" in found and isinstance(found.get("labels"), list):
        return {"labels": found["labels"], "names": [names.get(one) for one in found["labels"]], **found}
    if "label" in found and ("recall" in found or "labels_differing" in found):
        return {"label": found["label"], "name": names.get(found["label"]), **found}
    return found


def class_scores(
    predicted: FloatArray, target: FloatArray, labels: Iterable[float] = ()
) -> tuple[ClassScore, ...]:
    """Return the scores of every class; `labels` are listed even if they never occur."""
    counts = ClassCounts(labels)
    counts.add(predicted, target)
    return counts.scores()


def balanced_accuracy(scores: Sequence[ClassScore]) -> float:
    """Return the mean recall of the classes that have rows, in percent; nan if there are no rows.

    As in scikit-learn's ``balanced_accuracy_score``, a class that is never predicted counts with recall 0,
    and a class that is never a target does not count.
    """
    recalls = [score.recall for score in scores if score.recall is not None]
    return math.fsum(recalls) / len(recalls) if recalls else math.nan
