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
from svmfast.exports.onnx_probabilities import probabilities
from svmfast.rows import FloatArray, IntArray, Rows

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
