"""The ONNX export, in plain operators: those of ONNX for classifiers have only single precision."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.display import shown
from svmfast.errors import UnsupportedError
from svmfast.exports.accuracy import Printed, Settings, sentence
from svmfast.exports.computation import Computation
from svmfast.exports.onnx_cells import CellTables, cell_values
from svmfast.exports.onnx_graph import IR_VERSION, OPSET, Graph
from svmfast.exports.onnx_probabilities import probabilities
from svmfast.rows import Rows

#: Number of rows per batch, because memory grows with rows times vectors.
_BATCH = 1024


def print_onnx(computation: Computation, settings: Settings) -> Printed:
    """Return the ONNX file."""
    model = model_of(computation, settings.dtype, probability=settings.probability)
    about: dict[str, str] = {**settings.origin, "measured": sentence(settings.accuracy, settings.dtype)}
    if settings.feature_names:
        about["feature_names"] = json.dumps(settings.feature_names)
    for key, value in about.items():
        entry = model.metadata_props.add()
        entry.key, entry.value = shown(key), shown(value)
    return Printed(model.SerializeToString(deterministic=True))


def onnx_values(computation: Computation, rows: Rows, dtype: Any) -> tuple[NDArray[Any], int | None]:
    """Return the decision values of the graph, from onnxruntime if installed, else from ONNX's evaluator."""
    from svmfast.exports.computation import dense

    kind = np.dtype(dtype)
    x = dense(rows, computation.n_features).astype(kind)
    model = model_of(computation, kind)
    output = "variable" if computation.head.is_regression else "scores"
    try:
        from onnxruntime import InferenceSession
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        session: Any = ReferenceEvaluator(model)
    else:
        session = InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    out = np.empty((len(x), computation.head.n_functions), dtype=kind)
    for start in range(0, len(x), _BATCH):
        batch = x[start : start + _BATCH]
        out[start : start + _BATCH] = session.run([output], {"X": batch})[0]
    return out, None


def model_of(computation: Computation, dtype: np.dtype[Any], *, probability: bool = False) -> Any:
    """Return the ONNX ModelProto of a computation, with `probability` also of the probabilities."""
    try:
        from onnx import TensorProto, helper
    except ImportError as error:
        raise UnsupportedError(
            "writing ONNX needs onnx, which is not installed", "pip install 'svmfast[onnx]'"
        ) from error
    graph = Graph(dtype)
    real = TensorProto.FLOAT if dtype == np.float32 else TensorProto.DOUBLE
    inputs = [helper.make_tensor_value_info("X", real, [None, computation.n_features])]
    named = add_computation(graph, computation, "X")
    if probability:
        named["probabilities"] = probabilities(graph, computation.head, named["scores"])
    kinds: dict[str, tuple[int, list[int | None]]] = {
        "variable": (real, [None, 1]),
        "scores": (real, [None, computation.head.n_functions]),
        "probabilities": (real, [None, computation.head.n_classes]),
        "label": (TensorProto.INT64 if computation.class_names is None else TensorProto.STRING, [None]),
    }
    outputs = []
    for name, found in named.items():
        graph.nodes.append(helper.make_node("Identity", [found], [name]))
        kind, shape = kinds[name]
        outputs.append(helper.make_tensor_value_info(name, kind, shape))
    body = helper.make_graph(graph.nodes, "svmfast", inputs, outputs, graph.used_constants())
    model = helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="svmfast",
        ir_version=IR_VERSION,
    )
    return model


def add_computation(graph: Graph, computation: Computation, x: str) -> dict[str, str]:
    """Add the computation for rows `x` to the graph; return the graph's name of each output."""
    z, rest = _variables(graph, computation, x)
    cells = _cells(graph, computation, z)
    values = computation.values
    if not computation.head.n_functions:
        count = graph.add("Slice", graph.add("Shape", x), graph.integers(0), graph.integers(1))
        shape = graph.add("Concat", count, graph.integers(0), axis=0)
        decisions = graph.add("ConstantOfShape", shape, value=_scalar(graph))
    elif cells is None:
        cell = CellTables(graph, values)
        decisions = cell_values(graph, computation, cell, z, rest)
    else:
        decisions = _every_cell(graph, computation, z, rest, cells)
    return _answers(graph, computation, decisions)


def _scalar(graph: Graph) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(np.zeros(1, dtype=graph.dtype))


def _variables(graph: Graph, computation: Computation, x: str) -> tuple[str, str]:
    """Return the scaled variables, and the other columns' share of a distance, ``(n, 1)``."""
    scaling = computation.scaling
    if scaling is not None:
        x = graph.add("Mul", graph.add("Sub", x, graph.reals(scaling.offset)), graph.reals(scaling.factor))
        if scaling.clip is not None:
            x = graph.add("Clip", x, graph.reals(scaling.clip[0]), graph.reals(scaling.clip[1]))
    others = np.ones(computation.n_features, dtype=np.bool_)
    others[computation.variables] = False
    if not others.any():
        return x, ""
    left = graph.add("Gather", x, graph.constant(np.flatnonzero(others)), axis=1)
    laplacian = getattr(computation.values, "kernel", "rbf") == "laplacian"
    left = graph.add("Abs", left) if laplacian else graph.square(left)
    z = graph.add("Gather", x, graph.constant(np.asarray(computation.variables, dtype=np.int64)), axis=1)
    return z, graph.total(left, 1)


def _distances(graph: Graph, z: str, centers: NDArray[np.float64]) -> str:
    """Return squared distances from constant points minus the row's own square: the nearest is the same."""
    squares = graph.reals((centers * centers).sum(axis=1)[None])
    return str(graph.add("Add", graph.add("MatMul", z, graph.reals(-2 * centers.T)), squares))


