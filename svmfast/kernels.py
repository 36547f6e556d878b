"""Kernel functions and exact decision values: the native engine behind every kernel expansion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.errors import ModelContentError, UnsupportedError
from svmfast.laplacian import LaplacianSums, laplacian_matrix
from svmfast.libsvm_names import KERNELS as KERNELS
from svmfast.rows import FloatArray, Rows

#: A kernel that LIBSVM does not have; models with it are never LIBSVM models.
LAPLACIAN = "laplacian"
#: The parameters of each kernel, in the order of LIBSVM's model files.
PARAMETERS = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
    LAPLACIAN: ("gamma",),
}
#: Smaller Gaussian kernel values are 0 where solvers multiply them: products below 2.2e-308 are subnormal,
#: and arithmetic with those is some twenty times slower.
NEGLIGIBLE = 1e-150
NATIVE_KINDS = {"linear": 0, "polynomial": 1, "rbf": 2, "sigmoid": 3}


@dataclass(frozen=True)
class Kernel:
    """A kernel function, with LIBSVM's names; parameters that a kernel does not have are 0.

    linear x.z; polynomial (gamma x.z + coef0)^degree; rbf exp(-gamma ||x - z||^2); sigmoid tanh(gamma x.z +
    coef0); precomputed: the row's value in the column of the support vector's serial number; and, beyond
    LIBSVM, laplacian exp(-gamma ||x - z||_1).
    """

    kind: str
    gamma: float = 0.0
    coef0: float = 0.0
    degree: int = 0

    def __post_init__(self) -> None:
        known = (*KERNELS, LAPLACIAN)
        if self.kind not in known:
            raise ModelContentError("kernel_type", "unknown kernel", " or ".join(known), self.kind)

    @property
    def parameters(self) -> dict[str, float]:
        """The parameters that this kernel has, by name."""
        return {name: getattr(self, name) for name in PARAMETERS[self.kind]}

    def matrix(self, x: FloatArray, z: FloatArray) -> FloatArray:
        """Compute the kernel values of dense rows, K[i, j] = K(x_i, z_j), for solvers."""
        if self.kind == "precomputed":
            raise UnsupportedError(
                "a precomputed kernel is not a function of vectors", "use the precomputed values"
            )
        if self.kind == LAPLACIAN:
            return laplacian_matrix(x, z, self.gamma)
        dot: FloatArray = x @ z.T
        if self.kind == "linear":
            return dot
        if self.kind == "rbf":
            dot *= 2
            dot -= np.einsum("ij,ij->i", x, x)[:, None]
            dot -= np.einsum("ij,ij->i", z, z)
            np.minimum(dot, 0, out=dot)
            dot *= self.gamma
            np.exp(dot, out=dot)
            dot *= dot >= NEGLIGIBLE
            return dot
        dot *= self.gamma
        dot += self.coef0
        if self.kind == "sigmoid":
            np.tanh(dot, out=dot)
        else:
            dot **= self.degree
        return dot


class LabelCounts(NamedTuple):
    """Number of rows that were answered in single precision, and in LIBSVM's order of summation."""

    single: int
    libsvm_order: int


