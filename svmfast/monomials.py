"""Packed polynomials: the order of their coefficients, multiplicities and norms.

A polynomial of degree k in d variables has ``C(d + k, k)`` coefficients. They are stored by degree, and
within a degree by sorted index tuples ``i1 <= i2 <= ...`` in lexicographic order.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from svmfast import _core
from svmfast.rows import FloatArray


def coefficient_count(d: int, order: int) -> int:
    """The number of monomials of degree at most `order` in `d` variables, ``C(d + order, order)``."""
    return math.comb(d + order, order)


@lru_cache(maxsize=16)
def multiplicities(d: int, degree: int) -> FloatArray:
    """The multinomial coefficient of each monomial of exactly `degree`.

    This is the number of orders in which its variables can be multiplied, ``degree! / prod(exponents!)``, in
    the order in which coefficients are stored.
    """
    # A single all-ones point with weight 1 has exactly these coefficients: (z_1 + ... + z_d)^degree.
    weights = np.zeros((degree + 1, 1))
    weights[degree] = 1
    all_degrees: FloatArray = _core.power_sum_coefficients(np.ones((1, d)), weights, 1)
    of_degree: FloatArray = all_degrees[coefficient_count(d, degree - 1) if degree else 0 :].copy()
    of_degree.flags.writeable = False  # shared by all callers
    return of_degree


def by_degree(coefficients: FloatArray, d: int, order: int) -> list[FloatArray]:
    """The parts of packed polynomials, degree 0 to `order` (views); coefficients on the last axis."""
    ends = [coefficient_count(d, m) for m in range(order + 1)]
    return [coefficients[..., (ends[m - 1] if m else 0) : ends[m]] for m in range(order + 1)]


def symmetric_norms(coefficients: FloatArray, d: int, order: int) -> FloatArray:
    """For each degree m the norm b_m with ``|degree-m part at z| <= b_m ||z||^m``.

    ``b_m^2 = sum c^2 / multiplicity`` is the Bombieri norm; the inequality is Cauchy-Schwarz for the
    symmetric tensors of the coefficients and of z. The norm also bounds the sum of the absolute values of the
    terms. Coefficients are scaled by a power of two before they are squared, so that no relevant square
    underflows.
    """
    return np.array([_symmetric_norm(part, d, m) for m, part in enumerate(by_degree(coefficients, d, order))])


def _symmetric_norm(part: FloatArray, d: int, degree: int) -> float:
    if not degree:
        return abs(float(part[0]))
    largest = float(np.abs(part).max(initial=0.0))
    if not 0 < largest < math.inf:
        return largest
    exponent = math.frexp(largest)[1]
    part = np.ldexp(part, -exponent)
    with np.errstate(over="ignore"):
        return float(np.ldexp(math.sqrt(float(np.sum(part * part / multiplicities(d, degree)))), exponent))
