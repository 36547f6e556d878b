"""A kernel expansion behind a linear map of rows: a learned metric of compress, the PCA of a pipeline."""

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
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.sizes import check_width, expect
from svmfast.rows import FloatArray, Rows

#: Rows that are mapped at a time.
_BLOCK = 1024


@dataclass(frozen=True, eq=False, repr=False)
class MappedModel(Cacheless, Model):
    """``model(W (x - center))``, where x has the columns `features` of a row; the others do not count."""

    #: Takes mapped rows, of r columns.
    model: KernelExpansion
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
        columns, d = self.features, len(self.features)
        in_range = columns.ndim == 1 and bool(((columns >= 0) & (columns < self.n_features)).all())
        ascending = in_range and d > 0 and bool((columns[1:] > columns[:-1]).all())
        expect("features", ascending, "not columns of rows", "ascending columns from 0, below n_features")
        r = max(1, self.model.n_features)
        holds = self.map.ndim == 2 and len(self.map) >= r and self.map.shape[1] == d
        expect("map", holds, f"shape {self.map.shape}", f"(at least {r}, {d})")
        expect("center", self.center.shape == (d,), f"shape {self.center.shape}", f"({d},)")
        kernel = self.model.kernel.kind
        expect("model", kernel == "rbf", f"a {kernel} kernel", "rbf")

    @property
    def head(self) -> Head:
        return self.model.head

    @property
    def behind_map(self) -> tuple[tuple[int, int], Model]:
        r, d = self.map.shape
        return (r, d), self.model

    @cached
    def _native(self) -> _core.PolynomialValues:
        """The coordinates of W (x - center) as polynomials of order 1."""
        r, d = self.map.shape
        coefficients = np.hstack([np.zeros((r, 1)), self.map.astype(np.float64)])
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

    def _mapped(self, rows: Rows, threads: int) -> Iterator[Rows]:
        for at in range(0, max(1, len(rows)), _BLOCK):
            try:
                mapped = self._native.values(rows[at : at + _BLOCK], False, None, threads)[0]
            except OverflowError as error:
                raise NotFiniteError("a mapped row leaves the range of floating point") from error
            yield Rows.from_dense(mapped)

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Compute the expansion's decision values of the mapped rows, ``(n, p)``."""
        found = [self.model.decision_values(few, threads=threads) for few in self._mapped(rows, threads)]
        return np.concatenate(found)

    def labels(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        """Find the labels, ``(n,)``, by single precision where its bound proves them."""
        return np.concatenate(
            [self.model.labels(few, threads=threads) for few in self._mapped(rows, threads)]
        )

    def multiply_adds(self, rows: Rows) -> float:
        """Compute the number of multiply-adds for a dense row: those of the map and of the expansion."""
        r, d = self.map.shape
        return float(r * d + len(self.model.sv) * (r + len(self.model.sv_coef)))

    @cached
    def working_bytes(self) -> int:
        r, d = self.map.shape
        # A block of mapped rows, dense and compressed, and the map in double precision.
        needed: int = self.model.working_bytes + 40 * r * _BLOCK + 8 * r * (d + 1) + 300 * d
        return needed
