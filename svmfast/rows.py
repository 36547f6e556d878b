"""Sparse rows, the only form of input that kernels take: CSR arrays, without SciPy.

A prediction must start in milliseconds, and importing ``scipy.sparse`` takes longer than parsing a megabyte.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmfast.errors import NotFiniteCellError, OptionError
from svmfast.sparse import csr_arrays, is_sparse

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

#: Rows whose entries are squared at a time: squares of all entries would take as much memory as the entries.
NORM_ROWS = 1 << 14
#: Entries that are checked or taken at a time, for the same reason.
_CHECKED = 1 << 18
#: LIBSVM's indices are C ints, so a column is at most 2^31 - 2.
MAX_COLUMNS = 2**31 - 1
#: Arrays with more numbers are looked at for zeros before their places are listed.
LARGE_ARRAY = 1 << 12


@dataclass(frozen=True, slots=True, repr=False)
class Rows:
    """`n` sparse rows of float64, immutable.

    Attributes
    ----------
    indptr : (n + 1,) int64
    indices : (nnz,) int32
        Zero-based columns (LIBSVM's index minus one), strictly ascending within a row.
    values : (nnz,) float64
    n_columns : int
        Width; every column is below it, and it is at most 2^31 - 1. Rows of different widths may be combined:
        missing columns are zeros.

    Raises
    ------
    OptionError
        The arrays do not describe rows.

    Notes
    -----
    The arrays are checked once and read-only, since native code relies on them without checks. They
    are copies.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    n_columns: int

    def __post_init__(self) -> None:
        # Copied before they are checked, so that they cannot change in between.
        indptr, indices = _owned(self.indptr, "iu", "indptr"), _owned(self.indices, "iu", "indices")
        values = _owned(self.values, "iufb", "values")
        n_columns = operator.index(self.n_columns)
        _check(indptr, indices, values, n_columns)
        for name, kept in (
            ("indptr", _frozen(indptr.astype(np.int64, copy=False))),
            ("indices", _frozen(indices.astype(np.int32, copy=False))),
            ("values", _frozen(values.astype(np.float64, copy=False))),
            ("n_columns", n_columns),
        ):
            object.__setattr__(self, name, kept)

    @classmethod
    def trusted(
        cls,
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        n_columns: int,
    ) -> Rows:
        """Rows from arrays that are valid and not changed elsewhere: neither checked nor copied."""
        rows = object.__new__(cls)
        for name, array in (("indptr", indptr), ("indices", indices), ("values", values)):
            object.__setattr__(rows, name, _frozen(array))
        object.__setattr__(rows, "n_columns", n_columns)
        return rows

    def places_among(self, columns: NDArray[np.int64]) -> NDArray[np.int32]:
        """The place of each entry's column among ascending `columns`, or their number where it is not."""
        at = np.searchsorted(columns, self.indices)
        known = at < len(columns)
        known[known] = columns[at[known]] == self.indices[known]
        return np.where(known, at, len(columns)).astype(np.int32)

    def renumbered(self, indices: NDArray[np.int32], n_columns: int) -> Rows:
        """Return the same values in other columns; the order of columns within a row must be the same."""
        return Rows.trusted(self.indptr, indices, self.values, n_columns)

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, (self.indptr, self.indices, self.values, self.n_columns)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __repr__(self) -> str:
        return f"<{len(self):,} rows of {self.n_columns:,} columns, {self.nnz:,} stored values>"

    @property
    def nnz(self) -> int:
        """Number of stored values."""
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def density(self) -> float:
        """Number of stored values over ``n * n_columns`` (0 for an empty matrix)."""
        cells = len(self) * self.n_columns
        return self.nnz / cells if cells else 0.0

    def __getitem__(self, key: slice) -> Rows:
        """Return a contiguous slice of rows, sharing memory."""
        start, stop, step = key.indices(len(self))
        if step != 1:
            raise OptionError("Rows: only contiguous slices are supported; use take() for others")
        stop = max(start, stop)
        first, last = self.indptr[start], self.indptr[stop]
        return Rows.trusted(
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
        starts = self.indptr[:-1][index]
        lengths = self.indptr[1:][index] - starts
        indptr = np.zeros(len(index) + 1, dtype=np.int64)
        np.cumsum(lengths, out=indptr[1:])
        indices, values = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1])
        shift, begin = starts - indptr[:-1], 0
        while begin < len(index):
            end = max(begin + 1, int(np.searchsorted(indptr, indptr[begin] + _CHECKED, side="right")) - 1)
            own = slice(indptr[begin], indptr[end])
            source = np.repeat(shift[begin:end], lengths[begin:end]) + np.arange(own.start, own.stop)
            indices[own], values[own] = self.indices[source], self.values[source]
            begin = end
        return Rows.trusted(indptr, indices, values, self.n_columns)

    def squared_norms(self) -> FloatArray:
        """||x||^2 of every row."""
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
        """Return an ``(n, n_columns)`` array, without the entries beyond `n_columns`."""
        width = self.n_columns if n_columns is None else n_columns
        dense = np.zeros((len(self), width))
        row, column, values = np.repeat(np.arange(len(self)), np.diff(self.indptr)), self.indices, self.values
        if width < self.n_columns:
            known = column < width
            row, column, values = row[known], column[known], values[known]
        dense[row, column] = values
        return dense

    def to_scipy(self) -> Any:
        """Return a ``scipy.sparse.csr_matrix`` sharing the values."""
        from scipy.sparse import csr_matrix

        return csr_matrix((self.values, self.indices, self.indptr), shape=(len(self), self.n_columns))

    @classmethod
    def empty(cls, n_columns: int = 0) -> Rows:
        """No rows, of a given width."""
        return cls.trusted(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), n_columns)

    @classmethod
    def from_dense(cls, array: ArrayLike) -> Rows:
        """Return the rows of a dense ``(n, d)`` array; zeros are not stored."""
        dense = np.atleast_2d(as_floats(array, "the array"))
        if dense.ndim != 2:
            raise OptionError(f"expected a 2-dimensional array, got {dense.ndim} dimensions")
        if not np.isfinite(dense).all():
            row, column = np.argwhere(~np.isfinite(dense))[0].tolist()
            raise NotFiniteCellError("the array", dense[row, column], row, column)
        n, width = dense.shape
        if width > MAX_COLUMNS:
            raise OptionError(_too_wide(width))
        # As few NumPy calls as possible, because single rows are converted here too.
        flat = dense.ravel()
        if flat.size > LARGE_ARRAY and np.count_nonzero(flat) == flat.size:
            columns = np.tile(np.arange(width, dtype=np.int32), n)
            return cls.trusted(np.arange(n + 1) * width, columns, flat.copy(), width)
        (at,) = flat.nonzero()
        indptr = at.searchsorted(np.arange(n + 1) * width)
        return cls.trusted(indptr, (at % max(1, width)).astype(np.int32), flat[at], width)

    @classmethod
    def from_scipy(cls, matrix: Any, *, zeros: bool = True) -> Rows:
        """Return the rows of any SciPy sparse matrix or array, with or without its stored zeros."""
        indptr, indices, values, width = csr_arrays(matrix, zeros=zeros)
        if not np.isfinite(values).all():
            at = int(np.argmax(~np.isfinite(values)))
            row = int(np.searchsorted(indptr, at, side="right")) - 1
            raise NotFiniteCellError("the matrix", values[at], row, int(indices[at]))
        if width > MAX_COLUMNS:
            raise OptionError(f"Rows: {_too_wide(width)}")
        return cls.trusted(indptr, indices.astype(np.int32), values, width)

    @classmethod
    def concatenate(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of all parts, one after another; the width is that of the widest part."""
        if not parts:
            return cls.empty()
        indptr = [parts[0].indptr[:1] * 0]
        offset = 0
        for part in parts:
            indptr.append(part.indptr[1:] - part.indptr[0] + offset)
            offset += part.nnz
        return cls.trusted(
            np.concatenate(indptr),
            np.concatenate([p.indices for p in parts]),
            np.concatenate([p.values for p in parts]),
            max(p.n_columns for p in parts),
        )


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _owned(given: ArrayLike, kinds: str, name: str) -> NDArray[Any]:
    """A copy, which cannot be changed elsewhere, of a one-dimensional array."""
    array = np.asarray(given)
    if array.ndim != 1 or (array.dtype.kind not in kinds and array.size):
        what = "numbers" if "f" in kinds else "integers"
        raise OptionError(
            f"Rows: {name} is a {array.ndim}-dimensional array of {array.dtype}; "
            f"expected 1 dimension of {what}"
        )
    return _frozen(np.array(array, dtype=array.dtype.newbyteorder("="), order="C"))


def _too_wide(n_columns: int) -> str:
    return f"{n_columns:,} columns; at most {MAX_COLUMNS:,} are possible, as in LIBSVM"


def _check(
    indptr: NDArray[np.integer[Any]], indices: NDArray[np.integer[Any]], values: NDArray[Any], n_columns: int
) -> None:
    """Raise OptionError unless the arrays describe rows."""
    if not 0 <= n_columns <= MAX_COLUMNS:
        raise OptionError(f"Rows: {_too_wide(n_columns)}")
    if len(indptr) == 0 or len(indices) != len(values):
        raise OptionError(
            f"Rows: indptr, indices and values are inconsistent: they have {len(indptr)}, {len(indices)} "
            f"and {len(values)} entries"
        )
    first, last = int(indptr[0]), int(indptr[-1])
    if first < 0 or last > len(indices) or bool((indptr[1:] < indptr[:-1]).any()):
        raise OptionError(f"Rows: indptr does not ascend within 0 to {len(indices)}, the number of entries")
    if len(indices):
        for column in (int(indices.min()), int(indices.max())):
            if not 0 <= column < n_columns:
                raise OptionError(f"Rows: column {column} is out of range for {n_columns:,} columns")
    for begin in range(first + 1, last, _CHECKED):
        end = min(last, begin + _CHECKED)
        falls = indices[begin:end] <= indices[begin - 1 : end - 1]
        at, stop = np.searchsorted(indptr, (begin, end))
        falls[indptr[at:stop] - begin] = False  # a new row begins
        if falls.any():
            row = int(np.searchsorted(indptr, begin + int(falls.argmax()), side="right"))
            raise OptionError(f"Rows: the columns of row {row} are not in ascending order")


def as_array(data: Any, called: str) -> NDArray[Any]:
    """Data, called `called` in messages, as an array that can be made into numbers without a loss.

    An OptionError: some values are masked, complex, dates or durations, records, or None.
    """
    array = np.asanyarray(data)
    kind = array.dtype.kind
    if kind in "cmMV":
        raise OptionError(f"{called} is an array of {array.dtype}; expected real numbers")
    if kind == "O" and array.ndim:  # a single object is the wrong type, which the caller says
        for one in array.flat:
            if one is None or isinstance(one, np.datetime64 | np.timedelta64):
                raise OptionError(f"{called} holds {one!r}, which is not a number")
    # An attribute, since numpy.ma takes time to import.
    parts = data if isinstance(data, list | tuple) else (array,)  # a list of arrays loses their masks
    if any(isinstance(one, np.ndarray) and np.any(getattr(one, "mask", False)) for one in parts):
        raise OptionError(f"{called} has masked values; fill them, or leave their rows out")
    return np.asarray(array)


def as_floats(data: Any, called: str) -> FloatArray:
    """Data as an array of float64, checked by :func:`as_array`."""
    return as_array(data, called).astype(np.float64, copy=False)


def as_rows(data: Any) -> Rows:
    """Rows, a dense array-like or a SciPy sparse matrix as :class:`Rows`."""
    if isinstance(data, Rows):
        return data
    if is_sparse(data):
        return Rows.from_scipy(data)
    return Rows.from_dense(data)


def with_zeros(data: Any) -> Rows:
    """Rows that store the zeros of a dense array: LIBSVM finds a precomputed kernel's values by position."""
    if isinstance(data, Rows) or is_sparse(data):
        return as_rows(data)
    dense = np.ascontiguousarray(as_floats(data, "the array"))
    if dense.ndim != 2:
        raise OptionError(f"expected a 2-dimensional array, got {dense.ndim} dimensions")
    n, d = dense.shape
    columns = np.tile(np.arange(d, dtype=np.int32), n)
    return Rows(np.arange(n + 1, dtype=np.int64) * d, columns, dense.ravel(), d)
