"""Training: LIBSVM's own solver behind arrays, checks and our model classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmfast.errors import OptionError, TrainingRowError
from svmfast.methods.train.libsvm import Problem
from svmfast.methods.train.pairs import solve_pairs
from svmfast.models.expansion import KERNELS, Kernel, KernelExpansion
from svmfast.models.head import SVM_TYPES, Head
from svmfast.rows import FloatArray, Rows, as_rows


@dataclass(frozen=True)
class TrainOptions:
    """svm-train's options under LIBSVM's names, with svm-train's defaults.

    Attributes
    ----------
    svm_type : str
        One of ``c_svc nu_svc one_class epsilon_svr nu_svr``.
    kernel : str
        One of ``linear polynomial rbf sigmoid precomputed``.
    degree, gamma, coef0
        Kernel parameters; gamma 0 stands for 1/(number of features).
    C, nu, p
        Cost (C-SVC, both SVR); nu (nu-SVC, one-class, nu-SVR); half the width of the insensitive tube
        (epsilon-SVR).
    eps : float
        Tolerance of the termination criterion.
    cache_size : float
        Kernel cache in megabytes.
    shrinking, probability : bool
    weights : tuple of (label, weight)
        C of that class is multiplied by the weight; C-SVC only.
    """

    svm_type: str = "c_svc"
    kernel: str = "rbf"
    degree: int = 3
    gamma: float = 0.0
    coef0: float = 0.0
    C: float = 1.0
    nu: float = 0.5
    p: float = 0.1
    eps: float = 1e-3
    cache_size: float = 100.0
    shrinking: bool = True
    probability: bool = False
    weights: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        if self.svm_type not in SVM_TYPES:
            raise OptionError(f"svm_type is '{self.svm_type}'; expected one of {', '.join(SVM_TYPES)}")
        if self.kernel not in KERNELS:
            raise OptionError(f"kernel is '{self.kernel}'; expected one of {', '.join(KERNELS)}")
        bounds = (
            ("degree (-d)", self.degree, self.degree >= 0, "at least 0"),
            ("gamma (-g)", self.gamma, self.gamma >= 0, "positive, or 0 for 1/(number of features)"),
            ("coef0 (-r)", self.coef0, True, "finite"),
            ("C (-c)", self.C, self.C > 0, "positive"),
            ("nu (-n)", self.nu, 0 < self.nu <= 1, "above 0 and at most 1"),
            ("p (-p)", self.p, self.p >= 0, "at least 0"),
            ("eps (-e)", self.eps, self.eps > 0, "positive"),
            ("cache_size (-m)", self.cache_size, self.cache_size > 0, "a positive number of megabytes"),
            *((f"the weight of label {i} (-w{i})", w, w > 0, "positive") for i, w in self.weights),
        )
        for name, value, holds, expected in bounds:
            if not (math.isfinite(value) and holds):
                raise OptionError(f"{name} is {value:g}; it must be {expected}")
        if self.weights and self.svm_type != "c_svc":
            raise OptionError(f"class weights (-wi) have no effect on {self.svm_type}; they are for c_svc")


def train(
    data: Any,
    labels: ArrayLike,
    options: TrainOptions | None = None,
    *,
    truncate_labels: bool = False,
    threads: int = 1,
    log: Callable[[str], None] | None = None,
) -> KernelExpansion:
    """Train a model with LIBSVM's solver.

    Parameters
    ----------
    data : Rows, (n, d) array_like or SciPy sparse matrix
        Precomputed kernel: the sample's serial number (from 1), then a kernel value for each sample.
    labels : (n,) array_like
        Classes (integers) or regression targets; one-class training ignores them.
    options : TrainOptions, optional
    truncate_labels : bool
        Cut real-valued class labels to integers, as LIBSVM does, where they are otherwise an error.
    threads : int
        With more than one, the pairs of three or more classes are solved side by side (C-SVC without class
        weights, probabilities and log), each with a cache of its own: the same model, to the byte.
    log : callable, optional
        Receives the solver's messages, piece by piece; it is called from another thread.

    Returns
    -------
    KernelExpansion
        What svm-train of the installed LIBSVM version would write for the same data, to the byte.

    Raises
    ------
    OptionError
        Where svm-train would refuse the options.
    TrainingRowError
        For labels and precomputed rows that it would misread.
    """
    options = options or TrainOptions()
    rows, y, parameters, gamma = _checked(data, labels, options, truncate_labels)
    problem = Problem(rows, y, parameters, _weights(options, y), first_index=_first_index(options))
    simple = options.svm_type == "c_svc" and not (options.probability or options.weights)
    if threads > 1 and log is None and simple and len(set(np.trunc(y).tolist())) > 2:
        solution = solve_pairs(rows, y, parameters, first_index=_first_index(options), threads=threads)
    else:
        solution = problem.train(log)
    classifier = options.svm_type in ("c_svc", "nu_svc")
    n = len(solution.sv_indices)
    if options.kernel == "precomputed":
        serial = rows.values[rows.indptr[solution.sv_indices]]
        sv = Rows(np.arange(n + 1, dtype=np.int64), np.zeros(n, np.int32), serial, 1)
    else:
        sv = rows.take(solution.sv_indices)
    return KernelExpansion(
        head=Head(
            svm_type=options.svm_type,
            labels=solution.label if classifier else None,
            prob_a=solution.prob_a,
            prob_b=solution.prob_b if classifier else None,
            density_marks=solution.density_marks,
        ),
        kernel=_kernel(options, gamma),
        sv=sv,
        # A single class has no coefficients, but the model keeps one empty row of them.
        sv_coef=solution.sv_coef if len(solution.sv_coef) else np.zeros((1, n)),
        rho=solution.rho,
        nr_sv=solution.nr_sv if classifier else None,
    )


def cross_validate(
    data: Any,
    labels: ArrayLike,
    folds: int,
    options: TrainOptions | None = None,
    *,
    truncate_labels: bool = False,
    log: Callable[[str], None] | None = None,
) -> FloatArray:
    """Cross-validate with LIBSVM's folds (svm-train ``-v``); the other parameters as in :func:`train`.

    Parameters
    ----------
    folds : int
        At least 2; more folds than rows are as many folds as rows.

    Returns
    -------
    (n,) float64
        Every row's prediction by the model that was trained without its fold.
    """
    if folds < 2:
        raise OptionError(f"{folds} folds (-v); cross validation needs at least 2")
    options = options or TrainOptions()
    rows, y, parameters, _ = _checked(data, labels, options, truncate_labels)
    problem = Problem(rows, y, parameters, _weights(options, y), first_index=_first_index(options))
    return problem.cross_validate(folds, log)


def absent_weights(weights: Sequence[tuple[int, float]], labels: ArrayLike) -> list[int]:
    """Return the labels that have a class weight and no row, in the order of the weights."""
    present = set(np.trunc(np.asarray(labels, dtype=np.float64)).tolist())
    return list(dict.fromkeys(label for label, _ in weights if label not in present))


def _weights(options: TrainOptions, labels: FloatArray) -> tuple[tuple[int, float], ...]:
    """Return the class weights that act on rows; LIBSVM prints a line for each of the others."""
    absent = absent_weights(options.weights, labels)
    return tuple((label, weight) for label, weight in options.weights if label not in absent)


def _first_index(options: TrainOptions) -> int:
    return 0 if options.kernel == "precomputed" else 1


def _checked(
    data: Any, labels: ArrayLike, options: TrainOptions, truncate_labels: bool
) -> tuple[Rows, FloatArray, dict[str, float], float]:
    """Check everything; return rows, labels, LIBSVM's parameters and the gamma in use."""
    precomputed = options.kernel == "precomputed"
    rows = _every_value(data) if precomputed else as_rows(data)
    y = np.ascontiguousarray(labels, dtype=np.float64)
    n = len(rows)
    if y.shape != (n,):
        raise OptionError(f"{n} rows and labels of shape {y.shape}; expected one label a row")
    if n == 0:
        raise OptionError("no rows to train on")
    if options.svm_type == "one_class" and np.isnan(y).all():
        y = np.zeros(n)  # rows without labels: none are used
    _check_finite("label", y, np.arange(n + 1))
    _check_finite("value", rows.values, rows.indptr)
    if options.svm_type in ("c_svc", "nu_svc"):
        _check_class_labels(y, truncate_labels)
    if precomputed:
        _check_precomputed(rows)
    largest = rows.n_columns - precomputed  # LIBSVM's index of the last column
    gamma = options.gamma or (1.0 / largest if largest > 0 else 0.0)
    names = ("degree", "coef0", "C", "nu", "p", "eps", "cache_size", "shrinking", "probability")
    parameters = {name: getattr(options, name) for name in names}
    parameters["svm_type"] = SVM_TYPES.index(options.svm_type)
    parameters["kernel_type"] = KERNELS.index(options.kernel)
    parameters["gamma"] = gamma
    return rows, y, parameters, gamma


