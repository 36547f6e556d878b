"""The unit of cost in the DC-Pred++ papers: the cost of a linear model on the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmfast.evaluation.timing import Timing, measure
from svmfast.models.head import Head
from svmfast.rows import FloatArray, Rows
from svmfast.threads import blas_threads

#: A dense copy of the rows is tried only below this size.
DENSE_BYTES = 1 << 30


def weight_vectors(head: Head) -> int:
    """The number of weight vectors of a linear model: one, or one per class for three or more classes.

    That is LIBLINEAR's one-vs-rest model, the unit of those papers.
    """
    return head.n_classes if head.is_classifier and head.n_classes > 2 else 1


def linear_multiply_adds(head: Head, columns: int) -> int:
    """The multiply-adds of the linear model for a row without zeros."""
    return weight_vectors(head) * columns


def linear_seconds(head: Head, rows: Rows, *, threads: int = 1, repeats: int = 5) -> Timing:
    """The time of a linear prediction of `rows`, by the faster of two products of rows and weights.

    These are SciPy's sparse product, and a dense product by BLAS on as many threads as the models use; the
    time for the dense copy is not included. The weights are arbitrary, since their values do not change the
    cost. Columns that no row uses are left out.
    """
    # An index of 2^31 - 1 must not lead to 2^31 - 1 weights.
    columns, positions = np.unique(rows.indices, return_inverse=True)
    rows = rows.renumbered(positions.astype(np.int32), len(columns))
    weights = np.random.default_rng(0).standard_normal((rows.n_columns, weight_vectors(head)))
    forms: list[Any] = [rows.to_scipy()]
    if len(rows) * rows.n_columns * 8 <= DENSE_BYTES:
        forms.append(rows.to_dense())

    def timing(form: Any) -> Timing:
        return measure(lambda: _decide(form @ weights), repeats=repeats, limit_seconds=5)[1]

    with blas_threads(threads):
        return min(map(timing, forms), key=lambda one: one.seconds)


def _decide(scores: FloatArray) -> object:
    return scores > 0 if scores.shape[1] == 1 else np.argmax(scores, axis=1)
