"""The exported arithmetic in NumPy, operation by operation, in single or double precision.

The results are those of the C file if the compiler does not contract multiplications and additions. So the
accuracy of an export is known before it is compiled.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.exports.computation import Computation, KernelSums, Polynomials, dense, starts_of
from svmfast.rows import Rows
from svmfast.votes import pair_numbers

Reals = NDArray[Any]

#: Maximum number of kernel values per block.
_BLOCK = 1 << 21
#: Number of vectors that single precision sums before it adds the partial sum to the total, if a cell has at
#: least `FOLD_FROM` vectors.
FOLD, FOLD_FROM = 32, 64

#: For each precision: the smallest argument of the exponential, log2(e), ln 2 in two parts, degree, bias.
EXP = {
    np.dtype(np.float32): (-87.0, 1.44269504, 0.693145751953125, 1.42860682030941723212e-6, 7, 127),
    np.dtype(np.float64): (
        *(-708.0, 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10),
        *(13, 1023),
    ),
}


def folds(values: KernelSums, dtype: np.dtype[Any]) -> bool:
    """Whether sums are taken in parts of :data:`FOLD` vectors."""
    return dtype == np.float32 and int(values.sizes.max(initial=0)) >= FOLD_FROM


def exp(t: Reals) -> Reals:
    """Compute the exponential of arguments of at most 0; it is 0 below the smallest argument."""
    least, log2e, high, low, degree, bias = EXP[t.dtype]
    real = t.dtype.type
    inside = np.where(t >= real(least), t, real(0))
    n = bias - (inside * real(log2e) + real(bias + 0.5)).astype(np.int32)
    whole = n.astype(t.dtype)
    r = inside + whole * real(high) + whole * real(low)
    sum_ = np.full_like(t, real(1 / math.factorial(degree)))
    for m in range(degree - 1, -1, -1):
        sum_ = sum_ * r + real(1 / math.factorial(m))
    out = sum_ * np.ldexp(real(1), -n)
    return np.asarray(np.where(np.isnan(t), t, np.where(t >= real(least), out, real(0))), dtype=t.dtype)


def tanh(x: Reals) -> Reals:
    """Compute the hyperbolic tangent: a continued fraction near 0, elsewhere from exponentials."""
    real = x.dtype.type
    square = x * x
    fraction = np.full_like(x, real(19))
    with np.errstate(over="ignore", invalid="ignore"):
        for m in range(17, 0, -2):
            fraction = real(m) + square / fraction
        e = exp(real(-2) * np.abs(x))
        far = (real(1) - e) / (real(1) + e)
        far = np.where(x < 0, -far, far)
        return np.asarray(np.where(np.abs(x) < real(0.5), x / fraction, far), dtype=x.dtype)


def power(base: Reals, degree: int) -> Reals:
    """Compute integer powers as LIBSVM's ``powi``: repeated squaring, from the lowest bit on."""
    out = np.ones_like(base)
    while degree > 0:
        if degree % 2:
            out = out * base
        base = base * base
        degree //= 2
    return out


def root(s: Reals) -> Reals:
    """Compute the square root by Heron's method, with half the exponent as the initial estimate."""
    real = s.dtype.type
    single = s.dtype == np.float32
    bits: Any = np.ascontiguousarray(s).view(np.uint32 if single else np.uint64)
    start = (bits >> 1) + (np.uint32(0x1FC00000) if single else np.uint64(0x1FF8000000000000))
    y = start.astype(bits.dtype).view(s.dtype)
    for _ in range(4 if single else 5):
        y = real(0.5) * (y + s / y)
    least = real(1e-37 if single else 1e-300)
    return np.asarray(np.where(s > least, y, real(0)), dtype=s.dtype)


