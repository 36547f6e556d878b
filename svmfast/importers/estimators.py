"""Converts a fitted estimator or pipeline to a model; a table of the estimators around others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError, WrongTypeError
from svmfast.importers.attributes import attribute_of_fit, class_among, refused
from svmfast.importers.machines import Fitted, Values, expansion, machine_of
from svmfast.importers.steps import Front, Landmarks, flat, front_of, step_of
from svmfast.models.base import Model
from svmfast.models.encoding import Encoding, Feature
from svmfast.models.expansion import KernelExpansion, VectorModel
from svmfast.models.mapped import MappedModel
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling, identity
from svmfast.rows import Rows

EXPECTED = "expected a support vector machine, linear model, KernelRidge or GaussianProcessRegressor"


def model_of(estimator: Any) -> Model:
    """The model that is equivalent to a fitted estimator; see :func:`svmfast.from_sklearn`."""
    if not hasattr(estimator, "get_params"):
        raise WrongTypeError("the estimator", estimator, f"a fitted estimator or pipeline: {EXPECTED}")
    found = fitted(estimator, "the estimator")
    model, scaling = _behind(found.model, found.front, "the machine")
    encoding, features = found.front.encoding, found.features or scaling.feature_names
    if encoding is None and found.features:  # columns that are not used may hold anything
        unused = {*range(len(scaling))}.difference(found.front.columns.tolist())
        made = tuple(Feature(i, () if i in unused else None) for i in range(len(scaling)))
        encoding = Encoding(found.features, made) if unused else None
    if encoding is not None:
        encoding = replace(encoding, columns=found.features or encoding.columns)
        features = encoding.names
    # LIBSVM's text has no place for names of features, and svm-predict can read it without them.
    nameless = found.names is None and (found.features is None or model.expansion is not None)
    if nameless and scaling.is_identity and scaling.missing is None and encoding is None:
        return model
    named = replace(
        scaling,
        feature_names=features,
        encoding=encoding,
        class_names=found.names,
        boolean_classes=found.are_boolean,
    )
    return ScaledModel(model, named, found.provenance)


def _behind(model: Model, front: Front, called: str) -> tuple[Model, Scaling]:
    """A model of scaled rows, of all columns that `front` takes, and the scaling before it."""
    scaling, d, order = front.scaling, len(front.scaling), np.argsort(front.columns)
    used = front.columns[order]
    if len(used) == d and front.matrix is None and np.array_equal(order, used):
        return model, scaling
    if not isinstance(model, VectorModel):
        raise refused(called, f"is a {model.kind} model, but the steps before it select or mix columns")
    if len(used) < d:
        if scaling.clip is not None and not scaling.clip[0] <= 0 <= scaling.clip[1]:
            raise refused(called, "follows a scaler that clips to a range without 0, and a selection")
        kept = np.isin(np.arange(d), used)
        offset, factor = (np.where(kept, one, 0) for one in (scaling.offset, scaling.factor))
        scaling = replace(scaling, offset=offset, factor=factor)
    if front.matrix is not None:
        vectors, shift = model.sv.to_dense(len(front.matrix)), front.matrix[:, -1]
        if model.kernel.kind == "rbf":  # |x - (W u + b)| = |(x - b) - W u|
            model = replace(model, sv=Rows.from_dense(vectors - shift))
            map_ = np.ascontiguousarray(front.matrix[:, order])
            return MappedModel(model, d, used, map_, np.zeros(len(used))), scaling
        if shift.any():
            if model.kernel.kind != "linear":
                what = f"has the kernel {model.kernel.kind} after a scaler of columns that are mixed"
                raise refused(called, what)
            model = replace(model, rho=0.0 - model.decision_values(Rows.from_dense(shift[None]))[0])
        model = replace(model, sv=Rows.from_dense(vectors @ front.matrix[:, :-1]))
    sv = model.sv
    places = front.columns[sv.indices]
    at = np.lexsort((places, np.repeat(np.arange(len(sv)), np.diff(sv.indptr))))
    return replace(model, sv=Rows(sv.indptr, places[at].astype(np.int32), sv.values[at], d)), scaling


def fitted(estimator: Any, called: str) -> Fitted:
    """The model of a fitted estimator, and the map before it."""
    kind = class_among(type(estimator), WRAPPERS)
    if kind is not None:
        found = WRAPPERS[kind](estimator, called)
    elif hasattr(estimator, "best_estimator_"):
        found = fitted(estimator.best_estimator_, called)
    else:
        machine = machine_of(estimator, called)
        if machine is None:
            name = type(estimator).__name__
            raise refused(called, f"is a {name}", REASONS.get(name, f"{EXPECTED}, or one of svmfast.sklearn"))
        found = machine
    columns = getattr(estimator, "feature_names_in_", None)
    return found if columns is None else replace(found, features=tuple(map(str, columns)))


def _pipeline(pipeline: Any, called: str) -> Fitted:
    all_ = [(f"step '{name}' of the pipeline", step) for name, step in pipeline.steps]
    named = [(name, step) for name, step in all_ if next(flat(step, name), None) is not None]
    if not named:
        raise refused("every step of the pipeline", "is passthrough", f"{EXPECTED} as the last step")
    *before, (last, machine) = named
    steps = [(name, step_of(one, name)) for whole, step in before for name, one in flat(step, whole)]
    found = fitted(machine, last)
    for name, step in reversed(steps):
        if isinstance(step, Front):
            found = replace(found, front=step.then(found.front, last))
        else:
            found = _after_kernel(found, step, last)
        last = name
    return found


def _after_kernel(found: Fitted, step: Landmarks, called: str) -> Fitted:
    """A linear function of the kernel's values is an expansion."""
    model, m = found.model, len(step.matrix)
    if not isinstance(model, VectorModel) or model.kernel.kind != "linear":
        raise refused(called, "has a kernel of its own after the kernel of the step before")
    if len(model.sv_coef) != model.head.n_functions or model.head.svm_type == "one_class":
        raise refused(called, "decides between pairs of classes by linear functions", "fit LinearSVC")
    front = Front.of(identity(m), np.eye(m)).then(found.front, called)
    weights = model.sv_coef @ model.sv.to_dense(len(front)) @ front.mixing
    rho = model.rho - weights[:, -1] - weights[:, :-1] @ np.broadcast_to(step.shift, m)
    made = expansion(model.head, step.kernel, step.vectors, weights[:, :-1] @ step.matrix, rho, called)
    return replace(found, model=made, front=Front.of(identity(step.vectors.n_columns)))


