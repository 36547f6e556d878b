"""Reads tables (Parquet, Arrow, CSV, JSON Lines) with pyarrow, in bounded memory, columns by name.

pyarrow is imported only when a table is read.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import IO, Any

import numpy as np

from svmfast.display import count
from svmfast.errors import DataFormatError, EmptyDataError, TableError
from svmfast.foreign import foreign
from svmfast.formats._arrow import CheckedMessages, check_blocks, checked, pyarrow
from svmfast.formats.classes import TrainingClasses, number_of
from svmfast.formats.dataset import Dataset, Notes, RowStream, as_one_dataset
from svmfast.formats.json_lines import JsonRows
from svmfast.formats.source import Source, SourceLike
from svmfast.formats.table_columns import LABEL, TableColumns, label_of, pandas_index
from svmfast.options import Reading
from svmfast.rows import Rows

#: Limits on the numbers and rows that are decoded at a time, and rows of a block: they fit in the cache.
_CELLS = 1 << 20
_MAX_ROWS, _BLOCK_ROWS = 1 << 16, 1 << 14
#: Bytes that are read of a column of Parquet at a time; of all columns of a remote file.
_COLUMN_BYTES, _REMOTE_BYTES = 1 << 18, 1 << 26
_CSV_BLOCK = 1 << 20
_CSV_CELL = re.compile(
    r"In CSV column #(\d+): Row #(\d+): CSV conversion error to (?:double|bool): invalid value '(.*)'"
)
_SWITCHES = frozenset(word for one in ("true", "false") for word in (one, one.title(), one.upper()))
_CSV_WIDTH = re.compile(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)")


class TableStream(RowStream):
    """The datasets of a table, in order.

    The results do not depend on the threads. `keep` are columns to keep with the rows; `labels`, `classes`
    and `nulls` as for :class:`TableColumns`; `groups` are the row groups of Parquet to read, by default all.
    """

    columns: TableColumns
    #: The bytes of each row group of Parquet.
    group_bytes: Sequence[int] = ()

    def __init__(
        self,
        source: SourceLike,
        kind: str,
        reading: Reading,
        *,
        threads: int = 1,
        keep: Sequence[str] = (),
        labels: bool = True,
        classes: TrainingClasses | None = None,
        nulls: bool = False,
        groups: Sequence[int] | None = None,
    ) -> None:
        self._pa, self._groups = pyarrow(), groups
        super().__init__(source, reading)
        self._threads, self._keep = threads, keep
        self._classes = classes
        self._how: dict[str, Any] = {"labels": labels, "classes": classes, "nulls": nulls}
        self._names = self._reading.names
        self._total = 0
        self._batch: Any = None
        self._spool: IO[bytes] | None = None
        try:
            with self._reporting():
                openers = {"parquet": self._parquet, "arrow": self._arrow, "csv": self._csv}
                self._batches = {**openers, "jsonl": self._json}.get(kind, self._arrow_stream)()
        except BaseException:
            self.close()
            raise

    @property
    def bytes_read(self) -> int:
        """Stored bytes read so far; of Parquet and Arrow files an estimate."""
        if self._total and self._source.size:
            return self._source.size * self.rows_read // self._total
        return super().bytes_read

    def _parquet(self) -> Iterator[Any]:
        from pyarrow import parquet

        stored = self._seekable()
        file = parquet.ParquetFile(stored)
        self._find_columns(file.schema_arrow)
        # With a buffer, no whole column of a row group is held in memory. Each is a request to a store.
        most = _REMOTE_BYTES // len(self.columns.read) if self._source.remote else 0
        size = max(_COLUMN_BYTES, min(most, 32 * _COLUMN_BYTES))
        opened = partial(
            parquet.ParquetFile, stored, metadata=file.metadata, pre_buffer=False, buffer_size=size
        )
        file = opened()
        if self.columns.words:  # a page may repeat one long word by its number
            file = opened(read_dictionary=list(self.columns.words))
        groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
        self.group_bytes = [one.total_byte_size for one in groups]
        chosen = range(len(groups)) if self._groups is None else self._groups
        self._total = sum(groups[k].num_rows for k in chosen)
        found = file.iter_batches(self._block_rows(), chosen, [*self.columns.read], self._threads > 1)
        return iter(found)

    def _arrow(self) -> Iterator[Any]:
        from pyarrow import ipc

        stored = self._seekable()
        file = ipc.open_file(stored)
        check_blocks(stored, self.path)
        self._find_columns(file.schema)
        return (file.get_batch(number) for number in range(file.num_record_batches))

    def _arrow_stream(self) -> Iterator[Any]:
        from pyarrow import ipc

        stream = ipc.open_stream(CheckedMessages(self._sequential(), self.path))
        self._find_columns(stream.schema)
        return iter(stream)

    def _csv(self) -> Iterator[Any]:
        from pyarrow import csv as text

        names, separator, header, switches = self._csv_columns()
        pa = self._pa
        label = label_of(names, self._reading) or ""
        features = self._reading.features or self._names or ()
        if (encoding := getattr(self._reading.scale, "encoding", None)) is not None:
            features = encoding.read_of(features)
        strings = set(self._keep).difference(features, [label])
        if self._classes is not None or self._reading.class_names is not None:
            strings.add(label)  # names of classes, or numbers
        others = {name: pa.bool_() for name in switches} | {name: pa.string() for name in strings}
        schema = pa.schema([(name, others.get(name, pa.float64())) for name in names])
        self._find_columns(schema, 2 if header else 1)
        words = dict.fromkeys(self.columns.columns_of_words, pa.string())
        if header and not self._source.peek_line(_CSV_BLOCK).endswith(b"\n"):
            return iter(())  # pyarrow does not skip a line without an end
        return iter(
            text.open_csv(
                self._sequential(),
                # With more than one thread, errors would not have line numbers.
                text.ReadOptions(
                    use_threads=False, block_size=_CSV_BLOCK, column_names=names, skip_rows=int(header)
                ),
                text.ParseOptions(delimiter=separator, ignore_empty_lines=self._reading.lenient),
                text.ConvertOptions(
                    column_types=dict(zip(schema.names, schema.types, strict=True)) | words,
                    include_columns=list(self.columns.read),
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        )

    def _json(self) -> Iterator[Any]:
        rows = JsonRows(self._sequential(), self.path, self._keep)
        self._find_columns(rows.schema)
        named = self._reading.features is not None or self._names is not None
        return rows.batches(self.columns.read, further=named)

    def _csv_columns(self) -> tuple[list[str], str, bool, set[str]]:
        """The column names, the separator, whether the first line has the names, and switches.

        Switches are columns whose value in the first row is True or False.
        """
        line = self._source.peek_line(_CSV_BLOCK)
        if len(line) == _CSV_BLOCK:  # pyarrow reads no longer lines
            what = f"the line is longer than {_CSV_BLOCK:,} bytes"
            raise DataFormatError(self.path, 1, what, None, "expected the names of columns")
        following = self._source.peek_line(_CSV_BLOCK, len(line))
        lines = line.removeprefix(b"\xef\xbb\xbf"), following
        first, second = (one.rstrip(b"\r\n").decode("utf-8", "replace") for one in lines)
        if not first.strip() and following:
            raise DataFormatError(self.path, 1, "the line is blank", None, "expected the names of columns")
        if not first.strip():
            raise EmptyDataError(self.path, None, "there are no rows", None, "expected column names")
        separator = max("\t,;", key=first.count)
        fields = [field.strip() for field in next(csv.reader([first], delimiter=separator))]
        if all(number_of(field) is not None or not field for field in fields):
            return [str(number) for number in range(1, len(fields) + 1)], separator, False, set()
        values = next(csv.reader([second], delimiter=separator), [])
        pairs = zip(fields, values, strict=False)
        return fields, separator, True, {name for name, value in pairs if value in _SWITCHES}

    def _find_columns(self, schema: Any, first_line: int | None = None) -> None:
        self._all = schema.names
        if self._names is not None and first_line == 1:
            self._names = None  # the features of a table without names are in the model's order
        given = schema, self.path, self._reading, self._names, self._keep
        self.columns = TableColumns(*given, first_line=first_line, left_out=pandas_index(schema), **self._how)
        found, scaling = len(self.columns.features), self._scaling
        wanted = 0 if scaling is None or scaling.encoding is not None else len(scaling)
        if found < wanted:
            what = f"{count(found, 'column')} of features"
            raise TableError(self.path, None, what, None, f"expected {wanted}, as in the model or scaling")

    def _block_rows(self) -> int:
        return max(1, min(_MAX_ROWS, _CELLS // (1 + len(self.columns.read))))

    def _seekable(self) -> Any:
        """The content as a seekable file."""
        stored = self._source
        if stored.path is not None and stored.size is not None and not stored.packing:
            if stored.remote is not None:
                return stored.remote
            return self._pa.OSFile(stored.path)
        import shutil
        from tempfile import TemporaryFile

        self._spool = spool = TemporaryFile(prefix="svmfast-")  # noqa: SIM115 (closed by close())
        shutil.copyfileobj(self._sequential(), spool, 1 << 20)
        spool.seek(0)
        return self._pa.PythonFile(spool, mode="r")

    def _sequential(self) -> io.BufferedReader:
        return io.BufferedReader(_Unpacked(self._source), 1 << 20)

    def means(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The mean of each feature over the values that are not missing, of all remaining rows."""
        return self.columns.means(iter(self._next_batch, None))

    def nothing(self, keep: Sequence[str] = ()) -> Dataset:
        """The dataset of a table without rows, with the types of its columns."""
        return self.columns.nothing()

    def _next_batch(self) -> Any:
        with self._reporting():
            found = next(self._batches, None)
            return None if found is None else checked(found, self.columns.read)

    def _next(self) -> Dataset:
        while self._batch is None or self._batch.num_rows == 0:
            self._batch = self._next_batch()
            if self._batch is None:
                self.close()
                if self.rows_read < self._total:  # pyarrow takes no notice of a file that became shorter
                    what = f"ends after {self.rows_read:,} rows"
                    raise TableError(self.path, None, what, None, f"expected {self._total:,}")
                if self.rows_read == 0:
                    raise EmptyDataError(self.path, None, "there are no rows", None, "expected at least one")
                raise StopIteration
        size = min(_BLOCK_ROWS, self._block_rows(), self.columns.most_rows(self._batch))
        batch, self._batch = self._batch.slice(0, size), self._batch.slice(size)
        dataset = self.columns.dataset(batch, self.rows_read)
        self.rows_read += batch.num_rows
        return dataset

    @contextlib.contextmanager
    def _reporting(self) -> Iterator[None]:
        """Turn pyarrow's message about a file into one line."""
        expected = "expected a whole Parquet, Arrow or CSV file"
        fault = f"{'cannot be read, or is ' if self._source.remote else ''}damaged, or of an unknown format"
        with foreign(self.path, fault, expected, TableError):
            try:
                yield
            except self._pa.ArrowInvalid as error:
                # About a CSV file, it quotes the file, but after its own words.
                text = " ".join(str(error).split())
                if cell := _CSV_CELL.match(text):
                    what = f"column '{self._all[int(cell[1])]}': not a number"
                    wanted = "expected a finite number"
                    if cell[3].count(",") == 1 and number_of(cell[3].replace(",", ".")) is not None:
                        wanted += " with a decimal point, not a comma"
                    raise DataFormatError(self.path, int(cell[2]), what, cell[3], wanted) from error
                if width := _CSV_WIDTH.match(text):
                    what, wanted = f"{width[3]} fields", f"expected {width[2]}, one per column"
                    raise DataFormatError(self.path, int(width[1]), what, None, wanted) from error
                raise

    def close(self) -> None:
        """Close the input."""
        super().close()
        if self._spool is not None:
            self._spool.close()


