"""The ranges of a file in integer arithmetic: those of rows, or of the model's own scaling."""

from __future__ import annotations

import numpy as np

from svmfast.errors import OptionError
from svmfast.exports.computation import Computation
from svmfast.exports.fixed import Ranges
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, Rows

#: By how much of its width each range is widened at both ends, for the rows to come.
_MORE = 0.5


def ranges_of(computation: Computation, rows: Rows | None, of: str, bits: int) -> Ranges:
    """Find the ranges of the rows before the model's scaling, or else those of svm-scale in it.

    Rows of whole numbers that the input's type holds are taken as they are, without a unit.
    """
    width, scaling = computation.n_features, computation.scaling
    if rows is None:
        if scaling is None or scaling.ranges is None:
            raise OptionError("the ranges of the features are not known; give `data`, rows that show them")
        if bits == 8:
            raise OptionError("`fixed` 8 takes bytes as they are; give `data`, rows of bytes")
        found = scaling.ranges.minimum, scaling.ranges.maximum
        return _widened(*found, np.dtype(np.int16), whole=False, of="within the ranges of the scaling")
    if not len(rows):
        raise OptionError("`data` has no rows, which would show the ranges of the features")
    seen = Scaling.learned(rows, (-1, 1)).widened(max(width, rows.n_columns)).ranges
    assert seen is not None
    least, largest = seen.minimum[:width], seen.maximum[:width]
    kinds = (np.uint8, np.int8) if bits == 8 else (np.int16,)
    values, kind = rows.values, None
    if (values == np.floor(values)).all():
        fit = (np.iinfo(one) for one in kinds)
        kind = next((one.dtype for one in fit if one.min <= least.min() and largest.max() <= one.max), None)
    if kind is None and bits == 8:
        raise OptionError("`fixed` 8 is for rows of bytes, and `data` has other numbers; use `fixed` 16")
    within = f"within the ranges of {of}"
    return _widened(least, largest, kind or np.dtype(np.int16), whole=kind is not None, of=within)


def _widened(
    least: FloatArray, largest: FloatArray, kind: np.dtype[np.integer], *, whole: bool, of: str
) -> Ranges:
    more = _MORE * (largest - least)
    least, largest = least - more, largest + more
    if whole:
        limits = np.iinfo(kind)
        least = np.maximum(np.floor(least), limits.min)
        largest = np.minimum(np.ceil(largest), limits.max)
    return Ranges(least, largest, kind, whole, of)