def _every_value(data: Any) -> Rows:
    """Rows that keep the zeros of a dense array: LIBSVM finds precomputed values by position."""
    if isinstance(data, Rows) or hasattr(data, "tocsr"):
        return as_rows(data)
    dense = np.ascontiguousarray(data, dtype=np.float64)
    if dense.ndim != 2:
        raise OptionError(f"expected a 2-dimensional array, got {dense.ndim} dimensions")
    n, d = dense.shape
    columns = np.tile(np.arange(d, dtype=np.int32), n)
    return Rows(np.arange(n + 1, dtype=np.int64) * d, columns, dense.ravel(), d)


def _check_finite(what: str, values: FloatArray, indptr: NDArray[np.int64]) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        row = int(np.searchsorted(indptr, bad[0], side="right"))
        raise TrainingRowError(row, f"the {what} is not finite", f"{values[bad[0]]}", "a finite number")


def _check_class_labels(labels: FloatArray, truncate: bool) -> None:
    limits = np.iinfo(np.int32)
    beyond = np.flatnonzero((labels < limits.min) | (labels > limits.max))
    if len(beyond):
        raise TrainingRowError(
            int(beyond[0]) + 1,
            "class label out of range",
            f"{labels[beyond[0]]:.17g}",
            f"an integer from {limits.min} to {limits.max}, LIBSVM's labels",
        )
    cut = np.flatnonzero(labels != np.trunc(labels))
    if len(cut) and not truncate:
        raise TrainingRowError(
            int(cut[0]) + 1,
            "class label is not an integer",
            f"{labels[cut[0]]:.17g}",
            "integers for classes, or regression (-s 3, -s 4) for real targets",
        )


