"""The converter for sklearn-onnx: ``to_onnx`` for pipelines that end in an estimator of svmfast."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.exports.computation import computation_of
from svmfast.exports.onnx import add_computation
from svmfast.exports.onnx_graph import OPSET, Graph, Value
from svmfast.sklearn.fast import FastSVC, FastSVR
from svmfast.sklearn.trained import BudgetSVC, DCPredRidge, DCPredSVC, MekaRidge, MekaSVC

_ESTIMATORS = (FastSVC, FastSVR, BudgetSVC, MekaSVC, MekaRidge, DCPredSVC, DCPredRidge)


def register_onnx() -> None:
    """Register all estimators of svmfast with sklearn-onnx, so that ``skl2onnx.to_onnx(pipeline, X)`` works.

    A classifier has the outputs ``label`` and ``scores`` (the model's decision values, in LIBSVM's order), a
    regressor has ``variable``. The estimator computes in double precision, whatever the type of its input.

    Raises
    ------
    UnsupportedError
        sklearn-onnx is not installed.
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise UnsupportedError("skl2onnx is not installed", "pip install 'svmfast[onnx]'") from error
    for one in _ESTIMATORS:
        update_registered_converter(one, f"Svmfast{one.__name__}", _shapes, _convert, parser=_outputs)


def _outputs(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:
    """Declare the outputs: sklearn-onnx would expect a dictionary of probabilities."""
    operator = scope.declare_local_operator(f"Svmfast{type(model).__name__}", model)
    operator.inputs = inputs
    for name, kind in _kinds(model):
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _kinds(model: Any) -> list[tuple[str, Any]]:
    from skl2onnx.common.data_types import DoubleTensorType, Int64TensorType, StringTensorType

    computation = computation_of(model.model_)
    if computation.head.is_regression:
        return [("variable", DoubleTensorType([None, 1]))]
    label = Int64TensorType if computation.class_names is None else StringTensorType
    return [("label", label([None])), ("scores", DoubleTensorType([None, computation.head.n_functions]))]


def _shapes(operator: Any) -> None:
    for output, (_, kind) in zip(operator.outputs, _kinds(operator.raw_operator), strict=True):
        output.type = kind


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of the model's computation under unique names."""
    from onnx import TensorProto, helper

    graph = Graph(np.dtype(np.float64), scope.get_unique_variable_name("svmfast"))
    x = graph.add("Cast", Value(graph, operator.inputs[0].full_name), to=TensorProto.DOUBLE)
    found = add_computation(graph, computation_of(operator.raw_operator.model_), x)
    for value, output in zip(found.values(), operator.outputs, strict=True):
        graph.nodes.append(helper.make_node("Identity", [value.name], [output.full_name]))
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.used_constants())
    container.node_domain_version_pair_sets.add(("", OPSET))
