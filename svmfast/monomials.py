"""Packed polynomials: the order of their coefficients, multiplicities and norms.

A polynomial of degree k in d variables has ``C(d + k, k)`` coefficients. They are stored by degree, and
within a degree by sorted index tuples ``i1 <= i2 <= ...`` in lexicographic order.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise

import numpy as np

from svmfast.rows import FloatArray, IntArray


def coefficient_count(d: int, order: int) -> int:
    """The number of monomials of degree at most `order` in `d` variables, ``C(d + order, order)``."""
    return math.comb(d + order, order)


def counts_from(d: int, degree: int) -> list[int]:
    """How many monomials of `degree` have no variable before each one: the last ones in their order."""
    return [math.comb(d - i + degree - 1, degree) for i in range(d)]


def monomials(values: FloatArray, degree: int) -> FloatArray:
    """All monomials of `degree`, (count, points), of values (d, points)."""
    made = np.ones((1, values.shape[1]))
    for k in range(1, degree + 1):
        lower, counts = made, counts_from(len(values), k - 1)
        made = np.empty((sum(counts), values.shape[1]))
        ends = np.cumsum([0, *counts])
        for i, count in enumerate(counts):
            np.multiply(values[i], lower[len(lower) - count :], out=made[ends[i] : ends[i + 1]])
    return made


@lru_cache(maxsize=16)
def multiplicities(d: int, degree: int) -> FloatArray:
    """The multinomial coefficient of each monomial of exactly `degree`.

    This is the number of orders in which its variables can be multiplied, ``degree! / prod(exponents!)``, in
    the order in which coefficients are stored.
    """
    orders, exponents = np.ones(1), np.zeros(1)  # the latter of a monomial's first variable
    for k in range(1, degree + 1):
        counts = [*counts_from(d, k - 1), 0]
        more, longer = [np.zeros(0)], [np.zeros(0)]
        for count, others in pairwise(counts):
            exponent = exponents[len(exponents) - count :] + 1
            exponent[count - others :] = 1
            more.append(orders[len(orders) - count :] * k / exponent)
            longer.append(exponent)
        orders, exponents = np.concatenate(more), np.concatenate(longer)
    orders.flags.writeable = False  # shared by all callers
    return orders


@lru_cache(maxsize=8)
def times_each_variable(d: int, degree: int) -> IntArray:
    """Where each monomial of `degree`, times each variable, is among those of the next degree."""
    tuples = np.array(list(combinations_with_replacement(range(d), degree)), dtype=np.int64)
    # The monomials of each degree whose first index is smaller.
    before = [counts[0] - np.array(counts) for counts in (counts_from(d, m) for m in range(degree + 2))]
    places = np.zeros((d, len(tuples)), dtype=np.int64)
    for variable in range(d):
        longer = np.sort(np.insert(tuples, 0, variable, axis=1), axis=1)
        for k in range(degree + 1):
            left = degree + 1 - k
            places[variable] += (before[left] - before[left - 1])[longer[:, k]]
    places.flags.writeable = False  # shared by all callers
    return places


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
