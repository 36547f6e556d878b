"""Sums of kernel values behind a linear map of rows: a learned metric of compress, the PCA of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.caches import Cacheless, cached
from svmfast.errors import NotFiniteError
from svmfast.models.base import Model
from svmfast.models.expansion import VectorModel
from svmfast.models.head import Head
from svmfast.models.scaling import MAX_DIGITS
from svmfast.models.sizes import check_width, expect
from svmfast.rows import FloatArray, Rows


@dataclass(frozen=True, eq=False)
class LinearMap(Cacheless):
    """``W (x - center)``, where x has the columns `features` of a row; the others do not count."""

    #: (d,) zero-based columns, ascending.
    features: NDArray[np.int64]
    #: W, (r, d)
    matrix: NDArray[np.float32] | NDArray[np.float64]
    #: (d,)
    center: NDArray[np.float32] | NDArray[np.float64]

    #: Number of rows to map at a time, so that they take bounded memory.
    most_rows = 1024

    def __post_init__(self) -> None:
        columns, d = self.features, len(self.features)
        ascending = columns.ndim == 1 and d > 0 and columns[0] >= 0 and (columns[1:] > columns[:-1]).all()
        expect("features", bool(ascending), "not columns of rows", "ascending columns from 0")
        holds = self.matrix.ndim == 2 and len(self.matrix) > 0 and self.matrix.shape[1] == d
        expect("map", holds, f"shape {self.matrix.shape}", f"(at least 1, {d})")
        expect("center", self.center.shape == (d,), f"shape {self.center.shape}", f"({d},)")

    def __len__(self) -> int:
        """Number of columns of the rows that the map was made from; other rows may have more."""
        return int(self.features[-1]) + 1

    @cached
    def _native(self) -> _core.PolynomialValues:
        """The coordinates as polynomials of order 1."""
        r, d = self.matrix.shape
        coefficients = np.hstack([np.zeros((r, 1)), self.matrix.astype(np.float64)])
        return _core.PolynomialValues(
            self.features.astype(np.int32),
            0.0,
            not self.center.any(),
            self.center.astype(np.float64)[None],
            np.ones((1, r), np.int32),
            (np.arange(r, dtype=np.int64) * (d + 1))[None],
            coefficients.ravel(),
            np.zeros(r),
            None,
            None,
        )

    def apply(self, rows: Rows, *, threads: int = 1) -> Rows:
        """Map rows; zeros are not stored."""
        try:
            return Rows.from_dense(self._native.values(rows, False, None, threads)[0])
        except OverflowError as error:
            raise NotFiniteError("a mapped row leaves the range of floating point") from error

    def parts(self, rows: Rows, *, threads: int = 1) -> Iterator[Rows]:
        """Yield the mapped rows in blocks, one for no rows."""
        for at in range(0, max(1, len(rows)), self.most_rows):
            yield self.apply(rows[at : at + self.most_rows], threads=threads)

    def text(self, rows: Rows, labels: FloatArray | None) -> tuple[bytes, int]:
        """Write mapped rows and their labels as LIBSVM's text, without rounding; count its values."""
        mapped = self.apply(rows)
        first = np.empty((0, len(rows))) if labels is None else np.ascontiguousarray(labels)[np.newaxis]
        arrays = mapped.indptr, mapped.indices, mapped.values
        return _core.write_rows(first, *arrays, 1, MAX_DIGITS), mapped.nnz

    @property
    def working_bytes(self) -> int:
        """Bound the bytes of a block of mapped rows, dense and compressed, and of the map as it is used."""
        r, d = map(int, self.matrix.shape)
        return 40 * r * self.most_rows + 8 * r * (d + 1) + 300 * d


@dataclass(frozen=True, eq=False, repr=False)
class MappedModel(Cacheless, Model):
    """``model(W (x - center))``, where x has the columns `features` of a row; the others do not count."""

    #: Takes mapped rows, of r columns.
    model: VectorModel
    n_features: int
    #: (d,) zero-based columns, ascending.
    features: NDArray[np.int64]
    #: W, (r, d)
    map: NDArray[np.float32] | NDArray[np.float64]
    #: (d,)
    center: NDArray[np.float32] | NDArray[np.float64]
    provenance: Mapping[str, str] = field(default_factory=dict)

    kind: ClassVar[str] = "mapped"
    has_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_width("n_features", self.n_features)
        width = len(self.linear_map)
        expect("features", width <= self.n_features, "not columns of rows", "columns below n_features")
        r, found = max(1, self.model.n_features), self.map.shape
        expect("map", len(self.map) >= r, f"shape {found}", f"(at least {r}, {found[1]})")
        kernel = self.model.kernel.kind
        expect("model", kernel == "rbf", f"a {kernel} kernel", "rbf")

    @cached
    def linear_map(self) -> LinearMap:
        return LinearMap(self.features, self.map, self.center)

    @property
    def head(self) -> Head:
        return self.model.head

    @property
    def behind_map(self) -> tuple[LinearMap, Model]:
        return self.linear_map, self.model

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Compute the expansion's decision values of the mapped rows, ``(n, p)``."""
        parts = self.linear_map.parts(rows, threads=threads)
        return np.concatenate([self.model.decision_values(few, threads=threads) for few in parts])

    def labels(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Find the labels, ``(n,)``, by single precision where its bound proves them."""
        parts = self.linear_map.parts(rows, threads=threads)
        return np.concatenate([self.model.labels(few, threads=threads) for few in parts])

    def multiply_adds(self, rows: Rows) -> float:
        """Compute the number of multiply-adds for a dense row: those of the map and of the expansion."""
        r, d = self.map.shape
        return float(r * d + len(self.model.sv) * (r + len(self.model.sv_coef)))

    @cached
    def working_bytes(self) -> int:
        needed: int = self.model.working_bytes + self.linear_map.working_bytes
        return needed