def _values(parts: Sequence[Any], called: str) -> Values:
    """The values of regressors, or of classifiers with two classes, as scikit-learn has them."""
    models, signs, front = list[KernelExpansion](), list[int](), None
    for one in parts:
        found = fitted(one, called)
        if not isinstance(found.model, KernelExpansion) or found.model.head.n_functions != 1:
            raise refused(called, "contains a machine of more than one value", "convert the estimator in it")
        front = front or found.front
        if not (found.front.same(front) and found.model.kernel == [*models, found.model][0].kernel):
            what = "contains machines with different kernels, or steps before them"
            raise refused(called, what, "fit it with a number as gamma, after the steps")
        labels = found.model.head.labels  # LIBSVM's sign is the opposite one
        signs.append(1 if labels is None or labels[0] > labels[1] else -1)
        models.append(found.model)
    # Several machines may have the same vector.
    vectors, seen = Rows.concatenate([one.sv for one in models]), dict[Any, int]()
    parted = [(vectors[i : i + 1], i) for i in range(len(vectors))]
    at = [seen.setdefault((one.indices.tobytes(), one.values.tobytes()), i) for one, i in parted]
    coef, rows = np.zeros((len(models), len(vectors))), np.arange(len(models))
    values = np.concatenate([sign * one.sv_coef[0] for sign, one in zip(signs, models, strict=True)])
    np.add.at(coef, (np.repeat(rows, [len(one.sv) for one in models]), np.array(at)), values)
    intercept = -np.array(signs) * np.concatenate([one.rho for one in models])
    return Values(models[0].kernel, vectors, coef, intercept, front)