def _cells(graph: Graph, computation: Computation, z: str) -> str | None:
    """Return the cell of every row, ``(n,)`` int64; None if there is a single cell."""
    route = computation.route
    if route is None:
        return None
    middle = route.centers.mean(axis=0)
    shifted = graph.add("Sub", z, graph.reals(middle))
    apart = _distances(graph, shifted, route.centers - middle)
    if route.is_flat:
        return str(graph.add("ArgMin", apart, axis=1, keepdims=0))
    children = route.children
    nodes = len(children)
    first = 1 + np.concatenate([[0], np.cumsum(children)[:-1]])
    mine = np.zeros((nodes, nodes - 1), dtype=np.bool_)
    depth = np.zeros(nodes, dtype=np.int64)
    for node in range(nodes):
        own = slice(int(first[node]), int(first[node] + children[node]))
        mine[node, own.start - 1 : own.stop - 1] = True
        depth[own] = depth[node] + 1
    leaf = graph.constant(np.where(children == 0, np.arange(nodes), -1))
    table, infinite = graph.constant(mine), graph.reals(np.inf)
    root = graph.add("Mul", graph.add("ArgMin", apart, axis=1, keepdims=0), graph.integers(0))
    node_of = root
    for _ in range(int(depth.max())):
        allowed = graph.add("Gather", table, node_of, axis=0)
        near = graph.add("ArgMin", graph.add("Where", allowed, apart, infinite), axis=1, keepdims=0)
        following = graph.add("Add", near, graph.integers(1))
        stays = graph.add("Gather", leaf, node_of, axis=0)
        at_leaf = graph.add("GreaterOrEqual", stays, graph.integers(0))
        node_of = graph.add("Where", at_leaf, stays, following)
    cell = graph.constant(np.where(children == 0, np.cumsum(children == 0) - 1, 0))
    return str(graph.add("Gather", cell, node_of, axis=0))


def _every_cell(graph: Graph, computation: Computation, z: str, rest: str, cells: str) -> str:
    """Loop over the cells that occur among the rows, and compute the values of each cell's rows."""
    from onnx import TensorProto, helper

    p = computation.head.n_functions
    real = TensorProto.FLOAT if graph.dtype == np.float32 else TensorProto.DOUBLE
    present = graph.add("Unique", cells, sorted=1)
    count = graph.add("Squeeze", graph.add("Shape", present), graph.integers(0))
    rows = graph.add("Shape", cells)
    start = graph.add(
        "ConstantOfShape", graph.add("Concat", rows, graph.integers(p), axis=0), value=_scalar(graph)
    )
    body = graph.inner()
    number, going, so_far = (body.name() for _ in range(3))
    cell = body.add("Gather", present, number, axis=0)
    mine = body.add("Squeeze", body.add("NonZero", body.add("Equal", cells, cell)), body.integers(0))
    own_z = body.add("Gather", z, mine, axis=0)
    own_rest = body.add("Gather", rest, mine, axis=0) if rest else ""
    found = cell_values(body, computation, CellTables(body, computation.values, cell), own_z, own_rest)
    place = body.add("Unsqueeze", mine, body.integers(1))
    filled = body.add("ScatterND", so_far, place, found)
    still = body.add("Identity", going)
    inner = helper.make_graph(
        body.nodes,
        "cell",
        [
            helper.make_tensor_value_info(number, TensorProto.INT64, []),
            helper.make_tensor_value_info(going, TensorProto.BOOL, []),
            helper.make_tensor_value_info(so_far, real, [None, p]),
        ],
        [
            helper.make_tensor_value_info(still, TensorProto.BOOL, []),
            helper.make_tensor_value_info(filled, real, [None, p]),
        ],
    )
    # No optional input is left empty, because sklearn-onnx sorts nodes by their inputs and expects names.
    return str(graph.add("Loop", count, graph.constant(np.array(True)), start, body=inner))


def _answers(graph: Graph, computation: Computation, decisions: str) -> dict[str, str]:
    head = computation.head
    if head.is_regression:
        return {"variable": decisions}
    labels = np.array([1, -1]) if head.labels is None else head.labels.astype(np.int64)
    table = graph.constant(labels.astype(np.int64))
    if computation.class_names is not None:
        table = graph.constant(np.array(computation.class_names, dtype=object))
    k = len(labels)
    if k == 1:
        zeros = graph.add(
            "ConstantOfShape",
            graph.add("Slice", graph.add("Shape", decisions), graph.integers(0), graph.integers(1)),
            value=_integer_zero(),
        )
        return {"label": graph.add("Gather", table, zeros), "scores": decisions}
    if head.one_vs_rest:
        winner = graph.add("ArgMax", decisions, axis=1, keepdims=0)
    elif k == 2:
        first = graph.add("Cast", graph.add("Greater", decisions, graph.reals(0)), to=7)
        winner = graph.add("Squeeze", graph.add("Sub", graph.integers(1), first), graph.integers(1))
    else:
        one, other = np.triu_indices(k, 1)
        share = np.zeros((len(one), k), dtype=np.float32)
        share[np.arange(len(one)), one], share[np.arange(len(one)), other] = 1, -1
        won = graph.add("Cast", graph.add("Greater", decisions, graph.reals(0)), to=1)
        votes = graph.add("MatMul", won, graph.constant(share))
        # Class i is the second class of i pairs, and wins each of them unless the first class does.
        votes = graph.add("Add", votes, graph.constant(np.arange(k, dtype=np.float32)[None]))
        winner = graph.add("ArgMax", votes, axis=1, keepdims=0)
    return {"label": graph.add("Gather", table, winner), "scores": decisions}


def _integer_zero() -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(np.zeros(1, dtype=np.int64))
