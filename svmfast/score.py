"""Scores of predictions: svm-predict's figures with its digits, and figures that the accuracy does not show.

All reports take their figures from here. To add a figure, add a field to :class:`Quality` and compute it in
:meth:`Score.quality`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmfast.class_scores import ClassCounts, ClassScore, balanced_accuracy
from svmfast.figures import Figures, figure
from svmfast.prediction_words import neglected_lines
from svmfast.rows import FloatArray


def percent(count: int, total: int) -> float:
    """``100 count / total``, rounded only once, so that 7 of 100 do not exceed a limit of 7 %."""
    return 100 * count / total


#: A spread or a difference of at most this share of the values is attributed to rounding.
_ROUNDING = 1e-9


def values_differing_percent(
    values: FloatArray, exact: FloatArray, weights: FloatArray | None = None
) -> float:
    """How much values differ from the exact ones, in percent of the spread of the exact ones.

    That is the root mean square difference over the standard deviation of `exact`, in which each row counts
    `weights` times: 0 for no values, infinity if `exact` is constant and `values` differ, or if a value is
    not finite. `max_diff` limits it for regression, in all commands; ``1 - (p / 100) ** 2`` is the
    coefficient of determination of `values` with `exact` as targets.
    """
    if not exact.size:
        return 0.0
    # Divided by their size, squares of large values do not overflow.
    size = max(float(np.abs(exact).max()), float(np.abs(values).max()))
    if not 0 < size < math.inf:
        return 0.0 if size == 0 else math.inf
    weights = None if weights is None else weights.reshape(-1, *[1] * (exact.ndim - 1)) + np.zeros_like(exact)
    error = math.sqrt(float(np.average((values / size - exact / size) ** 2, weights=weights)))
    around = exact / size - np.average(exact / size, weights=weights)
    spread = math.sqrt(float(np.average(around**2, weights=weights)))
    if spread <= _ROUNDING:  # constant values
        return 0.0 if error <= _ROUNDING else math.inf
    return 100 * error / spread


def of_labels(found: Any) -> bool:
    """Whether figures are those of labels, not of values."""
    return found.mse is None


def of_values(found: Any) -> bool:
    """Whether figures are those of values: of a regression."""
    return found.mse is not None


@dataclass(frozen=True, kw_only=True)
class Quality(Figures):
    """Scores of predictions against targets; figures that do not apply are None, or empty."""

    accuracy: float | None = figure("Percent of rows with the true label.", default=None, optional=of_labels)
    balanced_accuracy: float | None = figure(
        "Mean recall of the classes that have rows, in percent.", default=None, optional=of_labels
    )
    auc: float | None = figure(
        "Area under the ROC curve, 0 to 1, if there is one decision value, and rows of both classes.",
        default=None,
        optional=True,
    )
    classes: tuple[ClassScore, ...] = figure(
        "Figures of every class: label, rows, recall, precision, f1, and the name if the model has names.",
        default=(),
        optional=of_labels,
    )
    mse: float | None = figure("Mean squared error.", default=None, optional=of_values)
    scc: float | None = figure("Squared correlation coefficient.", default=None, optional=of_values)
    rmse: float | None = figure("Root mean square error.", default=None, optional=of_values)
    mae: float | None = figure("Mean absolute error.", default=None, optional=of_values)
    r2: float | None = figure(
        "Coefficient of determination; null where the targets are constant.", default=None, optional=of_values
    )

    @property
    def main(self) -> float:
        """The score by which parameters are chosen: accuracy or, for regression, root mean square error."""
        found = self.accuracy if self.mse is None else self.rmse
        return math.nan if found is None else found

    @property
    def lowest_recall(self) -> float | None:
        """The lowest recall of any class, in percent; None if no class has rows."""
        return min((one.recall for one in self.classes if one.recall is not None), default=None)

    def line(self) -> str:
        """The figures over all rows in a short line."""
        if self.mse is not None:
            parts = [f"RMSE {self.rmse:.6g}", f"mean absolute error {self.mae:.6g}"]
            known = [("R^2 {:.6g}", self.r2)]
        else:
            parts = [f"accuracy {self.main:.6g}%"]
            known = [("balanced accuracy {:.6g}%", self.balanced_accuracy), ("ROC AUC {:.4f}", self.auc)]
        parts += [
            words.format(value) for words, value in known if value is not None and not math.isnan(value)
        ]
        return ", ".join(parts)

    def neglected_lines(self, names: Mapping[float, str] | None = None) -> list[str]:
        """A line for each class whose recall is far below the accuracy."""
        counts = ((one.label, one.rows, one.predicted, one.correct) for one in self.classes)
        return neglected_lines(counts, self.accuracy or 0.0, names)


def ends(low: float, high: float, digits: int) -> str:
    """The interval of a percentage as text; an end may be infinite."""
    first, last = f"{low:.{digits}g}%", f"{high:.{digits}g}%"
    if math.inf in (-low, high):
        return f"at least {first}" if math.isfinite(low) else f"at most {last}"
    return f"{first} to {last}"


def interval_text(low: float, high: float) -> str:
    """The interval of a percentage at 95 % as all reports give it."""
    return f"95% confidence: {ends(low, high, 3)}"


class Score:
    """Running comparison of predictions with targets.

    Sums are taken row by row, so that they depend neither on the blocks nor on the number of threads, and
    have the digits of svm-predict's own loop. `by_class`: count every class too.
    """

    def __init__(self, *, by_class: bool = False) -> None:
        #: Rows, and rows whose prediction equals the target (compared as doubles).
        self.total = self.correct = 0
        self._classes = ClassCounts() if by_class else None
        # squared error, p, t, p^2, t^2, p t
        self._sums = np.zeros(6)
        # |error|, t - shift, (t - shift)^2: the shift, the first target, avoids cancellation far from 0.
        self._more = np.zeros(3)
        self._shift: float | None = None

    def add(self, predicted: FloatArray, target: FloatArray, *, regression: bool) -> None:
        """Count one block of n predictions and targets, each ``(n,)`` float64."""
        self.total += len(predicted)
        self.correct += int(np.count_nonzero(predicted == target))
        if self._classes is not None and not regression:
            self._classes.add(predicted, target)
        if not regression or not len(predicted):
            return
        if self._shift is None:
            self._shift = float(target[0])
        # Sums become infinite or nan as svm-predict's do.
        with np.errstate(over="ignore", invalid="ignore"):
            moved = target - self._shift
            terms = (
                (predicted - target) ** 2,
                predicted,
                target,
                predicted * predicted,
                target * target,
                predicted * target,
            )
            _accumulate(self._sums, terms)
            _accumulate(self._more, (np.abs(predicted - target), moved, moved * moved))

    def merge(self, other: Score) -> None:
        """Add the counts of another score."""
        self.total += other.total
        self.correct += other.correct
        self._sums = self._sums + other._sums
        if self._classes is not None and other._classes is not None:
            self._classes.merge(other._classes)
        if other._shift is None:
            return
        if self._shift is None:
            self._shift = other._shift
        absolute, moved, squares = other._more
        by, n = other._shift - self._shift, other.total
        self._more += (absolute, moved + n * by, squares + 2 * by * moved + n * by * by)

    @property
    def accuracy(self) -> float:
        """Percentage of correct rows (nan without rows)."""
        return percent(self.correct, self.total) if self.total else math.nan

    @property
    def classes(self) -> tuple[ClassScore, ...]:
        """The scores of every class, by ascending label; empty unless classes are counted."""
        return () if self._classes is None else self._classes.scores()

    @property
    def r2(self) -> float:
        """Coefficient of determination, 1 - squared error / spread (nan if the targets are constant)."""
        _, moved, squares = self._more
        with np.errstate(all="ignore"):
            spread = squares - moved * moved / self.total
            return float(1 - self._sums[0] / spread) if spread > 0 else math.nan

    @property
    def mean_squared_error(self) -> float:
        """Mean of (prediction - target)^2 (nan without rows)."""
        return float(self._sums[0]) / self.total if self.total else math.nan

    @property
    def squared_correlation(self) -> float:
        """Squared correlation coefficient of predictions and targets (nan if either is constant)."""
        n = self.total
        _, p, t, pp, tt, pt = self._sums
        with np.errstate(all="ignore"):
            above = (n * pt - p * t) * (n * pt - p * t)
            return float(above / ((n * pp - p * p) * (n * tt - t * t)))

    def quality(self, *, regression: bool) -> Quality:
        """All figures."""
        if regression:
            mse = self.mean_squared_error
            return Quality(
                mse=mse,
                scc=self.squared_correlation,
                rmse=math.sqrt(mse),
                mae=float(self._more[0]) / self.total if self.total else math.nan,
                r2=self.r2,
            )
        return Quality(
            accuracy=self.accuracy,
            balanced_accuracy=balanced_accuracy(self.classes),
            classes=self.classes,
        )


def _accumulate(sums: FloatArray, terms: Sequence[FloatArray]) -> None:
    """Add terms to their sums strictly from left to right, as cumsum does and sum() would not."""
    for i, term in enumerate(terms):
        sums[i] = np.cumsum(np.concatenate((sums[i : i + 1], term)))[-1]


def roc_auc(decisions: FloatArray, target: FloatArray, sides: tuple[float, float]) -> float | None:
    """The area under the ROC curve; None unless there are rows of both classes, or if a value is nan.

    That is the probability that a row of the class that positive values vote for, the first of `sides`, has a
    larger value than one of the other class, where ties count half (Mann and Whitney).
    """
    high, low = (np.sort(decisions[target == label]) for label in sides)
    if not (len(high) and len(low)) or np.isnan([high[-1], low[-1]]).any():
        return None
    below, not_above = (int(np.searchsorted(low, high, side).sum()) for side in ("left", "right"))
    return (below + not_above) / (2 * len(low) * len(high))


def quality(
    predicted: FloatArray,
    target: FloatArray,
    *,
    regression: bool,
    decisions: FloatArray | None = None,
    sides: tuple[float, float] | None = None,
) -> Quality:
    """The figures of n > 0 predictions, ``(n,)`` each; without targets (all nan) there are none.

    The ROC AUC needs `decisions`, ``(n,)`` or ``(n, 1)``, and `sides`: the labels that a positive and a
    negative one vote for.
    """
    if np.isnan(target).all():
        return Quality()
    score = Score(by_class=True)
    score.add(predicted, target, regression=regression)
    found = score.quality(regression=regression)
    if decisions is None or sides is None:
        return found
    return replace(found, auc=roc_auc(decisions.ravel(), target, sides))
