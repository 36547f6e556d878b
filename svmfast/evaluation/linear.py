"""The unit of the DC-Pred++ papers: what a linear model would cost on the same rows."""

from __future__ import annotations

import numpy as np

from svmfast.evaluation.timing import Timing, measure
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows
from svmfast.threads import blas_threads

#: A dense copy of the rows is tried only below this size.
DENSE_BYTES = 1 << 30


def weight_vectors(head: Head) -> int:
    """Return how many weight vectors a linear model has: one, or one for each of three or more classes.

    That is LIBLINEAR's one-versus-rest, the model those papers divide by.
    """
    return head.n_classes if head.is_classifier and head.n_classes > 2 else 1


def linear_multiply_adds(head: Head, rows: Rows) -> int:
    """Return the multiply-adds of that linear model for a row with all its columns in use."""
    return weight_vectors(head) * rows.n_columns


def linear_seconds(head: Head, rows: Rows, *, threads: int = 1, repeats: int = 5) -> Timing:
    """Return the time of a linear prediction of `rows`: weights times rows, by the faster of two good ways.

    Sparse by SciPy's compiled product, dense by BLAS on as many threads as the models get; the dense copy is
    made beforehand, outside the time. The weights are arbitrary: their values do not change the cost. Columns
    that no row uses do not count.
    """
    rows = _columns_in_use(rows)
    weights = np.random.default_rng(0).standard_normal((rows.n_columns, weight_vectors(head)))
    sparse = rows.to_scipy()
    with blas_threads(threads):
        best = measure(lambda: _decide(sparse @ weights), repeats=repeats, limit_seconds=5)[1]
        if len(rows) * rows.n_columns * 8 <= DENSE_BYTES:
            dense = rows.to_dense()
            other = measure(lambda: _decide(dense @ weights), repeats=repeats, limit_seconds=5)[1]
            best = min(best, other, key=lambda timing: timing.seconds)
    return best


def _columns_in_use(rows: Rows) -> Rows:
    """Return the rows with empty columns left out: an index of 2^31 - 1 must not make 2^31 - 1 weights."""
    columns, positions = np.unique(rows.indices, return_inverse=True)
    return rows.renumbered(positions.astype(np.int32), len(columns))


def _decide(scores: FloatArray) -> object:
    return scores > 0 if scores.shape[1] == 1 else np.argmax(scores, axis=1)
