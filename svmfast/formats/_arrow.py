"""pyarrow's record batches, checked: only this module looks into their buffers and dictionaries.

pyarrow trusts the lengths, offsets and indices that an Arrow file states. Reading an unchecked batch can
crash, or read memory that is not the file's.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import InputError, MissingPackageError

#: A batch that is compressed may take this much memory, and beyond it at most this many times its size.
_UNPACKED_BYTES, _UNPACKED_RATIO = 64 << 20, 100
#: Kinds of messages: those with arrays, of which the first is a dictionary.
_DICTIONARY, _ARRAYS = 2, (2, 3)


def pyarrow(what: str = "tables (Parquet, Arrow, CSV) are read and written") -> Any:
    """The package pyarrow; raise MissingPackageError if it is not installed, with what needs it."""
    try:
        import pyarrow as package
    except ImportError:
        raise MissingPackageError(what, "pyarrow", "tables") from None
    return package


def checked(batch: Any, names: Sequence[str]) -> Any:
    """Return some columns of a record batch; raise pyarrow's error if their content is invalid."""
    chosen = batch.select(list(names))
    chosen.validate(full=True)
    return chosen


def decoded(array: Any) -> Any:
    """An array without a dictionary."""
    return array.dictionary_decode() if pyarrow().types.is_dictionary(array.type) else array


def no_rows(types: Mapping[str, Any]) -> Any:
    """A record batch without rows, of columns by name; a type None is that of strings."""
    pa = pyarrow()
    arrays = [decoded(pa.nulls(0, pa.string() if kind is None else kind)) for kind in types.values()]
    return pa.RecordBatch.from_arrays(arrays, names=list(types))


def numbers(array: Any) -> NDArray[Any]:
    """A numeric array without missing values, not copied where NumPy has the type."""
    types = pyarrow().types
    if types.is_boolean(array.type):
        array = array.cast("uint8")
    elif types.is_float16(array.type):
        halves: NDArray[Any] = array.to_numpy(zero_copy_only=False).astype(np.float32)
        return halves
    elif types.is_decimal(array.type) or types.is_null(array.type):
        array = array.cast("float64")
    # Not with to_numpy, which imports pandas if it is installed.
    size = np.dtype(array.type.to_pandas_dtype())
    return np.frombuffer(array.buffers()[1], size, len(array), array.offset * size.itemsize)


def words_of(array: Any) -> tuple[list[Any], NDArray[np.int64]]:
    """The distinct words of a column of strings, and the place of each row's among them; None is missing."""
    types = pyarrow().types
    if not types.is_dictionary(array.type):
        array = (array.cast("string") if types.is_null(array.type) else array).dictionary_encode()
    used, places = np.unique(np.asarray(array.indices.cast("int64").fill_null(-1)), return_inverse=True)
    # pyarrow takes no elements of a string_view, which polars hands over.
    found = array.dictionary.cast("large_string").take(pyarrow().array(used[used >= 0])).to_pylist()
    return [None] * int((used < 0).sum()) + found, places


def check_blocks(file: Any, path: str) -> None:
    """Raise an InputError if a batch of an Arrow file unpacks to far more than its size.

    pyarrow unpacks a whole batch; the file's footer lists the batches, and each states its sizes.
    """
    (length,) = struct.unpack("<i", file.read_at(4, file.size() - 10))
    footer = file.read_at(length, file.size() - 10 - length)
    for number in (2, 3):  # dictionaries, batches
        for place, described, size in _structs(footer, *_at(footer, 0), number, "<qi4xq"):
            message = file.read_at(min(described, file.size()), place)
            start = 8 if message.startswith(b"\xff\xff\xff\xff") else 4  # old files have no mark
            read = partial(lambda body, at: bytes(file.read_at(8, body + at)), place + described)
            _check_unpacked(message[start:], size, read, path)


class CheckedMessages(io.RawIOBase):
    """The bytes of an Arrow stream, with the same check of each batch before pyarrow sees it."""

    def __init__(self, stream: Any, path: str) -> None:
        self._messages = pyarrow().ipc.MessageReader.open_stream(stream)
        self._path, self._left = path, memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        if not self._left:
            message = next(iter(self._messages), None)
            if message is None:
                return 0
            body = memoryview(message.body or b"").cast("B")
            _check_unpacked(
                bytes(message.metadata), len(body), lambda at: bytes(body[at : at + 8]), self._path
            )
            self._left = memoryview(message.serialize()).cast("B")
        count = min(len(view), len(self._left))
        memoryview(view).cast("B")[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def _check_unpacked(message: bytes, size: int, read: Callable[[int], bytes], path: str) -> None:
    """Check the sizes of a message's arrays; `read` gives the 8 bytes at a place of its body."""
    root = _at(message, 0)
    kind = _field(message, *root, 1)
    if not kind or message[kind] not in _ARRAYS:
        return
    batch = _table(message, *root, 2)
    if message[kind] == _DICTIONARY:
        batch = _table(message, *batch, 1)
    if not _field(message, *batch, 3):  # not compressed
        return
    unpacked = 0
    for at, length in _structs(message, *batch, 2, "<qq"):
        if length >= 8:
            (stated,) = struct.unpack("<q", read(at))
            unpacked += length if stated < 0 else stated  # -1: stored as it is
    if unpacked > max(_UNPACKED_BYTES, _UNPACKED_RATIO * size):
        what = f"a batch unpacks to more than {_UNPACKED_RATIO} times its size"
        raise InputError(path, None, what, None, "write smaller batches, or none compressed")


# A table of a flatbuffer: its place, and that of the list of its fields.


def _at(data: bytes, place: int) -> tuple[int, int]:
    table = place + struct.unpack_from("<I", data, place)[0]
    return table, table - struct.unpack_from("<i", data, table)[0]


def _field(data: bytes, table: int, fields: int, number: int) -> int:
    """The place of a field, 0 if the table is without."""
    if 4 + 2 * number >= struct.unpack_from("<H", data, fields)[0]:
        return 0
    offset = struct.unpack_from("<H", data, fields + 4 + 2 * number)[0]
    return table + offset if offset else 0


def _table(data: bytes, table: int, fields: int, number: int) -> tuple[int, int]:
    place = _field(data, table, fields, number)
    if not place:
        raise ValueError("a message without content")
    return _at(data, place)


def _structs(data: bytes, table: int, fields: int, number: int, form: str) -> list[tuple[int, ...]]:
    """The vector of structs that a field holds."""
    place = _field(data, table, fields, number)
    if not place:
        return []
    start = place + struct.unpack_from("<I", data, place)[0]
    (count,) = struct.unpack_from("<I", data, start)
    whole = data[start + 4 : start + 4 + count * struct.calcsize(form)]
    return list(struct.iter_unpack(form, whole))
