"""The certificate of an expansion: truncation and rounding together, as the numbers a model file stores."""

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
from svmfast.methods.approximate.taylor import gaussian_coefficients, symmetric_norms
from svmfast.rows import FloatArray

# Degrees above the last one counted may add this much at the distance of most support vectors.
NEGLIGIBLE = 1e-4
MOST_DEGREES = 30


def last_degree(terms: DualExpansion, gamma: float, reach: float, order: int) -> int:
    """Return the last degree of the residual that gets a number of its own, for rows at distance `reach`."""
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
    scales: FloatArray | None = None,
    shift: float = 0.0,
    threads: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Return one function's ``(top + 1,)`` degrees and ``(5,)`` rest for :func:`certificate.error_bounds`.

    Parameters
    ----------
    tail : Tail
        Of this order or a lower one.
    coefficients, moved
        The packed polynomial as stored, and the symmetric norms of the changes by shortening.
    scales, shift
        The change of each degree and of rho by calibration, which counts as error.
    """
    points, beta = terms.points_of(p), terms.beta[p]
    tail = tail.of_order(order)
    factors = np.ones(order + 1) if scales is None else scales
    slack = gaussian_rounding_bound(
        points,
        beta,
        gamma,
        center,
        coefficients,
        moved,
        rho,
        order=order,
        about_zero=about_zero,
        scales=factors,
    )
    degrees = tail.degrees.copy()
    degrees[: order + 1] += slack.degrees
    if scales is not None:
        plain = gaussian_coefficients(points, beta, gamma, center, order, about_zero=False, threads=threads)
        degrees[: order + 1] += np.abs(1 - scales) * (
            symmetric_norms(plain, len(center), order) * (1 + 1e-9) + SMALLEST
        )
    rest = _rest(slack, tail.beyond)
    rest[1] += abs(shift) * (1 + 1e-9)
    return rounded_up(degrees), rounded_up(rest)


def polynomial_certificate(
    terms: DualExpansion,
    p: int,
    gamma: float,
    coef0: float,
    degree: int,
    coefficients: FloatArray,
    rho: float,
) -> tuple[FloatArray, FloatArray]:
    """Return the same for an exactly converted kernel: rounding only."""
    points, beta = terms.points_of(p), terms.beta[p]
    slack = polynomial_rounding_bound(points, beta, gamma, coef0, degree, coefficients, rho)
    return rounded_up(slack.degrees), rounded_up(_rest(slack, 0.0))


def _rest(slack: RoundingBound, beyond: float) -> FloatArray:
    rest = np.zeros(REST)
    rest[:] = beyond, slack.constant, slack.per_square, slack.relative, slack.relative_per_square
    return rest


def rounded_up(values: FloatArray) -> FloatArray:
    """Return values rounded up to few digits: a bound must not become smaller when it is written."""
    return np.array([_rounded_up(value) for value in values])


def _rounded_up(value: float) -> float:
    return 0.0 if value == 0 else max(float(f"{value * (1 + 1e-5):.6g}"), SMALLEST)
