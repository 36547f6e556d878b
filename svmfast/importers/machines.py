"""The machines that a pipeline ends in: a table of the model of each class of estimators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from svmfast.importers.attributes import (
    are_boolean,
    attribute_of_fit,
    class_among,
    kernel_of,
    labels_of,
    refused,
    vectors_of,
)
from svmfast.importers.steps import Front
from svmfast.kernels import Kernel
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion, ScoreModel, VectorModel
from svmfast.models.head import Head
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling, identity
from svmfast.rows import FloatArray, Rows
from svmfast.sparse import is_sparse


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, and the map of the rows before it."""

    model: Model
    front: Front
    #: Names of the classes, in the order of the model's labels, if these are no integers.
    names: tuple[str, ...] | None = None
    are_boolean: bool = False
    provenance: Mapping[str, str] | None = None
    features: tuple[str, ...] | None = None


@dataclass(frozen=True, eq=False)
class Values:
    """``coef @ K(vectors, x) + intercept``: a regression, or the decision function of a classifier.

    As in scikit-learn, a positive value is for the second of two classes; of more, each has a value.
    """

    kernel: Kernel
    vectors: Rows
    #: (p, n)
    coef: FloatArray
    #: (p,)
    intercept: FloatArray
    front: Front | None = None

    def fitted(
        self, called: str, classes: Any = None, *, sigmoid: bool = False, turned: bool = False
    ) -> Fitted:
        """The model; a value of 0 is for the first of two classes, or if `turned`, for the second.

        With a `sigmoid`, the probability of the second of two classes is 1 / (1 + exp(-value)).
        """
        coef, names, sign = self.coef, None, -1 if turned else 1
        if classes is None:
            if len(coef) > 1:
                raise refused(called, f"predicts {len(coef)} values a row", "fit one estimator for each")
            head = Head("epsilon_svr")
        else:
            (labels, names), several = labels_of(classes), len(classes) > 2
            order = slice(None, None, 1 if several else -sign)
            names = None if names is None else names[order]
            a, b = (np.array([-1.0]), np.array([0.0])) if sigmoid and not several else (None, None)
            head = Head("c_svc", labels[order].copy(), a, b, one_vs_rest=several)
        model = expansion(head, self.kernel, self.vectors, sign * coef, 0.0 - sign * self.intercept, called)
        front = self.front or Front.of(identity(self.vectors.n_columns))
        return Fitted(model, front, names, names is not None and are_boolean(classes))


def expansion(
    head: Head, kernel: Kernel, vectors: Rows, coef: FloatArray, rho: FloatArray, called: str
) -> VectorModel:
    """The expansion with these coefficients of each function, without the vectors that have none."""
    kept, counts = np.flatnonzero((coef != 0).any(axis=0)), None
    if head.one_vs_rest:
        return _checked(ScoreModel(head, kernel, vectors.take(kept), coef[:, kept], rho), called)
    if head.is_classifier:  # as in LIBSVM, the vectors for the first class come first
        kept = kept[np.argsort(coef[0, kept] < 0, kind="stable")]
        first = int(np.count_nonzero(coef[0, kept] > 0))
        counts = np.array([first, len(kept) - first])
    return _checked(KernelExpansion(head, kernel, vectors.take(kept), coef[:, kept], rho, counts), called)


def _checked(model: VectorModel, called: str) -> VectorModel:
    """Refuse numbers that are not finite: attributes may have been changed, or come from a file."""
    head, kernel = model.head, model.kernel
    numbers = (model.sv_coef, model.rho, head.prob_a, head.prob_b, kernel.gamma, kernel.coef0)
    if not all(one is None or bool(np.isfinite(one).all()) for one in numbers):
        raise refused(called, "holds nan or inf", "fit it again")
    return model


def machine_of(estimator: Any, called: str) -> Fitted | None:
    """The model of a fitted machine; None for other estimators."""
    if class_among(type(estimator), ("ModelEstimator",), "svmfast") is not None:
        return _own(estimator, called)
    kind = class_among(type(estimator), MACHINES)
    return None if kind is None else MACHINES[kind](estimator, called)


