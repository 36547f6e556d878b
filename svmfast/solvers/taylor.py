"""Coefficients of truncated expansions: from weighted points to one packed polynomial.

All expansions here are sums of powers of inner products, ``sum_m sum_i w_mi (u_i . z)^m``, so one
function, :func:`moments`, builds them all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement

import numpy as np

from svmfast.certificate import MAX_ORDER
from svmfast.errors import MemoryLimitError, OptionError, UnsupportedError
from svmfast.monomials import by_degree, coefficient_count, counts_from, monomials, multiplicities
from svmfast.rows import FloatArray, IntArray
from svmfast.threads import map_in_threads, one_blas_thread

# Points, and at least so many rows of monomials, of a product of matrices.
_BLOCK, _ROWS = 512, 32
# Numbers of monomials, of all points, that are computed at once.
_FEW = 1 << 15
# Numbers between 2^-n and 2^n are not scaled: their powers up to MAX_ORDER stay in the range of doubles.
_MODERATE_WIDTH, _MODERATE_FACTOR = 20, 10


def width_exponent(gamma: float) -> int:
    """The k for which points times ``2^k`` and gamma times ``4^-k``, which is near 1, give the same kernel.

    k is 0 if gamma is moderate. After scaling, powers of gamma and of features neither underflow nor
    overflow, and the coefficients of degree m are exactly ``2^(k m)`` times those of the scaled points.
    """
    if not 0 < gamma < math.inf:
        return 0
    exponent = math.frexp(gamma)[1]
    return 0 if abs(exponent) <= _MODERATE_WIDTH else exponent // 2


def _factor_exponent(x: float) -> int:
    """The e such that ``x 2^-e`` is near 1; 0 if x is moderate or 0."""
    if not 0 < abs(x) < math.inf:
        return 0
    exponent = math.frexp(x)[1]
    return 0 if abs(exponent) <= _MODERATE_FACTOR else exponent


@dataclass(frozen=True)
class PowerScales:
    """Exact powers of two that keep the powers of ``gamma x.z + coef0`` in range."""

    #: The kernel's parameters after scaling.
    gamma: float
    coef0: float
    #: The exponents: the kernel's own gamma is ``gamma 2^of_gamma``, and so on.
    of_gamma: int
    of_coef0: int
    of_points: int
    degree: int

    @classmethod
    def of(cls, points: FloatArray, gamma: float, coef0: float, degree: int) -> PowerScales:
        """The scales for `points` and these parameters."""
        largest = float(np.abs(points).max(initial=0.0))
        a, b = _factor_exponent(gamma), _factor_exponent(coef0)
        return cls(math.ldexp(gamma, -a), math.ldexp(coef0, -b), a, b, _factor_exponent(largest), degree)

    def weight(self, m: int) -> float:
        """``C(degree, m) gamma^m coef0^(degree - m)`` with the scaled parameters."""
        return math.comb(self.degree, m) * self.gamma**m * self.coef0 ** (self.degree - m)

    def exponent(self, m: int) -> int:
        """The e such that ``2^e`` times the scaled coefficients of degree m are the kernel's own."""
        return m * (self.of_gamma + self.of_points) + (self.degree - m) * self.of_coef0


def check_memory(d: int, order: int, polynomials: int, limit: int) -> None:
    """Raise MemoryLimitError if the coefficients of the polynomials take more than `limit` bytes."""
    needed = 8 * coefficient_count(d, order) * polynomials
    if needed > limit:
        raise MemoryLimitError(
            f"{polynomials:,} polynomial(s) of order {order} in {d:,} variables",
            needed,
            limit,
            "lower `order`",
        )


@np.errstate(over="ignore", invalid="ignore")
def moments(points: FloatArray, weights: FloatArray, degree: int, threads: int = 1) -> FloatArray:
    """``sum_i weights_i x_i^alpha`` for all monomials of `degree`, in the order in which they are stored."""
    n, d = points.shape
    if not d or n * math.comb(d + degree - 1, degree) <= _FEW:
        # Most of the time would go to what the products of matrices need.
        found: FloatArray = (monomials(points.T, degree) * weights).sum(axis=1)
        return found
    return _from_products(points, weights, degree, threads)


@lru_cache(maxsize=16)
def _last_variables(d: int, degree: int) -> IntArray:
    tuples = combinations_with_replacement(range(d), degree)
    return np.array([sum(one[-1:]) for one in tuples], dtype=np.int64)


@one_blas_thread(numpy_only=True)
def _from_products(points: FloatArray, weights: FloatArray, degree: int, threads: int) -> FloatArray:
    """The moments from products of matrices.

    A monomial is one of half the degree, to its last variable, times one of the rest, from that variable on.
    For a few successive last variables these are the entries of a product of two matrices, and some beside.
    """
    n, d = points.shape
    half = degree // 2
    ends = _last_variables(d, half)
    counts = np.array([*counts_from(d, degree - half), 0])
    groups = np.cumsum(np.bincount(ends, minlength=d)) // _ROWS
    rows = [np.flatnonzero(groups[ends] == g) for g in np.unique(groups[ends])]

    @np.errstate(over="ignore", invalid="ignore")  # threads of a pool do not inherit the setting
    def block(start: int) -> list[FloatArray]:
        u = np.ascontiguousarray(points[start : start + _BLOCK].T)
        left = monomials(u, half) * weights[start : start + _BLOCK]
        right = monomials(u, degree - half)
        return [left[some] @ right[len(right) - counts[ends[some].min()] :].T for some in rows]

    sums = [np.zeros((len(some), counts[ends[some].min()])) for some in rows]
    starts = range(0, n, _BLOCK)
    for at in range(0, len(starts), max(threads, 1)):
        for parts in map_in_threads(block, starts[at : at + max(threads, 1)], threads):
            for whole, part in zip(sums, parts, strict=True):
                whole += part
    own = counts[ends]
    out = np.empty(int(own.sum()))
    for some, whole in zip(rows, sums, strict=True):
        beside = whole.shape[1] - own[some, None]
        column = np.arange(whole.shape[1])
        place = (np.cumsum(own) - own)[some, None] + column - beside
        out[place[column >= beside]] = whole[column >= beside]
    return out


