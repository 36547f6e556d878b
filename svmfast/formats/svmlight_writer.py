"""Write LIBSVM data text, ``label index:value ...``."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import ArrayLike, NDArray

from svmfast._core import write_svmlight_rows
from svmfast.errors import (
    OptionError,
)
from svmfast.formats.target import Writer, write_atomic
from svmfast.rows import Rows

#: Number of stored values that are formatted at a time.
_WRITE_ENTRIES = 1 << 18


def write_svmlight(
    file: str | os.PathLike[str] | Writer, rows: Rows, labels: ArrayLike, *, zero_based: bool = False
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
        Finite numbers.
    zero_based : bool
        Number the columns from 0 instead of from 1.

    Raises
    ------
    OptionError
        The numbers of labels and rows differ, or a label or value is nan or infinite.
    WriteError
        The path cannot be written.
    """
    marks = np.ascontiguousarray(labels, dtype=np.float64)
    if marks.shape != (len(rows),):
        raise OptionError(f"{len(rows)} rows need as many labels, got an array of shape {marks.shape}")
    if not (np.isfinite(marks).all() and np.isfinite(rows.values).all()):
        raise OptionError("labels and values must be finite to be written")
    if isinstance(file, (str, os.PathLike)):
        with write_atomic(file) as output:
            _write(output, rows, marks, zero_based)
    else:
        _write(file, rows, marks, zero_based)


def _write(output: Writer, rows: Rows, labels: NDArray[np.float64], zero_based: bool) -> None:
    indptr = np.ascontiguousarray(rows.indptr)
    arrays = labels, indptr, np.ascontiguousarray(rows.indices), np.ascontiguousarray(rows.values)
    first = 0
    while first < len(rows):
        last = int(np.searchsorted(indptr, indptr[first] + _WRITE_ENTRIES, side="right")) - 1
        last = min(max(last, first + 1), first + _WRITE_ENTRIES, len(rows))
        output.write(write_svmlight_rows(*arrays, first, last, 0 if zero_based else 1))
        first = last
