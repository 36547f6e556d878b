"""JSON Lines, an object for each row: read block by block with pyarrow, and written.

The columns and their types are those of the first rows. Numbers are float64, except in columns to keep.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Container, Iterator, Sequence
from typing import Any

from svmfast.errors import DataFormatError, EmptyDataError
from svmfast.figures import plain
from svmfast.foreign import foreign
from svmfast.formats._arrow import pyarrow

#: Rows whose keys are the columns; limits of a block in bytes, rows and values, and of a line.
_FIRST_ROWS, _BLOCK_BYTES, _BLOCK_ROWS, _BLOCK_VALUES, _LINE_BYTES = 1000, 1 << 20, 1 << 16, 1 << 20, 1 << 20
#: Values that are no numbers.
_KINDS = {str: "strings", bool: "true or false", list: "arrays", dict: "objects"}
#: Digits of an integer that Python reads.
_MOST_DIGITS = 4000
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
            for name, value in self._object(line, row).items():
                values.setdefault(name, []).append(value)
        types = {name: self._type(name, some) for name, some in values.items()}
        #: What the columns hold of which no type holds all values; they must not be read.
        self.mixed = {name: _held(values[name]) for name, kind in types.items() if kind is None}
        #: The columns, in the order in which they appear.
        self.schema = self._pa.schema([(name, kind or self._pa.null()) for name, kind in types.items()])

    def _object(self, line: bytes, row: int) -> dict[str, Any]:
        """The keys and values of a row."""
        what, expected = f"row {row:,} is not a JSON object", "expected one object per line"
        with foreign(self._path, what, expected, DataFormatError):
            try:
                found = json.loads(line, parse_int=_whole)
            except json.JSONDecodeError as error:
                raise ValueError(f"{error.msg} at character {error.pos + 1}") from error
        if not isinstance(found, dict):
            raise DataFormatError(self._path, None, what, None, expected)
        return found

    def _type(self, name: str, values: list[Any]) -> Any:
        """The type that holds all values; None if there is none."""
        pa, kinds = self._pa, {type(one) for one in values} - {type(None)}
        if name not in self._keep and kinds <= {int, float}:
            return pa.float64()
        if kinds <= {str}:
            return pa.string()
        for kind in (None, pa.uint64()):
            with contextlib.suppress(ValueError, TypeError, OverflowError, NotImplementedError):
                return pa.array(values, kind).type
        return None

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

    def batches(self, read: Sequence[str], further: bool) -> Iterator[Any]:
        """The rows with the columns `read`; unless `further`, a row with keys of no first row is refused."""
        for name, held in self.mixed.items():
            if name in read:
                what, expected = f"column '{name}' holds {held}", "expected numbers, or words"
                raise DataFormatError(self._path, None, what, None, expected)
        return self._batches(self._pa.schema([self.schema.field(one) for one in read]), further)

    def _batches(self, schema: Any, further: bool) -> Iterator[Any]:
        from pyarrow import json as reader

        all_read = len(schema) == len(self.schema)
        behavior = "error" if all_read and not further else "ignore"
        options = reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior=behavior)
        most = max(1, min(_BLOCK_ROWS, _BLOCK_VALUES // len(schema)))
        lines = self._first
        while lines:
            for start in range(0, len(lines), most):
                part = lines[start : start + most]
                if not (further or all_read):
                    self._check_keys(part)
                text = b"".join(part)
                how = reader.ReadOptions(use_threads=False, block_size=len(text) + 1)
                try:
                    table = reader.read_json(self._pa.BufferReader(text), how, options)
                except self._pa.ArrowInvalid as error:
                    if (fault := _FAULT.match(" ".join(str(error).split()))) is None:
                        raise
                    if not further:
                        self._check_keys(part)
                    raise self._refused(fault[1].rstrip("."), fault[2]) from error
                if table.num_rows != len(part):
                    raise self._refused("lines that are not one object", None)
                yield from table.combine_chunks().to_batches()
                self._row += table.num_rows
            lines = self._lines(most)

    def _check_keys(self, lines: list[bytes]) -> None:
        known = frozenset(self.schema.names)
        for row, line in enumerate(lines, self._row + 1):
            for name in self._object(line, row).keys() - known:
                what, expected = f"row {row:,} has another key", "expected those of the first rows"
                raise DataFormatError(self._path, None, what, name, expected)

    def _refused(self, what: str, row: str | None) -> DataFormatError:
        where = f"row {self._row + int(row) + 1:,}" if row else f"row {self._row + 1:,} or a later one"
        expected = "expected an object like the first rows"
        return DataFormatError(self._path, None, f"{where} is not read: {what}", None, expected)


def _held(values: list[Any]) -> str:
    kinds = {_KINDS.get(type(one), "numbers") for one in values if one is not None}
    return "integers beyond 64 bits" if kinds == {"numbers"} else " and ".join(sorted(kinds))


def _whole(text: str) -> int | float:
    """An integer, as a float if it is too long for Python's."""
    return int(text) if len(text) <= _MOST_DIGITS else float(text)


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