def _one_vs_rest(estimator: Any, called: str) -> Fitted:
    parts = attribute_of_fit(estimator, "estimators_", called)
    if estimator.label_binarizer_.y_type_ not in ("binary", "multiclass"):
        raise refused(called, "gives a row several labels", "convert its estimators_ one by one")
    if not all(hasattr(one, "decision_function") for one in parts):
        raise refused(called, "compares other values than decision_function", "fit it with SVC")
    return _values(parts, called).fitted(called, estimator.classes_)


def _calibrated(estimator: Any, called: str) -> Fitted:
    """A classifier that predicts the more probable class, not the side of the machine's decision value T.

    Its probability of the second class is 1 / (1 + exp(a T + b)): the logarithm of the odds is -(a T + b).
    """
    one, *others = attribute_of_fit(estimator, "calibrated_classifiers_", called)
    score = "decision_function" if hasattr(one.estimator, "decision_function") else "predict_proba"
    if others or score == "predict_proba" or one.method != "sigmoid" or len(one.calibrators) != 1:
        what = f"calibrates {score} of {len(others) + 1} estimators by method='{one.method}' in"
        instead = "expected ensemble=False, method='sigmoid' and two classes, or convert the estimator in it"
        raise refused(called, f"{what} {len(estimator.classes_)} classes", instead)
    found, (sigmoid,) = _values([one.estimator], called), one.calibrators
    a, b = float(sigmoid.a_), float(sigmoid.b_)
    odds = replace(found, coef=-a * found.coef, intercept=-a * found.intercept - b)
    return odds.fitted(called, estimator.classes_, sigmoid=True)


def _threshold(estimator: Any, called: str) -> Fitted:
    """A classifier that gives one of two classes from a threshold of its score on."""
    inner, classes = attribute_of_fit(estimator, "estimator_", called), estimator.classes_
    if hasattr(estimator, "best_threshold_"):
        limit, positive = estimator.best_threshold_, estimator._curve_scorer._get_pos_label()
    else:
        limit, positive = estimator.threshold, estimator.pos_label
    method, found = estimator.response_method, _values([inner], called)
    odds = method == "predict_proba" or (method == "auto" and hasattr(inner, "predict_proba"))
    limit = 0.5 * odds if limit == "auto" else float(limit)
    if odds:
        head = fitted(inner, called).model.head
        if head.prob_a is None or head.prob_a[0] != -1 or not 0 < limit < 1:
            what = "compares probabilities, which the model's value does not give"
            raise refused(called, what, "fit it with response_method='decision_function'")
        limit = float(np.log(limit / (1 - limit)))
    second = positive is None or bool(positive == classes[1])
    found = replace(found, intercept=found.intercept - (limit if second else -limit))
    return found.fitted(called, classes, turned=second)


def _target(estimator: Any, called: str) -> Fitted:
    """A regression of targets that a scaler transformed."""
    inner = attribute_of_fit(estimator, "regressor_", called)
    try:
        back = front_of(estimator.transformer_, called, 1)
    except UnsupportedError:
        back = None
    if back is None or back.matrix is not None:
        what = "transforms its target, and not by a scaler"
        raise refused(called, what, "convert its regressor_, and transform the values back in scikit-learn")
    found, factor = _values([inner], called), back.scaling.factor
    intercept = found.intercept / factor + back.scaling.offset
    return replace(found, coef=found.coef / factor, intercept=intercept).fitted(called)


#: The model of each class of estimators around others. A class stands for those that inherit it, too.
WRAPPERS: dict[str, Callable[[Any, str], Fitted]] = {
    "Pipeline": _pipeline,
    "FrozenEstimator": lambda frozen, called: fitted(frozen.estimator, called),
    "OneVsRestClassifier": _one_vs_rest,
    "CalibratedClassifierCV": _calibrated,
    "FixedThresholdClassifier": _threshold,
    "TunedThresholdClassifierCV": _threshold,
    "TransformedTargetRegressor": _target,
}
#: The way out for other classes.
REASONS = {
    "OneVsOneClassifier": "it decides ties by the decision values: fit SVC, or OneVsRestClassifier",
    "BaggingClassifier": "its machines vote: convert one of its estimators_, or fit one machine",
}
