"""How much memory the engines of kernel sums take, before any is taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from svmfast import _core
from svmfast.kernels import LAPLACIAN
from svmfast.rows import FloatArray, Rows

#: Vectors stand in panels filled up with zeros, of at most so many (AVX-512; fewer elsewhere): in double
#: precision, and in single precision.
_PANEL, _SINGLE_PANEL = 24, 48
#: Shares of values that are not zero above which vectors may be held densely (decision.cpp; cells.cpp).
_DENSE_DECISION, _DENSE_CELL = 0.04, 0.1


@dataclass(frozen=True, eq=False)
class ExpansionSizes:
    """How large expansions are: what the memory of their engines depends on.

    Attributes
    ----------
    sizes : (n, groups) float64
        Vectors of each class of each expansion; one group without classes.
    entries, columns : (n,) float64
        Stored values, and columns in use.
    """

    sizes: FloatArray
    entries: FloatArray
    columns: FloatArray

    @classmethod
    def of(cls, vectors: Rows, sizes: ArrayLike) -> ExpansionSizes:
        """Return the sizes of expansions whose vectors follow each other, (n, groups)."""
        groups = np.asarray(sizes, dtype=np.int64)
        starts = vectors.indptr[np.concatenate([[0], np.cumsum(groups.sum(axis=1))])]
        columns = _core.count_columns(
            np.ascontiguousarray(starts, dtype=np.int64), np.ascontiguousarray(vectors.indices)
        )
        return cls(groups.astype(np.float64), np.diff(starts).astype(np.float64), columns.astype(np.float64))

    @property
    def vectors(self) -> FloatArray:
        """Vectors of each expansion, (n,)."""
        found: FloatArray = self.sizes.sum(axis=1)
        return found

    def densely(self, padded: FloatArray, share: float) -> FloatArray:
        """Return the limit on each expansion's dense numbers: 0 if it is too sparse."""
        dense = self.entries >= share * self.vectors * self.columns
        found: FloatArray = np.where(dense, padded * self.columns, 0.0)
        return found


def decision_bytes(kernel: str, of: ExpansionSizes, width: int, functions: int) -> float:
    """Return the most bytes that engines (:class:`DecisionEngine`) of expansions take together.

    Parameters
    ----------
    kernel : str
    of : ExpansionSizes
    width, functions : int
        Coefficients of a vector, and decision functions.
    """
    padded, single = ((np.ceil(of.sizes / w) * w).sum(axis=1) for w in (_PANEL, _SINGLE_PANEL))
    sparse = 24 * of.entries + 40 * of.columns + 2000
    if kernel == LAPLACIAN:
        # Coefficients are there twice, by pairs of classes.
        padded = np.ceil(of.vectors / _PANEL) * _PANEL
        return float(np.sum(8 * of.densely(padded, _DENSE_CELL) + sparse + 16 * padded * functions))
    # Values and coefficients in double precision, beside them in single precision, and as integers: two bytes
    # of an even number of columns, or one byte of a number that four divide.
    weights = 8 * of.columns * functions if kernel == "linear" else 0.0
    dense = of.densely(8 * padded + 6 * single, _DENSE_DECISION)
    coefficients = 8 * padded * (1 + width) + 4 * single * (5 + width)
    return float(np.sum(dense + sparse + coefficients + weights))


def cell_bytes(of: ExpansionSizes, pseudo: ArrayLike, functions: int) -> float:
    """Return the most bytes that a :class:`CellEngine` takes.

    Parameters
    ----------
    of : ExpansionSizes
        Of the cells; with several groups coefficients are in LIBSVM's arrangement.
    pseudo : (cells,) int
        Pseudo landmarks of each cell.
    functions : int
        Decision functions.
    """
    m, groups, q = of.vectors, of.sizes.shape[1], np.asarray(pseudo, dtype=np.float64)
    # Held in two arrangements, and once more while they are packed.
    dense = 8 * of.densely(np.ceil(m / 8) * 8 + 2 * m, _DENSE_CELL)
    coefficients = 16 * (m + q) * (groups if groups > 1 else functions) + 16 * (functions + groups**2)
    return float(np.sum(dense + 24 * of.entries + 40 * of.columns + coefficients + 8 * q * (2 + m) + 2000))
