"""Decides when the label that an exported file computes is provably the exact model's.

The bound includes the rounding of the file's own arithmetic. docs/export.md, "The proof", derives every
constant here. All numbers of the bound are rounded up when they are written, and none is below a
floor that is far above the underflow limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from svmfast.certificate import SPARE_ENTRIES
from svmfast.exports.computation import Computation
from svmfast.exports.reference import Reals
from svmfast.models.polynomial import PolynomialModel
from svmfast.models.scaling import Scaling
from svmfast.monomials import symmetric_norms
from svmfast.rows import FloatArray

#: Bound on the error of the file's exponential, in rounding units; twice the proven one.
EXP_UNITS = 8
#: Bound on the rounding errors of the model's own scaling in double precision: 6.1 rounding units.
MODEL_UNITS = 6.1 * 2.0**-53
#: Upper bound on what an entry loses to underflow, in either precision, given the limits below.
_UNDERFLOW = 1e-120
#: With smaller ranges or larger factors, an entry could lose more to underflow.
_MIN_SPAN, _MAX_FACTOR = 1e-200, 1e100


@dataclass(frozen=True)
class Precision:
    """The constants that differ between the bounds of single and double precision."""

    #: Half the distance between 1 and the next larger number.
    unit: float
    #: The smallest number that a bound contains.
    floor: float
    #: Added to every distance, to cover underflow.
    tiny: float
    #: Rows with a larger gamma |z - mu|^2 are not certified.
    largest_exponent: float
    #: Covers the rounding errors of the bound itself, as a factor.
    slack: float


PRECISIONS = {
    np.dtype(np.float32): Precision(2.0**-24, 1e-30, 1e-15, 80.0, 1.0001),
    np.dtype(np.float64): Precision(2.0**-53, 1e-290, 1e-149, 600.0, 1.000000001),
}


@dataclass(frozen=True, eq=False)
class Bound:
    """The numbers of an exported certificate, in the file's precision."""

    precision: Precision
    #: (cells, p, top + 1) and (cells, p, 5), on the truncation error, as in svmfast.certificate.
    degrees: Reals
    rest: Reals
    #: (cells, p, order + 1) factors of the m-th powers of the radius: the rounding errors of degree m.
    rounding: Reals
    #: (cells, p, max(order, 1)) factors of the (m - 1)-th powers: how fast the terms of degree m can change.
    slope: Reals
    #: (cells,) upper bound on ||w|| - ||z - mu||, where w is the vector of the polynomials' variables.
    reach: Reals
    #: () upper bound on how far rounding moves a row, relative to its distance from the center.
    step: Reals
    #: (cells,) upper bound on how far rounding moves the center, and rows independently of their distance.
    shift: Reals


def bound_of(computation: Computation, dtype: Any) -> Bound | None:
    """Compute the certificate of a file in `dtype`; None without one, or if a number is out of range."""
    values, head = computation.values, computation.head
    if not isinstance(values, PolynomialModel) or values.bound_degrees is None or values.bound_rest is None:
        return None
    if head.is_regression or head.one_vs_rest:
        return None
    kind = np.dtype(dtype)
    precision = PRECISIONS[kind]
    if values.gamma and not np.finfo(kind).tiny < values.gamma < np.finfo(kind).max:
        return None
    (cells, p), d = values.orders.shape, len(computation.variables)
    if computation.n_features > d + SPARE_ENTRIES:
        return None
    order = int(values.orders.max(initial=0))
    sizes = _norms(values, kind, order, d)
    # Roundings per term, including the stored coefficient.
    rounding = sizes * (1.01 * (order * (d + 1) + 1) * precision.unit)
    slope = (sizes * np.arange(order + 1))[..., 1:] if order else np.zeros((cells, p, 1))
    centers = values.centers
    stored = stored_numbers(centers, kind)
    reach = np.zeros(cells) if values.about == "centre" else np.sqrt((centers * centers).sum(axis=1))
    relative, absolute = entry_errors(computation.scaling, kind, precision.unit)
    step = np.asarray(1.005 * (precision.unit + relative))
    shift = (
        np.sqrt(((stored - centers) ** 2).sum(axis=1))
        + relative * np.sqrt((stored**2).sum(axis=1))
        + absolute
    )
    numbers = (values.bound_degrees, values.bound_rest, rounding, slope, reach, step, shift)
    with np.errstate(over="ignore"):
        written = [np.asarray(np.maximum(one, precision.floor).astype(kind)) for one in numbers]
    if not all(np.isfinite(one).all() for one in (*written, stored_numbers(values.rho, kind))):
        return None
    return Bound(precision, *written)


def _norms(values: PolynomialModel, kind: np.dtype[Any], order: int, d: int) -> FloatArray:
    """Compute the norms of the stored coefficients of every degree, ``(cells, p, order + 1)``."""
    sizes = np.zeros((*values.orders.shape, order + 1))
    for (place, own), start, count in zip(
        np.ndenumerate(values.orders), values.starts.flat, values.counts(), strict=True
    ):
        coefficients = stored_numbers(values.coefficients[start : start + count], kind)
        sizes[place][: own + 1] = symmetric_norms(coefficients, d, own)
    return sizes


def entry_errors(scaling: Scaling | None, kind: np.dtype[Any], unit: float) -> tuple[float, float]:
    """Find a and the norm of b such that entries of scaled rows differ by at most ``a |z_j| + b_j``.

    z is the file's scaled row. The file gets a row x, and the model any row that rounds to x. Both are
    infinite if there is no bound (docs/export.md, "The proof", item 8).
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


def _exact(scaling: Scaling) -> list[tuple[Fraction, Fraction]] | None:
    """Offset and factor of each column without rounding; None if any is beyond the limits."""
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
    """Round numbers as the file has them: to `kind`, and denormals to 0."""
    with np.errstate(over="ignore"):
        rounded = values.astype(kind)
    rounded[np.abs(rounded) < np.finfo(kind).tiny] = 0
    return rounded.astype(np.float64)