def power_sum_coefficients(points: FloatArray, weights: FloatArray, *, threads: int = 1) -> FloatArray:
    """The packed coefficients of ``sum_m sum_i weights_mi (x_i . z)^m``."""
    d = points.shape[1]
    parts = (moments(points, w, m, threads) * multiplicities(d, m) for m, w in enumerate(weights))
    return np.concatenate([*parts])


@np.errstate(over="ignore", invalid="ignore")
def gaussian_coefficients(
    points: FloatArray,
    beta: FloatArray,
    gamma: float,
    center: FloatArray,
    order: int,
    *,
    about_zero: bool,
    threads: int = 1,
) -> FloatArray:
    """The polynomial P of the expansion of ``sum_i beta_i exp(-gamma ||x_i - z||^2)`` about `center`.

    With ``u = x - center``, ``w = z - center`` and ``a_i = beta_i exp(-gamma ||u_i||^2)`` the sum is
    ``exp(-gamma ||w||^2) P`` with ``P(w) = sum_{m <= order} sum_i a_i (2 gamma u_i.w)^m / m!`` (second order:
    Claesen et al., equation 3.7, with half the Hessian). With `about_zero` P is a polynomial in z instead of
    w, so that rows with few entries stay cheap.
    """
    if not 0 <= order <= MAX_ORDER:
        raise OptionError(f"order {order} is not between 0 and {MAX_ORDER}")
    k = width_exponent(gamma)
    u = np.ascontiguousarray(points - center)
    if k:
        gamma, center, u = math.ldexp(gamma, -2 * k), np.ldexp(center, k), np.ldexp(u, k)
    a = beta * np.exp(-gamma * np.einsum("ij,ij->i", u, u))
    if k:
        u[a == 0] = 0  # their powers could overflow, and 0 times infinity is nan
    weights = np.empty((order + 1, len(a)))
    for m in range(order + 1):
        per_degree = a * (np.float64(2 * gamma) ** m / math.factorial(m))
        if about_zero:
            # sum_j (tau - sigma)^j / j! = sum_m tau^m / m! sum_q (-sigma)^q / q!
            sigma = -2 * gamma * (u @ center)
            inner = np.ones(len(a))
            for q in range(order - m, 0, -1):
                inner = 1 + inner * sigma / q
            weights[m] = per_degree * inner
        else:
            weights[m] = per_degree
    made = power_sum_coefficients(u, weights, threads=threads)
    if k:
        for m, part in enumerate(by_degree(made, u.shape[1], order)):
            np.ldexp(part, k * m, out=part)
    return _in_range(made)


@np.errstate(over="ignore", invalid="ignore")
def polynomial_kernel_coefficients(
    points: FloatArray, beta: FloatArray, gamma: float, coef0: float, degree: int, *, threads: int = 1
) -> FloatArray:
    """The coefficients of ``sum_i beta_i (gamma x_i.z + coef0)^degree``; a linear kernel is (1, 0, 1)."""
    if not 0 <= degree <= MAX_ORDER:
        raise OptionError(f"degree {degree} is not between 0 and {MAX_ORDER}")
    scales = PowerScales.of(points, gamma, coef0, degree)
    weights = np.stack([beta * scales.weight(m) for m in range(degree + 1)])
    points = np.ascontiguousarray(np.ldexp(points, -scales.of_points) if scales.of_points else points)
    made = power_sum_coefficients(points, weights, threads=threads)
    for m, part in enumerate(by_degree(made, points.shape[1], degree)):
        if e := scales.exponent(m):
            np.ldexp(part, e, out=part)
    return _in_range(made)


def _in_range(coefficients: FloatArray) -> FloatArray:
    """`coefficients`, or UnsupportedError if their squares could overflow."""
    size = np.abs(coefficients).max(initial=0.0)
    if not size < 1e150:  # also True for nan
        raise UnsupportedError(
            "the expansion's coefficients exceed the range of floating point: "
            + (f"the largest is {size:.3g}" if size < np.inf else "some are infinite"),
            "predict with the exact model",
        )
    return coefficients


def shorten(coefficients: FloatArray, d: int, order: int, tolerance: FloatArray) -> FloatArray:
    """Round the coefficients to few decimals, so that their last digits do not depend on the machine.

    Exported C is shorter too; in a model file a number takes eight bytes all the same.

    `tolerance` limits the symmetric norm (:func:`svmfast.monomials.symmetric_norms`) of the change, for each
    degree; 0 leaves the degree unchanged.
    """
    out: FloatArray = coefficients.copy()
    for m, part in enumerate(by_degree(out, d, order)):
        spread = math.sqrt(float(np.sum(1 / multiplicities(d, m)))) if m and len(part) else 1.0
        step = 2 * tolerance[m] / spread
        if not step > 1e-290 or not len(part):
            continue
        # Each coefficient changes by at most half of 10^-decimals.
        decimals = math.ceil(-math.log10(step))
        # 10^n is exact as a double for n up to 22, so that the quotient prints with as few digits as
        # possible.
        if decimals <= 22:
            scale = 10.0 ** abs(decimals)
            part[:] = np.rint(part * scale) / scale if decimals >= 0 else np.rint(part / scale) * scale
        else:
            part[:] = [float(f"{value:.{decimals}f}") for value in part]
    return out
