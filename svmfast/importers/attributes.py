"""The attributes of fitted estimators: classes, kernels, vectors; and the error about one that is odd."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import UnsupportedError
from svmfast.kernels import Kernel
from svmfast.rows import Rows
from svmfast.sparse import is_sparse

#: The way out where a step cannot be part of a model.
KEEP_STEPS = "keep the steps in scikit-learn: convert pipeline[-1], and predict pipeline[:-1].transform(X)"
_KERNELS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid"}
_KERNELS["polynomial"] = "polynomial"
#: LIBSVM's labels are C ints.
_SMALLEST_LABEL, _LARGEST_LABEL = -(2**31), 2**31 - 1


def refused(called: str, what: str, instead: str = KEEP_STEPS) -> UnsupportedError:
    """The error about a part of an estimator, which is called `called` in messages."""
    return UnsupportedError(f"{called} {what}", instead)


def class_among(kind: type, names: Iterable[str], package: str = "sklearn") -> str | None:
    """The name of the class, or of its nearest base, that has one of these names in the package.

    Classes are recognized by name, so that no package is imported.
    """
    for one in kind.__mro__:
        if one.__name__ in names and one.__module__.partition(".")[0] == package:
            return one.__name__
    return None


def attribute_of_fit(estimator: Any, name: str, called: str) -> Any:
    """An attribute that fit sets."""
    found = getattr(estimator, name, None)
    if found is None:
        raise refused(called, "is not fitted", "call its fit first")
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


def kernel_of(name: Any, given: Mapping[str, Any], width: int, called: str) -> Kernel:
    """The kernel with one of scikit-learn's names, of rows of `width` columns."""
    if callable(name) or name not in _KERNELS:
        shown = getattr(name, "__name__", "a function") if callable(name) else f"'{name}'"
        what = f"has the kernel {shown}, which a model cannot compute"
        raise refused(called, what, "fit it with kernel='rbf', 'poly', 'linear' or 'sigmoid'")
    kind, degree = _KERNELS[name], given["degree"] if name.startswith("poly") else 0
    coef0 = float(given["coef0"]) if name not in ("linear", "rbf") else 0.0
    if degree != int(degree):
        raise refused(called, f"has the degree {degree}", "fit it with a whole number")
    gamma = 0.0 if kind == "linear" else 1 / width if given["gamma"] is None else float(given["gamma"])
    if gamma < 0 or degree < 0:
        raise refused(called, "has a negative gamma or degree", "fit it again")
    return Kernel(kind, gamma, coef0, int(degree))


def vectors_of(stored: Any) -> Rows:
    """Vectors that are stored as an array or a sparse matrix."""
    if is_sparse(stored):
        return Rows.from_scipy(stored, zeros=False)  # fitted on sparse rows
    dense = np.asarray(stored, dtype=np.float64)
    # If there are no support vectors, the array has another shape.
    return Rows.from_dense(dense) if dense.size else Rows.empty(dense.shape[-1])
