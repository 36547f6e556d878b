"""Truncated expansions in single precision, for labels that the bound proves (docs/certificate.md)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmfast.monomials import by_degree, coefficient_count, multiplicities
from svmfast.rows import BoolArray, FloatArray

if TYPE_CHECKING:
    from svmfast.models.polynomial import PolynomialModel

#: The unit roundoff of single precision, and the spacing of its smallest numbers.
_UNIT, _SMALLEST = 2.0**-24, 2.0**-149
#: If the number of roundings times the unit is below this, relative errors are bounded with the factor 1.01.
_MOST_ROUNDED = 0.0099
#: The most that a bound may grow per unit of the value itself, for the margin below.
_MOST_RELATIVE = 0.005
#: Factors of rounding bounds: the classical 1.01, and 1.02 for what is bounded in double precision.
_SLACK = 1.01 * 1.02
#: No nonzero number of a bound is below this; beyond this exponent nothing is claimed.
_LEAST, _LARGEST_EXPONENT = 1e-300, 600.0
#: More than a center's norm can lose by underflow.
_LEAST_NORM = 1e-150
#: Coefficients that are looked at together.
_TOGETHER = 1 << 18


class SinglePolynomials(NamedTuple):
    """The polynomials of a model in single precision."""

    #: The factor of the rows, a power of two.
    value_scale: float
    #: In the same places as the model's, of scaled rows, and divided by the polynomial's scale.
    coefficients: NDArray[np.float32]
    #: (cells, p), powers of two.
    scale: FloatArray
    #: (cells, p, top + 1) the bounds for single precision; infinite where it cannot be used.
    degrees: FloatArray


def rounding_bytes(size: int, largest: int) -> int:
    """The most memory that :func:`single_polynomials` takes for so many coefficients.

    The largest polynomial has `largest` of them. The copy and the multiplicities stay; six arrays of doubles,
    of some polynomials at a time, do not.
    """
    return 12 * size + 52 * min(size, max(largest, _TOGETHER))


@np.errstate(over="ignore", invalid="ignore")
def single_polynomials(model: PolynomialModel) -> SinglePolynomials:
    """Round the coefficients of a model with bounds, and add the rounding errors to the bounds."""
    assert model.bound_degrees is not None
    assert model.bound_rest is not None
    p, d = model.head.n_functions, model.centers.shape[1]
    # Rows of about 1, where the kernel has a width.
    exponent = round(math.log2(model.gamma) / 2) if model.gamma > 0 else 0
    coefficients = np.empty(model.coefficients.shape, dtype=np.float32)
    scale, degrees = np.ones(model.orders.size), model.bound_degrees.reshape(model.orders.size, -1).copy()
    rest = model.bound_rest.reshape(model.orders.size, -1)
    shift = np.sqrt((model.centers**2).sum(axis=1)) * (1 + 1e-9) + _LEAST_NORM
    starts = model.starts.ravel()
    for order in np.unique(model.orders).tolist():
        count, power = coefficient_count(d, order), np.arange(order + 1)
        which = np.flatnonzero(model.orders.ravel() == order)
        sections = min(len(which), -(-len(which) * count // _TOGETHER))
        for some in np.array_split(which, sections):
            places = starts[some, None] + np.arange(count)
            scaled = model.coefficients[places]
            for m, part in enumerate(by_degree(scaled, d, order)):
                np.ldexp(part, -exponent * m, out=part)
            largest = np.abs(scaled).max(axis=1)
            to_one = np.frexp(largest)[1]
            scaled = np.ldexp(scaled, -to_one[:, None])
            coefficients[places], scale[some] = scaled, np.ldexp(1.0, to_one)
            usable = _usable(model.gamma, rest[some]) & (largest < 1e300)
            degrees[some[~usable], 0] = np.inf
            roundings = 2 * order * (d + 4) + 20
            if not roundings * _UNIT < _MOST_ROUNDED or order >= degrees.shape[1]:
                degrees[some, 0] = np.inf
                continue
            errors = _SLACK * roundings * _UNIT * _norms(scaled, d, order)
            errors[:, 0] += 2 * _SMALLEST * (order + 4) * count
            errors[:, order] += 2 * _SMALLEST * (order + 4) * count
            errors = errors * np.ldexp(1.0, exponent * power) * scale[some, None] + _LEAST
            if model.about == "zero":
                errors = _about_center(errors, shift[some // p])
            degrees[some[usable], : order + 1] += errors[usable]
    shape = model.orders.shape
    return SinglePolynomials(
        math.ldexp(1.0, exponent), coefficients, scale.reshape(shape), degrees.reshape(*shape, -1)
    )


def _usable(gamma: float, rest: FloatArray) -> BoolArray:
    """Whether the value itself adds little to its bound. (False also for a nan.)"""
    farthest = rest[:, 4] * _LARGEST_EXPONENT / gamma if gamma > 0 else np.where(rest[:, 4] > 0, np.inf, 0.0)
    return np.asarray(rest[:, 3] + farthest < _MOST_RELATIVE)


def _norms(coefficients: FloatArray, d: int, order: int) -> FloatArray:
    """Compute :func:`svmfast.monomials.symmetric_norms` of n polynomials with coefficients up to 1."""
    parts = enumerate(by_degree(coefficients, d, order))
    return np.stack([np.sqrt((part * part / multiplicities(d, m)).sum(axis=1)) for m, part in parts], axis=1)


def _about_center(errors: FloatArray, shift: FloatArray) -> FloatArray:
    """From ``sum_m errors_m ||w||^m`` to bounds of the same sum in powers of r, ``||w|| <= r + shift``."""
    out = np.zeros_like(errors)
    for m in range(errors.shape[1]):
        for j in range(m + 1):
            out[:, j] += errors[:, m] * math.comb(m, j) * shift ** (m - j)
    return out
