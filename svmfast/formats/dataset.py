"""Rows with their labels, block by block: what every reader gives, scaled here if they are read as a stream.

Rows that are in memory are scaled where they are used: for a prediction by ``models.answer``, for a method by
``commands.method_inputs``.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from svmfast.errors import DataFormatError, MemoryLimitError, NotFiniteError
from svmfast.formats.ranges import read_scaling
from svmfast.formats.source import Closing, SourceLike, open_source
from svmfast.models.scaling import Scaling
from svmfast.options import MEMORY, Reading
from svmfast.rows import BoolArray, FloatArray, Rows

#: Rows may take this many times the memory of the input that they are read from.
_MOST_EXPANDED = 100


def _remark(text: str) -> Any:
    return field(default=0, metadata={"remark": text})


@dataclass(frozen=True, slots=True)
class Notes:
    """Counts of irregularities that a reader tolerated, as `messages` says; all are 0 for a plain file."""

    comment_lines: int = _remark("comment line{s} skipped")
    line_comments: int = _remark("comment{s} at the end of a row ignored")
    qid_tokens: int = _remark("qid: token{s} ignored")
    blank_lines: int = _remark("blank line{s} skipped")
    sorted_rows: int = _remark("row{s} with unsorted indices sorted")
    unknown_serials: int = _remark("row{s} with '0:?' for a serial number")
    byte_order_mark: int = _remark("UTF-8 byte order mark dropped")
    blank_rows: int = _remark("blank line{s} read as row{s} of zeros")

    def __add__(self, other: Notes) -> Notes:
        return Notes(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __bool__(self) -> bool:
        return any(getattr(self, f.name) for f in fields(self))

    def messages(self) -> list[str]:
        """A sentence for each count that is not 0, in the order of the attributes."""
        counts = ((getattr(self, f.name), f.metadata["remark"]) for f in fields(self))
        return [f"{n:,} {text.format(s='' if n == 1 else 's')}" for n, text in counts if n]


@dataclass(frozen=True, slots=True)
class Dataset:
    """Rows with their labels.

    Attributes
    ----------
    rows : Rows
        Zero-based columns; for a precomputed kernel, column `i` is index `i`, with the serial number in
        column 0. `n_columns` is the width of the widest row read so far from the input.
    labels : (n,) float64
        Finite, or nan for data without labels.
    path : str
        Name of the input in messages.
    first_line : int
        Line number of the first row, from 1; 0 if there are no rows, or within lines read at once.
    notes : Notes
        Irregularities that were tolerated in these lines.
    kept : pyarrow.RecordBatch or None
        The columns of a table to keep, for the same rows.
    columns : tuple of str or None
        The names of a table's features.
    missing : (n,) bool or None
        The rows of a table that lack a feature, which is 0 here; None if such rows are refused.
    """

    rows: Rows
    labels: FloatArray
    path: str
    first_line: int
    notes: Notes
    kept: Any = None
    columns: tuple[str, ...] | None = None
    missing: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def nbytes(self) -> int:
        """The memory of the rows and labels."""
        arrays = (self.rows.indptr, self.rows.indices, self.rows.values, self.labels)
        return sum(one.nbytes for one in arrays)

    def scaled(self, scaling: Scaling | None, first: int, whole: bool = False) -> Iterator[Dataset]:
        """Yield the scaled rows, in blocks that stay small if a scaling turns zeros into values.

        `first` is the number of the first row, for messages; `whole` yields one block.
        """
        if scaling is None:
            yield self
            return
        for part in [slice(0, len(self))] if whole else scaling.blocks(self.rows):
            with naming_file(self.path):
                rows = scaling.apply(self.rows[part], first=first + part.start)
                labels = scaling.apply_labels(self.labels[part])
            kept = None if self.kept is None else self.kept.slice(part.start, len(rows))
            missing = None if self.missing is None else self.missing[part]
            one = replace(self, rows=rows, labels=labels, kept=kept, missing=missing)
            yield one if part.start == 0 else replace(one, first_line=0, notes=Notes())


def as_one_dataset(blocks: Sequence[Dataset]) -> Dataset:
    """All rows as one dataset, without columns to keep."""
    rows = Rows.concatenate([block.rows for block in blocks])
    labels = np.concatenate([block.labels for block in blocks])
    return replace(blocks[0], rows=rows, labels=labels, kept=None)


def load_scaling(reading: Reading, memory: int = MEMORY) -> Reading:
    """The reading with the scaling itself, if it has the path of one."""
    if not isinstance(reading.scale, str | os.PathLike):
        return reading
    return replace(reading, scale=read_scaling(reading.scale, memory=memory))


class RowStream(Closing, Iterator[Dataset]):
    """The datasets of one input, in order. A context manager.

    A reader implements :meth:`_next`, and calls :meth:`close` at the end of the input. `path` is the input's
    name in messages; `notes` are the irregularities tolerated so far, including comments after the last row.
    """

    def __init__(self, source: SourceLike, reading: Reading) -> None:
        self._reading = load_scaling(reading)
        self._scaling: Scaling | None = self._reading.scale
        self._source = open_source(source)
        self.path, self.notes, self.rows_read = self._source.name, Notes(), 0
        self._pieces: Iterator[Dataset] = iter(())

    @property
    def bytes_total(self) -> int | None:
        """Size of the stored input in bytes, if known in advance."""
        return self._source.size

    @property
    def bytes_read(self) -> int:
        """Stored bytes read so far."""
        return self._source.consumed

    @abstractmethod
    def _next(self) -> Dataset:
        """The next rows as they are stored; raise StopIteration after the last ones."""

    def __next__(self) -> Dataset:
        """The rows that are available; the error of a faulty line follows the rows before it."""
        piece = next(self._pieces, None)
        if piece is None:
            self._pieces = self._scaled(self._next())
            piece = next(self._pieces)
        return piece

    def _scaled(self, block: Dataset, whole: bool = False) -> Iterator[Dataset]:
        return block.scaled(self._scaling, self.rows_read - len(block) + 1, whole)

    def read_whole(self, memory: int | None = None) -> Dataset:
        """All remaining rows as one dataset; a faulty line among them is an error.

        A MemoryLimitError: they need more than `memory`, and far more than the input, which is compressed or
        repeats its values.
        """
        return next(self._scaled(self._whole(memory), whole=True))

    def _whole(self, memory: int | None) -> Dataset:
        blocks, held = [], 0
        with suppress(StopIteration):
            while True:
                blocks.append(self._next())
                held += blocks[-1].nbytes
                self._check_held(held, memory)
        return as_one_dataset(blocks)

    def nothing(self, keep: Sequence[str] = ()) -> Dataset:
        """The dataset of an input without rows, for which reading raises EmptyDataError."""
        kept = None
        if keep:
            from svmfast.formats._arrow import no_rows

            kept = no_rows(dict.fromkeys(keep))
        return Dataset(Rows.empty(0), np.zeros(0), self.path, 0, Notes(), kept=kept)

    def _check_held(self, needed: int, memory: int | None) -> None:
        stored = max(self._source.size or 0, self._source.consumed)
        if memory is not None and needed > max(memory, _MOST_EXPANDED * stored):
            raise MemoryLimitError(f"reading the rows of {self.path}", needed, memory, "allow more memory")

    def close(self) -> None:
        """Close the input, unless it is a file object of the caller."""
        self._source.close()


@contextmanager
def naming_file(
    path: str, expected: str = "expected values closer to the range of the scaling"
) -> Iterator[None]:
    """Turn the error of a scaled value that is not finite into one of the file."""
    try:
        yield
    except NotFiniteError as error:
        raise DataFormatError(path, None, str(error), None, expected) from error
