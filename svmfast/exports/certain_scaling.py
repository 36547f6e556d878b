"""Bounds the distance of a file's scaled row from the model's: docs/export.md, "The proof", item 8."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.exports.computation import Affine

FloatArray = NDArray[np.float64]

#: Bound on the rounding errors of the model's own scaling in double precision: 6.1 rounding units.
MODEL_UNITS = 6.1 * 2.0**-53
#: Upper bound on what an entry loses to underflow, in either precision, given the limits below.
_UNDERFLOW = 1e-120
#: With smaller ranges or larger factors, an entry could lose more to underflow.
_MIN_SPAN, _MAX_FACTOR = 1e-200, 1e100


def entry_errors(scaling: Affine | None, kind: np.dtype[Any], unit: float) -> tuple[float, float]:
    """Return a and the norm of b such that entries of the scaled rows differ by at most ``a |z_j| + b_j``.

    z is the file's scaled row. The file gets a row x, and the model any row that rounds to x. Both results
    are infinite if there is no bound.

    Parameters
    ----------
    scaling : Affine or None
    kind : float32 or float64
    unit : float
        Half the distance between 1 and the next larger number.
    """
    if scaling is None:
        return unit, 0.0
    exact = _exact(scaling)
    if exact is None:
        return math.inf, math.inf
    offsets, factors = stored_numbers(scaling.offset, kind), stored_numbers(scaling.factor, kind)
    underflow = max(float(np.finfo(kind).tiny), _UNDERFLOW)
    worst, squares = 0.0, 0.0
    lower = 0.0 if scaling.ranges is None else abs(scaling.ranges.lower)
    digits = 0.0 if scaling.digits is None else 0.5 * 10.0 ** (1 - scaling.digits) + 2.0**-53
    for (offset, factor), file_offset, file_factor in zip(
        exact, offsets.tolist(), factors.tolist(), strict=True
    ):
        if factor == 0 and file_factor == 0:
            continue
        if not (math.isfinite(file_offset) and math.isfinite(file_factor)) or file_factor == 0:
            return math.inf, math.inf
        size = abs(float(factor))
        worst = max(worst, abs(float((Fraction(file_factor) - factor) / Fraction(file_factor))))
        moved = abs(float(Fraction(file_offset) - offset)) + unit * abs(file_offset)
        own = 1.01 * size * moved + 4 * (1 + size) * underflow
        squares += (1.02 * (1 + digits) * (own + MODEL_UNITS * lower)) ** 2
    relative = 1.01 * (1.01 * (3 * unit + worst) + MODEL_UNITS + digits)
    return relative, 1.000001 * math.sqrt(squares)


def _exact(scaling: Affine) -> list[tuple[Fraction, Fraction]] | None:
    """Return offset and factor of each column without rounding; None if any is beyond the limits."""
    ranges = scaling.ranges
    if ranges is None:
        if (np.abs(scaling.factor) > _MAX_FACTOR).any():
            return None
        return [
            (Fraction(o), Fraction(f))
            for o, f in zip(scaling.offset.tolist(), scaling.factor.tolist(), strict=True)
        ]
    if scaling.clip is not None:
        return None  # a dropped column is 0 even if the interval does not contain 0
    lower, width = Fraction(ranges.lower), Fraction(ranges.upper) - Fraction(ranges.lower)
    out = [(Fraction(0), Fraction(0))] * len(scaling.offset)
    for j, (least, most) in enumerate(zip(ranges.minimum.tolist(), ranges.maximum.tolist(), strict=True)):
        span = Fraction(most) - Fraction(least)
        if not span:
            continue
        factor = width / span
        if span < _MIN_SPAN or width < _MIN_SPAN or factor > _MAX_FACTOR:
            return None
        out[j] = Fraction(least) - lower / factor, factor
    return out


def stored_numbers(values: FloatArray, kind: np.dtype[Any]) -> FloatArray:
    """Return the numbers that the file has: rounded to `kind`, and 0 for denormals."""
    with np.errstate(over="ignore"):
        rounded = values.astype(kind)
    rounded[np.abs(rounded) < np.finfo(kind).tiny] = 0
    return rounded.astype(np.float64)
