"""How good predictions are: the figures that reports show.

A new figure is one field of :class:`Quality`, filled in :func:`quality`, and one line in
``evaluation/report.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmfast.class_scores import ClassScore
from svmfast.rows import FloatArray
from svmfast.score import Score


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
