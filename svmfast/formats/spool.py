"""Training data larger than memory: parsed once into a temporary file, read back in shuffled working sets.

The input may be a pipe or compressed. Text is parsed only once, not in every pass. Each pass assigns the
parts of the file to working sets by a seeded permutation, so that rows far apart in the file are trained
together. A working set takes at most half of the memory allowed.
"""

from __future__ import annotations

from _thread import allocate_lock
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError
from svmfast.formats.leaf_file import LeafFile
from svmfast.formats.source import Closing
from svmfast.formats.target import reported
from svmfast.rows import BoolArray, FloatArray, Rows
from svmfast.solvers.leaves import Copies, LocalLeaves
from svmfast.solvers.row_blocks import LocalBlocks, RowBlocks
from svmfast.solvers.training_data import (
    LabelOrder,
    WorkingSet,
    WorkingSets,
    compact,
    expand,
    occurring,
    random_order,
)

A = TypeVar("A")

#: With fewer parts per working set, the rows would hardly be shuffled.
PARTS_PER_SET = 16
_LEAST = 1 << 20
_ROW_BYTES = 24  # label, pointer, number
_ENTRY_BYTES = 12
_SHUFFLE = 0x5E7


@dataclass(frozen=True)
class _Part:
    """Consecutive rows in the temporary file: labels, row pointers from 0, values, indices."""

    offset: int
    rows: int
    entries: int
    first: int


