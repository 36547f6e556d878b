"""The rows of leaves in a temporary file, for those that do not fit in memory.

Copies are collected, sorted by leaf and written, again and again: a leaf has as many pieces as were written.
"""

from __future__ import annotations

from _thread import allocate_lock
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from svmfast.formats.source import Closing
from svmfast.formats.target import reported
from svmfast.rows import Rows
from svmfast.solvers.leaves import Copies, HeldLeaves, LeafRows, LocalLeaves, joined
from svmfast.solvers.training_data import WorkingSet

_ROW_BYTES, _ENTRY_BYTES = 32, 12


class LeafFile(Closing, LocalLeaves):
    """Leaves in a temporary file; `room` bytes of rows are collected before they are written."""

    def __init__(self, n_leaves: int, width: int, room: int) -> None:
        self.sizes = np.zeros(n_leaves, dtype=np.int64)
        self._width, self._room, self._bytes = width, room, 0
        self._kept: list[tuple[WorkingSet, Copies]] = []
        #: Of each leaf, the place in the file, the rows and the entries of each piece.
        self._pieces: list[list[tuple[int, int, int]]] = [[] for _ in range(n_leaves)]
        self._file: IO[bytes] = TemporaryFile(prefix="svmfast-")  # noqa: SIM115 (closed by close())
        self._lock = allocate_lock()  # the file has one position

    def add(self, block: WorkingSet, copies: Copies) -> None:
        """Append the copies of a block that follows the ones added before."""
        self._kept.append((block, copies))
        entries = int(np.diff(block.rows.indptr)[copies.row].sum())
        self._bytes += _ROW_BYTES * len(copies.row) + _ENTRY_BYTES * entries
        if self._bytes >= self._room:
            self.flush()

    def flush(self) -> None:
        """Write what was collected; call it after the last block, too."""
        blocks = [block for block, _ in self._kept]
        if not blocks:
            return
        starts = np.cumsum([0, *(len(block.labels) for block in blocks)]).tolist()[:-1]
        copies = joined([copies for _, copies in self._kept], starts)
        held = HeldLeaves(WorkingSet.joined(blocks), copies, len(self.sizes))
        with reported("temporary file"):
            for number in np.flatnonzero(held.sizes):
                one = held.leaf(int(number))
                rows = one.rows
                self._pieces[number].append((self._file.tell(), len(rows), rows.nnz))
                lengths = np.diff(rows.indptr)
                for array in (one.numbers, one.labels, one.weights, lengths, rows.values, rows.indices):
                    self._file.write(array.tobytes())
        self.sizes += held.sizes
        self._kept, self._bytes = [], 0

    def leaf(self, number: int) -> LeafRows:
        places = self._pieces[number]
        n, entries = (sum(place[k] for place in places) for k in (1, 2))
        numbers, lengths, indices = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(entries, np.int32)
        labels, weights, values = np.empty(n), np.empty(n), np.empty(entries)
        row = entry = 0
        with self._lock:
            for offset, count, stored in places:
                self._file.seek(offset)
                own, cells = slice(row, row + count), slice(entry, entry + stored)
                arrays = numbers[own], labels[own], weights[own], lengths[own], values[cells], indices[cells]
                for array in arrays:
                    if self._file.readinto(array.view(np.uint8)) != array.nbytes:  # type: ignore[attr-defined]
                        raise OSError("the temporary file of the leaves ended too early")
                row, entry = own.stop, cells.stop
        rows = Rows.trusted(np.concatenate([[0], np.cumsum(lengths)]), indices, values, self._width)
        return LeafRows(rows, labels, numbers, weights, number)

    def close(self) -> None:
        """Delete the temporary file."""
        self._file.close()
