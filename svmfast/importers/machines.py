"""Converts scikit-learn's fitted support vector machines to LIBSVM models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import UnsupportedError
from svmfast.kernels import Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows
from svmfast.sparse import is_sparse

#: LIBSVM's svm_type for each class of estimators.
SVM_TYPES = {
    "SVC": "c_svc",
    "NuSVC": "nu_svc",
    "SVR": "epsilon_svr",
    "NuSVR": "nu_svr",
    "OneClassSVM": "one_class",
}
_KERNELS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid"}
#: LIBSVM's labels are C ints.
_SMALLEST_LABEL, _LARGEST_LABEL = -(2**31), 2**31 - 1


def class_among(kind: type, names: Iterable[str], package: str = "sklearn") -> str | None:
    """The name of the class, or of its nearest base, that has one of these names in the package.

    Classes are recognized by name, so that no package is imported.
    """
    for one in kind.__mro__:
        if one.__name__ in names and one.__module__.partition(".")[0] == package:
            return one.__name__
    return None


def machine_type(estimator: Any) -> str | None:
    """LIBSVM's svm_type of a support vector machine; None for any other estimator."""
    return SVM_TYPES.get(class_among(type(estimator), SVM_TYPES) or "")


def is_own_type(kind: type) -> bool:
    """Whether a class is one of svmfast.sklearn's estimators, which hold a model."""
    return class_among(kind, ("ModelEstimator",), "svmfast") is not None


def attribute_of_fit(estimator: Any, name: str, called: str) -> Any:
    """An attribute that fit sets; `called` is the estimator's name in messages."""
    found = getattr(estimator, name, None)
    if found is None:
        raise UnsupportedError(f"{called} is not fitted", "call its fit first")
    return found


def labels_of(classes: Any) -> tuple[NDArray[np.int64], tuple[str, ...] | None]:
    """Integer labels for classes, in their order, and their names.

    Integers that LIBSVM can have as labels, floats included, are kept and get no names. Other classes
    (strings, booleans, fractions) are numbered from 0.
    """
    values = np.asarray(classes)
    if values.dtype.kind in "iuf" and bool(((values >= _SMALLEST_LABEL) & (values <= _LARGEST_LABEL)).all()):
        labels = values.astype(np.int64)
        if bool((labels == values).all()):
            return labels, None
    return np.arange(len(values)), tuple(str(one) for one in values.tolist())


def are_boolean(classes: Any) -> bool:
    """Whether classes are False and True."""
    return all(isinstance(one, bool) for one in np.asarray(classes).tolist())


def expansion_of(estimator: Any, called: str) -> tuple[KernelExpansion, tuple[str, ...] | None]:
    """The model of a support vector machine, and the names of its classes if labels replace them.

    `_dual_coef_` and `_intercept_` are LIBSVM's `sv_coef` and `-rho`; the public attributes have the opposite
    sign for two classes.
    """
    stored = attribute_of_fit(estimator, "support_vectors_", called)
    kernel = _kernel(estimator, called)
    coef = np.atleast_2d(_dense(attribute_of_fit(estimator, "_dual_coef_", called)))
    # 0.0 - x avoids a minus zero, which would be printed differently.
    rho = 0.0 - np.atleast_1d(np.asarray(estimator._intercept_, dtype=np.float64))
    vectors = _vectors(stored, coef.shape[1])
    svm_type, counts, names = machine_type(estimator) or "", None, None
    if svm_type not in ("c_svc", "nu_svc"):
        head = Head(svm_type)
    else:
        labels, names = labels_of(estimator.classes_)
        if getattr(estimator, "break_ties", False) and len(labels) > 2:
            raise UnsupportedError(
                f"{called} has break_ties=True, which decides tied votes by the decision values",
                "set break_ties=False: ties then go to the first class, as in LIBSVM",
            )
        counts = np.asarray(estimator._n_support).astype(np.int64)
        prob_a, prob_b = (_sigmoids(estimator, name, len(rho)) for name in ("_probA", "_probB"))
        head = Head(svm_type, labels, prob_a, prob_b)
    # Attributes may have been changed, or come from a file.
    numbers = (coef, rho, head.prob_a, head.prob_b, kernel.gamma, kernel.coef0)
    if not all(one is None or bool(np.isfinite(one).all()) for one in numbers):
        raise UnsupportedError(f"{called} holds nan or inf", "fit it again")
    if kernel.gamma < 0 or kernel.degree < 0:
        raise UnsupportedError(f"{called} has a negative gamma or degree", "fit it again")
    return KernelExpansion(head, kernel, vectors, coef, rho, counts), names


def _kernel(estimator: Any, called: str) -> Kernel:
    name = estimator.kernel
    if callable(name) or name not in _KERNELS:
        shown = getattr(name, "__name__", "a function") if callable(name) else f"'{name}'"
        raise UnsupportedError(
            f"{called} has the kernel {shown}, which a model cannot compute",
            f"fit it with kernel={', '.join(map(repr, ('rbf', 'poly', 'linear')))} or 'sigmoid'",
        )
    kind = _KERNELS[name]
    if kind == "linear":
        return Kernel(kind)
    coef0 = 0.0 if kind == "rbf" else float(estimator.coef0)
    return Kernel(kind, float(estimator._gamma), coef0, int(estimator.degree) if kind == "polynomial" else 0)


def _vectors(stored: Any, count: int) -> Rows:
    if is_sparse(stored):
        # Checked first, since a file that declares many rows need not be large.
        if stored.shape[0] != count:
            raise ValueError(f"{stored.shape[0]} support vectors, but coefficients of {count}")
        return Rows.from_scipy(stored, zeros=False)  # fitted on sparse rows
    dense = np.asarray(stored, dtype=np.float64)
    # If there are no support vectors, the array has another shape.
    return Rows.from_dense(dense) if dense.size else Rows.empty(dense.shape[-1])


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
