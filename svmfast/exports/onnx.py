"""The ONNX export, in plain operators: those of ONNX for classifiers have only single precision."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from svmfast import __version__
from svmfast.display import shown
from svmfast.errors import UnsupportedError
from svmfast.exports.accuracy import Settings
from svmfast.exports.computation import Computation
from svmfast.exports.onnx_cells import CellTables, cell_values
from svmfast.exports.onnx_graph import OPSET, Graph, Value, checked_opset
from svmfast.models.head import DENSITY_MARKS, Head
from svmfast.rows import BoolArray, FloatArray, IntArray, Rows

#: Number of rows per batch, because memory grows with rows times vectors.
_BATCH = 1024


def write(computation: Computation, settings: Settings) -> tuple[bytes, None]:
    """Write the ONNX file; it has no tables to count."""
    opset = settings.opset or OPSET
    model = model_of(computation, settings.dtype, probability=settings.probability, opset=opset)
    about: dict[str, str] = {**settings.origin, "measured": settings.measured()}
    if settings.feature_names:
        about["feature_names"] = json.dumps(settings.feature_names)
    if not computation.head.is_regression:
        labels = _labels(computation).tolist()
        about["classes"] = json.dumps(computation.class_names or labels)
    for key, value in about.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = shown(key), shown(value)
    return model.SerializeToString(deterministic=True), None


def evaluate(computation: Computation, rows: Rows, dtype: Any) -> FloatArray:
    """Compute the decision values of the graph by onnxruntime if installed, else by ONNX's evaluator."""
    kind = np.dtype(dtype)
    x = rows.to_dense(computation.n_features).astype(kind)
    model = model_of(computation, kind)
    output = "variable" if computation.head.is_regression else "scores"
    try:
        from onnxruntime import InferenceSession
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        session: Any = ReferenceEvaluator(model)
    else:
        session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    out = np.empty((len(x), computation.head.n_functions))
    for start in range(0, len(x), _BATCH):
        batch = x[start : start + _BATCH]
        out[start : start + _BATCH] = session.run([output], {"X": batch})[0]
    return out


def model_of(
    computation: Computation, dtype: np.dtype[Any], *, probability: bool = False, opset: int = OPSET
) -> Any:
    """Make the ONNX ModelProto of a computation, with `probability` also of the probabilities."""
    try:
        from onnx import TensorProto, helper
    except ImportError as error:
        raise UnsupportedError(
            "writing ONNX needs onnx, which is not installed", "pip install 'svmfast[onnx]'"
        ) from error
    graph, head = Graph(dtype, opset=checked_opset(opset)), computation.head
    real = TensorProto.FLOAT if dtype == np.float32 else TensorProto.DOUBLE
    inputs = [helper.make_tensor_value_info("X", real, [None, computation.n_features])]
    named = add_computation(graph, computation, Value(graph, "X"))
    if probability:
        named["probabilities"] = probabilities(graph, head, named["scores"])
    kinds: dict[str, tuple[int, list[int | None]]] = {
        "variable": (real, [None, 1]),
        "scores": (real, [None, head.n_functions]),
        "probabilities": (real, [None, head.n_classes]),
        "label": (TensorProto.INT64 if computation.class_names is None else TensorProto.STRING, [None]),
    }
    outputs = []
    for name, found in named.items():
        graph.nodes.append(helper.make_node("Identity", [found.name], [name]))
        outputs.append(helper.make_tensor_value_info(name, *kinds[name]))
    body = helper.make_graph(graph.nodes, "svmfast", inputs, outputs, graph.used_constants())
    opsets = [helper.make_opsetid("", opset)]
    about: dict[str, Any] = {"producer_name": "svmfast", "producer_version": __version__}
    about["ir_version"] = helper.find_min_ir_version_for(opsets)
    return helper.make_model(body, opset_imports=opsets, **about)


def add_computation(graph: Graph, computation: Computation, x: Value) -> dict[str, Value]:
    """Add the computation for rows `x` to the graph; return its outputs by name."""
    z, rest = _variables(graph, computation, x)
    cells = _cells(graph, computation, z)
    if cells is None:
        decisions = cell_values(CellTables(graph), computation, z, rest)
    else:
        decisions = _every_cell(graph, computation, z, rest, cells)
    return _answers(graph, computation, decisions)


