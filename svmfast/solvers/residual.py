"""How large the tail of a truncated expansion can be, degree by degree: the numbers behind the certificate.

With ``x_i = sqrt(2 gamma) (sv_i - centre)``, ``y = sqrt(2 gamma) (z - centre)`` and
``a_i = beta_i exp(-|x_i|^2 / 2)`` the residual of an expansion of order k is

    exp(-|y|^2 / 2) sum_{j > k} e_j(y),    e_j(y) = sum_i a_i (x_i.y)^j / j!

Splitting one factor off the symmetric tensor of degree j and using Cauchy-Schwarz on the others,

    |e_j(y)| <= |y|^(j-1) / j! sqrt(y^T M_j y),    M_j = sum_il a_i a_l (x_i.x_l)^(j-1) x_i x_l^T

so ``|e_j(y)| <= |y|^j sqrt(lambda_max(M_j)) / j!``. The trace of M_j in its place gives the RKHS norm of
degree j; that is never smaller, and never larger than the sum of the absolute values (docs/certificate.md).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from svmfast.rows import FloatArray

UNIT = 2.0**-53
# Degrees whose largest eigenvalue is worth its matrix products; later ones take the trace's cheaper relative.
SPECTRAL = 4
# Rows of the Gram matrix held at a time: this many numbers for each thread.
BLOCK_NUMBERS = 1 << 21


@dataclass(frozen=True, eq=False)
class Tail:
    """``|residual| <= exp(-gamma s) sum_j degrees[j] r^j + beyond r^(top + 1)`` at squared distance s = r^2.

    Attributes
    ----------
    degrees : (top + 1,) float64
        Zero up to the order of the expansion.
    beyond : float
        For all degrees above the last, without the exponential factor.
    """

    degrees: FloatArray
    beyond: float


def residual_tail(
    points: FloatArray,
    beta: FloatArray,
    gamma: float,
    centre: FloatArray,
    order: int,
    *,
    top: int,
    threads: int = 1,
) -> Tail:
    """Return the size of the residual of the expansion of order `order` about `centre`, rounding included.

    Parameters
    ----------
    points : (n, d) float64
    beta : (n,) float64
    gamma : float
    centre : (d,) float64
    order : int
    top : int
        Last degree with a number of its own.
    threads : int
        The result does not depend on it.
    """
    n, d = points.shape
    degrees = np.zeros(top + 1)
    if n == 0 or d == 0:
        return Tail(degrees, 0.0)
    x = (points - centre) * math.sqrt(2 * gamma)
    squares = np.einsum("ij,ij->i", x, x)
    a = beta * np.exp(-squares / 2)
    norms = np.sqrt(squares)
    matrices, quadratic = _moments(x, a, order, top, threads)
    # Relative error of every a_i (exponent, exponential), then of products and sums in any order.
    of_a = ((d + 4) * float(squares.max()) + 4) * UNIT
    scale = math.sqrt(2 * gamma)
    for j in range(order + 1, top + 1):
        absolute = float(np.abs(a) @ norms**j) ** 2
        error = ((2 * n + (j + 2) * (d + 4) + 40) * UNIT + 2 * of_a) * absolute
        if j in matrices:
            largest = largest_eigenvalue(matrices[j])
            trace = float(np.trace(matrices[j]))
            square = min(largest, trace) + error
        else:
            square = quadratic[j] + error
        degrees[j] = math.sqrt(max(square, 0.0)) / math.factorial(j) * scale**j * (1 + 1e-12)
    # sum_{j > top} <= ||.|| sqrt(x^(top + 1) / (top + 1)!), and the norm by the triangle inequality.
    beyond = float(np.abs(beta).sum()) * math.sqrt((2 * gamma) ** (top + 1) / math.factorial(top + 1))
    return Tail(degrees, beyond * (1 + 1e-12))


def _moments(
    x: FloatArray, a: FloatArray, order: int, top: int, threads: int
) -> tuple[dict[int, FloatArray], dict[int, float]]:
    """M_j for the first degrees above `order`, and ``sum a_i a_l (x_i.x_l)^j`` for the others up to `top`."""
    from threadpoolctl import threadpool_limits

    n = len(x)
    ax = a[:, None] * x
    spectral = range(order + 1, min(order + SPECTRAL, top) + 1)
    rows = max(16, BLOCK_NUMBERS // n)

    def block(start: int) -> tuple[list[FloatArray], list[float]]:
        stop = min(n, start + rows)
        # The Gram matrix is symmetric: what lies right of the diagonal block counts twice.
        gram = x[start:stop] @ x[start:].T
        right, right_a = ax[start:].copy(), a[start:].copy()
        right[stop - start :] *= 2
        right_a[stop - start :] *= 2
        power = np.ones_like(gram) if order == 0 else gram.copy()
        for _ in range(order - 1):
            power *= gram
        found = []
        for _ in spectral:  # power holds gram^(j - 1)
            found.append(ax[start:stop].T @ (power @ right))
            power *= gram
        sums = []
        for _ in range(spectral.stop, top + 1):
            power *= gram
            sums.append(float(a[start:stop] @ (power @ right_a)))
        return found, sums

    # One BLAS thread each, and the blocks added in their order: the same numbers for any number of threads.
    with threadpool_limits(1):
        starts = range(0, n, rows)
        if threads > 1 and len(starts) > 1:
            with ThreadPoolExecutor(threads) as pool:
                parts = list(pool.map(block, starts))
        else:
            parts = [block(start) for start in starts]
    matrices = {}
    for i, j in enumerate(spectral):
        matrix = sum((found[i] for found, _ in parts[1:]), parts[0][0][i])
        matrices[j] = (matrix + matrix.T) / 2
    sums = {j: math.fsum(part[i] for _, part in parts) for i, j in enumerate(range(spectral.stop, top + 1))}
    return matrices, sums


def largest_eigenvalue(matrix: FloatArray) -> float:
    """Return an upper bound of the largest eigenvalue of a symmetric positive semidefinite matrix.

    The eigensolver is not trusted: with its V and L, ``M = V^-T (L + R) V^-1`` for ``R = V^T M V - L``, so
    lambda_max <= (max L + ||R||) / (1 - ||V^T V - I||), both norms computed.
    """
    symmetric = (matrix + matrix.T) / 2
    d = len(symmetric)
    size = float(np.sqrt((symmetric * symmetric).sum()))
    if not math.isfinite(size):
        return math.inf
    values, vectors = np.linalg.eigh(symmetric)
    residual = vectors.T @ symmetric @ vectors
    residual[np.diag_indices(d)] -= values
    gram = vectors.T @ vectors
    gram[np.diag_indices(d)] -= 1
    # The products above carry rounding of their own.
    rounding = 8 * d * math.sqrt(d) * UNIT
    off = float(np.sqrt((residual * residual).sum())) + rounding * size
    bent = float(np.sqrt((gram * gram).sum())) + rounding
    if bent >= 0.5:
        return size
    asymmetry = float(np.sqrt(((matrix - symmetric) ** 2).sum()))
    return min((max(float(values[-1]), 0.0) + off) / (1 - bent) + asymmetry, size * (1 + 1e-12) + asymmetry)
