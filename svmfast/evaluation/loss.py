"""The loss of accuracy in comparison with the exact model, measured on rows, with confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmfast.rows import FloatArray
from svmfast.score import Quality, ends, percent, quality, values_differing_percent
from svmfast.solvers.intervals import clopper_pearson, mean_ratio, paired_difference, weighted_sum


@dataclass(frozen=True)
class Estimate:
    """An estimate of a population's figure, which lies between `low` and `high` with 95 % confidence.

    `high` is infinity where the rows cannot show how large the figure is.
    """

    value: float
    low: float
    high: float

    def ends(self, digits: int) -> str:
        """Return the interval of a percentage as text."""
        return ends(self.low, self.high, digits)


#: A loss that is known to be 0, not estimated.
NOTHING = Estimate(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Loss:
    """The loss of a model in comparison with the exact model on the same rows.

    Attributes
    ----------
    rows : int
    quality : Quality
        The model's quality.
    labels_differing : int or None
        Rows whose label is not the exact model's; None for regression.
    differing : Estimate
        Share of these rows, in percent. Regression: how much the values differ
        (:func:`svmfast.score.values_differing_percent`).
    lost : Estimate or None
        Accuracy of the exact model minus that of the model, in percentage points. Regression: increase of the
        mean squared error, in percent of the exact model's. None if the rows have no labels.
    balanced_lost : Estimate or None
        Balanced accuracy lost, in percentage points; None for regression and without labels.
    """

    rows: int
    quality: Quality
    labels_differing: int | None
    differing: Estimate
    lost: Estimate | None
    balanced_lost: Estimate | None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, with the same names as in ``compare`` where these exist."""

        def with_interval(name: str, known: Estimate | None) -> dict[str, Any]:
            if known is None:
                return {name: None, f"{name}_interval": None}
            return {name: known.value, f"{name}_interval": [known.low, known.high]}

        if self.labels_differing is None:
            return {
                "rows": self.rows,
                **self.quality.as_dict(),
                **with_interval("values_differing_percent", self.differing),
                **with_interval("mse_increase_percent", self.lost),
            }
        return {
            "rows": self.rows,
            **self.quality.as_dict(),
            "labels_differing": self.labels_differing,
            **with_interval("labels_differing_percent", self.differing),
            **with_interval("accuracy_lost_percent", self.lost),
            **with_interval("balanced_accuracy_lost_percent", self.balanced_lost),
        }


@dataclass(frozen=True, eq=False)
class Ranking:
    """Decision values of the rows, ``(n,)``, and the labels for a positive and for a negative value."""

    values: FloatArray
    sides: tuple[float, float]


def _quality(predicted: FloatArray, target: FloatArray, regression: bool, ranking: Ranking | None) -> Quality:
    values, sides = (None, None) if ranking is None else (ranking.values, ranking.sides)
    return quality(predicted, target, regression=regression, decisions=values, sides=sides)


def no_loss(
    predicted: FloatArray, target: FloatArray, *, regression: bool, ranking: Ranking | None = None
) -> Loss:
    """Return the loss of answers that are the exact model's, or are proven to be equal to them."""
    worth = _quality(predicted, target, regression, ranking)
    lost = None if _unknown(target) else NOTHING
    return Loss(len(target), worth, None if regression else 0, NOTHING, lost, None if regression else lost)


def loss(
    predicted: FloatArray,
    exact: FloatArray,
    target: FloatArray,
    *,
    regression: bool,
    ranking: Ranking | None = None,
) -> Loss:
    """Return the loss of `predicted` in comparison with `exact`.

    Parameters
    ----------
    predicted, exact, target : (n,) float64
        The model's labels or values, the exact model's, and the true ones, all nan if unknown; n > 0.
    regression : bool
    ranking : Ranking, optional
        For the ROC AUC.

    Notes
    -----
    The interval of the share of labels that differ is exact; the others are approximate
    (:mod:`svmfast.solvers.intervals`). For regression the upper end is infinity with fewer than
    :data:`svmfast.solvers.intervals.LEAST_FOR_MEANS` rows, and where few rows have most of the error.
    """
    worth = _quality(predicted, target, regression, ranking)
    if regression:
        return _loss_of_values(predicted, exact, target, worth)
    n = len(target)
    differs = predicted != exact
    differing = int(np.count_nonzero(differs))
    low, high = clopper_pearson(differing, n)
    estimate = Estimate(percent(differing, n), 100 * low, 100 * high)
    if _unknown(target):
        return Loss(n, worth, differing, estimate, None, None)
    # Rows that the exact model answers correctly and the model does not, and vice versa.
    worse, better = differs & (exact == target), differs & (predicted == target)
    return Loss(n, worth, differing, estimate, _lost(worse, better, None), _lost(worse, better, target))


def _unknown(target: FloatArray) -> bool:
    return bool(np.isnan(target).all())


def _lost(worse: np.ndarray, better: np.ndarray, classes: FloatArray | None) -> Estimate:
    """Return the loss in percentage points, over all rows, or averaged over the classes."""
    labels = [None] if classes is None else np.unique(classes)
    terms = []
    for label in labels:
        group = slice(None) if label is None else classes == label
        counts = int(np.count_nonzero(worse[group])), int(np.count_nonzero(better[group]))
        terms.append((100 / len(labels), paired_difference(*counts, len(worse[group]))))
    return Estimate(*weighted_sum(terms))


def _loss_of_values(predicted: FloatArray, exact: FloatArray, target: FloatArray, worth: Quality) -> Loss:
    if _unknown(target):
        return Loss(len(target), worth, None, _values_differing(predicted, exact), None, None)
    with np.errstate(over="ignore", invalid="ignore"):
        errors, exact_errors = (predicted - target) ** 2, (exact - target) ** 2
    lost = Estimate(*(100 * (end - 1) for end in mean_ratio(errors, exact_errors)))
    return Loss(len(target), worth, None, _values_differing(predicted, exact), lost, None)


def _values_differing(predicted: FloatArray, exact: FloatArray) -> Estimate:
    """Return :func:`svmfast.score.values_differing_percent` with its interval."""
    value = values_differing_percent(predicted, exact)
    if not 0 < value < math.inf:
        return Estimate(value, value, value)
    size = float(np.abs(exact).max())
    with np.errstate(over="ignore"):
        share = mean_ratio(((predicted - exact) / size) ** 2, ((exact - exact.mean()) / size) ** 2)
    _, low, high = (100 * math.sqrt(end) for end in share)
    return Estimate(value, min(low, value), max(value, high))
