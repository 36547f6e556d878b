"""What a model says of rows: decision values, labels and probabilities together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import UnsupportedError
from svmfast.models.base import BoundedModel, Model
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray, Rows


@dataclass(frozen=True)
class Answer:
    """A model's answer for n rows.

    Attributes
    ----------
    decisions : (n, p) float64
        Decision values in LIBSVM's pair order.
    predicted : (n,) float64
        Labels; the predicted value for regression. With probabilities, a classifier's most probable label,
        as ``svm-predict -b 1`` prints.
    probabilities : (n, k) float64 or None
        In the order of the model's labels; normal and outlier for one-class. None unless asked for.
    differing_from_vote : int
        Rows whose most probable label is not the label of the vote (what is predicted without probabilities).
    inside : (n,) bool or None
        Inside the model's validity bound. None unless asked for.
    """

    decisions: FloatArray
    predicted: FloatArray
    probabilities: FloatArray | None = None
    differing_from_vote: int = 0
    inside: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.predicted)


def require(model: Model, *, probability: bool = False, bound: bool = False) -> None:
    """Raise UnsupportedError unless `model` can give what is asked for."""
    if isinstance(model, KernelExpansion) and model.kernel.kind == "precomputed":
        raise UnsupportedError(
            "prediction with a precomputed kernel needs kernel values instead of features",
            "use svm-predict for such models",
        )
    if probability and not model.head.has_probability:
        raise UnsupportedError(
            "the model does not support probability estimates", "train with -b 1, or predict without -b 1"
        )
    if bound and not isinstance(model, BoundedModel):
        raise UnsupportedError(
            "the model is exact: it has no validity bound", "ask for the bound of an approximated model"
        )


def answer(
    model: Model, rows: Rows, *, probability: bool = False, bound: bool = False, threads: int = 1
) -> Answer:
    """Return what `model` says of `rows`, by LIBSVM's rules.

    Parameters
    ----------
    model : Model
    rows : Rows of n rows
    probability : bool
        Give probabilities. Regression models have none for a row: nothing changes but the check.
    bound : bool
        Tell which rows are inside the validity bound.
    threads : int

    Raises
    ------
    UnsupportedError
        The model has no probabilities, or no bound, or its kernel has no function of vectors.
    """
    require(model, probability=probability, bound=bound)
    head = model.head
    decisions = model.decision_values(rows, threads=threads)
    inside = model.inside_bound(rows) if bound and isinstance(model, BoundedModel) else None
    vote = head.predict(decisions)
    if not probability or head.is_regression:
        return Answer(decisions, vote, inside=inside)
    predicted, probabilities = head.predict_with_probabilities(decisions)
    return Answer(decisions, predicted, probabilities, int(np.count_nonzero(predicted != vote)), inside)
