"""LIBSVM's probability estimates in ONNX: sigmoids of pairs and their coupling, or density bins.

The operations are those of ``svm_predict_probability``, in the same order, for all rows of a batch at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.exports.onnx_graph import Graph
from svmfast.models.head import DENSITY_MARKS, Head

#: LIBSVM keeps the probabilities of pairs this far from 0 and 1.
_LEAST = 1e-7


def probabilities(graph: Graph, head: Head, decisions: str) -> str:
    """Add the probability of each class, ``(n, k)``; return its name in the graph.

    Parameters
    ----------
    graph : Graph
    head : Head
        Of a classifier or a one-class model with probabilities.
    decisions : str
        Decision values, ``(n, p)``.
    """
    if head.density_marks is not None:
        normal = _density(graph, head.density_marks, decisions)
        return _pair(graph, normal)
    assert head.prob_a is not None
    assert head.prob_b is not None
    k = head.n_classes
    if k == 1:
        rows = graph.add("Slice", graph.add("Shape", decisions), graph.integers(0), graph.integers(1))
        shape = graph.add("Concat", rows, graph.integers(1), axis=0)
        return str(graph.add("ConstantOfShape", shape, value=_tensor(np.ones(1, dtype=graph.dtype))))
    first = _sigmoids(graph, head.prob_a, head.prob_b, decisions)
    return _pair(graph, first) if k == 2 else _coupled(graph, k, first)


def _tensor(values: NDArray[Any]) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(values)


def _pair(graph: Graph, first: str) -> str:
    """Return the columns p and 1 - p."""
    return str(graph.add("Concat", first, graph.add("Sub", graph.reals(1), first), axis=1))


def _density(graph: Graph, marks: NDArray[np.float64], decisions: str) -> str:
    """Return the probability of being normal, ``(n, 1)``, from the bin of the decision value."""
    p = graph.add("Mul", decisions, graph.reals(0))
    for i in range(DENSITY_MARKS - 1, 0, -1):
        below = graph.add("Less", decisions, graph.reals(marks[i]))
        p = graph.add("Where", below, graph.reals(i / DENSITY_MARKS), p)
    above = graph.add("Greater", decisions, graph.reals(marks[-1]))
    p = graph.add("Where", above, graph.reals(0.999), p)
    below = graph.add("Less", decisions, graph.reals(marks[0]))
    return str(graph.add("Where", below, graph.reals(0.001), p))


def _sigmoids(graph: Graph, a: NDArray[np.float64], b: NDArray[np.float64], decisions: str) -> str:
    """Return the probability of each pair's first class, ``(n, p)``: 1 / (1 + exp(a f + b)), clipped."""
    t = graph.add("Add", graph.add("Mul", decisions, graph.reals(a)), graph.reals(b))
    small = graph.add("Exp", graph.add("Neg", graph.add("Abs", t)))
    negative = graph.add("Less", t, graph.reals(0))
    above = graph.add("Where", negative, graph.reals(1), small)
    p = graph.add("Div", above, graph.add("Add", graph.reals(1), small))
    return str(graph.add("Clip", p, graph.reals(_LEAST), graph.reals(1 - _LEAST)))


