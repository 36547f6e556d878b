"""LIBSVM's probability estimates in ONNX: sigmoids of pairs and their coupling, or density bins.

The operations are those of ``svm_predict_probability``, in the same order.
"""

from __future__ import annotations

import numpy as np

from svmfast.exports.onnx_graph import Graph, Value
from svmfast.models.head import DENSITY_MARKS, Head
from svmfast.rows import BoolArray, FloatArray

#: LIBSVM keeps the probabilities of pairs this far from 0 and 1.
_LEAST = 1e-7


def probabilities(graph: Graph, head: Head, decisions: Value) -> Value:
    """Add the probability of each class, ``(n, k)``; the head must have probabilities of classes."""
    if head.density_marks is not None:
        return _pair(_density(graph, head.density_marks, decisions))
    assert head.prob_a is not None
    assert head.prob_b is not None
    k = head.n_classes
    first = _sigmoids(graph, head.prob_a, head.prob_b, decisions)
    return _pair(first) if k == 2 else _coupled(graph, k, first)


def _pair(first: Value) -> Value:
    """The columns p and 1 - p."""
    return first.graph.add("Concat", first, 1 - first, axis=1)


def _density(graph: Graph, marks: FloatArray, decisions: Value) -> Value:
    """The probability of being normal, ``(n, 1)``, from the bin of the decision value."""
    p = decisions * 0
    for i in range(DENSITY_MARKS - 1, 0, -1):
        p = graph.add("Where", decisions < float(marks[i]), i / DENSITY_MARKS, p)
    p = graph.add("Where", decisions > float(marks[-1]), 0.999, p)
    return graph.add("Where", decisions < float(marks[0]), 0.001, p)


def _sigmoids(graph: Graph, a: FloatArray, b: FloatArray, decisions: Value) -> Value:
    """The probability of each pair's first class, ``(n, p)``: 1 / (1 + exp(a f + b)), clipped."""
    t = decisions * a + b
    small = graph.add("Exp", -graph.add("Abs", t))
    above = graph.add("Where", t < 0, 1, small)
    return graph.add("Clip", above / graph.add("Add", 1, small), _LEAST, 1 - _LEAST)


def _coupled(graph: Graph, k: int, first: Value) -> Value:
    """The coupled probabilities, ``(n, k)`` (Wu, Lin and Weng, JMLR 5, 2004, method 2).

    LIBSVM's iteration: at most max(100, k) sweeps, until no element of ``Q p - p^T Q p`` exceeds 0.005 / k.
    A row that has converged is not changed by the sweeps that other rows of the batch need.
    """
    q = _objective(graph, k, first)
    columns = [q.take(np.array(t), 2) for t in range(k)]
    diagonal = [columns[t].take((t,), 1) for t in range(k)]
    start = columns[0].take(tuple(range(k)), 1) * 0 + 1 / k

    def sweep(number: Value, going: Value, p: Value) -> tuple[Value, Value]:
        qp = (q @ p.at(2)).without(2)
        pqp = (p * qp).total(1)
        error = graph.add("Abs", qp - pqp).largest(1)
        open_ = error >= 0.005 / k
        moved = p
        for t in range(k):
            moved, qp, pqp = _step((moved, qp, pqp), columns[t], diagonal[t], np.arange(k) == t)
        kept = graph.add("Where", open_, moved, p)
        left = graph.add("Cast", open_, to=7).total(0, keep=False)
        return left.without(0) > np.array(0), kept

    return graph.loop("coupling", np.array(max(100, k)), start, k, sweep)


def _objective(graph: Graph, k: int, first: Value) -> Value:
    """Q, ``(n, k, k)``: -r_ji r_ij beside the diagonal, and on it the sum of the r_ji^2."""
    pairs = k * (k - 1) // 2
    place = np.full((k, k), 2 * pairs, dtype=np.int64)  # the diagonal of r is 0
    one, other = np.triu_indices(k, 1)
    place[one, other], place[other, one] = np.arange(pairs), pairs + np.arange(pairs)
    second, nothing = 1 - first, first.take((0,), 1) * 0
    r = graph.add("Concat", first, second, nothing, axis=1).take(place, 1)
    across = graph.add("Transpose", r, perm=[0, 2, 1])
    return across.square().total(2) * np.eye(k) - across * r


def _step(
    state: tuple[Value, Value, Value], column: Value, diagonal: Value, is_t: BoolArray
) -> tuple[Value, Value, Value]:
    """Compute p, Q p and p^T Q p after the step in which p_t moves to its optimum; `column` is Q's."""
    p, qp, pqp = state
    own = qp.take((int(np.flatnonzero(is_t)[0]),), 1)
    by = (pqp - own) / diagonal
    grown = by + 1
    p = (p + by * is_t[None].astype(np.float64)) / grown
    pqp = (pqp + by * (by * diagonal + own * 2)) / grown / grown
    return p, (qp + by * column) / grown, pqp
