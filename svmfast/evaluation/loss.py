"""The loss of accuracy in comparison with the exact model, measured on rows, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from svmfast.figures import Figures, computed, figure
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
        """The interval of a percentage as text."""
        return ends(self.low, self.high, digits)


#: A loss that is known to be 0, not estimated.
NOTHING = Estimate(0.0, 0.0, 0.0)


def _value(known: Estimate | None) -> float | None:
    return None if known is None else known.value


def _interval(known: Estimate | None) -> list[float | None] | None:
    return None if known is None else [known.low, known.high]


def of_labels(found: Loss) -> bool:
    """Whether labels were compared, not values."""
    return found.labels_differing is not None


def of_values(found: Loss) -> bool:
    return found.labels_differing is None


def _estimate(key: str, help: str, of: str, optional: Callable[[Loss], bool]) -> tuple[Any, Any]:
    """Two figures: an estimate, and its interval."""
    get = attrgetter(of)
    return (
        computed.figure(help, key=key, optional=optional, value=_value)(get),
        computed.figure("Its 95 % interval.", key=f"{key}_interval", optional=optional, value=_interval)(get),
    )


@dataclass(frozen=True)
class Loss(Figures):
    """The loss of a model in comparison with the exact model on the same rows."""

    n_rows: int = figure("Rows.", key="rows")
    quality: Quality = figure("The model's quality.", spread=True)
    #: None for regression.
    labels_differing: int | None = figure("Rows whose label is not the exact model's.", optional=True)
    #: Share of these rows, in percent; regression: how much the values differ
    #: (:func:`svmfast.score.values_differing_percent`).
    differing: Estimate  # type: ignore[misc]  # figures look like defaults
    #: Accuracy of the exact model minus that of the model, in percentage points; regression: increase of the
    #: mean squared error, in percent of the exact model's. None if the rows have no labels.
    lost: Estimate | None  # type: ignore[misc]
    #: Balanced accuracy lost, in percentage points; None for regression and without labels.
    balanced_lost: Estimate | None  # type: ignore[misc]

    _share, _share_interval = _estimate(
        "labels_differing_percent", "The same in percent.", "differing", of_labels
    )
    _lost, _lost_interval = _estimate(
        "accuracy_lost_percent", "Percentage points of accuracy that are lost.", "lost", of_labels
    )
    _balanced, _balanced_interval = _estimate(
        "balanced_accuracy_lost_percent", "The same of balanced accuracy.", "balanced_lost", of_labels
    )
    _values, _values_interval = _estimate(
        "values_differing_percent",
        "Root mean square difference from the exact values in percent of their standard deviation.",
        "differing",
        of_values,
    )
    _grown, _grown_interval = _estimate(
        "mse_increase_percent", "Increase of the mean squared error, in percent.", "lost", of_values
    )


def no_loss(predicted: FloatArray, target: FloatArray, *, regression: bool) -> Loss:
    """The loss of answers that are the exact model's, or are proven to be equal to them."""
    worth = quality(predicted, target, regression=regression)
    lost = None if _unknown(target) else NOTHING
    return Loss(len(target), worth, None if regression else 0, NOTHING, lost, None if regression else lost)


def loss(
    predicted: FloatArray,
    exact: FloatArray,
    target: FloatArray,
    *,
    regression: bool,
) -> Loss:
    """The loss of `predicted` in comparison with `exact`: labels or values of n > 0 rows, ``(n,)``.

    The true ones, `target`, are all nan if unknown. The interval of the share of labels that differ is exact;
    the others are approximate (:mod:`svmfast.solvers.intervals`). For regression the upper end is infinity
    with fewer than :data:`svmfast.solvers.intervals.LEAST_FOR_MEANS` rows, and where few rows have most of
    the error.
    """
    worth = quality(predicted, target, regression=regression)
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
    """The loss in percentage points, over all rows, or averaged over the classes."""
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
    """:func:`svmfast.score.values_differing_percent` with its interval."""
    value = values_differing_percent(predicted, exact)
    if not 0 < value < math.inf:
        return Estimate(value, value, value)
    size = float(np.abs(exact).max())
    with np.errstate(over="ignore"):
        share = mean_ratio(((predicted - exact) / size) ** 2, ((exact - exact.mean()) / size) ** 2)
    _, low, high = (100 * math.sqrt(end) for end in share)
    return Estimate(value, min(low, value), max(value, high))
