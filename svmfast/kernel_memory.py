"""Estimates how much memory the engines of kernel sums take, before it is allocated."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmfast.kernels import LAPLACIAN
from svmfast.laplacian import VECTORS
from svmfast.rows import FloatArray, Rows

#: Vectors are stored in panels that are padded with zeros. These are the largest panels, those of AVX-512, in
#: double and in single precision.
_PANEL, _SINGLE_PANEL = 24, 48
#: Shares of nonzero values from which on vectors may be stored densely (decision.cpp; cells.cpp).
_DENSE_DECISION, _DENSE_CELL = 0.04, 0.1
#: Columns that are marked at a time.
_MARKED = 1 << 20
#: Bytes for a column: its place in a hash table (active_columns.hpp), and where its entries begin.
_COLUMN = 64


@dataclass(frozen=True, eq=False)
class ExpansionSizes:
    """The sizes of n expansions, on which the memory of their engines depends."""

    #: (n, groups) number of vectors of each class; a single group if there are no classes.
    sizes: FloatArray
    #: (n,) number of stored values, and of columns in use.
    entries: FloatArray
    columns: FloatArray

    @classmethod
    def of(cls, vectors: Rows, sizes: ArrayLike) -> ExpansionSizes:
        """Measure n expansions whose vectors are stored one after another, with ``(n, groups)`` `sizes`."""
        groups = np.asarray(sizes, dtype=np.int64)
        starts = vectors.indptr[np.concatenate([[0], np.cumsum(groups.sum(axis=1))])]
        parts = [vectors.indices[a:b] for a, b in pairwise(starts.tolist())]
        columns = np.array([_distinct(part) for part in parts], dtype=np.float64)
        return cls(groups.astype(np.float64), np.diff(starts).astype(np.float64), columns)

    @property
    def vectors(self) -> FloatArray:
        """Number of vectors of each expansion, ``(n,)``."""
        found: FloatArray = self.sizes.sum(axis=1)
        return found

    def densely(self, padded: FloatArray, share: float) -> FloatArray:
        """Count each expansion's densely stored values, of `padded` vectors; 0 if it is too sparse."""
        dense = self.entries >= share * self.vectors * self.columns
        found: FloatArray = np.where(dense, padded * self.columns, 0.0)
        return found


def _distinct(columns: NDArray[np.int32]) -> int:
    """Count distinct columns, without an array as wide as the largest one of a few, or as long as all."""
    if len(columns) and int(columns.max()) < 4 * len(columns):
        found = np.zeros(int(columns.max()) + 1, dtype=np.bool_)
        for k in range(0, len(columns), _MARKED):  # NumPy converts indices to 8 bytes
            found[columns[k : k + _MARKED]] = True
        return int(np.count_nonzero(found))
    return len(np.unique(columns))


def decision_bytes(kernel: str, of: ExpansionSizes, width: int, functions: int) -> float:
    """Bound from above the bytes that the :class:`DecisionEngine` of all expansions take together.

    A vector has `width` coefficients.
    """
    padded, single = ((np.ceil(of.sizes / w) * w).sum(axis=1) for w in (_PANEL, _SINGLE_PANEL))
    sparse = 24 * of.entries + _COLUMN * of.columns + 2000
    if kernel == LAPLACIAN:
        # Some vectors at a time are dense in the columns that they have. There are two copies of the
        # coefficients, one row for each pair of classes.
        dense = np.minimum(of.vectors * of.columns, VECTORS * of.entries)
        return float(np.sum(8 * dense + sparse + 16 * of.vectors * (1 + functions)))
    # Values and coefficients are stored in double precision, in single precision, and as integers: two bytes
    # each for an even number of columns, or one byte each for a number of columns divisible by four.
    weights = 8 * of.columns * functions if kernel == "linear" else 0.0
    dense = of.densely(8 * padded + 6 * single, _DENSE_DECISION)
    coefficients = 8 * padded * (1 + width) + 4 * single * (5 + width)
    return float(np.sum(dense + sparse + coefficients + weights))


def cell_bytes(of: ExpansionSizes, pseudo: ArrayLike, functions: int, features: int) -> float:
    """Bound from above the bytes of the native sums of cells, with so many `pseudo` landmarks a cell."""
    m, groups, q = of.vectors, of.sizes.shape[1], np.asarray(pseudo, dtype=np.float64)
    # In double and in single precision, in all columns; lanes are filled up to whole vectors.
    listed = of.entries < _DENSE_CELL * features * m
    dense = np.where(listed, 0.0, features * (8 * (m + 7) + 4 * (m + 15)))
    width = groups if groups > 1 else functions
    # And once more while they are packed.
    coefficients = (m + q + groups) * (12 * (width + 15) + 8 * width) + 40 * (functions + groups**2 + 16)
    sparse = 24 * of.entries + _COLUMN * of.columns + 2000
    return float(np.sum(dense + sparse + coefficients + 8 * (q + 7) * (2 + m)) + 2 * _COLUMN * features)
