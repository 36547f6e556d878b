"""LIBSVM's decision values, operation by operation in plain Python: the slow oracle.

Python's floats round as C's doubles do, and ``math.exp`` and ``math.tanh`` are the C library's, as
svm-predict's are.
"""

import ctypes
import math
import os
from itertools import combinations, pairwise

import numpy as np
from libsvm import svm as libsvm


def exp(x):
    """Return C's exp, which overflows to infinity."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def power(base, times):
    """Return LIBSVM's powi, which exported files have too; of an array in its precision."""
    result, square = 1.0, base
    while times > 0:
        if times % 2:
            result = result * square
        square = square * square
        times //= 2
    return result


def kernel_value(model, z, x):
    """Return ``Kernel::k_function(z, x)``: both vectors walked by ascending index."""
    kernel, total = model.kernel, 0.0
    i = j = 0
    while i < len(z) or j < len(x):
        a = z[i][0] if i < len(z) else 1 << 40
        b = x[j][0] if j < len(x) else 1 << 40
        p, q = z[i][1] if a <= b else 0.0, x[j][1] if b <= a else 0.0
        i, j = i + (a <= b), j + (b <= a)
        if kernel.kind == "rbf":
            difference = p - q if a == b else p or q
            total += difference * difference
        elif a == b:
            total += p * q
    if kernel.kind == "rbf":
        return exp(-kernel.gamma * total)
    if kernel.kind == "linear":
        return total
    argument = kernel.gamma * total + kernel.coef0
    return math.tanh(argument) if kernel.kind == "sigmoid" else power(argument, kernel.degree)


def vectors(rows):
    """Return every row's pairs of index and value."""
    pairs = list(zip(rows.indices.tolist(), rows.values.tolist(), strict=True))
    return [pairs[start:end] for start, end in pairwise(rows.indptr.tolist())]


def nodes(vector):
    """Return a row as LIBSVM's own array of svm_node."""
    out = (libsvm.svm_node * (len(vector) + 1))()
    for node, (column, value) in zip(out, vector, strict=False):
        node.index, node.value = column + 1, value
    out[len(vector)].index = -1
    return out


def libsvms(path, rows, head, *, probability=False):
    """Return LIBSVM's own answers to vectors, and what it writes to a buffer: values, or probabilities."""
    model = libsvm.libsvm.svm_load_model(os.fsencode(path))
    assert model, "LIBSVM refuses the model"
    buffer = (ctypes.c_double * max(head.n_functions, head.n_classes))()
    call = libsvm.libsvm.svm_predict_probability if probability else libsvm.libsvm.svm_predict_values
    return np.array([[call(model, nodes(row), buffer), *buffer] for row in rows])


def lines(rows):
    """Return rows with the label 1 as text."""
    return "".join("1 " + " ".join(f"{c + 1}:{v!r}" for c, v in vector) + "\n" for vector in vectors(rows))


def decision_values(model, rows):
    """Return ``svm_predict_values`` of every row, ``(n, p)``."""
    sv, out = vectors(model.sv), np.empty((len(rows), len(model.rho)))
    # A single function is that of a pair whose second class has no vectors.
    ends = np.cumsum([len(sv), 0] if model.nr_sv is None else model.nr_sv).tolist()
    starts = [0, *ends[:-1]]
    coef = model.sv_coef.tolist()
    for at, z in enumerate(vectors(rows)):
        values = [kernel_value(model, z, x) for x in sv]
        for p, (i, j) in enumerate(combinations(range(len(ends)), 2)):
            total = 0.0
            for k in range(starts[i], ends[i]):
                total += coef[j - 1][k] * values[k]
            for k in range(starts[j], ends[j]):
                total += coef[i][k] * values[k]
            out[at, p] = total - model.rho[p]
    return out