def _coupled(graph: Graph, k: int, first: str) -> str:
    """Return the coupled probabilities, ``(n, k)`` (Wu, Lin and Weng, JMLR 5, 2004, method 2).

    LIBSVM's iteration: at most max(100, k) sweeps, until no element of ``Q p - p^T Q p`` exceeds 0.005 / k.
    A row that has converged is not changed by the sweeps that other rows of the batch need.
    """
    from onnx import TensorProto, helper

    real = TensorProto.FLOAT if graph.dtype == np.float32 else TensorProto.DOUBLE
    q = _objective(graph, k, first)
    columns = [graph.add("Gather", q, graph.constant(np.array(t)), axis=2) for t in range(k)]
    diagonal = [graph.add("Gather", columns[t], graph.integers(t), axis=1) for t in range(k)]
    start = graph.add(
        "Mul", graph.add("Gather", columns[0], graph.integers(*range(k)), axis=1), graph.reals(0)
    )
    start = graph.add("Add", start, graph.reals(1 / k))
    body = graph.inner()
    number, going, p = (body.name() for _ in range(3))
    qp = body.add(
        "Squeeze", body.add("MatMul", q, body.add("Unsqueeze", p, body.integers(2))), body.integers(2)
    )
    pqp = body.total(body.add("Mul", p, qp), 1)
    error = body.add("ReduceMax", body.add("Abs", body.add("Sub", qp, pqp)), axes=[1], keepdims=1)
    open_ = body.add("GreaterOrEqual", error, body.reals(0.005 / k))
    moved = p
    for t in range(k):
        moved, qp, pqp = _step(body, (moved, qp, pqp), columns[t], diagonal[t], np.arange(k) == t)
    kept = body.add("Where", open_, moved, p)
    left = body.total(body.add("Cast", open_, to=TensorProto.INT64), 0, keep=False)
    still = body.add("Greater", body.add("Squeeze", left, body.integers(0)), body.constant(np.array(0)))
    inner = helper.make_graph(
        body.nodes,
        "coupling",
        [
            helper.make_tensor_value_info(number, TensorProto.INT64, []),
            helper.make_tensor_value_info(going, TensorProto.BOOL, []),
            helper.make_tensor_value_info(p, real, [None, k]),
        ],
        [
            helper.make_tensor_value_info(still, TensorProto.BOOL, []),
            helper.make_tensor_value_info(kept, real, [None, k]),
        ],
    )
    sweeps = graph.constant(np.array(max(100, k)))
    return str(graph.add("Loop", sweeps, graph.constant(np.array(True)), start, body=inner))


def _objective(graph: Graph, k: int, first: str) -> str:
    """Return Q, ``(n, k, k)``: -r_ji r_ij beside the diagonal, and on it the sum of the r_ji^2."""
    pairs = k * (k - 1) // 2
    place = np.full((k, k), 2 * pairs, dtype=np.int64)  # the diagonal of r is 0
    one, other = np.triu_indices(k, 1)
    place[one, other], place[other, one] = np.arange(pairs), pairs + np.arange(pairs)
    second = graph.add("Sub", graph.reals(1), first)
    nothing = graph.add("Mul", graph.add("Gather", first, graph.integers(0), axis=1), graph.reals(0))
    r = graph.add(
        "Gather", graph.add("Concat", first, second, nothing, axis=1), graph.constant(place), axis=1
    )
    across = graph.add("Transpose", r, perm=[0, 2, 1])
    square = graph.add("Mul", graph.total(graph.square(across), 2), graph.reals(np.eye(k)))
    return str(graph.add("Sub", square, graph.add("Mul", across, r)))


def _step(
    body: Graph, state: tuple[str, str, str], column: str, diagonal: str, is_t: NDArray[np.bool_]
) -> tuple[str, str, str]:
    """Return p, Q p and p^T Q p after the step in which p_t moves to its optimum; `column` is Q's."""
    p, qp, pqp = state
    own = body.add("Gather", qp, body.integers(int(np.flatnonzero(is_t)[0])), axis=1)
    by = body.add("Div", body.add("Sub", pqp, own), diagonal)
    grown = body.add("Add", by, body.reals(1))
    p = body.add("Div", body.add("Add", p, body.add("Mul", by, body.reals(is_t[None]))), grown)
    more = body.add("Add", body.add("Mul", by, diagonal), body.add("Mul", own, body.reals(2)))
    pqp = body.add("Div", body.add("Div", body.add("Add", pqp, body.add("Mul", by, more)), grown), grown)
    qp = body.add("Div", body.add("Add", qp, body.add("Mul", by, column)), grown)
    return p, qp, pqp
