"""Converts fitted support vector machines of scikit-learn, and of libraries with the same attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
#: Packages of these estimators; classes of the same name in other packages are not support vector machines.
_PACKAGES = ("sklearn", "sklearnex", "daal4py", "thundersvm", "cuml")
_KERNELS = {name: name for name in ("linear", "polynomial", "rbf", "sigmoid")} | {"poly": "polynomial"}
#: LIBSVM's labels are C ints.
_SMALLEST_LABEL, _LARGEST_LABEL = -(2**31), 2**31 - 1


def class_among(kind: type, names: Iterable[str], packages: Sequence[str] = ("sklearn",)) -> str | None:
    """The name of the class, or of its nearest base, that has one of these names in one of the packages.

    Classes are recognized by name, since their packages need not be installed.
    """
    for one in kind.__mro__:
        if one.__name__ in names and one.__module__.partition(".")[0] in packages:
            return one.__name__
    return None


def machine_type(estimator: Any) -> str | None:
    """LIBSVM's svm_type of a support vector machine; None for any other estimator."""
    return SVM_TYPES.get(class_among(type(estimator), SVM_TYPES, _PACKAGES) or "")


def is_own_type(kind: type) -> bool:
    """Whether a class is one of svmfast.sklearn's estimators, which hold a model."""
    return class_among(kind, ("ModelEstimator",), ("svmfast",)) is not None


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

    `called` is the estimator's name in messages; one that is not fitted, or no model of LIBSVM, is refused.
    """
    svm_type = machine_type(estimator)
    assert svm_type is not None
    stored = attribute_of_fit(estimator, "support_vectors_", called)
    kernel = _kernel(estimator, called)
    if getattr(estimator, "_multiclass", None) is not None:
        raise UnsupportedError(
            f"{called} has more than two classes, for which cuML uses a set of machines",
            "fit it with scikit-learn",
        )
    coef, rho = _functions(estimator, svm_type)
    vectors = _vectors(_host(stored), coef.shape[1])
    if svm_type not in ("c_svc", "nu_svc"):
        head = Head(svm_type)
        return _checked(KernelExpansion(head, kernel, vectors, coef, rho), called), None
    labels, names = _classes(estimator, called)
    if getattr(estimator, "break_ties", False) and len(labels) > 2:
        raise UnsupportedError(
            f"{called} has break_ties=True, which decides tied votes by the decision values",
            "set break_ties=False: ties then go to the first class, as in LIBSVM",
        )
    own = "_n_support" if hasattr(estimator, "_n_support") else "n_support_"
    counts = np.atleast_1d(_host(getattr(estimator, own)))
    if len(counts) != len(labels):  # cuML has only their sum, and does not order the vectors
        order = np.argsort(coef[0] <= 0, kind="stable")
        vectors, coef = vectors.take(order), np.ascontiguousarray(coef[:, order])
        positive = int(np.count_nonzero(coef[0] > 0))
        counts = np.array([positive, len(vectors) - positive])
    prob_a, prob_b = (_sigmoids(estimator, name, len(rho)) for name in ("_probA", "_probB"))
    head = Head(svm_type, labels, prob_a, prob_b)
    return _checked(KernelExpansion(head, kernel, vectors, coef, rho, counts.astype(np.int64)), called), names


def _kernel(estimator: Any, called: str) -> Kernel:
    name = estimator.kernel.decode() if isinstance(estimator.kernel, bytes) else estimator.kernel
    if callable(name) or name not in _KERNELS:
        shown = getattr(name, "__name__", "a function") if callable(name) else f"'{name}'"
        raise UnsupportedError(
            f"{called} has the kernel {shown}, which a model cannot compute",
            f"fit it with kernel={', '.join(map(repr, ('rbf', 'poly', 'linear')))} or 'sigmoid'",
        )
    kind = _KERNELS[name]
    if kind == "linear":
        return Kernel(kind)
    gamma = float(getattr(estimator, "_gamma", estimator.gamma))
    coef0 = 0.0 if kind == "rbf" else float(estimator.coef0)
    return Kernel(kind, gamma, coef0, int(estimator.degree) if kind == "polynomial" else 0)


def _vectors(stored: Any, count: int) -> Rows:
    if is_sparse(stored):
        # Checked first, since a file that declares many rows need not be large.
        if stored.shape[0] != count:
            raise ValueError(f"{stored.shape[0]} support vectors, but coefficients of {count}")
        return Rows.from_scipy(stored, zeros=False)  # fitted on sparse rows
    dense = np.asarray(stored, dtype=np.float64)
    # If there are no support vectors, the array has another shape.
    return Rows.from_dense(dense) if dense.size else Rows.empty(dense.shape[-1])


def _functions(estimator: Any, svm_type: str) -> tuple[FloatArray, FloatArray]:
    """LIBSVM's ``sv_coef`` and ``rho``.

    scikit-learn keeps LIBSVM's numbers as `_dual_coef_` and `_intercept_` (which is -rho). The public
    attributes have the opposite sign for two classes, and cuML has only those. The numbers of thundersvm are
    LIBSVM's; its `intercept_` is rho itself.
    """
    coef, intercept = getattr(estimator, "_dual_coef_", None), getattr(estimator, "_intercept_", None)
    raw = coef is not None and intercept is not None
    coef = _dense(coef if raw else estimator.dual_coef_)
    intercept = np.atleast_1d(np.asarray(_host(intercept if raw else estimator.intercept_), dtype=np.float64))
    coef = np.atleast_2d(coef)
    if type(estimator).__module__.partition(".")[0] == "thundersvm":
        return coef, intercept
    binary = svm_type in ("c_svc", "nu_svc") and len(intercept) == 1
    if binary and not raw:
        coef, intercept = -coef, -intercept
    # 0.0 - x avoids a minus zero, which would be printed differently.
    return np.ascontiguousarray(coef), 0.0 - intercept


def _classes(estimator: Any, called: str) -> tuple[NDArray[np.int64], tuple[str, ...] | None]:
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise UnsupportedError(
            f"{called} does not keep the labels of its classes",
            "write it with its save_to_file: that is a LIBSVM model",
        )
    return labels_of(_host(classes))


def _sigmoids(estimator: Any, name: str, count: int) -> FloatArray | None:
    values = getattr(estimator, name, None)
    # The array is empty if there are no probabilities. cuML's are fitted in another way.
    if values is None or np.size(values) != count or not hasattr(estimator, "_dual_coef_"):
        return None
    return np.array(values, dtype=np.float64)


def _host(values: Any) -> Any:
    """An array in main memory; cupy's ``get`` copies it from a GPU."""
    return values.get() if hasattr(values, "get") and not isinstance(values, dict) else values


def _dense(values: Any) -> FloatArray:
    values = _host(values)
    if is_sparse(values):
        # Each support vector has a coefficient; a small file could declare any shape.
        if max(values.shape) > np.size(values.data) + 1:
            raise ValueError(f"coefficients of shape {values.shape} with {np.size(values.data)} values")
        return Rows.from_scipy(values).to_dense()
    return np.asarray(values, dtype=np.float64)


def _checked(model: KernelExpansion, called: str) -> KernelExpansion:
    """Refuse invalid numbers, since attributes may have been changed or come from a file."""
    numbers = (model.sv_coef, model.rho, model.head.prob_a, model.head.prob_b)
    finite = all(one is None or bool(np.isfinite(one).all()) for one in numbers)
    if not finite or not np.isfinite((model.kernel.gamma, model.kernel.coef0)).all():
        raise UnsupportedError(f"{called} holds nan or inf", "fit it again")
    if model.kernel.gamma < 0 or model.kernel.degree < 0:
        raise UnsupportedError(f"{called} has a negative gamma or degree", "fit it again")
    return model
