"""The rows of leaves in a temporary file, for those that do not fit in memory.

Copies are collected, sorted by leaf and written, again and again: a leaf has as many pieces as were written.
"""

from __future__ import annotations

from _thread import allocate_lock
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from svmfast.formats.source import Closing
from svmfast.formats.target import reported
from svmfast.rows import IntArray, Rows
from svmfast.solvers.leaves import Copies, LeafRows, LocalLeaves, by_leaf, joined
from svmfast.solvers.training_data import WorkingSet

#: A copy of a row and an entry in the file.
_ROW = np.dtype([("number", "i8"), ("label", "f8"), ("weight", "f8"), ("entries", "i8")])
_ENTRY = np.dtype([("value", "f8"), ("column", "i4")])
#: Entries that are written at a time.
_WRITTEN = 1 << 20


@dataclass(frozen=True)
class _Pieces:
    """A piece of every leaf: all rows by leaf from `offset` on, then all entries."""

    offset: int
    #: (leaves + 1,) where the rows and the entries of each leaf start.
    rows: IntArray
    entries: IntArray

    def places(self, leaf: int) -> list[tuple[Any, int, int]]:
        """Kind, place in the file and count of a leaf's rows, then of its entries."""
        found, begin = [], self.offset
        for kind, starts in ((_ROW, self.rows), (_ENTRY, self.entries)):
            first, last = int(starts[leaf]), int(starts[leaf + 1])
            found.append((kind, begin + first * kind.itemsize, last - first))
            begin += int(starts[-1]) * kind.itemsize
        return found


class LeafFile(Closing, LocalLeaves):
    """Leaves in a temporary file; `room` bytes of rows are collected before they are written."""

    def __init__(self, n_leaves: int, width: int, room: int) -> None:
        self.sizes = np.zeros(n_leaves, dtype=np.int64)
        self._width, self._room = width, room
        self._kept: list[tuple[WorkingSet, Copies]] = []
        self._bytes = 0
        self._pieces: list[_Pieces] = []
        self._file: IO[bytes] = TemporaryFile(prefix="svmfast-")  # noqa: SIM115 (closed by close())
        self._lock = allocate_lock()  # the file has one position

    def add(self, block: WorkingSet, copies: Copies) -> None:
        """Append the copies of a block that follows the ones added before."""
        self._kept.append((block, copies))
        lengths = np.diff(block.rows.indptr)
        self._bytes += _ROW.itemsize * len(copies.row) + _ENTRY.itemsize * int(lengths[copies.row].sum())
        if self._bytes >= self._room:
            self.flush()

    def flush(self) -> None:
        """Write what was collected; call it after the last block, too."""
        blocks, parts = [block for block, _ in self._kept], [copies for _, copies in self._kept]
        self._kept, self._bytes = [], 0
        copies = joined(parts, np.cumsum([0, *map(len, (b.rows for b in blocks))])[:-1].tolist())
        if not len(copies.row):
            return
        order = by_leaf(copies)
        row, leaf = copies.row[order], copies.leaf[order]
        rows = Rows.concatenate([block.rows for block in blocks])
        table = np.empty(len(row), dtype=_ROW)
        table["number"] = np.concatenate([block.numbers for block in blocks])[row]
        table["label"] = np.concatenate([block.labels for block in blocks])[row]
        table["weight"], table["entries"] = copies.weight[order], np.diff(rows.indptr)[row]
        starts = np.searchsorted(leaf, np.arange(len(self.sizes) + 1))
        ends = np.concatenate([[0], np.cumsum(table["entries"])])
        with reported("temporary file"), self._lock:
            offset = self._file.seek(0, 2)
            self._file.write(table.data)
            first = 0
            while first < len(row):
                last = max(first + 1, int(np.searchsorted(ends, ends[first] + _WRITTEN, side="right")) - 1)
                some = rows.take(row[first:last])
                entries = np.empty(some.nnz, dtype=_ENTRY)
                entries["value"], entries["column"] = some.values, some.indices
                self._file.write(entries.data)
                first = last
        self._pieces.append(_Pieces(offset, starts, ends[starts]))
        self.sizes += np.diff(starts)

    def leaf(self, number: int) -> LeafRows:
        found: list[list[NDArray[Any]]] = [[np.empty(0, _ROW)], [np.empty(0, _ENTRY)]]
        with self._lock:
            for pieces in self._pieces:
                for parts, (kind, offset, count) in zip(found, pieces.places(number), strict=True):
                    part = np.empty(count, dtype=kind)
                    self._file.seek(offset)
                    if self._file.readinto(part.view(np.uint8)) != part.nbytes:  # type: ignore[attr-defined]
                        raise OSError("the temporary file of the leaves ended too early")
                    parts.append(part)
        table, entries = map(np.concatenate, found)
        indptr = np.concatenate([[0], np.cumsum(table["entries"])])
        columns, values = entries["column"].copy(), entries["value"].copy()
        rows = Rows.trusted(indptr, columns, values, self._width)
        labels, numbers, weights = (table[name].copy() for name in ("label", "number", "weight"))
        return LeafRows(rows, labels, numbers, weights, number)

    def close(self) -> None:
        """Delete the temporary file."""
        self._file.close()