def _check_precomputed(rows: Rows) -> None:
    """Refuse rows that LIBSVM would misread: it takes the value at position j, whatever its index says."""
    n, width = len(rows), rows.n_columns
    lengths = np.diff(rows.indptr)
    short = np.flatnonzero(lengths != width)
    if len(short):
        raise TrainingRowError(
            int(short[0]) + 1,
            f"a precomputed row with {lengths[short[0]]} of {width} columns",
            None,
            "the serial number in column 0 and every kernel value, zeros too",
        )
    serial = rows.values.reshape(n, -1)[:, 0] if width else np.zeros(n)
    bad = np.flatnonzero((serial < 1) | (serial > width - 1) | (serial != np.trunc(serial)))
    if len(bad):
        raise TrainingRowError(
            int(bad[0]) + 1,
            "serial number out of range",
            f"{serial[bad[0]]:g}",
            f"an integer from 1 to {width - 1}",
        )


def _kernel(options: TrainOptions, gamma: float) -> Kernel:
    """Only the parameters the kernel has."""
    if options.kernel == "polynomial":
        return Kernel("polynomial", gamma, options.coef0, options.degree)
    if options.kernel == "sigmoid":
        return Kernel("sigmoid", gamma, options.coef0)
    return Kernel("rbf", gamma) if options.kernel == "rbf" else Kernel(options.kernel)
