"""Converts a fitted estimator or pipeline to a model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError, WrongTypeError
from svmfast.importers.calibrated import calibrated_estimator, is_calibrated, with_sigmoid
from svmfast.importers.machines import (
    SVM_TYPES,
    are_boolean,
    expansion_of,
    is_own_type,
    machine_type,
    own_model,
)
from svmfast.importers.scalers import SCALERS, Affine, affine_of, is_imputer, is_scaler, values_for_missing
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import ScaledModel, scaling_of, unscaled
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray

_MACHINES = ", ".join(SVM_TYPES) + " or an estimator of svmfast.sklearn"


def model_of(estimator: Any) -> Model:
    """Return the model that is equivalent to a fitted estimator; see :func:`svmfast.from_sklearn`."""
    if not hasattr(estimator, "get_params") and machine_type(estimator) is None:
        raise WrongTypeError(
            "the estimator", estimator, f"a fitted {_MACHINES}, or a pipeline that ends in one"
        )
    affine: Affine | None = None
    steps = list(_steps(estimator, "the estimator"))
    before = steps[:-1]
    missing = None
    if before and is_imputer(before[0][1]):
        called, imputer = before.pop(0)
        missing = values_for_missing(imputer, called)
    for called, step in before:
        affine = _next(affine, step, called)
    if missing is not None and affine is None:
        affine = Affine(np.zeros(len(missing)), np.ones(len(missing)))
    if not steps:
        raise UnsupportedError(
            "every step of the pipeline is passthrough", f"expected {_MACHINES} as the last step"
        )
    called, last = steps[-1]
    columns = getattr(steps[0][1], "feature_names_in_", None)
    features = None if columns is None else tuple(map(str, columns))
    if is_own_type(type(last)):
        found = _with_steps_before(own_model(last, called), affine, features, last.n_features_in_, called)
        return _with_missing(found, missing, called)
    if machine_type(last) is None:
        raise UnsupportedError(
            f"{called} is a {type(last).__name__}", f"expected {_MACHINES} as the last step"
        )
    expansion, classes = expansion_of(last, called)
    model: Model = expansion
    if classes is not None:
        d = expansion.n_features
        boolean = are_boolean(last.classes_)
        scaling = Scaling(np.zeros(d), np.ones(d), class_names=classes, boolean_classes=boolean)
        model = ScaledModel(expansion, scaling)
    model = _with_steps_before(model, affine, features, expansion.n_features, called)
    return _with_missing(model, missing, called)


def _with_missing(model: Model, missing: FloatArray | None, called: str) -> Model:
    if missing is None:
        return model
    assert isinstance(model, ScaledModel), "there is an Affine before it"
    if model.n_features != len(missing):
        raise UnsupportedError(
            f"{called} has {model.n_features} features, the imputer {len(missing)}",
            "fit the pipeline as a whole",
        )
    return replace(model, scaling=replace(model.scaling, missing=missing))


def holds_own_model(estimator: Any) -> bool:
    """Return whether an estimator, or the last step of a pipeline, is one of svmfast.sklearn."""
    steps = list(_steps(estimator, ""))
    return bool(steps) and is_own_type(type(steps[-1][1]))


def _with_steps_before(
    model: Model, before: Affine | None, features: tuple[str, ...] | None, width: int, called: str
) -> Model:
    """Return a model of the rows that the whole pipeline takes, with the names of its features.

    Parameters
    ----------
    model : Model
        The model of the last step, which may have its own scaling, or one that only holds names.
    before : Affine or None
        The map of the steps before it, if any.
    width : int
        Number of features of the last step.
    called : str
        The last step's name in messages.
    """
    own = scaling_of(model)
    if before is not None and len(before.offset) != width:
        what = "support vectors of " if isinstance(unscaled(model), KernelExpansion) else ""
        raise UnsupportedError(
            f"{called} has {what}{width} features, the step before it {len(before.offset)}",
            "fit the pipeline as a whole",
        )
    if before is None and own is None:
        # LIBSVM's text has no place for names, and svm-predict can read it without them.
        if features is None or isinstance(model, KernelExpansion):
            return model
        before = Affine(np.zeros(width), np.ones(width))
    if own is None:
        assert before is not None
        return ScaledModel(model, Scaling(before.offset, before.factor, before.clip, features))
    if before is not None and own.is_identity:
        own = replace(own, offset=before.offset, factor=before.factor, clip=before.clip)
    elif before is not None:
        both = before.then(Affine(own.offset, own.factor, own.clip), called)
        own = replace(own, offset=both.offset, factor=both.factor, clip=both.clip)
    assert isinstance(model, ScaledModel)
    return replace(model, scaling=replace(own, feature_names=features or own.feature_names))


def _next(before: Affine | None, step: Any, called: str) -> Affine:
    """Return the composition of the map of the steps before, if any, and of `step`."""
    if not is_scaler(step):
        raise UnsupportedError(
            f"{called} is a {type(step).__name__}",
            f"only {', '.join(SCALERS)} can precede the machine, and a SimpleImputer as the first step",
        )
    affine = affine_of(step, called)
    return affine if before is None else before.then(affine, called)


def _steps(estimator: Any, called: str) -> Iterator[tuple[str, Any]]:
    """Yield each step of an estimator, preceded by its name for messages; skip steps that do nothing."""
    if hasattr(estimator, "as_sklearn"):  # cuML's own conversion
        estimator = estimator.as_sklearn()
    kind = type(estimator).__name__
    if kind == "FrozenEstimator":
        yield from _steps(estimator.estimator, called)
    elif hasattr(estimator, "best_estimator_"):
        yield from _steps(estimator.best_estimator_, called)
    elif hasattr(estimator, "steps") and kind == "Pipeline":
        for name, step in estimator.steps:
            if step is not None and not (isinstance(step, str) and step == "passthrough"):
                yield from _steps(step, f"step '{name}' of the pipeline")
    elif is_calibrated(estimator):
        *before, (last, machine) = _steps(calibrated_estimator(estimator, called), called)
        yield from before
        yield last, with_sigmoid(estimator, machine, last)
    else:
        yield called, estimator
