"""Rows in any known format: LIBSVM data text, or a table (:mod:`svmfast.formats.tables`).

The format follows from the content, except for CSV, which is recognized by its file extension or by a line
of column names, and for JSON Lines without rows. For LIBSVM's text only the first byte is inspected, and no
module for tables is imported.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Sequence
from typing import IO, Any, Literal

import numpy as np

from svmfast.errors import DataFormatError, FileAccessError, InputError, OptionError
from svmfast.formats.classes import TrainingClasses
from svmfast.formats.dataset import Dataset, RowStream
from svmfast.formats.packing import ENDINGS
from svmfast.formats.source import Source, SourceLike, open_source
from svmfast.formats.svmlight import CHUNK_BYTES, DataStream
from svmfast.options import Reading
from svmfast.progress import Progress, silent

TableKind = Literal["parquet", "arrow", "arrow stream", "csv", "jsonl"]

_TEXT_TABLES, _JSON_LINES = (".csv", ".tsv"), (".jsonl", ".ndjson")
_MAGIC: tuple[tuple[bytes, TableKind], ...] = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "arrow"),
    (b"\xff\xff\xff\xff", "arrow stream"),
    (b"{", "jsonl"),
)
#: Endings of files that have bytes even if they have no rows.
_NEVER_EMPTY = (".parquet", ".pq", ".arrow", ".feather", ".ipc", *ENDINGS)
#: First characters of a row of LIBSVM's text.
_OF_NUMBERS = [bytes([character]) for character in b"+-.0123456789"]
#: First characters of a line of column names, in a file without the extension .csv.
_LETTERS = frozenset(b'"_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz')
#: Maximum length of the line of column names.
_MAX_HEADER = 1 << 20


def stream_data(
    source: SourceLike,
    reading: Reading,
    *,
    threads: int = 1,
    keep: Sequence[str] = (),
    chunk_bytes: int = CHUNK_BYTES,
    labels: bool = True,
    classes: TrainingClasses | None = None,
    nulls: bool = False,
    place: tuple[int, int] | None = None,
) -> RowStream:
    """Read rows block by block, in bounded memory.

    `keep` names the columns of a table to keep with the rows (``Dataset.kept``). `chunk_bytes` is about the
    number of bytes of text per dataset. Without `labels` those of a table are not read; of LIBSVM's text they
    always are. `classes` accepts names of classes as the labels of a table, and gets them; the datasets then
    have provisional labels. `nulls` marks rows of a table that lack a feature (``Dataset.missing``); without
    it they are refused. LIBSVM's text has no column names, so options that name columns are refused. `place`
    selects the lines of plain text that begin at bytes ``place[0]`` to ``place[1] - 1``, or such row groups
    of Parquet.
    """
    opened, kind = recognized(source, reading)
    try:
        if kind is not None:
            from svmfast.formats.tables import TableStream

            how: dict[str, Any] = {"labels": labels, "classes": classes, "nulls": nulls}
            how["groups"] = None if place is None else range(*place)
            return TableStream(opened, kind, reading, threads=threads, keep=keep, **how)
        if reading.missing is not None:
            raise OptionError("`missing` is for tables; in LIBSVM's text a feature that is left out is 0")
        given = {"label": reading.label, "features": reading.features, "exclude": reading.exclude}
        named = [name for name, value in given.items() if value is not None] + ["keep"] * bool(keep)
        if named:
            raise OptionError(f"`{named[0]}` names columns of a table, but the data are LIBSVM's text")
        if classes is not None and classes.of_numbers(np.zeros(0)) is None:
            what, expected = "the labels are numbers", "expected names, as in the files before"
            raise DataFormatError(opened.name, None, what, None, expected)
        continues = place is not None and place[0] > 0
        if place is not None:
            opened = section(opened, *place)
        return DataStream(opened, reading, chunk_bytes=chunk_bytes, threads=threads, continues=continues)
    except BaseException:
        opened.close()
        raise


def read_data(
    source: SourceLike,
    reading: Reading,
    *,
    threads: int = 1,
    precomputed: bool = False,
    classes: TrainingClasses | None = None,
    memory: int | None = None,
) -> Dataset:
    """Read all rows; see :func:`stream_data`. `precomputed`: the data are LIBSVM's text of kernel values.

    `memory` limits rows that need far more than the input takes (:meth:`RowStream.read_whole`).
    """
    stream: RowStream
    if precomputed:
        stream = DataStream(source, reading, precomputed=True, threads=threads)
    else:
        stream = stream_data(source, reading, threads=threads, classes=classes)
    with stream:
        return stream.read_whole(memory)


def read_through(
    source: SourceLike,
    reading: Reading,
    threads: int,
    progress: Progress = silent,
    *,
    classes: TrainingClasses | None = None,
) -> Iterator[Dataset]:
    """Yield the rows and labels of an input, block by block, and report the progress."""
    with stream_data(source, reading, threads=threads, classes=classes) as stream:
        for block in stream:
            yield block
            progress(stream.bytes_read, stream.bytes_total, "read")


def recognized(source: SourceLike, reading: Reading) -> tuple[Source, TableKind | None]:
    """The opened source, and the kind of table that it is or None for LIBSVM's text.

    ``dense`` selects LIBSVM's reader, whatever the name of the file.
    """
    opened = open_source(source)
    if reading.dense:
        return opened, None
    path = (opened.path or "").lower()
    ending = next((end for end in ENDINGS if path.endswith(end)), "")
    try:
        if path.endswith(_NEVER_EMPTY) and not opened.packing and not opened.peek(1):
            raise InputError(opened.name, None, "the file is empty", None, "expected a whole file")
        if path.removesuffix(ending).endswith(_TEXT_TABLES):
            return opened, "csv"
        # Numbers are LIBSVM's text, as the native program reads it.
        if path.removesuffix(ending).endswith(_JSON_LINES) and opened.peek(1)[:1] not in _OF_NUMBERS:
            return opened, "jsonl"
        kind = _kind_of(opened)
        opened.rewind()
    except BaseException:
        opened.close()
        raise
    return opened, kind


def _kind_of(opened: Source) -> TableKind | None:
    start = opened.peek(1)
    for magic, kind in _MAGIC:
        if start and magic.startswith(start[:1]):
            start = opened.peek(len(magic))
            if start.startswith(magic):
                return kind
    if not start or start[0] not in _LETTERS:
        return None
    line = opened.peek_line(_MAX_HEADER).partition(b"\n")[0]
    fields = line.replace(b"\t", b",").split(b",")
    return "csv" if len(fields) > 1 and all(_names_a_column(field) for field in fields) else None


def _names_a_column(field: bytes) -> bool:
    word = field.strip().strip(b'"')
    return bool(word) and b":" not in word and not word[:1].isdigit() and word[:1] not in b"+-."


def is_replayable(path: str | os.PathLike[str]) -> bool:
    """Whether an input can be opened again: a file, or a path whose opening reports an error."""
    if os.fspath(path) == "-":
        return False
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return True  # opening it reports the error, as it does for a directory
    return not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode))


def check_replayable(path: str) -> None:
    """Refuse an input that cannot be read twice."""
    if not is_replayable(path):
        raise FileAccessError(path, None, "is read twice and cannot be a pipe", expected="give a file")


_READ = 1 << 16


def section(opened: Source, first: int, last: int) -> Source:
    """The lines that begin at bytes `first` to `last` - 1 of a file, as a source of their own."""
    try:
        lines = _Lines(opened, first, last)
    except OSError as error:
        raise FileAccessError(opened.name, None, f"cannot be read: {error.strerror or error}") from error
    return Source(lines, opened.name, owned=True).plain()


class _Lines(io.RawIOBase):
    def __init__(self, opened: Source, first: int, last: int) -> None:
        self._opened, self._file = opened, opened.remote
        if self._file is None:
            assert opened.path is not None
            self._file = open(opened.path, "rb", buffering=0)  # noqa: SIM115 (closed by close())
        begin, end = (_line_start(self._file, place) for place in (first, last))
        self._file.seek(begin)
        self._left = end - begin

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        with memoryview(view) as room:
            count: int = self._file.readinto(room[: self._left])
        if not count and self._left:
            raise FileAccessError(self._opened.name, None, "became shorter while it was read")
        self._left -= count
        return count

    def close(self) -> None:
        self._file.close()
        self._opened.close()
        super().close()


def _line_start(file: IO[bytes], place: int) -> int:
    """Where the first line begins at or after a place: after a newline, or at the end of the file."""
    if place == 0:
        return 0
    place -= 1
    file.seek(place)
    while text := file.read(_READ):
        if (found := text.find(b"\n")) >= 0:
            return place + found + 1
        place += len(text)
    return place
