"""Bounds on the tail of a truncated expansion, degree by degree: the numbers behind the certificate.

With ``x_i = sqrt(2 gamma) (sv_i - center)``, ``y = sqrt(2 gamma) (z - center)`` and
``a_i = beta_i exp(-|x_i|^2 / 2)`` the residual of an expansion of order k is

    exp(-|y|^2 / 2) sum_{j > k} e_j(y),    e_j(y) = sum_i a_i (x_i.y)^j / j!

Splitting one factor off the symmetric tensor of degree j and using Cauchy-Schwarz on the others,

    |e_j(y)| <= |y|^(j-1) / j! sqrt(y^T M_j y),    M_j = sum_il a_i a_l (x_i.x_l)^(j-1) x_i x_l^T

so ``|e_j(y)| <= |y|^j sqrt(lambda_max(M_j)) / j!``. With the trace of M_j in place of lambda_max, the bound
is the RKHS norm of degree j. That is never smaller than the first bound, and never larger than the sum of the
absolute values (docs/certificate.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmfast import _core
from svmfast.monomials import multiplicities, times_each_variable
from svmfast.rows import FloatArray, IntArray
from svmfast.solvers.nystrom import symmetric_eigen
from svmfast.solvers.taylor import moments
from svmfast.threads import map_in_threads, one_blas_thread

UNIT = 2.0**-53
# The smallest number that is stored for a bound other than 0.
SMALLEST = 1e-300
# The number of degrees for which the largest eigenvalue is computed; later degrees use the cheaper trace.
SPECTRAL = 4
# Points of a tile of the Gram matrix, which stays in the cache.
STRIPE = 256
# The most moments of a degree, and how much longer one takes than a multiply-add of a pair (measured).
MOST_MOMENTS = 1 << 22
MOMENT = 1.5
# Points of a group, where there are more than four groups. Degrees that add at most this share of the first
# one's bound are bounded group by group.
GROUP = 8192
SHARE = 1e-4
# The most numbers in a block of points.
BLOCK = 1 << 18


def squared_norms_about(points: FloatArray, center: FloatArray, scale: float = 1.0) -> FloatArray:
    """``||scale (point - center)||^2`` of every row, without a second matrix of the points' size."""
    out = np.empty(len(points))
    step = max(1, BLOCK // max(1, points.shape[1]))
    for start in range(0, len(points), step):
        u = points[start : start + step] - center
        u *= scale
        out[start : start + step] = np.einsum("ij,ij->i", u, u)
    return out


@dataclass(frozen=True, eq=False)
class Tail:
    """``|residual| <= exp(-gamma s) sum_j degrees[j] r^j + beyond r^(top + 1)``, s = r^2 from the center."""

    #: (top + 1,), zero up to the order of the expansion.
    degrees: FloatArray
    #: Covers all higher degrees, without the exponential factor.
    beyond: float


@one_blas_thread(numpy_only=True)
@np.errstate(over="ignore", invalid="ignore")
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
    threads: int = 1,
) -> Tail:
    """Bound the residual of the expansion of order `order` about `center`: a bound despite its own rounding.

    Points that together change no value by more than `negligible` at distance `reach` from the center are
    left out of the quadratic part; the triangle inequality bounds their contribution instead, so the result
    is still a bound. `threads` changes no bit.
    """
    n, d = points.shape
    degrees = np.zeros(top + 1)
    if n == 0 or d == 0:
        return Tail(degrees, 0.0)
    scale = math.sqrt(2 * gamma)
    squares = squared_norms_about(points, center, scale)
    norms = np.sqrt(squares)
    apart = np.arange(0)
    if reach is not None:
        apart = _negligible(beta, norms, scale * reach, negligible)
    a = beta * np.exp(-squares / 2)
    # The relative error of each a_i (exponent and exponential), then of products and sums in any order.
    of_a = ((d + 4) * float(squares.max()) + 4) * UNIT
    loose = 1 + (n + d + 50) * UNIT * 4 + of_a * 2
    # Points whose weight underflowed are left out; the constant of the rounding bound covers them.
    apart = np.union1d(apart, np.flatnonzero(a == 0))
    heavy = apart[a[apart] != 0]
    alone = np.array([float(np.abs(a[heavy]) @ norms[heavy] ** j) * loose for j in range(top + 1)])
    mine = np.delete(np.arange(n), apart)
    a, norms = a[mine], norms[mine]
    x = (points if len(mine) == n else points[mine]) - center
    x *= scale
    # Products of two weights neither underflow nor overflow, and the root takes the power of two back.
    exponent = math.frexp(float(np.abs(a).max(initial=0.0)))[1]
    sizes = _tensor_sizes(
        x, np.ldexp(a, -exponent), norms, order + 1, top, of_a, scale * (reach or 0.0), threads
    )
    for j in range(order + 1, top + 1):
        size = float(np.ldexp(sizes[j], exponent)) + float(alone[j])
        degrees[j] = _scaled(size, j, scale, math.lgamma(j + 1))
    # sum_{j > top} <= ||.|| sqrt(x^(top + 1) / (top + 1)!); the triangle inequality bounds the norm.
    total = float(np.abs(beta).sum())
    return Tail(degrees, _scaled(total, top + 1, scale, 0.5 * math.lgamma(top + 2)))


