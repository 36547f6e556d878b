"""What a model needs for a requested answer: probabilities, a validity bound, a certificate."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.errors import UnsupportedError
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion


@dataclass(frozen=True)
class Columns:
    """The columns of an answer besides the label or value."""

    #: Regression models have no probabilities of rows; it is only checked that they were trained with them.
    probability: bool = False
    decision_values: bool = False
    #: Whether the row is inside the validity bound.
    bound: bool = False
    #: Whether the answer is provably the exact model's, and a bound on the error of its values.
    certify: bool = False


LABELS = Columns()


def require(
    model: Model,
    columns: Columns = LABELS,
    *,
    exact: KernelExpansion | None = None,
    tolerance: float | None = None,
) -> None:
    """Raise UnsupportedError unless `model`, with `exact` as fallback if given, can answer the request."""
    model = model.unscaled
    if model.expansion is not None and model.expansion.kernel.kind == "precomputed":
        raise UnsupportedError(
            "prediction with a precomputed kernel needs kernel values instead of features",
            "use svm-predict for such models",
        )
    if columns.certify and columns.probability:
        raise UnsupportedError(
            "probabilities are not certified", "request either probabilities or the certificate"
        )
    missing = missing_probability(model) if columns.probability else None
    if missing is not None:
        raise missing
    if columns.bound and not model.has_validity_bound:
        raise UnsupportedError("the model has no validity bound", "only models made by approximate have one")
    if columns.certify and exact is None and model.expansion is not None:
        if model.head.is_regression and tolerance is None:
            raise UnsupportedError(
                "the values of a LIBSVM regression model are svm-predict's, digit for digit: there is "
                "nothing to certify",
                "predict without `certify`, or give `tolerance`, the largest error to accept",
            )
        return
    if (columns.certify and not model.certifies) or (exact is not None and not model.has_error_bound):
        raise UnsupportedError("the model has no certificate", "make it with approximate and a `certificate`")


def missing_probability(model: Model) -> UnsupportedError | None:
    """Return why `model` has no probabilities; None if it has them.

    Every conversion keeps the exact model's probabilities, except those that fit the exact model's labels
    instead of its decision values.
    """
    inner = model.unscaled.fast_part
    if inner.head.has_probability:
        return None
    if inner.fits_labels:
        return UnsupportedError(
            "the model was fitted to labels, not to decision values: probabilities of the exact model do not "
            "apply to it",
            "predict without `probability`, or convert with dcpred, fitting values",
        )
    if inner.head.one_vs_rest:
        return UnsupportedError(
            "scores of classes give no probabilities", "predict without `probability`, or convert to pairs"
        )
    return UnsupportedError(
        "the model does not support probability estimates",
        "train the exact model with `probability`, or predict without",
    )
