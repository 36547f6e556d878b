"""Kernel expansions: the models that LIBSVM trains, and those that compress and budget-train make.

Of compress, they may have one score for each class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from svmfast.caches import Cacheless, cached
from svmfast.errors import ModelContentError, NotFiniteError, UnsupportedError
from svmfast.kernel_memory import ExpansionSizes, decision_bytes
from svmfast.kernels import KERNELS, DecisionEngine, Kernel
from svmfast.models.base import Attempt, Model
from svmfast.models.head import Head
from svmfast.models.sizes import check_sizes, expect
from svmfast.rows import FloatArray, Rows

__all__ = ["KERNELS", "Kernel", "KernelExpansion", "ScoreModel"]

#: The most support vectors on which single precision is tried.
TRIED_VECTORS = 64


@dataclass(frozen=True, eq=False, repr=False)
class VectorModel(Cacheless, Model):
    """Base of models whose decision values are sums over one list of vectors, for all rows."""

    head: Head
    kernel: Kernel
    #: The n support vectors. For a precomputed kernel, each row has one stored value, its serial number, in
    #: column 0.
    sv: Rows
    #: (rows, n): one row for each function or, with `nr_sv`, those of LIBSVM's layout.
    sv_coef: FloatArray
    #: (p,)
    rho: FloatArray

    @property
    def nr_sv(self) -> NDArray[np.int64] | None:
        """How many of the vectors, which are then grouped by class, belong to each class."""
        return None

    @property
    def n_features(self) -> int:
        """Largest feature index of the support vectors."""
        return self.sv.n_columns

    @property
    def vectors(self) -> Rows | None:
        return self.sv if self.kernel.kind in ("rbf", "polynomial", "sigmoid") else None

    def multiply_adds(self, rows: Rows) -> float:
        """Compute the number of multiply-adds for a dense row: distances to the support vectors, and sums."""
        return float(len(self.sv) * (self.n_features + len(self.sv_coef)))

    @cached
    def working_bytes(self) -> int:
        if self.kernel.kind == "precomputed":
            return 0
        groups = np.array([len(self.sv)]) if self.nr_sv is None else self.nr_sv
        sizes = ExpansionSizes.of(self.sv, groups[None])
        return int(decision_bytes(self.kernel.kind, sizes, len(self.sv_coef), self.head.n_functions))

    @cached
    def _engine(self) -> DecisionEngine:
        return DecisionEngine(self.kernel, self.sv, self.sv_coef, self.rho, self.nr_sv)


@dataclass(frozen=True, eq=False, repr=False)
class KernelExpansion(VectorModel):
    """f_p(z) = sum_i coef_pi K(x_i, z) - rho_p, with the coefficients in LIBSVM's layout.

    For a pair of classes i < j, the coefficients are row ``j - 1`` of `sv_coef` for the support vectors of
    class i, and row ``i`` for those of class j. The order of the pairs is (0,1), (0,2), ..., (1,2), ...
    """

    #: (k,) number of support vectors of each class, by which they are grouped in the order of the labels;
    #: None for one-class and regression. `sv_coef` is (max(k - 1, 1), n).
    nr_sv: NDArray[np.int64] | None = None

    kind: ClassVar[str] = "libsvm"

    def __post_init__(self) -> None:
        n, k, p, kind = len(self.sv), self.head.n_classes, self.head.n_functions, self.kernel.kind
        expect("kernel_type", kind in KERNELS, "not a LIBSVM kernel", " or ".join(KERNELS), kind)
        shape, wanted = self.sv_coef.shape, (max(k - 1, 1), n)
        expect("SV", shape == wanted, f"sv_coef of shape {shape}", f"{wanted}")
        expected = f"{p}, one for each decision function"
        expect("rho", self.rho.shape == (p,), f"{self.rho.size} values", expected)
        if not self.head.is_classifier:
            expect("nr_sv", self.nr_sv is None, f"nr_sv in a {self.head.svm_type} model", "none")
        elif self.nr_sv is None:
            raise ModelContentError("nr_sv", "no sizes of the classes", f"{k} counts")
        else:
            check_sizes("nr_sv", self.nr_sv, k, n, "classes")

    @property
    def expansion(self) -> KernelExpansion:
        return self

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Compute the exact decision values of `rows`, ``(n, p)``, in LIBSVM's pair order.

        Parameters
        ----------
        rows : Rows of n rows
            Columns that the model does not have still count in the RBF distance, as in LIBSVM.
        threads : int
        """
        # Regression prints the value itself: summed in LIBSVM's order, it has LIBSVM's digits.
        return self._engine.decision_values(rows, threads=threads, libsvm_order=self.head.is_regression)

    def probability_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Compute decision values that give the probabilities ``svm-predict -b 1`` prints, ``(n, p)``.

        Rows for which rounding could change a printed digit or the most probable label are summed in
        LIBSVM's order, the others as in :meth:`decision_values`.
        """
        if self.head.is_regression or not self.head.n_functions:
            return self.decision_values(rows, threads=threads)
        head, none = self.head, np.zeros(0)
        given = (head.prob_a, head.prob_b, head.density_marks)
        a, b, marks = (none if one is None else np.ascontiguousarray(one, dtype=np.float64) for one in given)
        return self._engine.probability_values(rows, (a, b), marks, threads=threads)

    def labels(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Find the labels that ``svm-predict`` gives, ``(n,)``, without the decision values.

        They are those of ``head.predict(decision_values(rows))``, but faster: single precision answers
        the rows whose label its error bound proves. Regression models have none.
        """
        if self.head.is_regression:
            raise UnsupportedError("a regression model has no labels", "use its decision values")
        winner, _ = self._engine.labels(rows, threads=threads)
        return self.head.answers(winner)

    def attempts(self, tolerance: float | None, *, threads: int) -> list[Attempt]:
        """List single and double precision, with bounds on the distance from LIBSVM's own results.

        docs/single-precision.md derives the bounds. What double precision does not prove, or not within
        `tolerance`, is summed with LIBSVM's own operations in LIBSVM's own order, whose bound is 0.
        """
        double: Attempt = partial(self._double, tolerance=tolerance, threads=threads)
        # Where its bounds exceed the tolerance, double precision would do all the work again.
        if tolerance is not None and self._small_single_bound > tolerance:
            return [double]
        return [partial(self._single, threads=threads), double]

    def _double(self, rows: Rows, *, tolerance: float | None, threads: int) -> tuple[FloatArray, FloatArray]:
        values, bounds = self._engine.double_values(rows, threads=threads)
        # A label that its bound does not prove has already been summed in LIBSVM's order.
        wide = np.flatnonzero(~(bounds <= (np.inf if tolerance is None else tolerance)).all(axis=1))
        if len(wide):
            values[wide], bounds[wide] = self.libsvm_values(rows.take(wide), threads=threads), 0.0
        return values, bounds

    def _single(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        if self._engine.one_hot:  # double precision is as fast
            shape = len(rows), self.head.n_functions
            return np.zeros(shape), np.full(shape, np.inf)
        return self._engine.single_values(rows, threads=threads)

    @cached
    def _small_single_bound(self) -> float:
        """A quarter of some support vectors have a smaller bound; it depends on the model alone."""
        n = len(self.sv)
        if not n:
            return 0.0
        _, bounds = self._single(some := self.sv.take(np.arange(0, n, -(-n // TRIED_VECTORS))))
        # A try costs a quarter to a half of what it may save.
        return float(np.sort(bounds.max(axis=1, initial=0.0))[len(some) // 4])

    def libsvm_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Compute decision values with LIBSVM's operations in LIBSVM's order, ``(n, p)``."""
        return self._engine.decision_values(rows, threads=threads, libsvm_order=True)


@dataclass(frozen=True, eq=False, repr=False)
class ScoreModel(VectorModel):
    """s_c(z) = sum_j coef_cj K(x_j, z) - rho_c for each class c, of which the largest score wins.

    All classes share the vectors.
    """

    provenance: Mapping[str, str] = field(default_factory=dict)

    kind: ClassVar[str] = "scores"

    def __post_init__(self) -> None:
        n, k, kernel = len(self.sv), self.head.n_classes, self.kernel
        expect("head", self.head.one_vs_rest, "no score for each class", "one_vs_rest")
        known = kernel.kind != "precomputed" and 0 <= kernel.degree < 2**31
        expect("kernel", known, "not a kernel of vectors", "one, with its degree", kernel.kind)
        shape = self.sv_coef.shape
        expect("sv_coef", shape == (k, n), f"shape {shape}", f"{(k, n)}")
        expect("rho", self.rho.shape == (k,), f"{self.rho.size} values", f"{k}, one for each class")

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Compute the scores of the classes, ``(n, k)``."""
        values = self._engine.decision_values(rows, threads=threads)
        if not np.isfinite(values).all():
            raise NotFiniteError("a score leaves the range of floating point")
        return values
