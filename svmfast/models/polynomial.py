"""Truncated expansions of any order, in one or more cells: the models of ``approximate``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.caches import Cacheless, cached
from svmfast.certificate import REST
from svmfast.errors import NotFiniteError
from svmfast.models.base import Attempt, Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.single_polynomial import SinglePolynomials, rounding_bytes, single_polynomials
from svmfast.models.sizes import check_width, expect
from svmfast.monomials import coefficient_count
from svmfast.routing import Router
from svmfast.rows import BoolArray, FloatArray, IntArray, Rows
from svmfast.validity_bound import centered_squared_norms, inside_bound

#: The highest order that a file may have; `svmfast.certificate.MAX_ORDER` is the highest that is made.
MAX_FILE_ORDER = 32
ABOUT = ("zero", "centre")


@dataclass(frozen=True, eq=False, repr=False)
class PolynomialModel(Cacheless, Model):
    """fhat_p(z) = exp(-gamma ||z - mu||^2) P_p(z - about) - rho_p, where mu is the center nearest to z."""

    head: Head
    #: 0 if there is no exponential factor: the exact polynomial of a linear or polynomial kernel.
    gamma: float
    #: Number of features of the model this was made from.
    n_features: int
    #: (d,) zero-based columns of the polynomials' variables, ascending; others only count in ``||z||^2``.
    features: IntArray
    #: ``zero``: the polynomials are in z, which is cheap for rows with few entries; ``centre``: in z - mu.
    about: str
    #: (cells, d)
    centers: FloatArray
    #: (cells, p) degree of the polynomial of each cell and decision function.
    orders: NDArray[np.int32]
    #: The coefficients of all polynomials, ordered by cell, then by function, then by degree, and within a
    #: degree by the sorted index tuples ``i1 <= i2 <= ...`` in lexicographic order.
    coefficients: FloatArray
    #: (p,)
    rho: FloatArray
    #: Largest ``||x||^2`` over the support vectors, and (cells,) largest ``||x - mu||^2`` for each center.
    sv_squared_norm: float
    sv_squared_norms: FloatArray
    provenance: Mapping[str, str] = field(default_factory=dict)
    #: (cells, p, top + 1) and (cells, p, 5) numbers of the certificate (svmfast.certificate.REST).
    bound_degrees: FloatArray | None = None
    bound_rest: FloatArray | None = None
    #: The model this was made from, which answers the rows that are not certified.
    embedded_exact: KernelExpansion | None = None

    kind: ClassVar[str] = "polynomial"
    has_validity_bound: ClassVar[bool] = True

    def __post_init__(self) -> None:
        p, (cells, d) = self.head.n_functions, self.centers.shape
        expect("gamma", 0 <= self.gamma < math.inf, "not a width", "a number of at least 0")
        expect("about", self.about in ABOUT, f"'{self.about}'", " or ".join(ABOUT))
        expect("rho", self.rho.shape == (p,), f"{self.rho.size} values", f"{p}, one for each function")
        check_width("n_features", self.n_features)
        columns = self.features
        in_range = columns.shape == (d,) and bool(((columns >= 0) & (columns < self.n_features)).all())
        expect(
            "features",
            in_range and bool((columns[1:] > columns[:-1]).all()),
            "not the columns of the centers' variables",
            f"{d} ascending columns from 0, below n_features",
        )
        expect("centers", cells >= 1, "no cell", "at least one")
        expect("orders", self.orders.shape == (cells, p), f"shape {self.orders.shape}", f"({cells}, {p})")
        in_range = not self.orders.size or (self.orders.min() >= 0 and self.orders.max() <= MAX_FILE_ORDER)
        expect("orders", bool(in_range), "an order out of range", f"orders from 0 to {MAX_FILE_ORDER}")
        norms = self.sv_squared_norms
        expect("sv_squared_norms", norms.shape == (cells,), f"{norms.size} values", f"{cells}")
        needed, size = sum(self.counts()), self.coefficients.size
        expect("coefficients", self.coefficients.shape == (needed,), f"{size} values", f"{needed}")
        if self.embedded_exact is not None:
            own, other, d = self.head, self.embedded_exact.head, self.embedded_exact.n_features
            # The labels determine the decision functions.
            same = own.svm_type == other.svm_type and own.same_functions(other) and d == self.n_features
            what = f"an embedded model of type {other.svm_type}, {d} features or other labels"
            expected = f"type {own.svm_type}, {self.n_features} features and the same labels"
            expect("exact", same, what, expected)
        both = (self.bound_degrees is None) == (self.bound_rest is None)
        expect("bound_degrees", both, "half a certificate", "bound_degrees and bound_rest, or neither")
        if self.bound_degrees is not None and self.bound_rest is not None:
            shape, rest = self.bound_degrees.shape, self.bound_rest.shape
            holds = len(shape) == 3 and shape[:2] == (cells, p) and shape[2] >= 1
            expect("bound_degrees", holds, f"shape {shape}", f"({cells}, {p}, at least 1)")
            expect("bound_rest", rest == (cells, p, REST), f"shape {rest}", f"({cells}, {p}, {REST})")
            # A negative number would make the bound smaller than what was proved.
            for name in ("bound_degrees", "bound_rest"):
                numbers = getattr(self, name)
                expect(name, bool((numbers >= 0).all()), "a negative number", "numbers of at least 0")

    def counts(self) -> list[int]:
        """The number of coefficients of each polynomial, by cell, then by function."""
        d = self.centers.shape[1]
        return [math.comb(d + order, order) for order in self.orders.ravel().tolist()]

    @property
    def has_error_bound(self) -> bool:
        return self.bound_degrees is not None

    @property
    def largest_squared_norm(self) -> float | None:
        return self.sv_squared_norm if self.gamma > 0 else None

    @property
    def truncation(self) -> tuple[float, tuple[int, ...]] | None:
        return (self.gamma, tuple(np.unique(self.orders).tolist())) if self.gamma > 0 else None

    def attempts(self, tolerance: float | None, *, threads: int) -> list[Attempt]:
        """List single precision, which proves some labels, and double precision."""
        return [partial(self.certified_values, single=single, threads=threads) for single in (True, False)]

    def certified_values(
        self, rows: Rows, *, threads: int = 1, single: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Compute decision values and bounds on their distances from the exact model's, both ``(n, p)``.

        In single precision, bounds include its rounding: if they prove a row's label, those of double
        precision prove the same label. They are infinite where single precision proves nothing.
        """
        if self.bound_degrees is None:
            return super().certified_values(rows)
        decisions, bounds = self._run(rows, bounds=True, single_precision=single, threads=threads)
        assert bounds is not None
        return decisions, bounds

    @property
    def n_cells(self) -> int:
        """Number of centers."""
        return len(self.centers)

    @property
    def order(self) -> int:
        """Highest degree of any polynomial."""
        return int(self.orders.max()) if self.orders.size else 0

    @property
    def starts(self) -> IntArray:
        """Where the coefficients of each polynomial start, ``(cells, p)``."""
        return np.cumsum([0, *self.counts()])[:-1].astype(np.int64).reshape(self.orders.shape)

    @cached
    def _native(self) -> _core.PolynomialValues:
        bounds = self.bound_degrees, self.bound_rest
        certificate = (None if one is None else np.ascontiguousarray(one) for one in bounds)
        return _core.PolynomialValues(
            self.features.astype(np.int32),
            self.gamma,
            self.about == "zero",
            np.ascontiguousarray(self.centers),
            np.ascontiguousarray(self.orders),
            self.starts,
            np.ascontiguousarray(self.coefficients),
            np.ascontiguousarray(self.rho),
            *certificate,
        )

    @cached
    def _single(self) -> SinglePolynomials:
        return single_polynomials(self)

    def cells(self, rows: Rows, *, threads: int = 1) -> NDArray[np.int32]:
        """Find the cell of each row, ``(n,)`` int32: the nearest center; ties go to the lower index."""
        if self.n_cells == 1:
            return np.zeros(len(rows), dtype=np.int32)
        return Router.flat(self.centers, self.features).route(rows, threads=threads)

    def _run(
        self, rows: Rows, *, bounds: bool, single_precision: bool = False, threads: int
    ) -> tuple[FloatArray, FloatArray | None]:
        if not self.head.n_functions:
            return np.zeros((len(rows), 0)), np.zeros((len(rows), 0))
        try:
            return self._native.values(rows, bounds, self._single if single_precision else None, threads)
        except OverflowError as error:
            raise NotFiniteError(
                "a decision value leaves the range of floating point; "
                "the model's coefficients or the row's values are too large"
            ) from error

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        return self._run(rows, bounds=False, threads=threads)[0]

    def inside_bound(self, rows: Rows) -> BoolArray:
        """Decide for which rows the validity bound holds, ``(n,)`` bool.

        The bound is that of the lowest order of the row's cell, for the distance from that cell's center
        (:mod:`svmfast.validity_bound`). It always holds for polynomial kernels, for which nothing
        is truncated.
        """
        if self.gamma == 0 or not self.head.n_functions:
            return np.ones(len(rows), dtype=np.bool_)
        cells = self.cells(rows)
        mine = rows.renumbered(rows.places_among(self.features), self.centers.shape[1] + 1)
        out = np.empty(len(rows), dtype=np.bool_)
        for cell in range(self.n_cells):
            which = np.flatnonzero(cells == cell)
            squared = centered_squared_norms(mine.take(which), self.centers[cell])
            reach, order = float(self.sv_squared_norms[cell]), int(self.orders[cell].min())
            out[which] = inside_bound(self.gamma, reach, squared, order=order)
        return out

    def multiply_adds(self, rows: Rows) -> float:
        """Compute the mean number of multiply-adds for a dense row: distances to the centers, and terms."""
        d, cells = self.centers.shape[1], self.n_cells
        terms = np.array([sum(math.comb(d + int(order), int(order)) for order in row) for row in self.orders])
        share = np.bincount(self.cells(rows), minlength=cells) / max(1, len(rows))
        return float(share @ terms) + (cells * d if cells > 1 else 0)

    @cached
    def working_bytes(self) -> int:
        (cells, d), p = self.centers.shape, self.head.n_functions
        # Offsets of the tuples by degree, the search for the nearest center, a block of dense rows.
        needed: int = 8 * (self.order + 1) * (d + 1) + (d * (16 * cells + 128) if cells > 1 else 0) + 300 * d
        needed += 100 * cells * p
        if self.bound_degrees is not None:  # for single precision
            needed += rounding_bytes(self.coefficients.size, coefficient_count(d, self.order))
            needed += self.bound_degrees.nbytes
        return needed + (0 if self.embedded_exact is None else self.embedded_exact.working_bytes)

    def with_exact(self, exact: KernelExpansion | None) -> PolynomialModel:
        return replace(self, embedded_exact=exact)
