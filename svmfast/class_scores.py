"""How well each class is recognised: precision, recall and F1 of every class, and the balanced accuracy.

The accuracy of all rows together hides a rare class. Everything here follows from three counts of a class, so
methods and evaluation share it, whatever made the predictions. All figures are percentages, as svm-predict's
accuracy is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ClassScore:
    """One class's counts and what they say; a ratio without a denominator is None.

    Attributes
    ----------
    label : float
    rows : int
        Rows of the class: the target is `label`.
    predicted : int
        Rows that are given the label.
    correct : int
        Rows for which both hold.
    """

    label: float
    rows: int
    predicted: int
    correct: int

    @property
    def recall(self) -> float | None:
        """Percent of the class's rows that are given its label; None without such rows."""
        return 100 * self.correct / self.rows if self.rows else None

    @property
    def precision(self) -> float | None:
        """Percent right among the rows that are given the label; None where none is."""
        return 100 * self.correct / self.predicted if self.predicted else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall, 2 correct / (rows + predicted); None without either."""
        total = self.rows + self.predicted
        return 200 * self.correct / total if total else None

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the label, the count of rows and the three figures, as reports have them."""
        return {
            "label": shown_label(self.label),
            "rows": self.rows,
            "recall": self.recall,
            "precision": self.precision,
            "f1": self.f1,
        }


def shown_label(label: float) -> float | int:
    """Return a label as an integer where it is one."""
    return int(label) if float(label).is_integer() else label


class ClassCounts:
    """The counts of every class, over any number of blocks of rows.

    Parameters
    ----------
    labels : iterable of float
        Labels to list even if they never occur.
    """

    def __init__(self, labels: Iterable[float] = ()) -> None:
        self._counts: dict[float, list[int]] = {float(label): [0, 0, 0] for label in labels}

    def add(self, predicted: FloatArray, target: FloatArray) -> None:
        """Count n predictions and targets, both ``(n,)`` float64."""
        for place, values in enumerate((target, predicted, target[predicted == target])):
            for label, count in zip(*np.unique(values, return_counts=True), strict=True):
                self._counts.setdefault(float(label), [0, 0, 0])[place] += int(count)

    def scores(self) -> tuple[ClassScore, ...]:
        """Return all classes that occur as a target or a prediction, by ascending label."""
        return tuple(ClassScore(label, *self._counts[label]) for label in sorted(self._counts))


def class_scores(
    predicted: FloatArray, target: FloatArray, labels: Iterable[float] = ()
) -> tuple[ClassScore, ...]:
    """Return the scores of every class.

    Parameters
    ----------
    predicted, target : (n,) float64
    labels : iterable of float
        Labels to list even if they never occur.
    """
    counts = ClassCounts(labels)
    counts.add(predicted, target)
    return counts.scores()


def balanced_accuracy(scores: Sequence[ClassScore]) -> float:
    """Return the mean recall of the classes that have rows, in percent; nan without rows.

    As scikit-learn's ``balanced_accuracy_score``: a class that is a target but never predicted counts with
    recall 0, one that is only predicted does not count.
    """
    recalls = [score.recall for score in scores if score.recall is not None]
    return math.fsum(recalls) / len(recalls) if recalls else math.nan
