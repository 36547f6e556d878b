"""Writes predictions as a table: Parquet, Arrow, CSV, TSV or JSON Lines, by the output's file extension."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from svmfast.errors import OptionError, TableError
from svmfast.foreign import foreign
from svmfast.formats._arrow import pyarrow
from svmfast.formats.json_lines import JsonWriter
from svmfast.formats.tables import schema_and_batches
from svmfast.formats.target import Writer
from svmfast.rows import BoolArray, IntArray, as_array

#: Rows per row group or record batch. Independent of the input's blocks, so equal rows give identical bytes.
GROUP_ROWS = 1 << 17
#: Bytes of words after which a group ends earlier: a small input may repeat one long word.
_GROUP_BYTES = 1 << 25


class TableOutput:
    """A table that is written block by block."""

    def __init__(self, file: Writer, form: str) -> None:
        self._pa, self._form = pyarrow(), form
        self._sink = _Sink(file)
        self._writer: Any = None
        self._waiting: list[Any] = []
        self._rows = self._bytes = 0

    def write(
        self, columns: Mapping[str, Any], n: int, kept: Any = None, missing: BoolArray | None = None
    ) -> None:
        """Append n rows of columns by name, None a column of nulls, and of the columns to keep.

        Rows that are `missing` are not among the n, and get nulls.
        """
        pa = self._pa
        arrays = {
            name: pa.nulls(n, pa.bool_()) if one is None else self._array(one)
            for name, one in columns.items()
        }
        if missing is not None:
            places = pa.array(np.cumsum(~missing) - 1, mask=missing)
            arrays = {name: one.take(places) for name, one in arrays.items()}
        if kept is not None:
            arrays |= dict(zip(kept.schema.names, kept.columns, strict=True))
        batch = pa.table(arrays)
        if self._writer is None:
            self._writer = self._open(batch.schema)
        self._waiting.append(batch)
        self._rows += batch.num_rows
        self._bytes += int(self._sizes(batch).sum())
        while self._rows >= GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._write(min(self._rows, GROUP_ROWS))

    def words(self, known: Sequence[str], places: IntArray) -> Any:
        """The column of strings ``known[places]``."""
        return self._pa.array(known, self._pa.string()).take(self._pa.array(places))

    def _array(self, values: Any) -> Any:
        return values if isinstance(values, self._pa.Array) else self._pa.array(np.ascontiguousarray(values))

    def _sizes(self, table: Any) -> IntArray:
        """The bytes of each row's words."""
        from pyarrow import compute

        sizes = np.zeros(table.num_rows, dtype=np.int64)
        for column in table.columns:
            if any(of(column.type) for of in (self._pa.types.is_string, self._pa.types.is_large_string)):
                sizes += compute.fill_null(compute.binary_length(column), 0).to_numpy()
        return sizes

    def finish(self) -> None:
        """Write the remaining rows, and the end of the table."""
        if self._rows:
            self._write(self._rows)
        if self._writer is not None:
            self._writer.close()

    def _write(self, rows: int) -> None:
        joined = self._pa.concat_tables(self._waiting).combine_chunks()
        held = np.cumsum(self._sizes(joined))
        rows = min(rows, int(np.searchsorted(held, _GROUP_BYTES)) + 1)
        self._bytes = int(held[-1] - held[rows - 1])
        group = joined.slice(0, rows)
        self._waiting, self._rows = [joined.slice(rows)], joined.num_rows - rows
        if self._form == "parquet":
            self._writer.write_table(group, row_group_size=rows)
        else:
            self._writer.write_table(group, rows)

    def _open(self, schema: Any) -> Any:
        if self._form == "parquet":
            from pyarrow import parquet

            return parquet.ParquetWriter(self._sink, schema)
        if self._form == "arrow":
            from pyarrow import ipc

            return ipc.new_file(self._sink, schema)
        if self._form == "jsonl":
            return JsonWriter(self._sink)
        from pyarrow import csv

        separator = "\t" if self._form == "tsv" else ","
        return csv.CSVWriter(
            self._sink, schema, write_options=csv.WriteOptions(delimiter=separator, quoting_style="needed")
        )


def write_stream(data: Any, out: Writer, labels: tuple[str, Any] | None = None) -> None:
    """Write a table in memory as an Arrow stream, with the column of `labels` (name, values) if given."""
    pa = pyarrow()
    with foreign("the data", "cannot be written as a table", "expected named columns", TableError):
        schema, batches_of = schema_and_batches(data)
        batches = batches_of(list(schema.names))
        if labels is not None:
            name, values = labels
            if name in schema.names:
                raise OptionError(f"labels are given, and the data have a column '{name}' too")
            column = pa.array(as_array(values, "`labels`").tolist())
            table = pa.Table.from_batches(batches, schema).append_column(name, column)
            schema, batches = table.schema, iter(table.to_batches())
        with pa.ipc.new_stream(pa.PythonFile(_Sink(out), mode="w"), schema) as writer:
            for batch in batches:
                writer.write_batch(batch)


class _Sink(io.RawIOBase):
    """Adapts a Writer to the interface of a Python file object."""

    def __init__(self, file: Writer) -> None:
        self._file, self._at = file, 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._file.write(data)
        self._at += size
        return size