def _own(estimator: Any, called: str) -> Fitted:
    """The model of an estimator of svmfast.sklearn."""
    model, width = attribute_of_fit(estimator, "model_", called), estimator.n_features_in_
    if not isinstance(model, ScaledModel):
        return Fitted(model, Front.of(identity(width)))
    own, origin = model.scaling, model.own_provenance
    front = replace(Front.of(own), encoding=own.encoding)
    return Fitted(model.model, front, own.class_names, own.boolean_classes, origin, own.column_names)


def _libsvm(svm_type: str, estimator: Any, called: str) -> Fitted:
    """A support vector machine.

    `_dual_coef_` and `_intercept_` are LIBSVM's `sv_coef` and `-rho`; the public attributes have the opposite
    sign for two classes.
    """
    stored = attribute_of_fit(estimator, "support_vectors_", called)
    given = {"gamma": getattr(estimator, "_gamma", 0)}
    given |= {name: getattr(estimator, name, 0) for name in ("coef0", "degree")}
    kernel = kernel_of(estimator.kernel, given, 1, called)
    coef = np.atleast_2d(_dense(attribute_of_fit(estimator, "_dual_coef_", called)))
    # 0.0 - x avoids a minus zero, which would be printed differently.
    rho = 0.0 - np.atleast_1d(np.asarray(estimator._intercept_, dtype=np.float64))
    # Checked first, since a file that declares many rows need not be large.
    if is_sparse(stored) and stored.shape[0] != coef.shape[1]:
        raise ValueError(f"{stored.shape[0]} support vectors, but coefficients of {coef.shape[1]}")
    vectors, counts, names, boolean = vectors_of(stored), None, None, False
    if svm_type not in ("c_svc", "nu_svc"):
        head = Head(svm_type)
    else:
        (labels, names), boolean = labels_of(estimator.classes_), are_boolean(estimator.classes_)
        if getattr(estimator, "break_ties", False) and len(labels) > 2:
            what = "has break_ties=True, which decides tied votes by the decision values"
            instead = "set break_ties=False: ties then go to the first class, as in LIBSVM"
            raise refused(called, what, instead)
        counts = np.asarray(estimator._n_support).astype(np.int64)
        prob_a, prob_b = (_sigmoids(estimator, name, len(rho)) for name in ("_probA", "_probB"))
        head = Head(svm_type, labels, prob_a, prob_b)
    model = _checked(KernelExpansion(head, kernel, vectors, coef, rho, counts), called)
    return Fitted(model, Front.of(identity(vectors.n_columns)), names, names is not None and boolean)


def _sigmoids(estimator: Any, name: str, count: int) -> FloatArray | None:
    """The parameters of the pairs' sigmoids; None without probabilities, where the array is empty."""
    values = getattr(estimator, name, ())
    return np.array(values, dtype=np.float64) if np.size(values) == count else None


def _dense(values: Any) -> FloatArray:
    if is_sparse(values):
        # Each support vector has a coefficient; a small file could declare any shape.
        if max(values.shape) > np.size(values.data) + 1:
            raise ValueError(f"coefficients of shape {values.shape} with {np.size(values.data)} values")
        return Rows.from_scipy(values).to_dense()
    return np.ascontiguousarray(values, dtype=np.float64)


def _linear(estimator: Any, called: str) -> Fitted:
    """A linear function of the row for each class, or a single one: its weights are the only vectors."""
    weights = np.atleast_2d(np.asarray(attribute_of_fit(estimator, "coef_", called), dtype=np.float64))
    intercept = np.broadcast_to(np.ravel(estimator.intercept_).astype(np.float64), len(weights))
    if "multilabel" in getattr(getattr(estimator, "_label_binarizer", None), "y_type_", ""):
        raise refused(called, "gives a row several labels", "fit one estimator for each")
    logistic = class_among(type(estimator), ("LogisticRegression", "LinearDiscriminantAnalysis"))
    sigmoid = logistic is not None or getattr(estimator, "loss", None) == "log_loss"
    found = Values(Kernel("linear"), Rows.from_dense(weights), np.eye(len(weights)), intercept)
    return found.fitted(called, getattr(estimator, "classes_", None), sigmoid=sigmoid)


