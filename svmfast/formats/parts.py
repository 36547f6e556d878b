"""Divides large files into parts that are read independently: lines of LIBSVM's text, Parquet row groups."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from svmfast.errors import InputError, SvmfastError
from svmfast.foreign import foreign
from svmfast.formats.data import recognized
from svmfast.formats.dataset import RowStream
from svmfast.formats.source import Source
from svmfast.formats.svmlight import DataStream
from svmfast.options import Reading

#: Approximate stored bytes of a part: seconds of work, but not too many parts.
PART_BYTES = 32 << 20


@dataclass(frozen=True)
class FilePart:
    """A file, or one of the parts of a file."""

    path: str
    #: Its number, from 0, and that of all parts.
    number: int = 0
    of: int = 1
    #: The range of its bytes, which are whole lines.
    begin: int = 0
    end: int = 0
    #: The row groups of a Parquet file instead, and the number of rows before them.
    groups: tuple[int, ...] = ()
    first_row: int = 0

    @property
    def first(self) -> bool:
        """Whether the part begins with the file's first row."""
        return self.number == 0

    def located(self, error: InputError) -> InputError:
        """An error in this part with the line number in the whole file."""
        if self.first or self.groups or error.line is None:
            return error
        before, left = 0, self.begin
        with open(self.path, "rb") as file:
            while left:
                piece = file.read(min(left, 1 << 20))
                before, left = before + piece.count(b"\n"), left - len(piece)
        return error.moved(before)


def parts_of(path: str, reading: Reading, part_bytes: int = PART_BYTES) -> list[FilePart]:
    """The parts of a file: more than one only for large plain text or several Parquet row groups."""
    try:
        found = _parts_of(path, reading, part_bytes)
    except (SvmfastError, OSError):  # reading the whole file reports the error
        found = []
    return found if len(found) > 1 else [FilePart(path)]


def _parts_of(path: str, reading: Reading, part_bytes: int) -> list[FilePart]:
    status = os.stat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_size < 2 * part_bytes:
        return []
    opened, kind = recognized(path, reading)
    with opened:
        if kind == "parquet":
            return [] if opened.packing else _row_groups(path, part_bytes)
        # In CSV and dense text all rows must have the same width, which parts alone could not check.
        if kind is not None or reading.dense or opened.packing:
            return []
    cuts = [0]
    with open(path, "rb") as file:
        while cuts[-1] + 2 * part_bytes <= status.st_size:
            file.seek(cuts[-1] + part_bytes)
            file.readline()
            cuts.append(file.tell())
    cuts.append(status.st_size)
    ranges = [(begin, end) for begin, end in pairwise(cuts) if begin < end]
    return [FilePart(path, number, len(ranges), begin, end) for number, (begin, end) in enumerate(ranges)]


def _row_groups(path: str, part_bytes: int) -> list[FilePart]:
    from svmfast.formats._arrow import pyarrow

    pyarrow()
    from pyarrow import parquet

    with foreign(path, "no Parquet metadata", "a Parquet file"):
        metadata = parquet.read_metadata(path)
    ranges: list[tuple[list[int], int]] = []
    size, row = part_bytes, 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if size >= part_bytes:
            ranges.append(([], row))
            size = 0
        ranges[-1][0].append(number)
        size += sum(group.column(column).total_compressed_size for column in range(group.num_columns))
        row += group.num_rows
    return [
        FilePart(path, number, len(ranges), groups=tuple(chosen), first_row=first)
        for number, (chosen, first) in enumerate(ranges)
    ]


def stream_part(
    part: FilePart,
    reading: Reading,
    *,
    threads: int = 1,
    keep: Sequence[str] = (),
) -> RowStream:
    """Read one of several parts; see :func:`svmfast.formats.data.stream_data`."""
    if part.groups:
        from svmfast.formats.tables import TableStream

        stream = TableStream(
            part.path, "parquet", reading, threads=threads, keep=keep, row_groups=part.groups
        )
        stream.rows_read = part.first_row
        return stream
    source = Source(_Range(part), part.path, owned=True).plain()
    return DataStream(source, reading, threads=threads)


class _Range(io.RawIOBase):
    """A range of bytes of a file."""

    def __init__(self, part: FilePart) -> None:
        self._file: Any = open(part.path, "rb", buffering=0)  # noqa: SIM115 (closed by close())
        self._file.seek(part.begin)
        self._left = part.end - part.begin

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        size = self._file.readinto(memoryview(view)[: self._left])
        self._left -= size
        return int(size)

    def close(self) -> None:
        self._file.close()
        super().close()
