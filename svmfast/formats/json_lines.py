"""JSON Lines, an object for each row: read block by block with pyarrow, and written.

The columns and their types are those of the first rows. Numbers are float64, except in columns to keep.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Container, Iterator
from typing import Any

from svmfast.errors import DataFormatError, EmptyDataError
from svmfast.figures import plain
from svmfast.foreign import foreign
from svmfast.formats._arrow import pyarrow

#: Rows whose keys are the columns; limits of a block in bytes, rows and values, and of a line.
_FIRST_ROWS, _BLOCK_BYTES, _BLOCK_ROWS, _BLOCK_VALUES, _LINE_BYTES = 1000, 1 << 20, 1 << 16, 1 << 20, 1 << 20
_FAULT = re.compile(r"JSON parse error: (.*?)(?: in row (\d+))?$")


class JsonRows:
    """The rows of a file as record batches with the columns `schema`.

    `keep` are columns whose values keep their types.
    """

    def __init__(self, file: io.BufferedReader, path: str, keep: Container[str]) -> None:
        self._pa, self._file, self._path, self._keep = pyarrow(), file, path, keep
        self._first, self._row = self._lines(_FIRST_ROWS), 0
        if not self._first:
            raise EmptyDataError(path, None, "there are no rows", None, "expected an object on each line")
        values: dict[str, list[Any]] = {}
        for row, line in enumerate(self._first, 1):
            what, expected = f"row {row:,} is not a JSON object", "expected one object per line"
            with foreign(path, what, expected, DataFormatError):
                found = json.loads(line)
            if not isinstance(found, dict):
                raise DataFormatError(path, None, what, None, expected)
            for name, value in found.items():
                values.setdefault(name, []).append(value)
        #: The columns, in the order in which they appear.
        self.schema = self._pa.schema([(name, self._type(name, some)) for name, some in values.items()])

    def _type(self, name: str, values: list[Any]) -> Any:
        pa, types = self._pa, self._pa.types
        try:
            kind = pa.array(values).type
        except (ValueError, TypeError, OverflowError):
            what = f"column '{name}' has values of several types"
            raise DataFormatError(self._path, None, what, None, "expected one type") from None
        if types.is_null(kind):
            return pa.string() if name in self._keep else pa.float64()
        return pa.float64() if types.is_integer(kind) and name not in self._keep else kind

    def _lines(self, most: int) -> list[bytes]:
        """The next rows, without blank lines."""
        lines: list[bytes] = []
        size = 0
        while len(lines) < most and size < _BLOCK_BYTES and (line := self._file.readline(_LINE_BYTES)):
            if len(line) == _LINE_BYTES:
                what = f"a line is longer than {_LINE_BYTES:,} bytes"
                raise DataFormatError(self._path, None, what, None, "expected one object per line")
            size += len(line)
            lines += [line] if line.strip() else []
        return lines

    def batches(self, named: list[str] | None) -> Iterator[Any]:
        """The rows with the columns `named`, or with all, where a row with further ones is refused."""
        from pyarrow import json as reader

        schema = self.schema if named is None else self._pa.schema([self.schema.field(one) for one in named])
        further = "error" if named is None else "ignore"
        options = reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior=further)
        most = max(1, min(_BLOCK_ROWS, _BLOCK_VALUES // len(schema)))
        lines = self._first
        while lines:
            for start in range(0, len(lines), most):
                text = b"".join(lines[start : start + most])
                how = reader.ReadOptions(use_threads=False, block_size=len(text) + 1)
                try:
                    table = reader.read_json(self._pa.BufferReader(text), how, options)
                except self._pa.ArrowInvalid as error:
                    if (fault := _FAULT.match(" ".join(str(error).split()))) is None:
                        raise
                    raise self._refused(fault[1], fault[2]) from error
                if table.num_rows != len(lines[start : start + most]):
                    raise self._refused("lines that are not one object", None)
                yield from table.combine_chunks().to_batches()
                self._row += table.num_rows
            lines = self._lines(most)

    def _refused(self, what: str, row: str | None) -> DataFormatError:
        where = f"row {self._row + int(row) + 1:,}" if row else f"row {self._row + 1:,} or a later one"
        expected = "expected an object with the columns and types of the first rows"
        return DataFormatError(self._path, None, f"{where} is not read: {what}", None, expected)


class JsonWriter:
    """Writes tables as JSON Lines; numbers that are not finite become null."""

    def __init__(self, sink: Any) -> None:
        self._sink = sink

    def write_table(self, table: Any, rows: int) -> None:
        """Append the rows, which are `rows`."""
        for place, field in enumerate(table.schema):
            if pyarrow().types.is_timestamp(field.type):  # Python's have no nanoseconds
                table = table.set_column(place, field.name, table[place].cast("string"))
        for batch in table.to_batches(max_chunksize=1 << 12):
            lines = [json.dumps(plain(one), ensure_ascii=False, default=str) for one in batch.to_pylist()]
            self._sink.write(("\n".join(lines) + "\n").encode())

    def close(self) -> None:
        """Do nothing: there is no end to write."""