def _by_outputs(coef: Any, vectors: Rows) -> FloatArray:
    """Coefficients of one or several outputs, ``(n,)`` or ``(n, p)``, as ``(p, n)``."""
    found: FloatArray = np.asarray(coef, dtype=np.float64).reshape(len(vectors), -1).T
    return found


def _kernel_ridge(estimator: Any, called: str) -> Fitted:
    coef = attribute_of_fit(estimator, "dual_coef_", called)
    vectors = vectors_of(estimator.X_fit_)
    given = {name: getattr(estimator, name) for name in ("gamma", "coef0", "degree")}
    kernel = kernel_of(estimator.kernel, given, vectors.n_columns, called)
    coef = _by_outputs(coef, vectors)
    return Values(kernel, vectors, coef, np.zeros(len(coef))).fitted(called)


def _gaussian_process(estimator: Any, called: str) -> Fitted:
    """The mean: a constant, and the kernel's value of each training row, whose columns have scales."""
    coef, kernel = attribute_of_fit(estimator, "alpha_", called), estimator.kernel_
    parts, d = _parts(kernel), estimator.n_features_in_
    rbf = [one for one in parts if type(one).__name__ == "RBF"]  # not Matern, which inherits it
    known = all(class_among(type(one), ("ConstantKernel", "WhiteKernel")) for one in parts if one not in rbf)
    if len(rbf) != 1 or not known or class_among(type(rbf[0]), ("RBF",)) is None:
        what = f"has the kernel {', '.join(type(one).__name__ for one in parts)}"
        raise refused(called, what, "fit it with one RBF, ConstantKernel and WhiteKernel")
    scale = np.ones(d) / rbf[0].length_scale
    # Of different rows, it is linear in the RBF, which is 1 at a distance of 0, and 0 at this one.
    whole, constant = kernel(np.zeros((1, d)), np.array([np.zeros(d), 1e4 / scale]))[0]
    vectors = Rows.from_dense(estimator.X_train_ * scale)
    coef = _by_outputs(coef, vectors) * np.ravel(estimator._y_train_std)[:, None]
    mean = np.ravel(estimator._y_train_mean) + constant * coef.sum(axis=1)
    front = Front.of(Scaling(np.zeros(d), scale))
    return Values(Kernel("rbf", 0.5), vectors, coef * (whole - constant), mean, front).fitted(called)


def _parts(kernel: Any) -> list[Any]:
    """The terms and factors of a process's kernel."""
    return [*_parts(kernel.k1), *_parts(kernel.k2)] if hasattr(kernel, "k1") else [kernel]


_LINEAR = (
    "LinearSVC", "LogisticRegression", "SGDClassifier", "RidgeClassifier", "RidgeClassifierCV", "Perceptron",
    "PassiveAggressiveClassifier", "LinearDiscriminantAnalysis", "LinearSVR", "LinearRegression", "Ridge",
    "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "SGDRegressor", "HuberRegressor",
    "BayesianRidge",
)  # fmt: skip
#: The model of each class of machines. A class stands for those that inherit it, too.
MACHINES: Mapping[str, Callable[[Any, str], Fitted]] = {
    "SVC": partial(_libsvm, "c_svc"),
    "NuSVC": partial(_libsvm, "nu_svc"),
    "SVR": partial(_libsvm, "epsilon_svr"),
    "NuSVR": partial(_libsvm, "nu_svr"),
    "OneClassSVM": partial(_libsvm, "one_class"),
    "KernelRidge": _kernel_ridge,
    "GaussianProcessRegressor": _gaussian_process,
    **dict.fromkeys(_LINEAR, _linear),
}
