"""pyarrow's record batches, checked: only this module looks into their buffers and dictionaries.

pyarrow trusts the lengths, offsets and indices that an Arrow file states. Reading an unchecked batch can
crash, or read memory that is not the file's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import MissingPackageError


def pyarrow() -> Any:
    """The package pyarrow; raise MissingPackageError if it is not installed."""
    try:
        import pyarrow as package
    except ImportError:
        what = "tables (Parquet, Arrow, CSV) are read and written"
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


def numbers(array: Any) -> NDArray[Any]:
    """A numeric array without missing values, not copied where NumPy has the type."""
    types = pyarrow().types
    if types.is_boolean(array.type):
        array = array.cast("uint8")
    elif types.is_float16(array.type):
        halves: NDArray[Any] = array.to_numpy(zero_copy_only=False).astype(np.float32)
        return halves
    elif types.is_decimal(array.type):
        array = array.cast("float64")
    # Not with to_numpy, which imports pandas if it is installed.
    size = np.dtype(array.type.to_pandas_dtype())
    return np.frombuffer(array.buffers()[1], size, len(array), array.offset * size.itemsize)