class _Unpacked(io.RawIOBase):
    """Adapts a Source to the interface of a Python file object."""

    def __init__(self, source: Source) -> None:
        self._from = source

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        return self._from.readinto(memoryview(view).cast("B"))


_IN_MEMORY = "the data"


def opened_object(
    data: Any, reading: Reading, *, labels: bool = True, classes: TrainingClasses | None = None
) -> tuple[TableColumns, Iterator[Any]]:
    """The columns and the batches of a table in memory, or of a query or Dataset, whose columns are chosen.

    The label may be missing, unless the reading names its column; `labels` and `classes` as for
    :class:`TableColumns`.
    """
    name, expected = _IN_MEMORY, "expected named columns, each with values of one type"
    reading_it = partial(foreign, name, "cannot be read as a table", expected, TableError)
    with reading_it():
        try:
            schema, batches_of = schema_and_batches(data)
        except pyarrow().ArrowException:  # pandas converts all columns, and fails for one of several types
            known = [*map(str, data.columns)] if hasattr(data, "loc") else []
            chosen = reading.features or reading.names or known
            if not {*chosen, *filter(None, [reading.label])} < {*known}:
                raise
            used = [one in {*chosen, reading.label_column, LABEL} for one in known]
            schema, batches_of = schema_and_batches(data.loc[:, used])
        index = pandas_index(schema)
    if reading.label is None and label_of(schema.names, reading) not in schema.names:
        reading = replace(reading, unlabelled=True)
    how: dict[str, Any] = {"left_out": index, "labels": labels, "classes": classes}
    columns = TableColumns(schema, name, reading, reading.names, **how)
    with reading_it():
        batches = batches_of(list(columns.read))

    def following() -> Any:
        with reading_it():
            batch = next(batches, None)
            return None if batch is None else checked(batch, columns.read)

    return columns, iter(following, None)


