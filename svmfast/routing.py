"""Finds the cell of each row with a tree of centers, and orders rows by cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.rows import FloatArray, IntArray, Rows

#: At most this many children of a node are looked at together, in single precision; others are padded.
ROUTER_WIDTH = 16


class Router:
    """A tree of centers. A row descends from the root to the nearest child until it reaches a leaf, its cell.

    `children`, ``(nodes,)``, are their numbers, breadth first from the root; the cells are the leaves in this
    order. `centers`, ``(nodes - 1, d)``, are those of all nodes but the root; `columns`, ascending, are the
    rows' columns that they have, 0 to d - 1 by default.
    """

    def __init__(self, children: IntArray, centers: FloatArray, columns: IntArray | None = None) -> None:
        self._native = _core.Router(
            np.arange(centers.shape[1], dtype=np.int32) if columns is None else columns.astype(np.int32),
            np.ascontiguousarray(children, dtype=np.int64),
            np.ascontiguousarray(centers, dtype=np.float64),
        )
        self.n_cells = int(self._native.cells)

    @classmethod
    def flat(cls, centers: FloatArray, columns: IntArray | None = None) -> Router:
        """Make the router that finds the nearest of `centers`."""
        return cls(flat_tree(len(centers)), centers, columns)

    def route(self, rows: Rows, *, threads: int = 1) -> NDArray[np.int32]:
        """Find the cell of each row, ``(n,)`` int32: the nearest center; ties go to the lower index."""
        return self._native.route(rows, threads)

    def group(self, rows: Rows, *, threads: int = 1) -> tuple[IntArray, IntArray, Rows]:
        """Sort rows by cell: their positions in `rows`, where each cell starts, and the sorted rows."""
        if self.n_cells == 1:
            n = len(rows)
            return np.arange(n), np.array([0, n]), rows
        cell = self.route(rows, threads=threads)
        order = np.argsort(cell, kind="stable")
        start = np.zeros(self.n_cells + 1, dtype=np.int64)
        np.cumsum(np.bincount(cell, minlength=self.n_cells), out=start[1:])
        return order, start, rows.take(order)


def flat_tree(cells: int) -> IntArray:
    """The numbers of children, as :class:`Router` takes them, of a root with `cells` leaves."""
    children = np.zeros(cells + 1, dtype=np.int64)
    children[0] = cells
    return children