def _scaled(size: float, degree: int, scale: float, log_divisor: float) -> float:
    """At least ``size * scale^degree / divisor``, even if a factor alone overflows or underflows."""
    if size == 0:
        return 0.0
    if not size < math.inf:
        return math.inf
    logarithm = math.log(size) + degree * math.log(scale) - log_divisor
    # The logarithm errs by about 1e-13 of its terms; a bound must not underflow to 0.
    return math.inf if logarithm > 700 else max(math.exp(logarithm) * (1 + 1e-9), SMALLEST)


def _negligible(beta: FloatArray, norms: FloatArray, reach: float, negligible: float) -> IntArray:
    """The indices of points whose terms at distance `reach` add up to at most `negligible`."""
    size = np.abs(beta) * np.exp(-(np.maximum(norms - reach, 0) ** 2) / 2)
    order = np.argsort(size, kind="stable")
    return np.sort(order[: int(np.searchsorted(np.cumsum(size[order]), negligible))])


def _tensor_sizes(
    x: FloatArray,
    a: FloatArray,
    norms: FloatArray,
    first: int,
    top: int,
    of_a: float,
    reach: float,
    threads: int,
) -> FloatArray:
    """Upper bounds on ``sqrt(lambda_max(M_j))`` for each degree from `first` to `top`.

    Where there are many points, high degrees, which add next to nothing up to `reach`, are bounded by the
    sum of the sizes of groups of points.
    """
    spectral = first + SPECTRAL - 1

    def sizes(part: slice, last: int, spectral: int) -> FloatArray:
        squares, roundings = _tensor_squares(x[part], a[part].copy(), first, last, spectral, threads)
        found = np.zeros(top + 1)
        for j, square in squares.items():
            # inf if it overflows, which makes the bound inf
            absolute = float(np.square(np.abs(a[part]) @ norms[part] ** j))
            error = (roundings[j] * UNIT + 2 * of_a) * absolute
            found[j] = math.sqrt(max(square + error, 0.0))
        return found

    n, d = x.shape
    if not n:
        return np.zeros(top + 1)
    if n <= 4 * GROUP or not reach or top < first or _last_by_moments(n, d, first, top, spectral) < first:
        return sizes(slice(n), top, spectral)
    groups = -(-n // GROUP)  # each with points of all classes
    rough = sum((sizes(slice(g, None, groups), top, 0) for g in range(groups)), np.zeros(top + 1))
    rough *= 1 + n * UNIT
    # lambda_max is at least the trace divided by d.
    each = [np.float64(reach) ** j / math.factorial(j) for j in range(top + 1)]  # may be inf
    least = float(sizes(slice(n), first, 0)[first] * each[first]) / math.sqrt(d)
    terms = [float(rough[j] * each[j]) for j in range(top + 1)]
    last = next(j for j in range(first, top + 1) if j == top or sum(terms[j + 1 :]) <= SHARE * least)
    exact = sizes(slice(n), last, spectral)
    return np.where(np.arange(top + 1) <= last, exact, rough)


def _tensor_squares(
    x: FloatArray, a: FloatArray, first: int, top: int, spectral: int, threads: int
) -> tuple[dict[int, float], dict[int, float]]:
    """Per degree lambda_max(M_j), later than `spectral` trace(M_j), and how many roundings it passed.

    Of low degrees from the moments ``T_j = sum_i a_i x_i^(j)``, of later ones from the pairs of points.
    """
    x, (n, d) = np.ascontiguousarray(x), x.shape
    last = _last_by_moments(n, d, first, top, spectral)
    squares: dict[int, float] = {}
    roundings: dict[int, float] = {}
    for j in range(first, last + 1):
        tensor, orders = moments(x, a, j, threads), multiplicities(d, j)
        squares[j], terms = float(orders @ (tensor * tensor)), len(orders)
        if j <= spectral:
            # Row p has the entries of T_j of which one index is p.
            rows = tensor[times_each_variable(d, j - 1)]
            matrix = (rows * multiplicities(d, j - 1)) @ rows.T
            squares[j] = min(largest_eigenvalue((matrix + matrix.T) / 2), squares[j])
        roundings[j] = 2 * n + 8 * j + 40 + terms
    if last < top:
        stop = max(last, min(spectral, top))
        for j, matrix in enumerate(_matrices_from_pairs(x, a, last + 1, stop - last, threads), last + 1):
            squares[j] = min(largest_eigenvalue((matrix + matrix.T) / 2), float(np.trace(matrix)))
        if stop < top:
            sums = _core.sums_over_pairs(x, a, stop + 1, top - stop, threads)
            squares.update(enumerate(sums.tolist(), stop + 1))
        roundings.update((j, 2 * n + (j + 2) * (d + 4) + 400) for j in range(last + 1, top + 1))
    return squares, roundings


def _matrices_from_pairs(x: FloatArray, a: FloatArray, first: int, count: int, threads: int) -> FloatArray:
    """M_j, up to symmetry, of `count` degrees from `first` on."""
    n, d = x.shape
    ax = a[:, None] * x

    @np.errstate(over="ignore", invalid="ignore")  # threads of a pool do not inherit the setting
    def stripe(start: int) -> FloatArray:
        stop = min(n, start + STRIPE)
        inner = np.zeros((count, stop - start, d))
        for left in range(start, n, STRIPE):
            gram = x[start:stop] @ x[left : left + STRIPE].T
            # The Gram matrix is symmetric: what is beside the diagonal block counts twice.
            power, right = gram.copy(), ax[left : left + STRIPE] * (1 if left == start else 2)
            for _ in range(first - 2):
                power *= gram
            if first == 1:
                power[:] = 1
            for part in inner:
                part += power @ right
                power *= gram
        found: FloatArray = ax[start:stop].T @ inner
        return found

    matrices = np.zeros((count, d, d))
    starts = range(0, n if count else 0, STRIPE)
    # Added in order, so that the number of threads changes no bit; a few at a time, to limit memory.
    together = max(1, threads)
    for at in range(0, len(starts), together):
        for part in map_in_threads(stripe, starts[at : at + together], threads):
            matrices += part
    return matrices


def _last_by_moments(n: int, d: int, first: int, top: int, spectral: int) -> int:
    """The last degree that moments give with less work than the pairs of points do; ``first - 1`` if none."""

    def work(last: int) -> float:
        all_moments = 0.0
        for j in range(first, last + 1):
            others = math.comb(d + j - 2, j - 1)
            if max(math.comb(d + j - 1, j), d * others * (j <= spectral)) > MOST_MOMENTS:
                return math.inf
            all_moments += MOMENT * n * math.comb(d + j - 1, j) + d * (d + 8) * others * (j <= spectral)
        stop = max(last, min(spectral, top))
        a_pair = (d + 6 + top - stop) * (stop < top) + (d + 10 * last + (d + 10) * (stop - last)) * (
            last < stop
        )
        return all_moments + n * n / 2 * a_pair

    return min(range(first - 1, top + 1), key=work)


def largest_eigenvalue(matrix: FloatArray) -> float:
    """An upper bound on the largest eigenvalue of a symmetric positive semidefinite matrix.

    The eigensolver is not trusted. With its V and L, ``M = V^-T (L + R) V^-1`` for ``R = V^T M V - L``, so
    lambda_max <= (max L + ||R||) / (1 - ||V^T V - I||). Both norms are computed, and a bound on their
    rounding errors is added (:func:`product_rounding`). The matrix is first scaled by a power of two so that
    squares of its entries do not overflow.
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
    return times_power(bound + asymmetry, exponent)


def product_rounding(d: int) -> tuple[float, float]:
    """Bounds on the rounding errors of ``||V^T M V||`` (in units of ``||M||``) and ``||V^T V - I||``.

    The error of a product of d x d matrices is at most ``gamma_d |A| |B|``, entry by entry, with
    gamma_d = d u / (1 - d u). All norms here are Frobenius norms unless marked. With ``||V||_F^2 <= 1.5 d``
    and ``||V||_2^2 <= 1.5`` (otherwise the bound is not used), the error is at most ``1.5 d gamma_d`` for
    ``V^T V`` and ``gamma_d sqrt(1.5 d) (2 sqrt(1.5) + gamma_d sqrt(1.5 d))``, about ``3 d^1.5 u``, for
    ``(V^T M) V``. The errors of subtracting L and I and of the norms fit into the remaining margin.
    """
    both = 8 * d * math.sqrt(d) * UNIT
    return both, max(both, 2 * d * d * UNIT)


def times_power(x: float, exponent: int) -> float:
    """At least ``x 2^exponent``, and at least SMALLEST unless `x` is 0."""
    if x == 0:
        return 0.0
    with np.errstate(over="ignore"):
        return max(float(np.ldexp(x, exponent)), SMALLEST)
