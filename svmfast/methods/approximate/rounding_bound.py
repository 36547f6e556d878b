"""Bounds on rounding errors: those of an expansion, and those of the exact model.

Every constant here is derived in docs/certificate.md. Operations are counted generously, and the classical
bound gamma_m = m u / (1 - m u) <= 1.01 m u holds for any order of summation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmfast.certificate import SPARE_ENTRIES
from svmfast.methods.approximate.residual import SMALLEST, UNIT, squared_norms_about
from svmfast.methods.approximate.taylor import PowerScales, symmetric_norms, width_exponent
from svmfast.rows import FloatArray

# Models outside these limits are not certified (docs/certificate.md, underflow): the rbf kernel's gamma, a
# function's sum of |coefficients|, and for polynomial kernels gamma, the longest vector, and their product.
LEAST_GAMMA, MOST_GAMMA = 1e-280, 1e280
LEAST_TOTAL, MOST_TOTAL = 1e-100, 1e200
MOST_FACTOR = 1e150
# The largest errors by underflow: of sums of scaled numbers, relative to the sum of |coefficients|; of a
# scaled coefficient of the expansion; of a power of a vector, relative to the longest vector's.
NEGLIGIBLE = 1e-25
LOST = 1e-220
NEGLIGIBLE_POWER = 1e-60


@dataclass(frozen=True, eq=False)
class RoundingBound:
    """``exp(-gamma s) sum_m degrees[m] r^m + constant + per_square s + |fhat + rho| (relative + ... s)``.

    Attributes
    ----------
    degrees : (order + 1,) float64
    constant, per_square, relative, relative_per_square : float
    """

    degrees: FloatArray
    constant: float
    per_square: float
    relative: float
    relative_per_square: float


@np.errstate(over="ignore", invalid="ignore")
def gaussian_rounding_bound(
    points: FloatArray,
    beta: FloatArray,
    gamma: float,
    center: FloatArray,
    coefficients: FloatArray,
    moved: FloatArray,
    rho: float,
    *,
    order: int,
    about_zero: bool,
) -> RoundingBound:
    """Bound all rounding errors of a Gaussian expansion: building, shortening, evaluation, the exact sum.

    Parameters
    ----------
    points : (n, d) float64
    beta : (n,) float64
    gamma : float
    center : (d,) float64
    coefficients : packed polynomial as stored
    moved : (order + 1,) float64
        Symmetric norms of what shortening changed, degree by degree.
    rho : float
    order, about_zero
        As in :func:`svmfast.methods.approximate.taylor.gaussian_coefficients`.
    """
    total = float(np.abs(beta).sum())
    if not (LEAST_GAMMA <= gamma <= MOST_GAMMA and _is_moderate(total)):
        return _nothing(order)
    k = width_exponent(gamma)
    if k:  # the same kernel, with numbers whose powers stay in range
        points, center, gamma = np.ldexp(points, k), np.ldexp(center, k), math.ldexp(gamma, -2 * k)
    n, d = points.shape
    squares = squared_norms_about(points, center)
    norms = np.sqrt(squares)
    a = np.abs(beta) * np.exp(-gamma * squares)
    of_center = float(np.sqrt(center @ center))
    largest = float(squares.max()) if n else 0.0
    # The relative error of a_i, of powers of u, of factors, and of sums over n in any order.
    # About zero, the powers of sigma, a dot product, have errors too.
    powers = order * (d + 4) if about_zero else 0
    built = ((d + 4) * gamma * largest + n + 8 * order + powers + 40) * 1.01 * UNIT
    # A path through the nested sums: at most d additions on each level, with two roundings each without fma.
    evaluated = (2 * order * (d + 4) + 20) * 1.01 * UNIT
    stored = symmetric_norms(coefficients, d, order)
    per_norm = evaluated * stored + moved * (1 + 1e-9)
    sigma = 2 * gamma * norms * of_center if about_zero else np.zeros(n)
    # If all points equal the center, the coefficients above degree 0 are exactly 0.
    varied = bool((points != center).any())
    for m in range(order + 1):
        inner = np.zeros(n)
        for q in range(order - m, -1, -1):
            inner = 1 + inner * sigma / (q + 1)
        if m and varied:
            per_norm[m] += SMALLEST
        per_norm[m] = float(np.ldexp(per_norm[m], -k * m))
        per_norm[m] += built * float((a * inner) @ norms**m) * (2 * gamma) ** m / math.factorial(m)
        if m and varied:
            per_norm[m] += 2 * LOST
    degrees = _about_center(per_norm, of_center) if about_zero else per_norm
    entries = 2 * d + SPARE_ENTRIES
    reach = float(np.sqrt(np.einsum("ij,ij->i", points, points).max())) if n else 0.0
    # Errors of squared norms and products of vectors of norms up to `reach`, of_center, ||z|| <= r +
    # of_center.
    exponent = 4.04 * entries * UNIT * gamma
    constant = total * ((n + 24) * 1.01 * UNIT + exponent * 2 * (reach + of_center) ** 2) + 4 * UNIT * abs(
        rho
    )
    return RoundingBound(
        degrees=np.array([_stored(c * (1 + 1e-9), k * j) for j, c in enumerate(degrees)]),
        constant=constant * (1 + 1e-9) + total * NEGLIGIBLE + 1e-290,
        per_square=_stored(total * exponent * 2 * (1 + 1e-9), 2 * k),
        relative=(16 * UNIT + exponent * 8 * of_center**2) * (1 + 1e-9),
        relative_per_square=_stored((exponent * 2 + 4 * UNIT * gamma) * (1 + 1e-9), 2 * k),
    )


@np.errstate(over="ignore", invalid="ignore")
def polynomial_rounding_bound(
    points: FloatArray,
    beta: FloatArray,
    gamma: float,
    coef0: float,
    degree: int,
    coefficients: FloatArray,
    rho: float,
) -> RoundingBound:
    """Bound the rounding error of a polynomial kernel that was converted exactly."""
    n, d = points.shape
    total = float(np.abs(beta).sum())
    scales = PowerScales.of(points, gamma, coef0, degree)
    points = np.ldexp(points, -scales.of_points) if scales.of_points else points
    norms = np.sqrt(np.einsum("ij,ij->i", points, points))
    longest = float(norms.max(initial=0.0))
    reach = _stored(longest, scales.of_points)
    if not (abs(gamma) <= MOST_FACTOR and reach <= MOST_FACTOR and abs(gamma) * reach <= MOST_FACTOR):
        return _nothing(degree)
    if not _is_moderate(total):
        return _nothing(degree)
    entries = 2 * d + SPARE_ENTRIES
    both = (2 * n + (degree + 1) * (entries + 8) + 8 * degree + 64) * 1.01 * UNIT
    evaluated = (2 * degree * (d + 4) + 20) * 1.01 * UNIT
    stored = symmetric_norms(coefficients, d, degree)
    # sum |beta_i| (gamma |x_i| r + |coef0|)^degree bounds every sum, plus the error by underflow in powers of
    # a vector, which is largest for the longest vector.
    degrees = np.zeros(degree + 1)
    for m in range(degree + 1):
        of_points = float(np.abs(beta) @ norms**m)
        if m:
            of_points += NEGLIGIBLE_POWER * total * longest**m
        size = both * (abs(scales.weight(m)) * of_points)
        degrees[m] = _stored(size, scales.exponent(m)) + evaluated * stored[m]
    if longest > 0:
        degrees[degree] += SMALLEST
    # Products x_i z_i that underflow change the base of the power by at most this.
    of_base = entries * 2.0**-1074 * (1 + abs(gamma)) * degree * 2.0**degree
    constant = 8 * UNIT * abs(rho) + total * of_base + 1e-290
    return RoundingBound(degrees * (1 + 1e-9), constant, 0.0, 4 * UNIT, 0.0)


def _is_moderate(total: float) -> bool:
    """Return whether the sum of |coefficients| is far from underflow and overflow, or exactly 0."""
    return total == 0 or LEAST_TOTAL <= total <= MOST_TOTAL


def _nothing(order: int) -> RoundingBound:
    """Return the infinite bound of a function that cannot be certified."""
    return RoundingBound(np.full(order + 1, math.inf), math.inf, math.inf, math.inf, math.inf)


def _stored(x: float, exponent: int) -> float:
    """Return at least ``x 2^exponent``, and at least SMALLEST unless `x` is 0."""
    if x == 0:
        return 0.0
    with np.errstate(over="ignore"):
        return max(float(np.ldexp(x, exponent)), SMALLEST)


def _about_center(per_norm: FloatArray, of_center: float) -> FloatArray:
    """Return a polynomial in r that bounds ``sum_m c_m ||z||^m``, using ``||z|| <= r + of_center``."""
    out = np.zeros_like(per_norm)
    for m, c in enumerate(per_norm):
        for j in range(m + 1):
            out[j] += c * math.comb(m, j) * of_center ** (m - j)
    return out
