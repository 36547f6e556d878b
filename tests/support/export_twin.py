"""The exported arithmetic in NumPy, operation by operation, in single or double precision.

The results are those of the C file if the compiler does not contract multiplications and additions.
"""

import math
from itertools import pairwise

import numpy as np
from libsvm_twin import power

from svmfast.exports.c_arithmetic import EXP
from svmfast.exports.computation import starts_of
from svmfast.exports.reference import FOLD, folds, measured_from, nearest, part_of, variables
from svmfast.models.polynomial import PolynomialModel
from svmfast.votes import pair_numbers


def exp(t):
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


def tanh(x):
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


def root(s):
    real, single = s.dtype.type, s.dtype == np.float32
    bits = np.ascontiguousarray(s).view(np.uint32 if single else np.uint64)
    start = (bits >> 1) + (np.uint32(0x1FC00000) if single else np.uint64(0x1FF8000000000000))
    y = start.astype(bits.dtype).view(s.dtype)
    for _ in range(4 if single else 5):
        y = real(0.5) * (y + s / y)
    least = real(1e-37 if single else 1e-300)
    return np.asarray(np.where(s > least, y, real(0)), dtype=s.dtype)


def values(computation, rows, dtype=np.float64):
    """Decision values ``(n, p)``, cells, squared distances from their centers (0 without polynomials)."""
    kind, about = np.dtype(dtype), computation.values
    with np.errstate(all="ignore"):
        z, rest = variables(computation, rows, kind)
        cells = nearest(computation, z)
        out = np.zeros((len(z), computation.head.n_functions), dtype=kind)
        squared = np.zeros(len(z), dtype=kind)
        for cell in np.unique(cells).tolist():
            mine = np.flatnonzero(cells == cell)
            if isinstance(about, PolynomialModel):
                out[mine], squared[mine] = _polynomials(about, cell, z[mine], rest[mine, 0])
            else:
                out[mine] = _sums(about, cell, z[mine], rest[mine, 0])
    return out, cells, squared


def _sums(values, cell, z, rest):
    kind, part = z.dtype, part_of(values.sizes, cell)
    coef, rho = values.coef[:, part].astype(kind), values.rho[cell].astype(kind)
    gamma, (m, p) = kind.type(values.gamma[cell]), (coef.shape[1], len(rho))
    measured = measured_from(values.kernel, values.vectors[part].astype(kind), z)
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


def kernel_values(values, measured, gamma):
    real = measured.dtype.type
    if values.kernel in ("rbf", "laplacian"):
        return exp(-gamma * measured)
    if values.kernel == "linear":
        return measured
    inner = gamma * measured + real(values.coef0)
    return tanh(inner) if values.kernel == "sigmoid" else np.ones_like(inner) * power(inner, values.degree)


def _pseudo(values, cell, measured, k, gamma, out):
    pseudo = values.pseudo
    kind, part = k.dtype, part_of(pseudo.sizes, cell)
    coef = pseudo.coef[:, part].astype(kind)
    if pseudo.kind == "poly":
        for q, (a, b) in enumerate(pseudo.pairs[part]):
            out = out + coef[:, q] * (k[:, a] * k[:, b])[:, None]
        return np.asarray(out)
    apart = pseudo.distances[part_of(pseudo.sizes * values.sizes, cell)].astype(kind)
    roots = root(measured)
    for q, theirs in enumerate(apart.reshape(len(coef.T), k.shape[1])):
        r = np.abs(roots - theirs).max(axis=1, initial=0)
        out = out + coef[:, q] * exp(-gamma * (r * r))[:, None]
    return np.asarray(out)


def _polynomials(values, cell, z, rest):
    kind, real = z.dtype, z.dtype.type
    center = values.centers[cell].astype(kind)
    s = measured_from("rbf", center[None], z)[:, 0] + rest
    w = np.ascontiguousarray((z - center if values.about == "centre" else z).T)
    counts = np.reshape(values.counts(), values.orders.shape)
    at = int(counts[:cell].sum())
    out = np.zeros((len(z), counts.shape[1]), dtype=kind)
    factor = exp(-real(values.gamma) * s) if values.gamma else None
    for f, count in enumerate(counts[cell].tolist()):
        sum_ = nested(w, int(values.orders[cell, f]), values.coefficients[at : at + count].astype(kind))
        at += count
        out[:, f] = (sum_ if factor is None else factor * sum_) - real(values.rho[f])
    return out, s


def nested(w, order, c):
    """Evaluate the polynomial with packed coefficients `c` at n points `w`, ``(d, n)``, by nested sums."""
    d = len(w)
    # The number of monomials below degree m.
    cursor = [math.comb(d + m - 1, d) if m else 0 for m in range(order + 1)]

    def take(level):
        cursor[level] += 1
        return c[cursor[level] - 1]

    def deeper(level, start, total):
        for i in range(start, d):
            if level == order:
                total = total + w[i] * take(level)
            else:
                inner = np.full(w.shape[1], take(level), dtype=w.dtype)
                total = total + w[i] * deeper(level + 1, i, inner)
        return total

    whole = np.full(w.shape[1], take(0), dtype=w.dtype)
    return deeper(1, 0, whole) if order else whole