def _variables(graph: Graph, computation: Computation, x: Value) -> tuple[Value, Value | None]:
    """The scaled variables, and the other columns' share of a distance, ``(n, 1)``."""
    scaling = computation.scaling
    if scaling is not None:
        x = (x - scaling.offset) * scaling.factor
        if scaling.clip is not None:
            x = graph.add("Clip", x, *map(float, scaling.clip))
    if computation.map is not None:
        map_, center = computation.map
        return (x.take(computation.variables, 1) - center) @ map_.T, None
    others = np.ones(computation.n_features, dtype=np.bool_)
    others[computation.variables] = False
    if not others.any():
        return x, None
    left = x.take(np.flatnonzero(others), 1)
    left = graph.add("Abs", left) if computation.laplacian else left.square()
    return x.take(np.asarray(computation.variables, dtype=np.int64), 1), left.total(1)


def _distances(z: Value, centers: FloatArray) -> Value:
    """Squared distances from constant points minus the row's own square: the nearest is the same."""
    squares = z.graph.constant((centers * centers).sum(axis=1)[None])
    return z @ np.asarray(-2 * centers.T) + squares


def _cells(graph: Graph, computation: Computation, z: Value) -> Value | None:
    """The cell of every row, ``(n,)`` int64; None if there is a single cell."""
    route = computation.route
    if route is None:
        return None
    middle = route.centers.mean(axis=0)
    apart = _distances(z - middle, route.centers - middle)
    if route.children[0] == len(route.children) - 1:  # all cells are children of the root
        return graph.add("ArgMin", apart, axis=1, keepdims=0)
    children = route.children
    nodes = len(children)
    first = route.first_child
    mine = np.zeros((nodes, nodes - 1), dtype=np.bool_)
    depth = np.zeros(nodes, dtype=np.int64)
    for node in range(nodes):
        own = slice(int(first[node]), int(first[node] + children[node]))
        mine[node, own.start - 1 : own.stop - 1] = True
        depth[own] = depth[node] + 1
    leaf = graph.constant(np.where(children == 0, np.arange(nodes), -1))
    table, infinite = graph.constant(mine), graph.filled(graph.constant((1,)), np.inf)
    node_of = graph.add("ArgMin", apart, axis=1, keepdims=0) * (0,)
    for _ in range(int(depth.max())):
        allowed = table.take(node_of, 0)
        near = graph.add("ArgMin", graph.add("Where", allowed, apart, infinite), axis=1, keepdims=0)
        following = near + np.array([1])
        stays = leaf.take(node_of, 0)
        node_of = graph.add("Where", stays >= (0,), stays, following)
    return graph.constant(np.where(children == 0, route.cell, 0)).take(node_of, 0)


def _every_cell(graph: Graph, computation: Computation, z: Value, rest: Value | None, cells: Value) -> Value:
    """Loop over the cells that occur among the rows, and compute the values of each cell's rows."""
    p = computation.head.n_functions
    present = graph.add("Unique", cells, sorted=1)
    count = graph.add("Shape", present).without(0)
    start = graph.filled(graph.add("Concat", graph.add("Shape", cells), (p,), axis=0), 0)

    def step(number: Value, going: Value, so_far: Value) -> tuple[Value, Value]:
        cell = present.take(number, 0)
        mine = graph.add("NonZero", graph.add("Equal", cells, cell)).without(0)
        own_z, own_rest = z.take(mine, 0), None if rest is None else rest.take(mine, 0)
        found = cell_values(CellTables(graph, cell), computation, own_z, own_rest)
        filled = graph.add("ScatterND", so_far, mine.at(1), found)
        return graph.add("Identity", going), filled

    return graph.loop("cell", count, start, p, step)


def _labels(computation: Computation) -> IntArray:
    """The labels of the model, those of one-class for inliers and outliers."""
    labels = computation.head.labels
    return (np.array([1, -1]) if labels is None else labels).astype(np.int64)


def _answers(graph: Graph, computation: Computation, decisions: Value) -> dict[str, Value]:
    head = computation.head
    if head.is_regression:
        return {"variable": decisions}
    labels = _labels(computation)
    table = graph.constant(labels)
    if computation.class_names is not None:
        table = graph.constant(np.array(computation.class_names, dtype=object))
    k = len(labels)
    if head.one_vs_rest:
        winner = graph.add("ArgMax", decisions, axis=1, keepdims=0)
    elif k == 2:
        first = graph.add("Cast", decisions > 0, to=7)
        winner = graph.add("Sub", (1,), first).without(1)
    else:
        one, other = np.triu_indices(k, 1)
        share = np.zeros((len(one), k), dtype=np.float32)
        share[np.arange(len(one)), one], share[np.arange(len(one)), other] = 1, -1
        votes = graph.add("Cast", decisions > 0, to=1) @ share
        # Class i is the second class of i pairs, and wins each of them unless the first class does.
        votes = votes + np.arange(k, dtype=np.float32)[None]
        winner = graph.add("ArgMax", votes, axis=1, keepdims=0)
    return {"label": graph.add("Gather", table, winner), "scores": decisions}


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
