"""Predictions against targets: svm-predict's figures to its digits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

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

    def state(self) -> dict[str, Any]:
        """Return what was counted, classes aside, as plain values for :meth:`merge`."""
        return {"total": self.total, "correct": self.correct, "sums": self._sums.tolist()}

    def merge(self, state: Mapping[str, Any]) -> None:
        """Count what another score has counted."""
        self.total += state["total"]
        self.correct += state["correct"]
        self._sums = self._sums + np.asarray(state["sums"], dtype=np.float64)

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
