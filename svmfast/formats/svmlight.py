"""LIBSVM data text: ``label index:value ...``, read whole or as a stream, and written.

The reader is native (``_core/svmlight.cpp``). This module passes it blocks of whole lines.
``_svmlight_errors`` turns the faults that it finds into readable errors.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from svmfast._core import TEXT_PADDING, SvmlightTokenizer, write_rows
from svmfast.errors import DataFormatError, EmptyDataError, OptionError
from svmfast.formats._svmlight_errors import cut_out, explain
from svmfast.formats.dataset import Dataset as Dataset
from svmfast.formats.dataset import Notes as Notes
from svmfast.formats.dataset import RowStream
from svmfast.formats.source import Source, SourceLike
from svmfast.formats.target import Writer, write_atomic
from svmfast.options import PLAIN, Reading
from svmfast.rows import FloatArray, Rows
from svmfast.threads import thread_count

#: Bytes of text passed to the tokenizer at a time; its output has about the same size.
CHUNK_BYTES = 2 << 20

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
#: Longer lines are refused: they are unlikely to be data, or need a larger machine.
MAX_LINE_BYTES = 1 << 30
#: Lines from this length on are checked for signs of a binary file before more memory is allocated for them.
_SUSPICIOUS_LINE = 1 << 20
#: Most memory of a row and of its text, besides: "0:1 " becomes 12 bytes.
_ROW_BYTES, _TEXT_BYTES = 16, 3
#: Length from which a line of compressed data is refused if it is more than 100 times the data's size.
_UNPACKED_LINE = 1 << 24
_BEHIND = TEXT_PADDING + 1  # room for a missing last line end, and for what the tokenizer reads ahead


#: Number of stored values that are formatted at a time.
_WRITE_ENTRIES = 1 << 18


class Lines:
    """Whole lines of a source, block by block, in one reused buffer: a tokenizer sees no part of a line."""

    def __init__(self, source: Source, chunk_bytes: int) -> None:
        self.source = source
        self.chunk_bytes = max(1, chunk_bytes)
        self.buffer = bytearray(self.chunk_bytes + _BEHIND)
        self.begin = self.end = 0  # the block: whole lines
        self.filled = 0  # the end of the text; what follows the block belongs to the next one
        self.ended = False
        self.most = MAX_LINE_BYTES  # bytes of a line
        self.line_too_long = self.binary = False  # why reading stopped early

    def next(self) -> bool:
        """Move to the next block of lines; return False at the end.

        A block is all lines that are available without waiting, up to about `chunk_bytes`, but at least one.
        """
        if self.ended:
            return False
        rest = self.filled - self.end
        self.buffer[:rest] = self.buffer[self.end : self.filled]
        self.begin = self.end = 0
        self.filled = rest
        while not self.end or self.source.ready:
            capacity = len(self.buffer) - _BEHIND
            if self.filled == capacity:
                if self.end:
                    return True
                if self._is_hopeless():
                    break
                self.buffer.extend(bytes(min(capacity, MAX_LINE_BYTES)))
                continue
            with memoryview(self.buffer) as view, view[self.filled : capacity] as room:
                count = self.source.readinto(room)
            if count == 0:
                break
            newline = self.buffer.rfind(b"\n", self.filled, self.filled + count)
            self.filled += count
            if newline >= 0:
                self.end = newline + 1
        else:  # what follows has not arrived yet
            return True
        self.ended = True
        self.end = self.filled
        if self.filled and self.buffer[self.filled - 1] != 0x0A:
            self.buffer[self.filled] = 0x0A
            self.end += 1
        return self.end > 0

    def _is_hopeless(self) -> bool:
        """Whether a line that fills the buffer cannot be valid; parsing its start gives the reason."""
        if self.filled < _SUSPICIOUS_LINE:
            return False
        self.most = MAX_LINE_BYTES
        if self.source.packing:  # a line of gigabytes packs into a few kilobytes
            self.most = min(self.most, max(_UNPACKED_LINE, 100 * self.source.consumed))
        self.line_too_long = self.filled >= self.most
        self.binary = self.buffer.find(b"\0", 0, self.filled) >= 0
        return self.line_too_long or self.binary or self.buffer.find(b"\r", 0, self.filled - 1) >= 0


class DataStream(RowStream):
    """The datasets of LIBSVM data text, in order; `continues`: of lines within a file."""

    def __init__(
        self,
        source: SourceLike,
        reading: Reading,
        *,
        precomputed: bool = False,
        chunk_bytes: int = CHUNK_BYTES,
        threads: int,
        continues: bool = False,
    ) -> None:
        if reading.dense and (reading.zero_based or precomputed):
            raise OptionError("dense rows have no indices: they cannot be zero_based or precomputed")
        if reading.scale is not None and precomputed:
            raise OptionError(
                "`scale`: rows of a precomputed kernel are kernel values; scale the rows before"
            )
        self._threads = threads
        super().__init__(source, reading)
        self._lines = Lines(self._source, chunk_bytes)
        self._tokenizer = SvmlightTokenizer(
            reading.zero_based, precomputed, reading.dense, reading.lenient, 0 if reading.unlabelled else 1
        )
        self._started = continues
        self._error: DataFormatError | None = None
        self._pending_mark = 0

    def _next(self) -> Dataset:
        while self._error is None and self._feed():
            if self._tokenizer.rows:
                return self._take()
        return self._finish()

    def _whole(self, memory: int | None) -> Dataset:
        text = 0
        while self._error is None and self._feed():
            text += self._lines.end
            if self._source.packing:  # plain text takes little less than its rows
                self._check_held(_ROW_BYTES * self._tokenizer.rows + _TEXT_BYTES * text, memory)
        try:
            dataset = self._finish()
        except StopIteration:
            raise OptionError(f"{self.path}: already read to its end") from None
        if self._error is not None:
            raise self._error
        return dataset

    def _feed(self) -> bool:
        if not self._lines.next():
            return False
        lines = self._lines
        begin = 0 if self._started else self._check_start()
        self._started = True
        text = np.frombuffer(lines.buffer, np.uint8)
        fault = self._tokenizer.feed(text, begin, lines.end, self._threads)
        if fault is not None:
            self._error = explain(self.path, cut_out(lines.buffer, fault), self._reading)
            self._source.verify()  # if the file is damaged, report that instead of the faulty line
        elif lines.binary:
            self._error = DataFormatError(self.path, None, "NUL bytes in a line", None, "expected text")
        if lines.line_too_long:
            self._error = DataFormatError(
                self.path,
                fault[1] if fault else None,
                f"the line is longer than {lines.most:,} bytes",
                None,
                "expected one row per line",
            )
        return True

    def _check_start(self) -> int:
        start = bytes(self._lines.buffer[: min(4, self._lines.end)])
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            self._lines.end = 0
            self._error = DataFormatError(self.path, 1, "UTF-16 text", None, "expected ASCII or UTF-8")
        elif start.startswith(_BYTE_ORDER_MARK):
            self._pending_mark = 1
            if self._lines.filled == len(_BYTE_ORDER_MARK):
                self._lines.end = self._lines.filled  # not even a blank line follows
            return len(_BYTE_ORDER_MARK)
        return 0

    def _take(self) -> Dataset:
        labels, indptr, indices, values, width, first_line, counts = self._tokenizer.take()
        counts.insert(-1, self._pending_mark)
        notes = Notes(*counts)
        self._pending_mark = 0
        self.notes += notes
        rows = Rows.trusted(indptr, indices, values, width)
        if self._reading.unlabelled:
            labels = np.full(len(rows), np.nan)
        self.rows_read += len(rows)
        return Dataset(rows, labels, self.path, first_line, notes)

    def _scaled(self, block: Dataset, whole: bool = False) -> Iterator[Dataset]:
        wanted = 0 if self._scaling is None else len(self._scaling)
        if self._reading.dense and block.rows.n_columns < wanted:
            place = "in a row" if self._reading.unlabelled else "after the label"
            what = f"{block.rows.n_columns} values {place}"
            raise DataFormatError(self.path, None, what, None, f"expected {wanted}, as in the scaling")
        return super()._scaled(block, whole)

    def _finish(self) -> Dataset:
        if self._tokenizer.rows:
            return self._take()
        self._take()  # comments after the last row
        self.close()
        if self._error is not None:
            raise self._error
        if self.rows_read == 0:
            form = "index:value ..." if self._reading.unlabelled else "label index:value ..."
            raise EmptyDataError(
                self.path, None, "there are no rows", None, f"expected '{form}' on each line"
            )
        raise StopIteration


def stream_svmlight(
    source: SourceLike,
    reading: Reading = PLAIN,
    *,
    precomputed: bool = False,
    chunk_bytes: int = CHUNK_BYTES,
    threads: int | None = None,
) -> DataStream:
    """Read LIBSVM data text block by block, in memory bounded by `chunk_bytes` and the longest line.

    Rows from a pipe are returned as soon as they arrive: each typed line is answered before the next one.

    Parameters
    ----------
    source : str, os.PathLike, bytes-like or binary file object
        See :func:`svmfast.formats.source.open_source`.
    reading : Reading
        The format of the rows. Without labels they are nan, and a blank line is a row of zeros (unless
        `lenient`, `dense` or `precomputed`). Zeros of `dense` rows are not stored.
    precomputed : bool
        Whether rows are those of a precomputed kernel, ``label 0:serial 1:value 2:value ...``, all of the
        same length.
    chunk_bytes : int
        Approximate number of bytes of text per dataset.
    threads : int, optional
        Number of threads that parse (default: the cores this process may use, at most ``OMP_NUM_THREADS``).
        The results, including errors, do not depend on it.

    Yields
    ------
    Dataset
        Never empty. Rows before a faulty line are yielded before its error is raised.

    Raises
    ------
    DataFormatError
        The message has the line, the token and what was expected.
    FileAccessError, InputError
        The input cannot be read.
    """
    return DataStream(
        source, reading, precomputed=precomputed, chunk_bytes=chunk_bytes, threads=thread_count(threads)
    )


def read_svmlight(
    source: SourceLike,
    reading: Reading = PLAIN,
    *,
    precomputed: bool = False,
    threads: int | None = None,
) -> Dataset:
    """Read all rows of LIBSVM data text.

    Parameters and errors are those of :func:`stream_svmlight`.

    Returns
    -------
    Dataset
        At least one row.
    """
    with stream_svmlight(source, reading, precomputed=precomputed, threads=threads) as stream:
        return stream.read_whole()


def write_svmlight(
    file: str | os.PathLike[str] | Writer, rows: Rows, labels: ArrayLike | None, *, zero_based: bool = False
) -> None:
    """Write LIBSVM data text; every number is the shortest decimal that reads back as the same float64.

    Parameters
    ----------
    file : str, os.PathLike or binary file object
        A path is written atomically, compressed if its name ends in ``.gz``, ``.bz2``, ``.xz`` or ``.zst``
        (:func:`svmfast.formats.target.write_atomic`).
    rows : Rows
        Stored zeros are written.
    labels : (n,) array_like
        Finite numbers; None writes rows without labels.
    zero_based : bool
        Number the columns from 0 instead of from 1.

    Raises
    ------
    OptionError
        The numbers of labels and rows differ, or a label or value is nan or infinite.
    WriteError
        The path cannot be written.
    """
    if labels is None:
        marks = np.empty((0, len(rows)))
    else:
        marks = np.ascontiguousarray(labels, dtype=np.float64)[np.newaxis]
        if marks.shape != (1, len(rows)):
            raise OptionError(
                f"{len(rows)} rows need as many labels, got an array of shape {marks.shape[1:]}"
            )
    if not (np.isfinite(marks).all() and np.isfinite(rows.values).all()):
        raise OptionError("labels and values must be finite to be written")
    if isinstance(file, (str, os.PathLike)):
        with write_atomic(file) as output:
            _write(output, rows, marks, zero_based)
    else:
        _write(file, rows, marks, zero_based)


def _write(output: Writer, rows: Rows, labels: FloatArray, zero_based: bool) -> None:
    indptr, first = rows.indptr, 0
    while first < len(rows):
        last = int(np.searchsorted(indptr, indptr[first] + _WRITE_ENTRIES, side="right")) - 1
        last = min(max(last, first + 1), first + _WRITE_ENTRIES, len(rows))
        part = rows[first:last]
        arrays = labels[:, first:last], part.indptr, part.indices, part.values
        output.write(write_rows(*arrays, 0 if zero_based else 1, 0))
        first = last