def values(
    computation: Computation, rows: Rows, dtype: Any = np.float64
) -> tuple[Reals, NDArray[np.int32], Reals]:
    """Compute decision values ``(n, p)``, cells ``(n,)`` and squared distances from the cells' centers.

    The distances are 0 if the values are not polynomials.
    """
    kind, about = np.dtype(dtype), computation.values
    with np.errstate(all="ignore"):
        z, rest = split(computation, rows, kind)
        cells = nearest(computation, z)
        out = np.zeros((len(z), computation.head.n_functions), dtype=kind)
        squared = np.zeros(len(z), dtype=kind)
        for cell in np.unique(cells).tolist() if out.shape[1] else ():
            mine = np.flatnonzero(cells == cell)
            if isinstance(about, Polynomials):
                out[mine], squared[mine] = _polynomials(about, cell, z[mine], rest[mine])
                continue
            # A block has a number for each row and vector, or for each function and vector of a fold.
            step = max(1, _BLOCK // max(1, int(about.sizes[cell]), FOLD * out.shape[1]))
            for block in (mine[at : at + step] for at in range(0, len(mine), step)):
                out[block] = _sums(about, cell, z[block], rest[block])
    return out, cells, squared


def split(computation: Computation, rows: Rows, dtype: Any) -> tuple[Reals, Reals]:
    """Compute the variables of `rows`, ``(n, d)``, and what the other columns add to a distance, ``(n,)``."""
    width, scaling = computation.n_features, computation.scaling
    wide = dense(rows, width).astype(dtype)
    if scaling is not None:
        wide = (wide - scaling.offset.astype(dtype)) * scaling.factor.astype(dtype)
        if scaling.clip is not None:
            wide = np.clip(wide, dtype.type(scaling.clip[0]), dtype.type(scaling.clip[1]))
    length = np.abs if computation.values.kernel == "laplacian" else np.square
    rest = np.zeros(len(rows), dtype=dtype)
    for j in np.setdiff1d(np.arange(width), computation.variables):
        rest = rest + length(wide[:, j])
    unknown = rows.indices >= width
    if unknown.any() and not computation.drops_others:
        at = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))[unknown]
        beyond = length(rows.values[unknown].astype(dtype))
        rest = rest + np.bincount(at, beyond, minlength=len(rows)).astype(dtype)
    return np.ascontiguousarray(wide[:, computation.variables]), rest


def nearest(computation: Computation, z: Reals) -> NDArray[np.int32]:
    """Find the cell of each row, ``(n,)`` int32, given its variables, ``(n, d)``."""
    cells = np.zeros(len(z), dtype=np.int32)
    route = computation.route
    if route is None:
        return cells
    children, first, leaf = route.children, route.first_child, route.cell
    centers = route.centers.astype(z.dtype)
    node = np.zeros(len(z), dtype=np.int64)
    for here in range(len(children)):  # breadth first: the numbers of a row's nodes ascend
        mine = np.flatnonzero(node == here)
        if not len(mine):
            continue
        if children[here] == 0:
            cells[mine] = leaf[here]
            continue
        some = slice(first[here] - 1, first[here] - 1 + children[here])
        # The first of equals, as in the C file; nan is never less.
        apart = _measures("rbf", centers[some], z[mine])
        best = np.where(np.isnan(apart[:, 0]), 0, np.where(np.isnan(apart), np.inf, apart).argmin(axis=1))
        node[mine] = first[here] + best
    return cells


def _part(sizes: NDArray[np.int64], cell: int) -> slice:
    """The elements of a cell, where the cells have `sizes` elements one after another."""
    end = int(sizes[: cell + 1].sum())
    return slice(end - int(sizes[cell]), end)


def _sums(values: KernelSums, cell: int, z: Reals, rest: Reals) -> Reals:
    kind, part = z.dtype, _part(values.sizes, cell)
    coef, rho = values.coef[:, part].astype(kind), values.rho[cell].astype(kind)
    gamma, (m, p) = kind.type(values.gamma[cell]), (coef.shape[1], len(rho))
    measured = _measures(values.kernel, values.vectors[part].astype(kind), z)
    if values.kernel in ("rbf", "laplacian"):
        measured = measured + rest[:, None]
    k = kernel_values(values, measured, gamma)
    # The decision functions to which the coefficients of each class belong, and where the classes begin.
    functions, starts = [np.arange(p)], np.zeros(1, dtype=np.int64)
    if values.classes is not None:
        functions = [np.delete(pairs, c) for c, pairs in enumerate(pair_numbers(values.classes.shape[1]))]
        starts = starts_of(values.classes[cell])
    fold = folds(values, kind)
    out, open_ = np.zeros((len(z), p), dtype=kind), np.zeros((len(z), p), dtype=kind)
    for start, end in pairwise(sorted({*range(0, m, FOLD), *starts.tolist(), m})):
        which = functions[int(np.searchsorted(starts, start, side="right")) - 1]
        terms = coef[: len(which), start:end].T[:, None] * k[:, start:end].T[..., None]
        # Added one by one: other sums of NumPy take the terms in another order.
        open_[:, which] = np.add.accumulate(np.concatenate([open_[None, :, which], terms]))[-1]
        if fold and end % FOLD == 0:
            out, open_ = out + open_, np.zeros_like(open_)
    out = out + open_ if fold else open_
    if values.pseudo is not None:
        out = _pseudo(values, cell, measured, k, gamma, out)
    return np.asarray(out - rho)