class Spool(Closing, LocalBlocks):
    """Training rows that are moved to a temporary file if they exceed half of `memory`. A context manager.

    `in_file` moves them there in any case. Add the rows in order, then call :meth:`finish`; afterwards the
    spool is a :class:`svmfast.solvers.row_blocks.TrainingSource`. Rows that fit in memory are one working
    set.
    """

    def __init__(self, memory: int, *, in_file: bool = False) -> None:
        if memory < _LEAST:
            raise OptionError(f"{memory:,} bytes of memory for training rows; at least {_LEAST:,} are needed")
        self.n_rows = self.n_features = 0
        self.columns = np.zeros(0, np.int32)
        self.labels = LabelOrder()
        self._room = memory // 2
        # Parts depend only on the rows, not on the blocks in which a pipe happens to deliver them.
        self._part_bytes = self._room // PARTS_PER_SET
        self._kept: list[tuple[Rows, FloatArray]] = []
        self._kept_bytes = self._bytes = 0
        self._file: IO[bytes] | None = None
        self._in_file = in_file
        self._leaf_files: list[LeafFile] = []
        self._parts: list[_Part] = []
        self._whole: WorkingSet | None = None
        self._drawn: Spool | None = None
        self._lock = allocate_lock()  # the file has one position
        self.n_sets = 1
        self._final: Callable[[FloatArray], FloatArray] = lambda labels: labels

    def add(self, rows: Rows, labels: FloatArray) -> None:
        """Append rows."""
        self.labels.add(labels, self.n_rows)
        # The union of sorted columns, computed only if a block has new ones.
        new = np.setdiff1d(occurring(rows), self.columns, assume_unique=True)
        if len(new):
            self.columns = np.union1d(self.columns, new).astype(np.int32)
        self.n_features = max(self.n_features, rows.n_columns)
        self.n_rows += len(rows)
        self._bytes += self._keep(rows, labels)
        if self._file is None and (self._in_file or self._bytes > self._room):
            self._file = TemporaryFile(prefix="svmfast-")  # noqa: SIM115 (closed by close())
        if self._file is not None and self._kept_bytes >= self._part_bytes:
            self._spill()

    def relabel(self, final: Callable[[FloatArray], FloatArray]) -> None:
        """Replace the labels of all rows added so far, when they are read back.

        `final` returns new labels for labels; different ones stay different.
        """
        self._final = final
        self.labels.values = final(np.array(self.labels.values)).tolist()

    def finish(self) -> Spool:
        """End the input; afterwards working sets are available."""
        if self._file is None:
            rows = compact(Rows.concatenate([rows for rows, _ in self._kept]), self.columns)
            labels = np.concatenate([labels for _, labels in self._kept]) if self._kept else np.zeros(0)
            self._whole = WorkingSet(rows, self._final(labels), np.arange(self.n_rows, dtype=np.int64))
            self._kept = []
        else:
            self._spill(everything=True)
            self.n_sets = max(1, min(-(-self._bytes // self._room), len(self._parts)))
        return self

    def working_set(self, seed: int, epoch: int, number: int) -> WorkingSet:
        """Read parts of the file, drawn by seed and epoch; a pass has each part in one working set."""
        if self._whole is not None:
            return self._whole
        order = random_order(len(self._parts), seed, epoch, _SHUFFLE)
        begin, end = (len(order) * n // self.n_sets for n in (number, number + 1))
        parts = [self._parts[k] for k in order[begin:end]]
        return self._read([(part, 0, part.rows) for part in parts])

    @property
    def n_bytes(self) -> int:
        return self._bytes

    def working_sets(
        self, take: Callable[[WorkingSet, A], BoolArray] | None, argument: A, threads: int = 1
    ) -> WorkingSets:
        if take is None:
            return self
        self._drawn = drawn(self, 2 * self._room, take, argument, threads)
        return self._drawn

    def rows_between(self, first: int, last: int) -> WorkingSet:
        if (whole := self._whole) is not None:
            return whole.between(first, last)
        starts = [part.first for part in self._parts]
        parts = self._parts[bisect_right(starts, first) - 1 : bisect_left(starts, last)]
        with self._lock:
            return self._read([(p, max(0, first - p.first), min(p.rows, last - p.first)) for p in parts])

    def sent(
        self, leaf_of: Callable[[WorkingSet, A], Copies], argument: A, n_leaves: int, threads: int = 1
    ) -> LocalLeaves:
        if self._whole is not None:
            return super().sent(leaf_of, argument, n_leaves, threads)

        def with_block(block: WorkingSet, argument: A) -> tuple[WorkingSet, Copies]:
            return block, leaf_of(block, argument)

        leaves = LeafFile(n_leaves, len(self.columns), self._room // 4)
        self._leaf_files.append(leaves)
        for block, copies in self.each(with_block, argument, threads):
            leaves.add(block, copies)
        leaves.flush()
        return leaves

    def _keep(self, rows: Rows, labels: FloatArray) -> int:
        """Keep rows in memory; return their bytes."""
        self._kept.append((rows, labels))
        size = _ROW_BYTES * len(rows) + _ENTRY_BYTES * rows.nnz
        self._kept_bytes += size
        return size

    def _spill(self, everything: bool = False) -> None:
        """Write complete parts; rows that do not fill a part are kept for the next one."""
        kept, self._kept, self._kept_bytes = deque(self._kept), [], 0
        while kept:  # one part at a time: joining all kept rows would double their memory
            self._keep(*kept.popleft())
            if self._kept_bytes >= self._part_bytes or (everything and not kept):
                self._spill_joined(everything and not kept)

    def _spill_joined(self, everything: bool) -> None:
        rows = Rows.concatenate([rows for rows, _ in self._kept])
        labels = np.concatenate([labels for _, labels in self._kept])
        ends = _ROW_BYTES * np.arange(len(rows) + 1, dtype=np.int64) + _ENTRY_BYTES * rows.indptr
        first = 0
        while first < len(rows):
            last = int(np.searchsorted(ends, ends[first] + self._part_bytes))
            if last > len(rows):
                if not everything:
                    break
                last = len(rows)
            self._write(rows[first:last], labels[first:last])
            first = last
        self._kept = [(rows[first:], labels[first:])] if first < len(rows) else []
        self._kept_bytes = int(ends[-1] - ends[first])

    def _write(self, rows: Rows, labels: FloatArray) -> None:
        assert self._file is not None
        first, last = int(rows.indptr[0]), int(rows.indptr[-1])
        arrays = (labels, rows.indptr - first, rows.values[first:last], rows.indices[first:last])
        done = self._parts[-1].first + self._parts[-1].rows if self._parts else 0
        with reported("temporary file"):
            self._parts.append(_Part(self._file.tell(), len(rows), last - first, done))
            for array in arrays:
                self._file.write(np.ascontiguousarray(array).data)

    def _read(self, parts: list[tuple[_Part, int, int]]) -> WorkingSet:
        """Read the rows `first` to `last` - 1 of each part."""
        n = sum(last - first for _, first, last in parts)
        labels, numbers = np.empty(n), np.empty(n, dtype=np.int64)
        indptr = np.zeros(n + 1, dtype=np.int64)
        row, places = 0, []
        for part, first, last in parts:
            own, pointers = slice(row, row + last - first), np.empty(last - first + 1, dtype=np.int64)
            self._read_into(labels[own], part.offset + 8 * first)
            self._read_into(pointers, part.offset + 8 * (part.rows + first))
            indptr[row + 1 : own.stop + 1] = pointers[1:] - pointers[0] + indptr[row]
            numbers[own] = np.arange(part.first + first, part.first + last)
            places.append((slice(int(indptr[row]), int(indptr[own.stop])), int(pointers[0])))
            row = own.stop
        values, indices = np.empty(indptr[-1]), np.empty(indptr[-1], dtype=np.int32)
        for (part, _, _), (cells, entry) in zip(parts, places, strict=True):
            begin = part.offset + 8 * (2 * part.rows + 1)
            self._read_into(values[cells], begin + 8 * entry)
            self._read_into(indices[cells], begin + 8 * part.entries + 4 * entry)
        rows_read = Rows.trusted(indptr, indices, values, self.n_features)
        return WorkingSet(compact(rows_read, self.columns), self._final(labels), numbers)

    def _read_into(self, array: NDArray[Any], offset: int) -> None:
        assert self._file is not None
        self._file.seek(offset)
        if self._file.readinto(array.view(np.uint8)) != array.nbytes:  # type: ignore[attr-defined]
            raise OSError("the temporary file of the training rows ended too early")

    def close(self) -> None:
        """Delete the temporary files."""
        for file in (self._drawn, self._file, *self._leaf_files):
            if file is not None:
                file.close()


def drawn(
    source: RowBlocks,
    memory: int,
    take: Callable[[WorkingSet, A], BoolArray] | None,
    argument: A,
    threads: int,
) -> Spool:
    """A spool of the rows that `take` marks, with the columns of the whole source; without `take` all rows.

    If they are not all rows, it takes half of `memory`, which the source shares.
    """
    spool = Spool(memory if take is None else max(memory // 2, _LEAST))
    spool.columns, spool.n_features = source.columns, source.n_features
    for rows, labels in source.each(_marked, (take, argument), threads):
        spool.add(expand(rows, source.columns, source.n_features), labels)
    return spool.finish()


def _marked(block: WorkingSet, asked: tuple[Any, Any]) -> tuple[Rows, FloatArray]:
    take, argument = asked
    if take is None:
        return block.rows, block.labels
    mask = take(block, argument)
    return block.rows.take(mask), block.labels[mask]
