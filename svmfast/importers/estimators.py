"""Converts a fitted estimator or pipeline to a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError, WrongTypeError
from svmfast.importers.machines import SVM_TYPES, expansion_of, machine_type
from svmfast.importers.scalers import SCALERS, Affine, affine_of, is_scaler
from svmfast.models.base import Model
from svmfast.models.scaled import with_scaling
from svmfast.models.scaling import Scaling

_MACHINES = ", ".join(list(SVM_TYPES)[:-1]) + f" or {list(SVM_TYPES)[-1]}"


def model_of(estimator: Any) -> Model:
    """Return the model that is equivalent to a fitted estimator; see :func:`svmfast.from_sklearn`."""
    if not hasattr(estimator, "get_params") and machine_type(estimator) is None:
        raise WrongTypeError(
            "the estimator", estimator, f"a fitted {_MACHINES}, or a pipeline that ends in one"
        )
    affine: Affine | None = None
    steps = list(_steps(estimator, "the estimator"))
    for called, step in steps[:-1]:
        affine = _next(affine, step, called)
    if not steps:
        raise UnsupportedError(
            "every step of the pipeline is passthrough", f"expected {_MACHINES} as the last step"
        )
    called, last = steps[-1]
    if machine_type(last) is None:
        raise UnsupportedError(
            f"{called} is a {type(last).__name__}", f"expected {_MACHINES} as the last step"
        )
    expansion, class_names = expansion_of(last, called)
    if affine is None and class_names is None:
        return expansion
    width = expansion.n_features
    if affine is None:
        affine = Affine(np.zeros(width), np.ones(width))
    elif len(affine.offset) != width:
        raise UnsupportedError(
            f"{called} has support vectors of {width} features, the step before it {len(affine.offset)}",
            "fit the pipeline as a whole",
        )
    names = getattr(steps[0][1], "feature_names_in_", None)
    features = None if names is None else tuple(map(str, names))
    scaling = Scaling(affine.offset, affine.factor, affine.clip, features, class_names)
    return with_scaling(expansion, scaling)


def _next(before: Affine | None, step: Any, called: str) -> Affine:
    """Return the composition of the map of the steps before, if any, and of `step`."""
    if not is_scaler(step):
        raise UnsupportedError(
            f"{called} is a {type(step).__name__}", f"only {', '.join(SCALERS)} can precede the machine"
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
    else:
        yield called, estimator