def schema_and_batches(data: Any) -> tuple[Any, Callable[[list[str]], Iterator[Any]]]:
    """The schema of a table in memory, and its batches, with at least the named columns."""
    pa = pyarrow()
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return reader.schema, lambda names: iter(reader)
    if hasattr(data, "collect_schema"):  # a query of polars
        empty = pa.RecordBatchReader.from_stream(data.head(0).collect())
        return empty.schema, lambda names: iter(
            pa.RecordBatchReader.from_stream(data.select(names).collect())
        )
    if hasattr(data, "scanner"):  # a Dataset of pyarrow
        return data.schema, lambda names: iter(data.scanner(columns=names).to_reader())
    if hasattr(data, "projected_schema"):  # its Scanner
        return data.projected_schema, lambda names: iter(data.to_reader())
    batch = pa.record_batch(data)
    return batch.schema, lambda names: iter([batch])


def from_object(
    data: Any, reading: Reading, *, labels: bool = True, classes: TrainingClasses | None = None
) -> tuple[Dataset, bool]:
    """The rows of an object, see :func:`opened_object`, and whether they have labels.

    Numeric columns are not copied in between.
    """
    columns, batches = opened_object(data, reading, labels=labels, classes=classes)
    nothing = Rows.empty(len(columns.features))
    blocks = [Dataset(nothing, np.zeros(0), _IN_MEMORY, 0, Notes(), columns=columns.features)]
    for batch in batches:
        blocks.append(columns.dataset(batch, sum(map(len, blocks))))
    return as_one_dataset(blocks), columns.label is not None
