"""How good predictions are: svm-predict's figures to its digits, and what they hide about single classes.

:class:`Score` counts over any number of blocks. :class:`Quality` is the set of figures that reports show; a
new figure is one field there, filled in :func:`quality`, and one line in ``evaluation/report.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmfast.class_scores import ClassCounts, ClassScore, balanced_accuracy
from svmfast.rows import FloatArray


def percent(count: int, total: int) -> float:
    """Return ``100 count / total``, rounded once: 7 of 100 are 7 percent and no more than a limit of 7%."""
    return 100 * count / total


class Score:
    """Running comparison of predictions with targets.

    Sums run row by row in the order of the rows, so the result depends neither on the blocks nor on the
    number of threads, and its digits are those of svm-predict's own loop.

    Attributes
    ----------
    total, correct : int
        Rows seen, and rows whose prediction equals the target (compared as doubles).

    Parameters
    ----------
    by_class : bool
        Count every class too, for :attr:`classes` and :attr:`balanced_accuracy`.
    """

    def __init__(self, *, by_class: bool = False) -> None:
        self.total = 0
        self.correct = 0
        self._classes = ClassCounts() if by_class else None
        # squared error, p, t, p^2, t^2, p t
        self._sums = np.zeros(6)

    def add(self, predicted: FloatArray, target: FloatArray, *, regression: bool) -> None:
        """Count one block of n predictions and targets, both ``(n,)`` float64."""
        self.total += len(predicted)
        self.correct += int(np.count_nonzero(predicted == target))
        if self._classes is not None and not regression:
            self._classes.add(predicted, target)
        if not regression or not len(predicted):
            return
        # Infinite and nan as in svm-predict's own sums.
        with np.errstate(over="ignore", invalid="ignore"):
            terms = (
                (predicted - target) ** 2,
                predicted,
                target,
                predicted * predicted,
                target * target,
                predicted * target,
            )
            for i, term in enumerate(terms):
                # cumsum adds strictly from left to right; sum() would not.
                self._sums[i] = np.cumsum(np.concatenate((self._sums[i : i + 1], term)))[-1]

    @property
    def accuracy(self) -> float:
        """Share of correct rows in percent (nan without rows)."""
        return percent(self.correct, self.total) if self.total else math.nan

    @property
    def classes(self) -> tuple[ClassScore, ...]:
        """Every class's scores, by ascending label; none unless classes are counted."""
        return () if self._classes is None else self._classes.scores()

    @property
    def balanced_accuracy(self) -> float:
        """Mean recall of the classes in percent (nan without rows, or unless classes are counted)."""
        return balanced_accuracy(self.classes)

    @property
    def mean_squared_error(self) -> float:
        """Mean of (prediction - target)^2 (nan without rows)."""
        return float(self._sums[0]) / self.total if self.total else math.nan

    @property
    def squared_correlation(self) -> float:
        """Squared correlation coefficient of predictions and targets (nan where either is constant)."""
        n = self.total
        _, p, t, pp, tt, pt = self._sums
        with np.errstate(all="ignore"):
            above = (n * pt - p * t) * (n * pt - p * t)
            return float(above / ((n * pp - p * p) * (n * tt - t * t)))


@dataclass(frozen=True, kw_only=True)
class Quality:
    """What predictions are worth against targets; None where a figure has no meaning for the question.

    Attributes
    ----------
    accuracy : float or None
        Percent of right labels; None for regression.
    balanced_accuracy : float or None
        Mean recall of the classes that have rows, in percent; None for regression.
    classes : tuple of ClassScore
        Precision, recall and F1 of every class, by ascending label; empty for regression.
    mse, scc : float or None
        Mean squared error and squared correlation; None unless regression.
    """

    accuracy: float | None = None
    balanced_accuracy: float | None = None
    classes: tuple[ClassScore, ...] = ()
    mse: float | None = None
    scc: float | None = None


def quality(predicted: FloatArray, target: FloatArray, *, regression: bool) -> Quality:
    """Return the figures of predictions.

    Parameters
    ----------
    predicted, target : (n,) float64
        Labels, or values for regression; n > 0. Targets that are all nan are none: no figure has a meaning.
    regression : bool
    """
    if np.isnan(target).all():
        return Quality()
    score = Score(by_class=True)
    score.add(predicted, target, regression=regression)
    if regression:
        return Quality(mse=score.mean_squared_error, scc=score.squared_correlation)
    return Quality(accuracy=score.accuracy, balanced_accuracy=score.balanced_accuracy, classes=score.classes)
