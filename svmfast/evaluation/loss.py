"""The loss of accuracy in comparison with the exact model, measured on rows, with confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmfast.rows import FloatArray
from svmfast.score import Quality, percent, quality, values_differing_percent
from svmfast.solvers.binomial import clopper_pearson, sum_interval

#: Half the width of a 95 % interval of the normal distribution, in standard deviations.
_NORMAL = 1.959964


@dataclass(frozen=True)
class Estimate:
    """An estimate of a population's figure, which lies between `low` and `high` with 95 % confidence."""

    value: float
    low: float
    high: float


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
    Intervals of labels and accuracies are exact or nearly exact for any number of rows
    (:mod:`svmfast.solvers.binomial`); those of regression assume that means are normally distributed.
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
    if classes is None:
        groups = [np.ones(len(worse), dtype=np.bool_)]
    else:
        groups = [classes == label for label in np.unique(classes)]
    weight, terms = 100 / len(groups), []
    for group in groups:
        n = int(np.count_nonzero(group))
        terms.append((weight, int(np.count_nonzero(worse & group)), n))
        terms.append((-weight, int(np.count_nonzero(better & group)), n))
    return Estimate(*sum_interval(terms))


def _loss_of_values(predicted: FloatArray, exact: FloatArray, target: FloatArray, worth: Quality) -> Loss:
    if _unknown(target):
        return Loss(len(target), worth, None, _values_differing(predicted, exact), None, None)
    with np.errstate(over="ignore", invalid="ignore"):
        errors, exact_errors = (predicted - target) ** 2, (exact - target) ** 2
    growth = _ratio(errors, exact_errors)
    differing = _values_differing(predicted, exact)
    lost = Estimate(*(100 * (end - 1) for end in (growth.value, growth.low, growth.high)))
    return Loss(len(target), worth, None, differing, lost, None)


def _values_differing(predicted: FloatArray, exact: FloatArray) -> Estimate:
    """Return :func:`svmfast.score.values_differing_percent` with the interval of the ratio of two means."""
    value = values_differing_percent(predicted, exact)
    if not 0 < value < math.inf:
        return Estimate(value, value, value)
    size = float(np.abs(exact).max())
    with np.errstate(over="ignore"):
        share = _ratio(((predicted - exact) / size) ** 2, ((exact - exact.mean()) / size) ** 2)
    low, high = (100 * math.sqrt(max(0.0, end)) for end in (share.low, share.high))
    return Estimate(value, min(low, value), max(value, high))


def _ratio(above: FloatArray, below: FloatArray) -> Estimate:
    """Return the ratio of two means over the same rows, with an interval by the delta method."""
    n = len(above)
    top, bottom = float(above.mean()), float(below.mean())
    if not bottom:
        value = 0.0 if not top else math.inf
        return Estimate(value, value, value)
    if not math.isfinite(top):
        return Estimate(math.inf, math.inf, math.inf)
    value = top / bottom
    if n < 2:
        return Estimate(value, 0.0, math.inf)
    reach = _NORMAL * float(np.std(above - value * below, ddof=1)) / math.sqrt(n) / bottom
    return Estimate(value, value - reach, value + reach)
