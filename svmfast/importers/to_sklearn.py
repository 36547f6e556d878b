"""Converts models to fitted scikit-learn estimators."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError, WrongTypeError
from svmfast.importers.machines import SVM_TYPES
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaling import Scaling

#: A model whose share of nonzero values is below this becomes a machine with sparse support vectors.
_SPARSE = 0.25


def to_sklearn(model: Model) -> Any:
    """Make a fitted scikit-learn estimator that predicts the same as a model.

    Parameters
    ----------
    model : Model
        A LIBSVM model (also from compress or budget-train), with or without a scaling.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR, OneClassSVM or Pipeline
        If the model has a scaling, a Pipeline of a scaler and the machine. ``classes_`` has the model's
        order of labels, which decides ties; if the classes have names, it contains the names.

    Raises
    ------
    UnsupportedError
        scikit-learn has no such machine or scaler.
    WrongTypeError
        `model` is not a model, but for example a path.

    Notes
    -----
    Attributes that describe the training (``support_``, ``class_weight_``, ``n_iter_``) are not stored in a
    model. Probabilities of one-class models and the error bars of regression do not exist in scikit-learn.
    """
    if not hasattr(model, "decision_values"):
        raise WrongTypeError("the model", model, "a model, as svmfast.load_model returns it")
    expansion, scaling = model.unscaled.expansion, model.scaling
    if expansion is None:
        raise UnsupportedError(
            f"scikit-learn has no machine like a {model.unscaled.kind} model",
            "use the estimators of svmfast.sklearn, which train such models",
        )
    if expansion.kernel.kind == "precomputed":
        raise UnsupportedError("a precomputed kernel has no support vectors", "fit it in scikit-learn")
    machine = _machine(expansion, None if scaling is None else scaling.class_names)
    if scaling is None:
        return machine
    if scaling.boolean_classes:
        machine.classes_ = machine.classes_ == "True"
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    d, missing = expansion.n_features, scaling.missing
    same = "in scikit-learn every step has the same number of features"
    steps = [machine]
    if len(scaling) and not (scaling.is_identity and scaling.target is None):
        if len(scaling) != d:
            raise UnsupportedError(
                f"the scaling has {len(scaling)} features, the support vectors have {d}", same
            )
        steps.insert(0, _scaler(scaling))
    if missing is not None:
        width = steps[0].n_features_in_
        if len(missing) != width:
            raise UnsupportedError(
                f"the model has values for missing ones in {len(missing)} columns, and {width} features", same
            )
        steps.insert(0, SimpleImputer().fit(missing[None]))  # the mean of one row is that row
    if scaling.feature_names is not None:
        steps[0].feature_names_in_ = np.array(scaling.feature_names, dtype=object)
    return make_pipeline(*steps) if len(steps) > 1 else machine


def _machine(model: KernelExpansion, names: tuple[str, ...] | None) -> Any:
    import sklearn.svm

    head, kernel = model.head, model.kernel
    name = next(name for name, word in SVM_TYPES.items() if word == head.svm_type)
    kind = "poly" if kernel.kind == "polynomial" else kernel.kind
    options: dict[str, Any] = {"kernel": kind}
    if kind != "linear":
        options |= {"gamma": kernel.gamma}
    if kind in ("poly", "sigmoid"):
        options |= {"coef0": kernel.coef0}
    if kind == "poly":
        options |= {"degree": kernel.degree}
    made = getattr(sklearn.svm, name)(**options)
    n, width = len(model.sv), max(1, model.n_features)
    is_sparse = n > 0 and model.sv.density < _SPARSE
    counts = [n, n] if model.nr_sv is None else model.nr_sv
    none = np.empty(0)
    made._sparse, made._gamma, made.fit_status_ = is_sparse, kernel.gamma, 0
    made._effective_probability = head.is_classifier and head.has_probability
    made.support_, made._n_support = np.arange(n, dtype=np.int32), np.array(counts, dtype=np.int32)
    made.support_vectors_ = model.sv.to_scipy() if is_sparse else model.sv.to_dense(width)
    made._probA, made._probB = none, none
    made._num_iter = np.zeros(1, dtype=np.int32)
    with contextlib.suppress(AttributeError):  # a property before scikit-learn 1.4 if there are no classes
        made.class_weight_ = none
    if head.labels is not None:
        made.classes_ = head.labels.copy() if names is None else np.array(names)
        made.class_weight_ = np.ones(len(head.labels))
        if head.prob_a is not None and head.prob_b is not None:
            made._probA, made._probB = head.prob_a.copy(), head.prob_b.copy()
    made._dual_coef_, made._intercept_ = model.sv_coef.copy(), 0.0 - model.rho
    sign = -1.0 if head.labels is not None and len(head.labels) == 2 else 1.0
    made.dual_coef_, made.intercept_ = sign * made._dual_coef_, sign * made._intercept_
    if is_sparse:
        from scipy.sparse import csr_matrix

        made._dual_coef_, made.dual_coef_ = _all_stored(made._dual_coef_), csr_matrix(made.dual_coef_)
    made.n_features_in_, made.shape_fit_ = width, (n, width)
    if head.svm_type == "one_class":
        made.offset_ = -made._intercept_
    return made


def _all_stored(coef: Any) -> Any:
    """A sparse matrix that also stores zeros, because scikit-learn passes its values to LIBSVM."""
    from scipy.sparse import csr_matrix

    rows, n = coef.shape
    return csr_matrix((coef.ravel(), np.tile(np.arange(n), rows), np.arange(rows + 1) * n), shape=(rows, n))


def _scaler(scaling: Scaling) -> Any:
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    if scaling.digits is not None:
        raise UnsupportedError(
            f"the scaling rounds to {scaling.digits} digits, as svm-scale prints them",
            "scikit-learn's scalers do not round",
        )
    if scaling.target is not None:
        raise UnsupportedError("the scaling also scales labels", "use a TransformedTargetRegressor")
    d = len(scaling)
    if scaling.clip is None:
        made = StandardScaler()
        with np.errstate(divide="ignore"):
            made.mean_, made.scale_ = scaling.offset.copy(), 1 / scaling.factor
        made.var_, made.n_samples_seen_ = made.scale_**2, 1
    else:
        made = MinMaxScaler(scaling.clip, clip=True)
        made.scale_, made.min_ = scaling.factor.copy(), -scaling.offset * scaling.factor
        made.data_min_ = scaling.offset.copy()
        made.data_max_ = made.data_range_ = np.full(d, np.nan)
        made.n_samples_seen_ = 1
    made.n_features_in_ = d
    return made
