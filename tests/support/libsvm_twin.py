"""LIBSVM itself, by its C interface, and its power in plain Python."""

import ctypes
import os
import tempfile
from itertools import pairwise

import numpy as np
from libsvm import svm as libsvm

from svmfast.formats.model_files import save_model


def power(base, times):
    """Return LIBSVM's powi, which exported files have too; of an array in its precision."""
    result, square = 1.0, base
    while times > 0:
        if times % 2:
            result = result * square
        square = square * square
        times //= 2
    return result


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
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        save_model(model, path)
        return libsvms(path, vectors(rows), model.head)[:, 1 : 1 + len(model.rho)]
