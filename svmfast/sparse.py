"""SciPy's sparse matrices as sorted, checked arrays.

A matrix may come from a file or have been changed by its owner, and SciPy's native loops rely on indices that
nobody has checked: a conversion such as ``tocsr`` then writes outside its arrays. So NumPy first takes the
entries of any form apart, and their indices are checked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError

_Index = NDArray[np.int64]
_Entries = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


def is_sparse(data: Any) -> bool:
    """Whether an object is a sparse matrix or array."""
    return hasattr(data, "tocsr")


def csr_arrays(matrix: Any, *, zeros: bool = True) -> tuple[_Index, NDArray[Any], NDArray[np.float64], int]:
    """The rows of a sparse matrix of any form: indptr, ascending indices, values, number of columns.

    Entries of the same place are added, as SciPy does; stored zeros are kept or left out. An OptionError:
    these are no rows of real numbers.
    """
    # By its class: the other attributes of an object from a file may be anything.
    names = [one.__name__ for one in type(matrix).__mro__]
    form = next((name[:3] for name in names if name[3:] in ("_matrix", "_array")), "")
    shape = tuple(map(operator.index, matrix.shape))
    if form not in _ENTRIES or len(shape) != 2 or min(shape) < 0:
        raise OptionError(
            f"a {names[0]} of shape {shape}; expected a SciPy sparse matrix of 2 dimensions "
            f"({', '.join(_ENTRIES)})"
        )
    rows, columns, values = _ENTRIES[form](matrix, *shape)
    if values.dtype.kind not in "iufb":
        raise OptionError(f"the matrix holds {values.dtype}; expected real numbers")
    if not len(rows) == len(columns) == len(values) or values.ndim != 1:
        raise OptionError("the matrix has arrays of different lengths; expected a row, column and value each")
    rows, columns = _within(rows, shape[0], "row"), _within(columns, shape[1], "column")
    values = values.astype(np.float64)
    falls = np.flatnonzero(columns[1:] <= columns[:-1])
    if bool((rows[1:] >= rows[:-1]).all()) and bool((rows[falls + 1] > rows[falls]).all()):
        indptr = np.zeros(shape[0] + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=shape[0]), out=indptr[1:])
    else:
        from scipy.sparse import coo_matrix

        sorted_ = coo_matrix((values, (rows, columns)), shape=shape).tocsr()
        indptr, columns, values = sorted_.indptr.astype(np.int64), sorted_.indices, sorted_.data
    if not zeros:
        stored = values != 0
        indptr = np.append(0, np.cumsum(stored))[indptr]
        columns, values = columns[stored], values[stored]
    return indptr, columns, values, shape[1]


def _csr(matrix: Any, n: int, width: int) -> _Entries:
    return _compressed(matrix, n, np.asarray(matrix.data))


def _csc(matrix: Any, n: int, width: int) -> _Entries:
    columns, rows, values = _compressed(matrix, width, np.asarray(matrix.data))
    return rows, columns, values


def _coo(matrix: Any, n: int, width: int) -> _Entries:
    return matrix.row, matrix.col, np.asarray(matrix.data)


def _bsr(matrix: Any, n: int, width: int) -> _Entries:
    blocks = np.asarray(matrix.data)
    if blocks.ndim != 3 or 0 in blocks.shape[1:] or n % blocks.shape[1] or width % blocks.shape[2]:
        raise OptionError(f"the matrix has blocks of shape {blocks.shape[1:]}; expected a divisor of its own")
    high, wide = blocks.shape[1:]
    row, column, _ = _compressed(matrix, n // high, blocks)
    column = _within(column, width // wide, "column of blocks")
    rows = (row * high)[:, None, None] + np.arange(high)[:, None]
    columns = (column.astype(np.int64) * wide)[:, None, None] + np.arange(wide)
    shape = (len(row), high, wide)
    return (
        np.broadcast_to(rows, shape).ravel(),
        np.broadcast_to(columns, shape).ravel(),
        blocks[: len(row)].ravel(),
    )


def _dia(matrix: Any, n: int, width: int) -> _Entries:
    offsets, data = _whole(matrix.offsets, "offsets"), np.atleast_2d(matrix.data)
    if data.shape[0] != len(offsets):
        raise OptionError(f"the matrix has {data.shape[0]} diagonals and {len(offsets)} offsets")
    data = data[:, :width]
    columns = np.broadcast_to(np.arange(data.shape[1]), data.shape)
    rows = columns - offsets[:, None]
    stored = (rows >= 0) & (rows < n) & (data != 0)
    return rows[stored], columns[stored], data[stored]


def _lil(matrix: Any, n: int, width: int) -> _Entries:
    lengths = [len(one) for one in matrix.rows]
    columns = np.array([*chain.from_iterable(matrix.rows)] or np.zeros(0, np.int64))
    values = np.array([*chain.from_iterable(matrix.data)] or np.zeros(0))
    return np.repeat(np.arange(len(lengths)), lengths), columns, values


def _dok(matrix: Any, n: int, width: int) -> _Entries:
    entries = [*matrix.items()]
    places = np.array([place for place, _ in entries] or np.zeros((0, 2), np.int64))
    return places[:, 0], places[:, 1], np.array([value for _, value in entries] or np.zeros(0))


_ENTRIES: dict[str, Callable[[Any, int, int], _Entries]] = {
    "csr": _csr,
    "csc": _csc,
    "coo": _coo,
    "bsr": _bsr,
    "dia": _dia,
    "lil": _lil,
    "dok": _dok,
}


def _compressed(matrix: Any, n: int, data: NDArray[Any]) -> _Entries:
    """The major and the minor index of each entry of a matrix in compressed form, and its value."""
    starts, indices = _whole(matrix.indptr, "indptr"), np.asarray(matrix.indices)
    most = min(len(np.atleast_1d(indices)), len(np.atleast_1d(data)))
    ascends = len(starts) == n + 1 and starts[0] == 0 and not bool((starts[1:] < starts[:-1]).any())
    if not ascends or starts[-1] > most:
        raise OptionError(f"the matrix has an indptr that does not ascend from 0 within its {most} entries")
    major = np.repeat(np.arange(n, dtype=np.int32 if n < 2**31 else np.int64), np.diff(starts))
    return major, indices[: starts[-1]], data[: starts[-1]]


def _whole(given: Any, name: str) -> _Index:
    array = np.asarray(given)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise OptionError(f"the matrix has {name} of {array.dtype}; expected 1 dimension of integers")
    return array.astype(np.int64, copy=False)


def _within(given: NDArray[Any], size: int, name: str) -> NDArray[Any]:
    index = _whole(given, f"{name} numbers")
    for one in (int(index.min()), int(index.max())) if len(index) else ():
        if not 0 <= one < size:
            raise OptionError(f"the matrix has an entry in {name} {one:,}, but only {size:,} of them")
    return np.asarray(given) if np.asarray(given).dtype.kind == "i" else index
