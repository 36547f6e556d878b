"""Rounding in numbers: what floating point adds to the error of an expansion, and to the exact model's own.

Every constant here is derived in docs/certificate.md. Counts of operations are bounded from above, and the
classical bound gamma_m = m u / (1 - m u) <= 1.01 m u stands for any order of summation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmfast.certificate import SPARE_ENTRIES
from svmfast.methods.approximate.residual import UNIT, squared_norms_about
from svmfast.methods.approximate.taylor import symmetric_norms
from svmfast.rows import FloatArray


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


def gaussian_rounding_bound(
    points: FloatArray,
    beta: FloatArray,
    gamma: float,
    centre: FloatArray,
    coefficients: FloatArray,
    moved: FloatArray,
    rho: float,
    *,
    order: int,
    about_zero: bool,
    scales: FloatArray,
) -> RoundingBound:
    """Return what rounding adds to a Gaussian expansion: building, shortening, evaluating, the exact side.

    Parameters
    ----------
    points : (n, d) float64
    beta : (n,) float64
    gamma : float
    centre : (d,) float64
    coefficients : packed polynomial as stored
    moved : (order + 1,) float64
        Symmetric norms of what shortening changed, degree by degree.
    rho : float
    order, about_zero, scales
        As in :func:`svmfast.methods.approximate.taylor.gaussian_coefficients`.
    """
    n, d = points.shape
    squares = squared_norms_about(points, centre)
    norms = np.sqrt(squares)
    a = np.abs(beta) * np.exp(-gamma * squares)
    of_centre = float(np.sqrt(centre @ centre))
    largest = float(squares.max()) if n else 0.0
    # Relative error of a_i, of powers of u, of factors, and of sums over n in any order.
    # About zero the powers of sigma, a dot product, err as well.
    powers = order * (d + 4) if about_zero else 0
    built = ((d + 4) * gamma * largest + n + 8 * order + powers + 40) * 1.01 * UNIT
    # A path through the nested sums: at most d additions, two roundings each without fma, on each level.
    evaluated = (2 * order * (d + 4) + 20) * 1.01 * UNIT
    stored = symmetric_norms(coefficients, d, order)
    per_norm = evaluated * stored + moved * (1 + 1e-9)
    sigma = 2 * gamma * norms * of_centre if about_zero else np.zeros(n)
    for m in range(order + 1):
        inner = np.zeros(n)
        for q in range(order - m, -1, -1):
            inner = abs(float(scales[m + q])) + abs(1 - float(scales[m + q])) + inner * sigma / (q + 1)
        per_norm[m] += built * float((a * inner) @ norms**m) * (2 * gamma) ** m / math.factorial(m)
    degrees = _about_centre(per_norm, of_centre) if about_zero else per_norm
    entries = 2 * d + SPARE_ENTRIES
    reach = float(np.sqrt(np.einsum("ij,ij->i", points, points).max())) if n else 0.0
    # Squared norms and products of vectors no longer than `reach`, of_centre or ||z|| <= r + of_centre.
    total = float(np.abs(beta).sum())
    exponent = 4.04 * entries * UNIT * gamma
    constant = total * ((n + 24) * 1.01 * UNIT + exponent * 2 * (reach + of_centre) ** 2) + 4 * UNIT * abs(
        rho
    )
    return RoundingBound(
        degrees=degrees * (1 + 1e-9),
        constant=constant * (1 + 1e-9) + 1e-290,
        per_square=total * exponent * 2 * (1 + 1e-9),
        relative=(16 * UNIT + exponent * 8 * of_centre**2) * (1 + 1e-9),
        relative_per_square=(exponent * 2 + 4 * UNIT * gamma) * (1 + 1e-9),
    )


def polynomial_rounding_bound(
    points: FloatArray,
    beta: FloatArray,
    gamma: float,
    coef0: float,
    degree: int,
    coefficients: FloatArray,
    rho: float,
) -> RoundingBound:
    """Return what rounding adds where a polynomial kernel was converted exactly."""
    n, d = points.shape
    norms = np.sqrt(np.einsum("ij,ij->i", points, points))
    # sum |beta_i| (gamma |x_i| r + |coef0|)^degree, the size of everything that is ever added up.
    size = np.array(
        [
            math.comb(degree, m) * gamma**m * abs(coef0) ** (degree - m) * float(np.abs(beta) @ norms**m)
            for m in range(degree + 1)
        ]
    )
    entries = 2 * d + SPARE_ENTRIES
    both = (2 * n + (degree + 1) * (entries + 8) + 8 * degree + 64) * 1.01 * UNIT
    evaluated = (2 * degree * (d + 4) + 20) * 1.01 * UNIT
    degrees = both * size + evaluated * symmetric_norms(coefficients, d, degree)
    return RoundingBound(degrees * (1 + 1e-9), 8 * UNIT * abs(rho) + 1e-290, 0.0, 4 * UNIT, 0.0)


def _about_centre(per_norm: FloatArray, of_centre: float) -> FloatArray:
    """Turn ``sum_m c_m ||z||^m`` into a polynomial in r that is no smaller: ``||z|| <= r + of_centre``."""
    out = np.zeros_like(per_norm)
    for m, c in enumerate(per_norm):
        for j in range(m + 1):
            out[j] += c * math.comb(m, j) * of_centre ** (m - j)
    return out
