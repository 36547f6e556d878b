"""Kernel expansions: the models that LIBSVM trains, and those that compress and budget-train make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from svmfast.caches import Cacheless, cached
from svmfast.display import count
from svmfast.errors import ModelContentError, UnsupportedError
from svmfast.kernel_memory import ExpansionSizes, decision_bytes
from svmfast.kernels import KERNELS, DecisionEngine, Kernel
from svmfast.models.base import one_line
from svmfast.models.head import MAX_COUPLED, Head
from svmfast.models.sizes import check_sizes
from svmfast.rows import Rows

__all__ = ["KERNELS", "Kernel", "KernelExpansion", "Tier"]

#: The most support vectors on which single precision is tried.
TRIED_VECTORS = 64
#: The arithmetic that computes the labels of an expansion, :attr:`KernelExpansion.tier`.
Tier = Literal["one-hot", "bytes", "words", "single", "double", "scattered"]


@dataclass(frozen=True, eq=False, repr=False)
class KernelExpansion(Cacheless):
    """f_p(z) = sum_i coef_pi K(x_i, z) - rho_p, with the coefficients in LIBSVM's layout.

    For a pair of classes i < j, the coefficients are row ``j - 1`` of `sv_coef` for the support vectors of
    class i, and row ``i`` for those of class j. The order of the pairs is (0,1), (0,2), ..., (1,2), ...

    Attributes
    ----------
    head : Head
    kernel : Kernel
    sv : Rows
        The n support vectors, grouped by class in the order of ``head.labels``. For a precomputed kernel,
        each row has one stored value, its serial number, in column 0.
    sv_coef : (max(k - 1, 1), n) float64
    rho : (p,) float64
    nr_sv : (k,) int64 or None
        Number of support vectors of each class; None for one-class and regression.
    """

    head: Head
    kernel: Kernel
    sv: Rows
    sv_coef: NDArray[np.float64]
    rho: NDArray[np.float64]
    nr_sv: NDArray[np.int64] | None = None

    kind: ClassVar[str] = "libsvm"

    def __post_init__(self) -> None:
        if self.kernel.kind not in KERNELS:
            raise ModelContentError(
                "kernel_type", "not a LIBSVM kernel", " or ".join(KERNELS), self.kernel.kind
            )
        n, k, p = len(self.sv), self.head.n_classes, self.head.n_functions
        if self.sv_coef.shape != (max(k - 1, 1), n):
            raise ModelContentError("SV", f"sv_coef of shape {self.sv_coef.shape}", f"({max(k - 1, 1)}, {n})")
        if self.rho.shape != (p,):
            raise ModelContentError("rho", f"{self.rho.size} values", f"{p}, one for each decision function")
        if self.head.is_classifier:
            if self.nr_sv is None:
                raise ModelContentError("nr_sv", "no sizes of the classes", f"{k} counts")
            check_sizes("nr_sv", self.nr_sv, k, n, "classes")
        elif self.nr_sv is not None:
            raise ModelContentError("nr_sv", f"nr_sv in a {self.head.svm_type} model", "none")

    def __repr__(self) -> str:
        return one_line(self)

    @property
    def summary(self) -> str:
        """The part of ``repr`` that is specific to this kind."""
        return f"{self.kernel.summary}, {count(len(self.sv), 'support vector')}"

    @property
    def n_features(self) -> int:
        """Largest feature index of the support vectors."""
        return self.sv.n_columns

    def decision_values(
        self, rows: Rows, *, threads: int = 1, wanted: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float64]:
        """Return the exact decision values of `rows`.

        Parameters
        ----------
        rows : Rows of n rows
            Columns that the model does not have still count in the RBF distance, as in LIBSVM.
        threads : int
        wanted : (n, p) bool, optional
            The values to compute. Only the support vectors of their classes are used, and the other values
            are meaningless.

        Returns
        -------
        (n, p) float64
            In LIBSVM's pair order.

        Raises
        ------
        UnsupportedError
            For the precomputed kernel.
        """
        # Regression prints the value itself: summed in LIBSVM's order, it has LIBSVM's digits.
        return self._engine.decision_values(
            rows, threads=threads, libsvm_order=self.head.is_regression, wanted=wanted
        )

    def probability_values(self, rows: Rows, *, threads: int = 1) -> NDArray[np.float64]:
        """Return decision values that give the probabilities ``svm-predict -b 1`` prints.

        Rows for which rounding could change a printed digit or the most probable label are summed in
        LIBSVM's order, the others as in :meth:`decision_values`.

        Parameters
        ----------
        rows : Rows of n rows
        threads : int

        Returns
        -------
        (n, p) float64
        """
        if self.head.is_regression or not self.head.n_functions:
            return self.decision_values(rows, threads=threads)
        k = self.head.n_classes
        # To prove that the coupling prints the same digits takes as long as summing about 4 k^2 support
        # vectors in LIBSVM's order.
        if k > MAX_COUPLED or len(self.sv) < 4 * k * k:
            return self._engine.decision_values(rows, threads=threads, libsvm_order=True)
        values, bounds = self._engine.bounded_values(rows, threads=threads)
        doubtful = np.flatnonzero(self.head.probabilities_in_doubt(values, bounds, threads=threads))
        if len(doubtful):
            few = rows.take(doubtful)
            values[doubtful] = self._engine.decision_values(few, threads=threads, libsvm_order=True)
        return values

    def labels(self, rows: Rows, *, threads: int = 1, single_precision: bool = True) -> NDArray[np.float64]:
        """Return the labels that ``svm-predict`` gives, without the decision values.

        The result is that of ``head.predict(decision_values(rows))``, but faster: single precision answers
        the rows whose label its error bound proves.

        Parameters
        ----------
        rows : Rows of n rows
        threads : int
        single_precision : bool
            If False, start with double precision.

        Returns
        -------
        (n,) float64

        Raises
        ------
        UnsupportedError
            For regression, whose answer is not a label, and for the precomputed kernel.
        """
        if self.head.is_regression:
            raise UnsupportedError("a regression model has no labels", "use its decision values")
        winner, _ = self._engine.labels(rows, threads=threads, single_precision=single_precision)
        answers: NDArray[np.float64] = self._labels[winner]
        return answers

    @cached
    def _labels(self) -> NDArray[np.float64]:
        return np.array([1.0, -1.0]) if self.head.labels is None else self.head.labels.astype(np.float64)

    @property
    def tier(self) -> Tier:
        """The arithmetic that answers most rows.

        Counts of one-hot columns; integers of a lattice, with four columns in a lane (bytes) or two (words);
        single precision; or double precision, scattered if wide, sparse support vectors are stored by
        columns. Regression and linear kernels use double precision. It depends on the model alone: a
        processor may lack the instruction for bytes.
        """
        engine = self._engine
        if engine.scattered:
            return "scattered"
        if self.kernel.kind not in ("rbf", "polynomial", "sigmoid") or self.head.is_regression:
            return "double"
        if engine.one_hot:
            return "one-hot"
        lattices: dict[int, Tier] = {4: "bytes", 2: "words"}
        return lattices.get(engine.lattice_columns, "single")

    def bounded_values(
        self, rows: Rows, *, single_precision: bool = False, threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return decision values, and bounds on their distances from LIBSVM's own floating-point results.

        Parameters
        ----------
        rows : Rows of n rows
        single_precision : bool
            Sum in single precision where that is faster.
        threads : int

        Returns
        -------
        values, bounds : (n, p) float64
            A bound is 0 if the value was summed in LIBSVM's order, and infinite if single precision proves
            nothing about it.
        """
        if not single_precision:
            return self._engine.bounded_values(rows, threads=threads)
        if self._engine.one_hot:
            shape = len(rows), self.head.n_functions
            return np.zeros(shape), np.full(shape, np.inf)
        return self._engine.single_precision_values(rows, threads=threads)

    def single_precision_serves(self, tolerance: float) -> bool:
        """Return whether bounds of single precision are at most `tolerance` in a quarter of a sample.

        The rows that are tried are support vectors, so the answer depends on the model alone.
        """
        return self._small_single_bound <= tolerance

    @cached
    def _small_single_bound(self) -> float:
        n = len(self.sv)
        if not n:
            return 0.0
        some = self.sv.take(np.arange(0, n, -(-n // TRIED_VECTORS)))
        _, bounds = self.bounded_values(some, single_precision=True)
        # A try costs a quarter to a half of what it may save.
        return float(np.sort(bounds.max(axis=1, initial=0.0))[len(some) // 4])

    def libsvm_values(self, rows: Rows, *, threads: int = 1) -> NDArray[np.float64]:
        """Return decision values computed with LIBSVM's operations in LIBSVM's order, ``(n, p)``."""
        return self._engine.decision_values(rows, threads=threads, libsvm_order=True)

    def multiply_adds(self, rows: Rows) -> float:
        """Return the number of multiply-adds for a dense row: distances to the support vectors, and sums."""
        return float(len(self.sv) * (self.n_features + len(self.sv_coef)))

    @cached
    def working_bytes(self) -> int:
        """Upper bound on the bytes that a prediction needs in addition to the model's arrays and the rows."""
        if self.kernel.kind == "precomputed":
            return 0
        groups = np.array([len(self.sv)]) if self.nr_sv is None else self.nr_sv
        sizes = ExpansionSizes.of(self.sv, groups[None])
        return int(decision_bytes(self.kernel.kind, sizes, len(self.sv_coef), self.head.n_functions))

    @cached
    def _engine(self) -> DecisionEngine:
        return DecisionEngine(self.kernel, self.sv, self.sv_coef, self.rho, self.nr_sv)
