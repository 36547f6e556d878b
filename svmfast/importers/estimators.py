"""Converts a fitted estimator or pipeline to a model."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError, WrongTypeError
from svmfast.importers.machines import (
    SVM_TYPES,
    are_boolean,
    attribute_of_fit,
    class_among,
    expansion_of,
    is_own_type,
    machine_type,
)
from svmfast.importers.scalers import SCALERS, composed, imputation_from, scaling_from
from svmfast.models.base import Model
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling, identity

_MACHINES = ", ".join(SVM_TYPES) + " or an estimator of svmfast.sklearn"


def model_of(estimator: Any) -> Model:
    """The model that is equivalent to a fitted estimator; see :func:`svmfast.from_sklearn`."""
    if not hasattr(estimator, "get_params"):
        raise WrongTypeError(
            "the estimator", estimator, f"a fitted {_MACHINES}, or a pipeline that ends in one"
        )
    steps = list(_steps(estimator, "the estimator"))
    if not steps:
        raise UnsupportedError(
            "every step of the pipeline is passthrough", f"expected {_MACHINES} as the last step"
        )
    *before, (called, last) = steps
    scaling: Scaling | None = None
    for name, step in before:
        scaling = _next(scaling, step, name)
    model: Model
    own: Scaling | None = None
    provenance = None
    if is_own_type(type(last)):
        model, width = attribute_of_fit(last, "model_", called), last.n_features_in_
        if isinstance(model, ScaledModel):
            own, provenance, model = model.scaling, model.own_provenance, model.model
    elif machine_type(last) is not None:
        model, classes = expansion_of(last, called)
        width = model.n_features
        if classes is not None:
            boolean = are_boolean(last.classes_)
            own = replace(identity(width), class_names=classes, boolean_classes=boolean)
    else:
        raise UnsupportedError(
            f"{called} is a {type(last).__name__}", f"expected {_MACHINES} as the last step"
        )
    if scaling is not None and len(scaling) != width:
        what = "support vectors of " if model.expansion is not None else ""
        raise UnsupportedError(
            f"{called} has {what}{width} features, the step before it {len(scaling)}",
            "fit the pipeline as a whole",
        )
    columns = getattr(steps[0][1], "feature_names_in_", None)
    features = None if columns is None else tuple(map(str, columns))
    if own is None and scaling is None and (features is None or model.expansion is not None):
        return model  # LIBSVM's text has no place for names, and svm-predict can read it without them
    if own is None or scaling is None:
        found = own or scaling or identity(width)
    else:
        found = composed(scaling, own, called)
    return ScaledModel(model, replace(found, feature_names=features or found.feature_names), provenance)


def _next(before: Scaling | None, step: Any, called: str) -> Scaling:
    """The composition of the map of the steps before, if any, and of `step`."""
    if before is None and class_among(type(step), ("SimpleImputer",)):
        return imputation_from(step, called)
    if not class_among(type(step), SCALERS):
        raise UnsupportedError(
            f"{called} is a {type(step).__name__}",
            f"only {', '.join(SCALERS)} can precede the machine, and a SimpleImputer as the first step",
        )
    scaling = scaling_from(step, called)
    return scaling if before is None else composed(before, scaling, called)


def _steps(estimator: Any, called: str) -> Iterator[tuple[str, Any]]:
    """Yield each step of an estimator, preceded by its name for messages; skip steps that do nothing."""
    kind = type(estimator).__name__
    if kind == "FrozenEstimator":
        yield from _steps(estimator.estimator, called)
    elif hasattr(estimator, "best_estimator_"):
        yield from _steps(estimator.best_estimator_, called)
    elif hasattr(estimator, "steps") and kind == "Pipeline":
        for name, step in estimator.steps:
            if step is not None and not (isinstance(step, str) and step == "passthrough"):
                yield from _steps(step, f"step '{name}' of the pipeline")
    elif class_among(type(estimator), ("CalibratedClassifierCV",)):
        *before, (last, machine) = _steps(_calibrated_estimator(estimator, called), called)
        yield from before
        yield last, _with_sigmoid(estimator, machine, last)
    else:
        yield called, estimator


def _calibrated_estimator(calibrated: Any, called: str) -> Any:
    """The estimator in a fitted CalibratedClassifierCV."""
    fitted = attribute_of_fit(calibrated, "calibrated_classifiers_", called)
    if len(fitted) != 1:
        raise UnsupportedError(
            f"{called} is an ensemble of {len(fitted)} calibrated estimators", "fit it with ensemble=False"
        )
    (one,) = fitted
    alone = "or import the estimator in it, without probabilities"
    if one.method != "sigmoid":
        raise UnsupportedError(
            f"{called} is calibrated by method='{one.method}'", f"fit it with method='sigmoid', {alone}"
        )
    if len(one.calibrators) != 1:
        raise UnsupportedError(
            f"{called} has a sigmoid for each of {len(one.calibrators)} classes, but LIBSVM couples one for "
            "each pair",
            f"fit SVC with probability=True, {alone}",
        )
    return one.estimator


def _with_sigmoid(calibrated: Any, machine: Any, called: str) -> Any:
    """A copy of the SVC in a CalibratedClassifierCV whose decision value is the log-odds.

    The estimator predicts the more probable class, not the side of the machine's decision value. Its
    probability of the second class is 1 / (1 + exp(a T + b)), with T = -f of LIBSVM's value f. So b - a f is
    the logarithm of the odds of the first class: as a decision value it has that class on its positive side,
    and LIBSVM's sigmoid 1 / (1 + exp(A f + B)) with A = -1 and B = 0 gives the probability.
    """
    if machine_type(machine) not in ("c_svc", "nu_svc") or not hasattr(machine, "_dual_coef_"):
        raise UnsupportedError(
            f"{called} is calibrated, but a {type(machine).__name__}", "expected SVC or NuSVC of scikit-learn"
        )
    (sigmoid,) = calibrated.calibrated_classifiers_[0].calibrators
    a, b = float(sigmoid.a_), float(sigmoid.b_)
    made = copy.copy(machine)
    made._dual_coef_, made._intercept_ = machine._dual_coef_ * -a, machine._intercept_ * -a + b
    made._probA, made._probB = np.array([-1.0]), np.array([0.0])
    return made
