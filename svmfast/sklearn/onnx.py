"""The converter for sklearn-onnx: ``to_onnx`` for pipelines that end in an estimator of svmfast."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.exports.computation import Computation, computation_of
from svmfast.exports.onnx import add_computation, probabilities
from svmfast.exports.onnx_graph import Graph, Value, checked_opset
from svmfast.sklearn.fast import FastSVC, FastSVR
from svmfast.sklearn.trained import BudgetSVC, DCPredRidge, DCPredSVC, MekaRidge, MekaSVC

#: Of sklearn-onnx for classifiers, with their values; and the domain of ZipMap.
_OPTIONS, _ML = {"zipmap": [True, False, "columns"], "raw_scores": [True, False]}, "ai.onnx.ml"
_ESTIMATORS = (FastSVC, FastSVR, BudgetSVC, MekaSVC, MekaRidge, DCPredSVC, DCPredRidge)


def register_onnx() -> None:
    """Register all estimators of svmfast with sklearn-onnx, so that ``skl2onnx.to_onnx(pipeline, X)`` works.

    A classifier with ``predict_proba`` has the outputs ``label`` and ``probabilities``, in the order of
    ``classes_``; with sklearn-onnx's option ``zipmap``, True by default, ``output_label`` and
    ``output_probability``, a dictionary for each row, or with "columns" an output for each class. Other
    classifiers, and all with its option ``raw_scores``, have ``label`` and ``scores``: decision values, in
    LIBSVM's order. A regressor has ``variable``. All computes in double precision, whatever the input's type.

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
        how: dict[str, Any] = {"parser": _outputs, "options": dict(_OPTIONS)}
        update_registered_converter(one, f"Svmfast{one.__name__}", _shapes, _convert, **how)


def _outputs(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> Any:
    """Declare the outputs, by the options for the model."""
    operator = scope.declare_local_operator(f"Svmfast{type(model).__name__}", model)
    operator.inputs = inputs
    for name, kind in _kinds(scope, model):
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return operator.outputs


def _form(scope: Any, model: Any) -> Any:
    """How a classifier answers besides its label: "scores", or the option zipmap for its probabilities."""
    options = scope.get_options(model, {"zipmap": True, "raw_scores": False}, fail=False)
    return options["zipmap"] if hasattr(model, "predict_proba") and not options["raw_scores"] else "scores"


def _kinds(scope: Any, model: Any) -> list[tuple[str, Any]]:
    from skl2onnx.common import data_types as types

    computation, real, form = computation_of(model.model_), types.DoubleTensorType, _form(scope, model)
    if computation.head.is_regression:
        return [("variable", real([None, 1]))]
    label = (types.Int64TensorType if computation.class_names is None else types.StringTensorType)([None])
    if form == "scores":
        return [("label", label), ("scores", real([None, computation.head.n_functions]))]
    if form is False:
        return [("label", label), ("probabilities", real([None, len(model.classes_)]))]
    if form == "columns":
        kind = "i" if computation.class_names is None else "s"  # sklearn-onnx's names
        columns = [(f"{kind}{one}", real([None])) for one in model.classes_.tolist()]
        return [("output_label", label), *columns]
    maps = types.SequenceType(types.DictionaryType(label, types.FloatTensorType()))
    return [("output_label", label), ("output_probability", maps)]


def _shapes(operator: Any) -> None:
    """Keep the types of :func:`_outputs`."""


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of the model's computation under unique names."""
    from onnx import TensorProto, helper

    model, opset = operator.raw_operator, checked_opset(container.target_opset)
    graph = Graph(np.dtype(np.float64), scope.get_unique_variable_name("svmfast"), opset)
    x = graph.add("Cast", Value(graph, operator.inputs[0].full_name), to=TensorProto.DOUBLE)
    computation, form = computation_of(model.model_), _form(scope, model)
    found = list(add_computation(graph, computation, x).values())
    if not computation.head.is_regression and form != "scores":
        found[1:] = _shares(graph, computation, found[1], form)
    names = [one.full_name for one in operator.outputs]
    if graph.nodes[-1].op_type == "ZipMap":  # Identity takes no sequence before opset 14
        found.pop()
        graph.nodes[-1].output[0] = names.pop()
        container.node_domain_version_pair_sets.add((_ML, 1))
    for value, name in zip(found, names, strict=True):
        graph.nodes.append(helper.make_node("Identity", [value.name], [name]))
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.used_constants())
    container.node_domain_version_pair_sets.add(("", opset))


def _shares(graph: Graph, computation: Computation, decisions: Value, form: Any) -> list[Value]:
    """Add the probabilities, in the order of classes_: a matrix, columns, or dictionaries."""
    labels, names = computation.head.labels, computation.class_names
    assert labels is not None
    order = np.argsort(labels)
    shares = probabilities(graph, computation.head, decisions).take(order, 1)
    if form is False:
        return [shares]
    if form == "columns":
        return [shares.take(np.array(place), 1) for place in range(len(order))]
    single = graph.add("Cast", shares, to=1)  # ZipMap takes no other
    if names is None:
        return [graph.add("ZipMap", single, domain=_ML, classlabels_int64s=labels[order].tolist())]
    return [graph.add("ZipMap", single, domain=_ML, classlabels_strings=[names[one] for one in order])]
