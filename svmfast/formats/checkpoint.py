"""Checkpoints of a training run: numbers and arrays in an npz file that is replaced atomically."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import CheckpointError, FileAccessError, OptionError
from svmfast.foreign import foreign
from svmfast.formats.target import write_atomic

_META = "svmfast_checkpoint"


class CheckpointFile:
    """The file in which a training run saves its state; every save replaces the whole file."""

    def __init__(self, path: str) -> None:
        if path == "-":
            raise OptionError("`checkpoint` needs a file: every checkpoint replaces the whole file")
        self.path = path

    def read(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        """The saved state, or None if there is no file yet; CheckpointError if it is damaged."""
        try:
            with open(self.path, "rb") as file:
                packed = io.BytesIO(file.read())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            what = f"cannot be read: {error.strerror or error}"
            raise FileAccessError(self.path, None, what) from error
        expected = "expected a file that `checkpoint` wrote"
        with foreign(self.path, "not a complete checkpoint", expected, CheckpointError):
            with zipfile.ZipFile(packed) as content:
                entries = content.infolist()
                # Entries of a crafted file may share their bytes, so the sum of the sizes is limited too.
                if sum(entry.file_size for entry in entries) > len(packed.getbuffer()):
                    raise ValueError("entries larger than the file")
                arrays = {entry.filename.removesuffix(".npy"): _array(content, entry) for entry in entries}
            meta = json.loads(arrays.pop(_META).tobytes())
            if not isinstance(meta, dict):
                raise ValueError("no object")
        return meta, arrays

    def write(self, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Save the state; if the run dies while writing, the previous one remains.

        `meta` are values that JSON can represent. Floats keep every bit.
        """
        packed = io.BytesIO()
        text = np.frombuffer(json.dumps(dict(meta), allow_nan=False).encode(), dtype=np.uint8)
        np.savez(packed, **{_META: text}, **dict(arrays))  # type: ignore[arg-type]
        with write_atomic(self.path, pack=False) as out:
            out.write(packed.getbuffer())


def _array(content: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """An array of the file; refuse compressed entries, and sizes that do not match the bytes."""
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError("packed")
    raw = content.read(entry)
    header = io.BytesIO(raw)
    if np.lib.format.read_magic(header) != (1, 0):
        raise ValueError("unknown version of NumPy's format")
    shape, transposed, dtype = np.lib.format.read_array_header_1_0(header)
    if dtype.kind not in "fiu" or math.prod(shape) * dtype.itemsize != len(raw) - header.tell():
        raise ValueError("numbers that do not match the checkpoint's declaration")
    values: NDArray[Any] = np.frombuffer(raw, dtype, offset=header.tell()).copy()
    return values.reshape(shape[::-1]).T if transposed else values.reshape(shape)
