"""Which cell a row belongs to: trees of centers, and rows ordered by cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.rows import Rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: The children of a node are padded to a multiple of this (router.hpp).
ROUTER_WIDTH = 16


class Router:
    """A tree of centers: a row goes from the root to the nearest child until it reaches a leaf, its cell.

    Parameters
    ----------
    children : (nodes,) int64
        How many children each node has, breadth first; a node without children is a leaf, and leaves are the
        cells in that order. Node 0 is the root. Flat: ``[c, 0, 0, ...]``.
    centers : (nodes - 1, d) float64
        Centers of all nodes but the root. Columns beyond d do not matter: they add the same to all distances.
    """

    def __init__(self, children: IntArray, centers: FloatArray) -> None:
        self._native = _core.Router(
            np.ascontiguousarray(children, dtype=np.int64), np.ascontiguousarray(centers, dtype=np.float64)
        )
        self.n_cells = int(self._native.cells)

    @classmethod
    def flat(cls, centers: FloatArray) -> Router:
        """Return the router to the nearest of `centers`."""
        return cls(flat_tree(len(centers)), centers)

    def route(self, rows: Rows, *, threads: int = 1) -> NDArray[np.int32]:
        """Return the cell of each row, that of the nearest center; the first of equals."""
        return self._native.route(rows.indptr, rows.indices, rows.values, threads)

    def group(self, rows: Rows, *, threads: int = 1) -> tuple[IntArray, IntArray, Rows]:
        """Return ``(order, start, sorted rows)``: cell c has the sorted rows ``start[c]:start[c + 1]``, which
        are the rows ``order[start[c]:start[c + 1]]``."""
        if self.n_cells == 1:
            n = len(rows)
            return np.arange(n), np.array([0, n]), rows
        cell = self.route(rows, threads=threads)
        order, start, indptr, indices, values = _core.group_rows(
            cell, self.n_cells, rows.indptr, rows.indices, rows.values
        )
        return order, start, Rows.trusted(indptr, indices, values, rows.n_columns)


def flat_tree(cells: int) -> IntArray:
    """Return the counts of children of a root with `cells` leaves."""
    children = np.zeros(cells + 1, dtype=np.int64)
    children[0] = cells
    return children
