"""Packed polynomials: the order of their coefficients, multiplicities and norms.

A polynomial of degree k in d variables has ``C(d + k, k)`` coefficients. They are stored by degree, and
within a degree by sorted index tuples ``i1 <= i2 <= ...`` in lexicographic order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from svmfast.rows import FloatArray

#: Rows of a product of matrices, which cannot be interrupted.
_BLOCK = 4096


def coefficient_count(d: int, order: int) -> int:
    """The number of monomials of degree at most `order` in `d` variables, ``C(d + order, order)``."""
    return math.comb(d + order, order)


@lru_cache(maxsize=16)
def multiplicities(d: int, degree: int) -> FloatArray:
    """The multinomial coefficient of each monomial of exactly `degree`.

    This is the number of orders in which its variables can be multiplied, ``degree! / prod(exponents!)``, in
    the order in which coefficients are stored.
    """
    of_degree = np.ones(d if degree else 1)
    if degree >= 2:
        # A single all-ones point with weight 1 has exactly these coefficients: (z_1 + ... + z_d)^degree.
        one = np.ones((1, d)), np.ones(1)
        parts = [pair_coefficients(*one, prefix) for prefix in first_indices(d, degree)]
        of_degree = np.concatenate([np.zeros(0), *parts])
    of_degree.flags.writeable = False  # shared by all callers
    return of_degree


def first_indices(d: int, degree: int) -> Iterator[tuple[int, ...]]:
    """All but the last two indices of the monomials of a degree of at least 2, in their order."""
    return combinations_with_replacement(range(d), degree - 2)


@np.errstate(over="ignore", invalid="ignore")
def pair_coefficients(points: FloatArray, weights: FloatArray, prefix: tuple[int, ...]) -> FloatArray:
    """Coefficients of ``sum_i weights[i] (points[i] . w)^degree`` whose indices are `prefix` and two more.

    They are in the order in which coefficients are stored.
    """
    start = prefix[-1] if prefix else 0
    u, repeated = points[:, start:], prefix.count(start)
    sums = np.zeros((u.shape[1], u.shape[1]))
    for begin in range(0, len(u), _BLOCK):
        part, block = u[begin : begin + _BLOCK], slice(begin, begin + _BLOCK)
        product = weights[block].copy()
        for i in prefix:
            product *= points[block, i]
        sums += (part * product[:, None]).T @ part
    # The orders of an index tuple: factorial(degree) over those of equal indices. Divisions are exact.
    orders = math.factorial(len(prefix) + 2) // math.prod(math.factorial(prefix.count(i)) for i in {*prefix})
    sums *= float(orders)
    sums[:1] /= repeated + 1
    sums[:1, :1] /= (repeated + 2) / 2
    np.fill_diagonal(sums, sums.diagonal() / 2)
    return sums[np.triu(np.ones(sums.shape, dtype=bool))]


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
