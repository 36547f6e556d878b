"""The certificate of an expansion: bounds on truncation and rounding, as the numbers that a model stores."""

from __future__ import annotations

import math

import numpy as np

from svmfast.certificate import REST
from svmfast.methods.approximate.dual_expansion import DualExpansion
from svmfast.methods.approximate.residual import SMALLEST, SPECTRAL, Tail
from svmfast.methods.approximate.rounding_bound import (
    RoundingBound,
    gaussian_rounding_bound,
    polynomial_rounding_bound,
)
from svmfast.rows import FloatArray

# Degrees without a number of their own may add this much at the distance of most support vectors.
NEGLIGIBLE = 1e-4
MOST_DEGREES = 30


def last_degree(terms: DualExpansion, gamma: float, reach: float, order: int) -> int:
    """Return the last degree of the residual that needs its own number, for rows at distance `reach`."""
    if not len(terms.points):
        return order + 1
    exponent = 2 * gamma * 1.2 * reach * reach
    total = max((float(np.abs(beta).sum()) for beta in terms.beta), default=0.0)
    top = order + SPECTRAL
    while top < order + MOST_DEGREES:
        size = 0.5 * ((top + 1) * math.log(max(exponent, 1e-300)) - math.lgamma(top + 2))
        if math.log(max(total, 1e-300)) + size <= math.log(NEGLIGIBLE):
            break
        top += 1
    return top


def gaussian_certificate(
    terms: DualExpansion,
    p: int,
    gamma: float,
    center: FloatArray,
    coefficients: FloatArray,
    moved: FloatArray,
    rho: float,
    *,
    order: int,
    tail: Tail,
    about_zero: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return one function's ``(top + 1,)`` degrees and ``(5,)`` rest for :func:`certificate.error_bounds`.

    Parameters
    ----------
    tail : Tail
        For this order or a lower one.
    coefficients, moved
        The packed polynomial as stored, and the symmetric norms of what shortening changed.
    """
    points, beta = terms.points_of(p), terms.beta[p]
    tail = tail.of_order(order)
    rounding = gaussian_rounding_bound(
        points,
        beta,
        gamma,
        center,
        coefficients,
        moved,
        rho,
        order=order,
        about_zero=about_zero,
    )
    degrees = tail.degrees.copy()
    degrees[: order + 1] += rounding.degrees
    return rounded_up(degrees), rounded_up(_rest(rounding, tail.beyond))


def polynomial_certificate(
    terms: DualExpansion,
    p: int,
    gamma: float,
    coef0: float,
    degree: int,
    coefficients: FloatArray,
    rho: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the same numbers for a kernel that was converted exactly, where only rounding errs."""
    points, beta = terms.points_of(p), terms.beta[p]
    rounding = polynomial_rounding_bound(points, beta, gamma, coef0, degree, coefficients, rho)
    return rounded_up(rounding.degrees), rounded_up(_rest(rounding, 0.0))


def _rest(rounding: RoundingBound, beyond: float) -> FloatArray:
    rest = np.zeros(REST)
    rest[:] = (
        beyond,
        rounding.constant,
        rounding.per_square,
        rounding.relative,
        rounding.relative_per_square,
    )
    return rest


def rounded_up(values: FloatArray) -> FloatArray:
    """Return values rounded up to a few digits, because writing a bound must not make it smaller."""
    return np.array([_rounded_up(value) for value in values])


def _rounded_up(value: float) -> float:
    return 0.0 if value == 0 else max(float(f"{value * (1 + 1e-5):.6g}"), SMALLEST)