def _measures(kernel: str, vectors: Reals, z: Reals) -> Reals:
    """Compute squared distances, absolute distances or dot products, ``(n, m)``."""
    s = np.zeros((len(z), len(vectors)), dtype=z.dtype)
    for j in range(z.shape[1]):
        mine, theirs = z[:, j, None], vectors[None, :, j]
        if kernel in ("rbf", "laplacian"):
            difference = mine - theirs
            s = s + (difference * difference if kernel == "rbf" else np.abs(difference))
        else:
            s = s + mine * theirs
    return s


def kernel_values(values: KernelSums, measured: Reals, gamma: Any) -> Reals:
    """Compute kernel values from distances or products."""
    real = measured.dtype.type
    if values.kernel in ("rbf", "laplacian"):
        return exp(-gamma * measured)
    if values.kernel == "linear":
        return measured
    inner = gamma * measured + real(values.coef0)
    return tanh(inner) if values.kernel == "sigmoid" else power(inner, values.degree)


def _pseudo(values: KernelSums, cell: int, measured: Reals, k: Reals, gamma: Any, out: Reals) -> Reals:
    pseudo = values.pseudo
    assert pseudo is not None
    kind, part = k.dtype, _part(pseudo.sizes, cell)
    coef = pseudo.coef[:, part].astype(kind)
    if pseudo.kind == "poly":
        for q, (a, b) in enumerate(pseudo.pairs[part]):
            out = out + coef[:, q] * (k[:, a] * k[:, b])[:, None]
        return np.asarray(out)
    apart = pseudo.distances[_part(pseudo.sizes * values.sizes, cell)].astype(kind)
    roots = root(measured)
    for q, theirs in enumerate(apart.reshape(len(coef.T), k.shape[1])):
        r = np.abs(roots - theirs).max(axis=1, initial=0)
        out = out + coef[:, q] * exp(-gamma * (r * r))[:, None]
    return np.asarray(out)


def _polynomials(values: Polynomials, cell: int, z: Reals, rest: Reals) -> tuple[Reals, Reals]:
    kind, real = z.dtype, z.dtype.type
    center = values.centers[cell].astype(kind)
    s = _measures("rbf", center[None], z)[:, 0] + rest
    w = np.ascontiguousarray((z - center if values.centered else z).T)
    counts = values.counts()
    at = int(counts[:cell].sum())
    out = np.zeros((len(z), counts.shape[1]), dtype=kind)
    factor = exp(-real(values.gamma) * s) if values.gamma else None
    for f, count in enumerate(counts[cell].tolist()):
        sum_ = nested(w, int(values.orders[cell, f]), values.coefficients[at : at + count].astype(kind))
        at += count
        out[:, f] = (sum_ if factor is None else factor * sum_) - real(values.rho[f])
    return out, s


def nested(w: Reals, order: int, c: Reals) -> Reals:
    """Evaluate the polynomial with packed coefficients `c` at n points `w`, ``(d, n)``, by nested sums."""
    d = len(w)
    # The number of monomials below degree m.
    cursor = [math.comb(d + m - 1, d) if m else 0 for m in range(order + 1)]

    def take(level: int) -> Any:
        cursor[level] += 1
        return c[cursor[level] - 1]

    def deeper(level: int, start: int, total: Reals) -> Reals:
        for i in range(start, d):
            if level == order:
                total = total + w[i] * take(level)
            else:
                inner = np.full(w.shape[1], take(level), dtype=w.dtype)
                total = total + w[i] * deeper(level + 1, i, inner)
        return total

    whole = np.full(w.shape[1], take(0), dtype=w.dtype)
    return deeper(1, 0, whole) if order else whole
