"""Builds ONNX graphs node by node, with generated names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from svmfast.errors import UnsupportedError
from svmfast.exports.computation import stored

#: The default is supported by every onnxruntime since 1.12. Sums take axes as an input from the least one on,
#: and maxima from the last one on.
OPSET, LEAST_OPSET, _AXES_OF_MAXIMA = 17, 13, 18


def checked_opset(opset: int) -> int:
    """A version of ONNX's operators, if the nodes of a Graph exist in it; else raise UnsupportedError."""
    from onnx.defs import onnx_opset_version

    if opset < LEAST_OPSET:
        raise UnsupportedError(f"`opset` {opset} lacks operators of the file", f"give {LEAST_OPSET} or later")
    if opset > onnx_opset_version():
        raise UnsupportedError(
            f"the installed onnx has no `opset` {opset}", f"at most {onnx_opset_version()}"
        )
    return opset


def _operator(name: str) -> Callable[[Value, Any], Value]:
    return lambda self, other: self.graph.add(name, self, other)


@dataclass(frozen=True)
class Value:
    """A result in a graph: arithmetic with it adds a node, and numbers become constants."""

    graph: Graph
    name: str

    __add__, __sub__, __mul__ = _operator("Add"), _operator("Sub"), _operator("Mul")
    __truediv__, __matmul__ = _operator("Div"), _operator("MatMul")
    __lt__, __gt__, __ge__ = _operator("Less"), _operator("Greater"), _operator("GreaterOrEqual")

    def __rsub__(self, other: float) -> Value:
        return self.graph.add("Sub", other, self)

    def __neg__(self) -> Value:
        return self.graph.add("Neg", self)

    def square(self) -> Value:
        """Square each element."""
        return self * self

    def total(self, axis: int, *, keep: bool = True) -> Value:
        """Sum along an axis."""
        return self.graph.add("ReduceSum", self, (axis,), keepdims=int(keep))

    def largest(self, axis: int, *, keep: bool = True) -> Value:
        """Find the maximum along an axis."""
        if self.graph.opset < _AXES_OF_MAXIMA:
            return self.graph.add("ReduceMax", self, axes=[axis], keepdims=int(keep))
        return self.graph.add("ReduceMax", self, (axis,), keepdims=int(keep))

    def take(self, places: Any, axis: int) -> Value:
        """Gather elements of an axis."""
        return self.graph.add("Gather", self, places, axis=axis)

    def at(self, axis: int) -> Value:
        """Insert an axis of length 1."""
        return self.graph.add("Unsqueeze", self, (axis,))

    def without(self, axis: int) -> Value:
        """Remove an axis of length 1."""
        return self.graph.add("Squeeze", self, (axis,))


@dataclass
class Graph:
    """The nodes and constants of a graph in one precision, in the order in which they were added."""

    dtype: np.dtype[Any]
    #: The start of all names.
    prefix: str = "n"
    #: The version of ONNX's operators.
    opset: int = OPSET
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    #: Names that nodes take, those in loops included.
    used: set[str] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def used_constants(self) -> list[Any]:
        """List the constants that at least one node takes."""
        return [one for one in self.constants if one.name in self.used]

    def new(self) -> Value:
        """Make a value with a new name."""
        return Value(self, f"{self.prefix}{next(self.numbers)}")

    def add(self, op: str, *inputs: Any, **attributes: Any) -> Value:
        """Add a node with one output; see :meth:`constant` for inputs that are not results."""
        return self.split(op, *inputs, outputs=1, **attributes)[0]

    def split(self, op: str, *inputs: Any, outputs: int, **attributes: Any) -> list[Value]:
        """Add a node with several outputs."""
        from onnx import helper

        known = [(one if isinstance(one, Value) else self.constant(one)).name for one in inputs]
        made = [self.new() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, known, [one.name for one in made], **attributes))
        self.used.update(known)
        return made

    def constant(self, values: Any) -> Value:
        """Add a constant: numbers in the graph's precision, tuples as integers, others as they are."""
        from onnx import numpy_helper

        if isinstance(values, tuple):
            values = np.array(values, dtype=np.int64)
        found = np.asarray(values)
        if isinstance(values, float | int) or found.dtype == np.float64:
            found = stored(found, self.dtype)
        made = self.new()
        self.constants.append(numpy_helper.from_array(np.array(found, order="C"), made.name))
        return made

    def filled(self, shape: Value, value: float) -> Value:
        """Add an array of equal numbers."""
        from onnx import numpy_helper

        one = numpy_helper.from_array(np.full(1, value, dtype=self.dtype))
        return self.add("ConstantOfShape", shape, value=one)

    def loop(
        self,
        title: str,
        most: Any,
        start: Value,
        width: int,
        step: Callable[[Value, Value, Value], tuple[Value, Value]],
    ) -> Value:
        """Repeat a step at most `most` times, on a matrix ``(n, width)`` that begins as `start`.

        `step` adds the nodes of the loop's body, given its number, whether it goes on and the matrix, and
        returns the last two anew.
        """
        from onnx import TensorProto, helper

        outside, self.nodes = self.nodes, []
        given = [self.new() for _ in range(3)]
        returned = step(*given)
        inside, self.nodes = self.nodes, outside
        real = TensorProto.FLOAT if self.dtype == np.float32 else TensorProto.DOUBLE
        kinds: Any = ((TensorProto.INT64, []), (TensorProto.BOOL, []), (real, [None, width]))
        inputs, outputs = (
            [helper.make_tensor_value_info(one.name, *kind) for one, kind in zip(values, of, strict=True)]
            for values, of in ((given, kinds), (returned, kinds[1:]))
        )
        body = helper.make_graph(inside, title, inputs, outputs)
        # No optional input is left empty, because sklearn-onnx sorts nodes by their inputs and expects names.
        return self.add("Loop", most, np.array(True), start, body=body)
