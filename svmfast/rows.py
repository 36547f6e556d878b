"""Sparse rows, the one form in which data meets kernels: CSR arrays, without SciPy.

The predict path must start in milliseconds, and importing ``scipy.sparse`` costs more than parsing a
megabyte, so this small class stands in for ``csr_array`` and converts from and to it on request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmfast.errors import OptionError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Rows squared at a time: squares of all entries would take as much memory as the entries.
NORM_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class Rows:
    """`n` sparse rows of float64.

    Attributes
    ----------
    indptr : (n + 1,) int64
    indices : (nnz,) int32
        Zero-based columns (LIBSVM's index minus one), strictly ascending within a row.
    values : (nnz,) float64
    n_columns : int
        Width; every column is below it. Rows of different width may meet: missing columns are zeros.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    n_columns: int

    def __post_init__(self) -> None:
        if self.indptr.ndim != 1 or len(self.indptr) == 0 or self.indices.shape != self.values.shape:
            raise OptionError("Rows: indptr, indices and values do not fit together")

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """Number of stored values."""
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def density(self) -> float:
        """Stored values over ``n * n_columns`` (0 for an empty matrix)."""
        cells = len(self) * self.n_columns
        return self.nnz / cells if cells else 0.0

    def __getitem__(self, key: slice) -> Rows:
        """Return a contiguous slice of rows, sharing memory."""
        start, stop, step = key.indices(len(self))
        if step != 1:
            raise OptionError("Rows: only contiguous slices; use take() for the rest")
        stop = max(start, stop)
        first, last = self.indptr[start], self.indptr[stop]
        return Rows(
            self.indptr[start : stop + 1] - first,
            self.indices[first:last],
            self.values[first:last],
            self.n_columns,
        )

    def take(self, which: ArrayLike) -> Rows:
        """Return the rows at the given positions (or where a boolean mask is true), copied."""
        index = np.asarray(which)
        if index.dtype == bool:
            index = np.flatnonzero(index)
        lengths = np.diff(self.indptr)[index]
        indptr = np.zeros(len(index) + 1, dtype=np.int64)
        np.cumsum(lengths, out=indptr[1:])
        source = np.repeat(self.indptr[index] - indptr[:-1], lengths) + np.arange(indptr[-1], dtype=np.int64)
        return Rows(indptr, self.indices[source], self.values[source], self.n_columns)

    def squared_norms(self) -> FloatArray:
        """Return ||x||^2 of every row."""
        out = np.zeros(len(self))
        for first in range(0, len(self), NORM_ROWS):
            pointers = self.indptr[first : first + NORM_ROWS + 1]
            used = self.values[pointers[0] : pointers[-1]]
            # reduceat needs non-empty segments; rows without entries keep their zero.
            filled = np.flatnonzero(np.diff(pointers))
            if len(filled):
                out[first + filled] = np.add.reduceat(used * used, pointers[filled] - pointers[0])
        return out

    def to_dense(self, n_columns: int | None = None) -> FloatArray:
        """Return an ``(n, n_columns)`` array; columns beyond `n_columns` must not be set."""
        width = self.n_columns if n_columns is None else n_columns
        dense = np.zeros((len(self), width))
        dense[np.repeat(np.arange(len(self)), np.diff(self.indptr)), self.indices] = self.values
        return dense

    def to_scipy(self) -> Any:
        """Return a ``scipy.sparse.csr_matrix`` sharing the values."""
        from scipy.sparse import csr_matrix

        return csr_matrix((self.values, self.indices, self.indptr), shape=(len(self), self.n_columns))

    @classmethod
    def empty(cls, n_columns: int = 0) -> Rows:
        """Return zero rows."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), n_columns)

    @classmethod
    def from_dense(cls, array: ArrayLike) -> Rows:
        """Return the rows of a dense ``(n, d)`` array; zeros are not stored."""
        dense = np.atleast_2d(np.asarray(array, dtype=np.float64))
        if dense.ndim != 2:
            raise OptionError(f"expected a 2-dimensional array, got {dense.ndim} dimensions")
        if not np.isfinite(dense).all():
            raise OptionError("the array holds nan or inf; every value must be finite")
        mask = dense != 0
        indptr = np.zeros(len(dense) + 1, dtype=np.int64)
        np.cumsum(mask.sum(axis=1), out=indptr[1:])
        return cls(indptr, np.nonzero(mask)[1].astype(np.int32), dense[mask], dense.shape[1])

    @classmethod
    def from_scipy(cls, matrix: Any) -> Rows:
        """Return the rows of any SciPy sparse matrix or array."""
        csr = matrix.tocsr(copy=True)
        csr.sum_duplicates()
        values = csr.data.astype(np.float64, copy=False)
        if not np.isfinite(values).all():
            raise OptionError("the matrix holds nan or inf; every value must be finite")
        return cls(csr.indptr.astype(np.int64), csr.indices.astype(np.int32), values, csr.shape[1])

    @classmethod
    def concatenate(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of all parts, one after another; the width is the widest."""
        if not parts:
            return cls.empty()
        indptr = [parts[0].indptr[:1] * 0]
        offset = 0
        for part in parts:
            indptr.append(part.indptr[1:] - part.indptr[0] + offset)
            offset += part.nnz
        return cls(
            np.concatenate(indptr),
            np.concatenate([p.indices for p in parts]),
            np.concatenate([p.values for p in parts]),
            max(p.n_columns for p in parts),
        )


def as_rows(data: Any) -> Rows:
    """Return `data` (Rows, dense array-like, SciPy sparse) as :class:`Rows`."""
    if isinstance(data, Rows):
        return data
    if hasattr(data, "tocsr"):
        return Rows.from_scipy(data)
    return Rows.from_dense(data)
