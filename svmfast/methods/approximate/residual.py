"""How large the tail of a truncated expansion can be, degree by degree: the numbers behind the certificate.

With ``x_i = sqrt(2 gamma) (sv_i - center)``, ``y = sqrt(2 gamma) (z - center)`` and
``a_i = beta_i exp(-|x_i|^2 / 2)`` the residual of an expansion of order k is

    exp(-|y|^2 / 2) sum_{j > k} e_j(y),    e_j(y) = sum_i a_i (x_i.y)^j / j!

Splitting one factor off the symmetric tensor of degree j and using Cauchy-Schwarz on the others,

    |e_j(y)| <= |y|^(j-1) / j! sqrt(y^T M_j y),    M_j = sum_il a_i a_l (x_i.x_l)^(j-1) x_i x_l^T

so ``|e_j(y)| <= |y|^j sqrt(lambda_max(M_j)) / j!``. The trace of M_j in its place gives the RKHS norm of
degree j; that is never smaller, and never larger than the sum of the absolute values (docs/certificate.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.rows import FloatArray
from svmfast.solvers.eigen import symmetric_eigen
from svmfast.threads import map_in_threads, one_blas_thread

UNIT = 2.0**-53
# What is not zero is never stored as less.
SMALLEST = 1e-300
# Degrees whose largest eigenvalue is worth its matrix products; later ones take the trace's cheaper relative.
SPECTRAL = 4
# Tiles of the Gram matrix: a stripe of rows is one task, and a tile and its powers stay in the cache.
STRIPE = 256
TILE = 512
# Numbers of a block of points that is worked on at a time.
BLOCK = 1 << 18


def squared_norms_about(points: FloatArray, center: FloatArray, scale: float = 1.0) -> FloatArray:
    """Return ``||scale (point - center)||^2`` of every row, without a second matrix of the points' size."""
    out = np.empty(len(points))
    step = max(1, BLOCK // max(1, points.shape[1]))
    for start in range(0, len(points), step):
        u = points[start : start + step] - center
        u *= scale
        out[start : start + step] = np.einsum("ij,ij->i", u, u)
    return out


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

    def of_order(self, order: int) -> Tail:
        """Return the tail of the expansion of order `order`, from the tail of a lower one."""
        degrees = self.degrees.copy()
        degrees[: order + 1] = 0
        return Tail(degrees, self.beyond)


def residual_tail(
    points: FloatArray,
    beta: FloatArray,
    gamma: float,
    center: FloatArray,
    order: int,
    *,
    top: int,
    reach: float | None = None,
    negligible: float = 0.0,
    by_row_norms: bool = False,
    tick: Callable[[], None] | None = None,
    threads: int = 1,
) -> Tail:
    """Return the size of the residual of the expansion of order `order` about `center`, rounding included.

    Parameters
    ----------
    points : (n, d) float64
    beta : (n,) float64
    gamma : float
    center : (d,) float64
    order : int
        -1 gives every degree from 0 up: the tails of all orders at once, see :meth:`Tail.of_order`.
    top : int
        Last degree with a number of its own.
    reach, negligible : float
        Points that together change no value by more than `negligible` at this distance from the center leave
        the quadratic part: the triangle inequality bounds what they add, so the claim stays as it is.
    by_row_norms : bool
        Use the triangle inequality for all points: O(n d) instead of O(n^2 d), and never smaller.
    tick : callable, optional
        Called between parts of the work; it may raise to end it.
    threads : int
        The result does not depend on it.
    """
    if tick is not None:
        tick()
    with one_blas_thread(numpy_only=True), np.errstate(over="ignore", invalid="ignore"):
        return _tail(
            points,
            beta,
            gamma,
            center,
            order,
            top=top,
            reach=reach,
            negligible=negligible,
            by_row_norms=by_row_norms,
            tick=tick,
            threads=threads,
        )


def _tail(
    points: FloatArray,
    beta: FloatArray,
    gamma: float,
    center: FloatArray,
    order: int,
    *,
    top: int,
    reach: float | None,
    negligible: float,
    by_row_norms: bool,
    tick: Callable[[], None] | None,
    threads: int,
) -> Tail:
    n, d = points.shape
    degrees = np.zeros(top + 1)
    if n == 0 or d == 0:
        if n and order < 0:
            degrees[0] = float(np.abs(beta).sum()) * (1 + 1e-12)
        return Tail(degrees, 0.0)
    squares = squared_norms_about(points, center, math.sqrt(2 * gamma))
    norms = np.sqrt(squares)
    apart = np.arange(n if by_row_norms else 0)
    if not by_row_norms and reach is not None:
        apart = _negligible(beta, norms, math.sqrt(2 * gamma) * reach, negligible)
    scale = math.sqrt(2 * gamma)
    a = beta * np.exp(-squares / 2)
    # Relative error of every a_i (exponent, exponential), then of products and sums in any order.
    of_a = ((d + 4) * float(squares.max()) + 4) * UNIT
    loose = 1 + (n + d + 50) * UNIT * 4 + of_a * 2
    # A weight that underflowed has nothing to multiply; the slack's constant allows for it.
    apart = np.union1d(apart, np.flatnonzero(a == 0))
    heavy = apart[a[apart] != 0]
    alone = np.array([float(np.abs(a[heavy]) @ norms[heavy] ** j) * loose for j in range(top + 1)])
    first = max(order + 1, 1)
    mine = np.delete(np.arange(n), apart)
    m = len(mine)
    a, norms = a[mine], norms[mine]
    x = (points if m == n else points[mine]) - center
    x *= scale
    matrices, quadratic = _moments(x, a, first, top, tick, threads) if m else ({}, {})
    for j in range(order + 1, top + 1):
        absolute = float(np.square(np.abs(a) @ norms**j))  # inf where it overflows, and so is the bound
        error = ((2 * m + (j + 2) * (d + 4) + 40) * UNIT + 2 * of_a) * absolute
        if j == 0 or not m:
            square = absolute * (1 + 1e-12) if j == 0 else 0.0
        elif j in matrices:
            largest = largest_eigenvalue(matrices[j])
            trace = float(np.trace(matrices[j]))
            square = min(largest, trace) + error
        else:
            square = quadratic[j] + error
        size = math.sqrt(max(square, 0.0)) + float(alone[j])
        degrees[j] = _scaled(size, j, scale, math.lgamma(j + 1))
    # sum_{j > top} <= ||.|| sqrt(x^(top + 1) / (top + 1)!), and the norm by the triangle inequality.
    total = float(np.abs(beta).sum())
    return Tail(degrees, _scaled(total, top + 1, scale, 0.5 * math.lgamma(top + 2)))


def _scaled(size: float, degree: int, scale: float, log_divisor: float) -> float:
    """Return no less than ``size * scale^degree / divisor``, also where a factor alone leaves the range."""
    if size == 0:
        return 0.0
    if not size < math.inf:
        return math.inf
    logarithm = math.log(size) + degree * math.log(scale) - log_divisor
    # The logarithm errs by some 1e-13 of its terms; a bound that underflows would claim too much.
    return math.inf if logarithm > 700 else max(math.exp(logarithm) * (1 + 1e-9), SMALLEST)


def _negligible(beta: FloatArray, norms: FloatArray, reach: float, negligible: float) -> NDArray[np.int64]:
    """Indices of the points whose kernel values at distance `reach` add up to at most `negligible`."""
    size = np.abs(beta) * np.exp(-(np.maximum(norms - reach, 0) ** 2) / 2)
    order = np.argsort(size, kind="stable")
    return np.sort(order[: int(np.searchsorted(np.cumsum(size[order]), negligible))])


def _moments(
    x: FloatArray, a: FloatArray, first: int, top: int, tick: Callable[[], None] | None, threads: int
) -> tuple[dict[int, FloatArray], dict[int, float]]:
    """M_j for the first degrees from `first`, and ``sum a_i a_l (x_i.x_l)^j`` for the others up to `top`."""
    n, d = x.shape
    ax = a[:, None] * x
    spectral = range(first, min(first + SPECTRAL - 1 + (SPECTRAL if first == 1 else 0), top) + 1)

    @np.errstate(over="ignore", invalid="ignore")  # a pool's threads do not inherit it
    def stripe(start: int) -> tuple[list[FloatArray], list[float]]:
        if tick is not None:
            tick()
        stop = min(n, start + STRIPE)
        inner = np.zeros((len(spectral), stop - start, d))
        sums = [0.0] * (top + 1 - spectral.stop)
        grams, powers = np.empty((2, (stop - start) * TILE))
        for left in range(start, n, TILE):
            right = min(n, left + TILE)
            shape = stop - start, right - left
            gram = np.matmul(x[start:stop], x[left:right].T, out=grams[: shape[0] * shape[1]].reshape(shape))
            # The Gram matrix is symmetric: what lies right of the diagonal block counts twice.
            twice = np.where(np.arange(left, right) >= stop, 2.0, 1.0)
            right_ax, right_a = ax[left:right] * twice[:, None], a[left:right] * twice
            power = powers[: gram.size].reshape(shape)
            if first == 1:
                power.fill(1.0)
            else:
                np.copyto(power, gram)
            for _ in range(first - 2):
                power *= gram
            for i in range(len(spectral)):  # power holds gram^(j - 1)
                inner[i] += power @ right_ax
                power *= gram
            for i in range(len(sums)):
                power *= gram
                sums[i] += float(a[start:stop] @ (power @ right_a))
        return [ax[start:stop].T @ part for part in inner], sums

    matrices = {j: np.zeros((d, d)) for j in spectral}
    terms: list[list[float]] = []

    def add(parts: Iterable[tuple[list[FloatArray], list[float]]]) -> None:
        for found, sums in parts:
            for j, part in zip(spectral, found, strict=True):
                matrices[j] += part
            terms.append(sums)

    # Added in the order of the stripes: the same numbers for any number of threads.
    starts = range(0, n, STRIPE)
    # Rounds of a few stripes, so that no more than these wait in memory.
    together = 1 if threads <= 1 else 4 * threads
    for at in range(0, len(starts), together):
        add(map_in_threads(stripe, starts[at : at + together], threads))
    later = range(spectral.stop, top + 1)
    sums = {j: math.fsum(part[i] for part in terms) for i, j in enumerate(later)}
    return {j: (matrix + matrix.T) / 2 for j, matrix in matrices.items()}, sums


def largest_eigenvalue(matrix: FloatArray) -> float:
    """Return an upper bound of the largest eigenvalue of a symmetric positive semidefinite matrix.

    The eigensolver is not trusted: with its V and L, ``M = V^-T (L + R) V^-1`` for ``R = V^T M V - L``, so
    lambda_max <= (max L + ||R||) / (1 - ||V^T V - I||), both norms computed, with what rounding may have
    taken from them (:func:`product_rounding`). No entry is so small or so large that its square leaves the
    range of doubles: the matrix is scaled by a power of two first.
    """
    d = len(matrix)
    largest = float(np.abs(matrix).max(initial=0.0))
    if not largest < math.inf:
        return math.inf
    exponent = math.frexp(largest)[1]
    matrix = np.ldexp(matrix, -exponent)
    symmetric = (matrix + matrix.T) / 2
    asymmetry = float(np.sqrt(((matrix - symmetric) ** 2).sum()))
    size = float(np.sqrt((symmetric * symmetric).sum())) * (1 + 2 * d * d * UNIT)
    values, vectors = symmetric_eigen(symmetric)
    residual = vectors.T @ symmetric @ vectors
    residual[np.diag_indices(d)] -= values
    gram = vectors.T @ vectors
    gram[np.diag_indices(d)] -= 1
    of_residual, of_gram = product_rounding(d)
    off = float(np.sqrt((residual * residual).sum())) + of_residual * size
    bent = float(np.sqrt((gram * gram).sum())) + of_gram
    bound = size * (1 + 1e-12)
    if bent < 0.5:
        bound = min((max(float(values.max(initial=0.0)), 0.0) + off) / (1 - bent), bound)
    return _power_of_two(bound + asymmetry, exponent)


def product_rounding(d: int) -> tuple[float, float]:
    """Return what rounding can hide of ``||V^T M V||`` (in units of ``||M||``) and of ``||V^T V - I||``.

    A product of d x d matrices errs by at most ``gamma_d |A| |B|`` entry by entry, gamma_d = d u / (1 - d u).
    With ``||V||_F^2 <= 1.5 d`` and ``||V||_2^2 <= 1.5`` (else the bound is not used) that is at most
    ``1.5 d gamma_d`` for ``V^T V``, in the norm of Frobenius as all here, and for ``(V^T M) V`` at most
    ``gamma_d sqrt(1.5 d) (2 sqrt(1.5) + gamma_d sqrt(1.5 d))``, about ``3 d^1.5 u``. Subtracting L and I, and
    the norms, take less than the room that is left.
    """
    both = 8 * d * math.sqrt(d) * UNIT
    return both, max(both, 2 * d * d * UNIT)


def _power_of_two(x: float, exponent: int) -> float:
    """Return no less than ``x 2^exponent``."""
    try:
        y = math.ldexp(x, exponent)
    except OverflowError:
        return math.inf
    return y if y > SMALLEST or x == 0 else SMALLEST
