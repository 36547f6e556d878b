"""The numbers of a model's certificate: bounds on rounding, and with those on truncation (solvers/residual).

For each function these are ``(degrees, rest)`` as :data:`svmfast.certificate.REST` explains them. Every
constant of the rounding errors, those of an expansion and of the exact model, is derived in
docs/certificate.md. Operations are counted generously, and the classical bound gamma_m = m u / (1 - m u) <=
1.01 m u holds for any order of summation.
"""

from __future__ import annotations

import math

import numpy as np

from svmfast.certificate import REST, SPARE_ENTRIES
from svmfast.methods.approximate.exact_sums import ExactSums
from svmfast.monomials import symmetric_norms
from svmfast.rows import FloatArray
from svmfast.solvers.residual import SMALLEST, SPECTRAL, UNIT, Tail, squared_norms_about, times_power
from svmfast.solvers.taylor import PowerScales, width_exponent

# Models outside these limits are not certified (docs/certificate.md, underflow): the rbf kernel's gamma, a
# function's sum of |coefficients|, and for polynomial kernels gamma, the longest vector, and their product.
LEAST_GAMMA, MOST_GAMMA = 1e-280, 1e280
LEAST_TOTAL, MOST_TOTAL = 1e-100, 1e200
MOST_FACTOR = 1e150
# The largest errors by underflow: of sums of scaled numbers, relative to the sum of |coefficients|; of a
# scaled coefficient of the expansion; of a power of a vector, relative to the longest vector's.
UNDERFLOW = 1e-25
LOST = 1e-220
NEGLIGIBLE_POWER = 1e-60
# Degrees without a number of their own may add this much at the distance of most support vectors.
NEGLIGIBLE = 1e-4
MOST_DEGREES = 30

#: The ``(top + 1,)`` degrees and the ``(5,)`` rest of one function.
Numbers = tuple[FloatArray, FloatArray]


@np.errstate(over="ignore", invalid="ignore")
def gaussian_rounding(
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
) -> Numbers:
    """Bound all rounding errors of a Gaussian expansion: building, shortening, evaluation, the exact sum.

    `coefficients` are those stored; `moved` has the symmetric norm of their change by shortening, per degree.
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
    per_norm = evaluated * symmetric_norms(coefficients, d, order) + moved * (1 + 1e-9)
    sigma = 2 * gamma * norms * of_center if about_zero else np.zeros(n)
    # If all points equal the center, the coefficients above degree 0 are exactly 0.
    varied = bool((points != center).any())
    for m in range(order + 1):
        inner = np.zeros(n)
        for q in range(order - m, -1, -1):
            inner = 1 + inner * sigma / (q + 1)
        least, lost = (SMALLEST, 2 * LOST) if m and varied else (0.0, 0.0)
        per_norm[m] = float(np.ldexp(per_norm[m] + least, -k * m))
        per_norm[m] += built * float((a * inner) @ norms**m) * (2 * gamma) ** m / math.factorial(m)
        per_norm[m] += lost
    degrees = _about_center(per_norm, of_center) if about_zero else per_norm
    reach = float(np.sqrt(np.einsum("ij,ij->i", points, points).max())) if n else 0.0
    # Errors of squared norms and products of vectors of norms up to `reach`, and ||z|| <= r + of_center.
    exponent = 4.04 * (2 * d + SPARE_ENTRIES) * UNIT * gamma
    of_sum = (n + 24) * 1.01 * UNIT + exponent * 2 * (reach + of_center) ** 2
    constant = total * of_sum + 4 * UNIT * abs(rho)
    rest = (
        0.0,
        constant * (1 + 1e-9) + total * UNDERFLOW + 1e-290,
        times_power(total * exponent * 2 * (1 + 1e-9), 2 * k),
        (16 * UNIT + exponent * 8 * of_center**2) * (1 + 1e-9),
        times_power((exponent * 2 + 4 * UNIT * gamma) * (1 + 1e-9), 2 * k),
    )
    return np.array([times_power(c * (1 + 1e-9), k * j) for j, c in enumerate(degrees)]), np.array(rest)


@np.errstate(over="ignore", invalid="ignore")
def polynomial_rounding(
    points: FloatArray,
    beta: FloatArray,
    gamma: float,
    coef0: float,
    degree: int,
    coefficients: FloatArray,
    rho: float,
) -> Numbers:
    """Bound the rounding error of a polynomial kernel that was converted exactly."""
    n, d = points.shape
    total = float(np.abs(beta).sum())
    scales = PowerScales.of(points, gamma, coef0, degree)
    points = np.ldexp(points, -scales.of_points) if scales.of_points else points
    norms = np.sqrt(np.einsum("ij,ij->i", points, points))
    longest = float(norms.max(initial=0.0))
    reach = times_power(longest, scales.of_points)
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
        degrees[m] = times_power(size, scales.exponent(m)) + evaluated * stored[m]
    if longest > 0:
        degrees[degree] += SMALLEST
    # Products x_i z_i that underflow change the base of the power by at most this.
    of_base = entries * 2.0**-1074 * (1 + abs(gamma)) * degree * 2.0**degree
    constant = 8 * UNIT * abs(rho) + total * of_base + 1e-290
    return degrees * (1 + 1e-9), np.array([0.0, constant, 0.0, 4 * UNIT, 0.0])


def _is_moderate(total: float) -> bool:
    """Whether the sum of |coefficients| is far from underflow and overflow, or exactly 0."""
    return total == 0 or LEAST_TOTAL <= total <= MOST_TOTAL


def _nothing(order: int) -> Numbers:
    """The infinite bound of a function that cannot be certified."""
    return np.full(order + 1, math.inf), np.array([0.0] + (REST - 1) * [math.inf])


def _about_center(per_norm: FloatArray, of_center: float) -> FloatArray:
    """A polynomial in r that bounds ``sum_m c_m ||z||^m``, by ``||z|| <= r + of_center``."""
    out = np.zeros_like(per_norm)
    for m, c in enumerate(per_norm):
        for j in range(m + 1):
            out[j] += c * math.comb(m, j) * of_center ** (m - j)
    return out


def last_degree(sums: ExactSums, gamma: float, reach: float, order: int) -> int:
    """The last degree of the residual that needs its own number, for rows at distance `reach`."""
    if not len(sums.points):
        return order + 1
    exponent = 2 * gamma * 1.2 * reach * reach
    total = max((float(np.abs(beta).sum()) for beta in sums.beta), default=0.0)
    top = order + SPECTRAL
    while top < order + MOST_DEGREES:
        size = 0.5 * ((top + 1) * math.log(max(exponent, 1e-300)) - math.lgamma(top + 2))
        if math.log(max(total, 1e-300)) + size <= math.log(NEGLIGIBLE):
            break
        top += 1
    return top


def certificate(rounding: Numbers, order: int, tail: Tail | None = None) -> Numbers:
    """The numbers to store: rounding and tail, rounded up to six digits.

    Further digits depend on the machine's instruction set; rounded down, the numbers would be no bounds.
    """
    degrees, rest = rounding
    if tail is not None:
        of_rounding, degrees = degrees, tail.degrees.copy()
        degrees[: order + 1] += of_rounding
        rest = np.array([tail.beyond, *rest[1:]])
    return _rounded_up(degrees), _rounded_up(rest)


def _rounded_up(values: FloatArray) -> FloatArray:
    return np.array([max(float(f"{v * (1 + 1e-5):.6g}"), SMALLEST) if v else 0.0 for v in values])
