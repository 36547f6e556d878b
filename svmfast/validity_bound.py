"""The validity bound of a truncated expansion: up to which gamma, and for which rows, every term is accurate.

It is a rule for each term, and no bound on the error of a decision value, which is the certificate's
(:mod:`svmfast.certificate`). Notation of docs/certificate.md: gamma is the kernel's width parameter, x a
support vector, z a row; both may be measured from a center mu.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from svmfast.errors import OptionError
from svmfast.rows import FloatArray, Rows


@lru_cache(maxsize=64)
def largest_exponent(order: int) -> float:
    """The T such that ``|2 gamma x.z| <= T`` keeps the relative error of every term within 3.05 %.

    The paper's rule for order 2, T = 1/2, allows ``exp(t)`` a relative error of 3.05 %, attained at t = -T
    (Claesen et al., Fast prediction with SVM models containing RBF kernels, section 3). The relative error of
    order k at t = -T is ``int_0^T u^k e^u / k! du``; T is chosen such that it is the same for every order
    (docs/certificate.md): 0.030 for order 0, 0.229 for order 1, 1/2 for order 2; it grows with the order.
    """
    if order < 0:
        raise OptionError(f"order {order} is negative")
    if order == 2:
        return 0.5
    allowed = _error_at(2, 0.5)
    low, high = 0.0, 1.0
    while _error_at(order, high) < allowed:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _error_at(order, middle) <= allowed else (low, middle)
    return low


def _error_at(order: int, t: float) -> float:
    """The relative error of the expansion at ``exp(-t)``: ``sum_i t^(k+1+i) / (k! i! (k+1+i))``."""
    term, total = t ** (order + 1) / math.factorial(order), 0.0
    for i in range(200):
        total += term / (order + 1 + i)
        term *= t / (i + 1)
    return total


def gamma_max(
    max_squared_norm: float, other_max_squared_norm: float | None = None, *, order: int = 2
) -> float:
    """The largest gamma for which the relative error of every term is within 3.05 %; it may be infinite.

    ``|2 gamma x.z| < T`` (:func:`largest_exponent`) holds for all pairs by Cauchy-Schwarz when ``gamma < T /
    (2 max||x|| max||z||)``; the rows z to predict are by default those of the data x.
    """
    other = max_squared_norm if other_max_squared_norm is None else other_max_squared_norm
    if not (max_squared_norm >= 0 and other >= 0):
        raise OptionError("squared norms must not be negative")
    # The root of each factor is taken separately: the product of two tiny squares could underflow.
    product = math.sqrt(max_squared_norm) * math.sqrt(other)
    return math.inf if product == 0 else 1 / (2 / largest_exponent(order) * product)


def inside_bound(
    gamma: float, sv_max_squared_norm: float, row_squared_norms: FloatArray, *, order: int = 2
) -> np.ndarray:
    """Whether the validity bound holds for each of n rows: ``max||x|| ||z|| < T / (2 gamma)``.

    For order 2 this is the paper's ``max||x||^2 ||z||^2 < 1 / (16 gamma^2)``. The squared norms are those of
    the support vectors and of the rows, for the centered bound about the same center.
    """
    # With roots, as in gamma_max, and gamma to the first power: its square could overflow or underflow.
    with np.errstate(over="ignore", invalid="ignore"):
        product = math.sqrt(sv_max_squared_norm) * np.sqrt(np.asarray(row_squared_norms, dtype=np.float64))
        # nan is zero times infinity: with a zero vector, the bound always holds.
        return np.asarray(~(product * gamma * (2 / largest_exponent(order)) >= 1))


def centered_squared_norms(rows: Rows, center: FloatArray) -> FloatArray:
    """``||z - center||^2`` of every row, never negative; the center is 0 in columns beyond its length."""
    # z.z - 2 mu.z + mu.mu would cancel. Instead, each entry of z replaces the square of the center there.
    known = rows.indices < len(center)
    at = np.zeros(rows.nnz)
    at[known] = center[rows.indices[known]]
    change = (rows.values - at) ** 2 - at * at
    out = np.full(len(rows), float(center @ center))
    filled = np.flatnonzero(np.diff(rows.indptr))
    if len(filled):
        out[filled] += np.add.reduceat(change, rows.indptr[filled])
    clipped: FloatArray = np.maximum(out, 0.0)
    return clipped