class DecisionEngine:
    """Exact decision values of one kernel expansion, packed for this machine's vector units.

    A row's sums have an order that depends on no other row and no number of threads; where rounding could
    change a label, the row is summed again with LIBSVM's operations in LIBSVM's order. With `nr_sv`, the
    sizes of the classes, `sv_coef` has LIBSVM's layout; without it, each row of it is a decision function.
    """

    def __init__(
        self, kernel: Kernel, sv: Rows, sv_coef: FloatArray, rho: FloatArray, nr_sv: NDArray[np.int64] | None
    ) -> None:
        if kernel.kind == "precomputed":
            raise UnsupportedError(
                "prediction with a precomputed kernel needs kernel values instead of features",
                "use svm-predict for such models",
            )
        sizes = np.array([len(sv)]) if nr_sv is None else nr_sv
        self.n_functions = len(rho)
        self._sums = None
        self._laplacian = None
        if kernel.kind == LAPLACIAN:
            if nr_sv is not None:
                sv_coef = pairwise_coefficients(sv_coef, nr_sv)
            self._laplacian = LaplacianSums(kernel.gamma, sv, _reals(sv_coef), _reals(rho))
        elif self.n_functions:
            self._sums = _core.DecisionSums(
                NATIVE_KINDS[kernel.kind],
                kernel.gamma,
                kernel.coef0,
                kernel.degree,
                sv,
                _reals(sv_coef),
                _reals(rho),
                np.ascontiguousarray(sizes, dtype=np.int64),
            )

    def decision_values(self, rows: Rows, *, threads: int = 1, libsvm_order: bool = False) -> FloatArray:
        """Compute the ``(n, p)`` decision values; with `libsvm_order` all have the bits of LIBSVM's."""
        if self._laplacian is not None:
            return self._laplacian.decision_values(rows)
        if self._sums is None:  # a single-class model has no decision function
            return np.zeros((len(rows), 0))
        decisions: FloatArray
        decisions, _ = self._sums.decide(rows, libsvm_order=libsvm_order, threads=threads)
        return decisions

    def double_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Compute decision values in double precision, and bounds on their distances from LIBSVM's results.

        Both are ``(n, p)``; the bound is 0 where LIBSVM's order was used.
        """
        if self._laplacian is not None:
            raise UnsupportedError("LIBSVM does not have this kernel", "use the decision values")
        if self._sums is None:
            return np.zeros((len(rows), 0)), np.zeros((len(rows), 0))
        return self._sums.values(rows, single=False, threads=threads)

    def probability_values(
        self, rows: Rows, sigmoids: tuple[FloatArray, FloatArray], marks: FloatArray, *, threads: int = 1
    ) -> FloatArray:
        """The decision values, ``(n, p)``, from which LIBSVM's probabilities follow as it prints them.

        Where rounding could change a printed digit or the most probable label, rows are summed in LIBSVM's
        order. `sigmoids` are those of the pairs; a one-class model has `marks` of density instead.
        """
        assert self._sums is not None
        values: FloatArray = self._sums.probability_values(rows, *sigmoids, marks, threads)
        return values

    def labels(self, rows: Rows, *, threads: int = 1) -> tuple[NDArray[np.int32], LabelCounts]:
        """Find the number of each row's class, the winner of the vote, faster than from decision values.

        A row is summed in single precision, with a bound on the rounding error (docs/single-precision.md);
        where that does not prove the label, in double; and where that does not either, in LIBSVM's own order.
        A single decision function gives 0 if its value is above 0, else 1.
        """
        if self._sums is None:
            decisions = self.decision_values(rows, threads=threads)
            if decisions.shape[1] > 1:
                raise ValueError("only pairs of classes and single functions have labels")
            positive = decisions[:, 0] > 0 if decisions.shape[1] else np.ones(len(rows), dtype=np.bool_)
            return np.where(positive, 0, 1).astype(np.int32), LabelCounts(0, 0)
        winner, single, libsvm = self._sums.labels(rows, threads)
        return winner, LabelCounts(single, libsvm)

    def single_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        """Compute decision values in single precision, and bounds on their errors, both ``(n, p)``.

        A bound is infinite for the linear kernel, wide sparse models, and numbers that are out of range.
        """
        if self._sums is None:
            shape = len(rows), self.n_functions
            return np.zeros(shape), np.full(shape, np.inf)
        return self._sums.values(rows, single=True, threads=threads)

    @property
    def one_hot(self) -> bool:
        """Whether double precision counts one-hot columns, which takes no longer than single precision."""
        return self._sums is not None and self._sums.one_hot


def _reals(values: NDArray[Any]) -> FloatArray:
    return np.ascontiguousarray(values, dtype=np.float64)


def pairwise_coefficients(sv_coef: FloatArray, nr_sv: NDArray[np.int64]) -> FloatArray:
    """Expand LIBSVM's ``(k - 1, n)`` coefficients to one row for each pair of classes, ``(k(k-1)/2, n)``."""
    k, ends = len(nr_sv), np.cumsum(nr_sv)
    out = np.zeros((k * (k - 1) // 2, sv_coef.shape[1]))
    pair = 0
    for i in range(k):
        for j in range(i + 1, k):
            a, b = slice(ends[i] - nr_sv[i], ends[i]), slice(ends[j] - nr_sv[j], ends[j])
            out[pair, a], out[pair, b] = sv_coef[j - 1, a], sv_coef[i, b]
            pair += 1
    return out
