"""Builds ONNX graphs node by node, with generated names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: Supported by every onnxruntime since 1.12.
OPSET = 17
IR_VERSION = 8


@dataclass(frozen=True)
class Value:
    """A result in a graph: arithmetic with it adds a node, and numbers become constants."""

    graph: Graph
    name: str

    def __add__(self, other: Any) -> Value:
        return self.graph.add("Add", self, other)

    def __sub__(self, other: Any) -> Value:
        return self.graph.add("Sub", self, other)

    def __rsub__(self, other: float) -> Value:
        return self.graph.add("Sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.graph.add("Mul", self, other)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.add("Div", self, other)

    def __matmul__(self, other: Any) -> Value:
        return self.graph.add("MatMul", self, other)

    def __neg__(self) -> Value:
        return self.graph.add("Neg", self)

    def __lt__(self, other: Any) -> Value:
        return self.graph.add("Less", self, other)

    def __gt__(self, other: Any) -> Value:
        return self.graph.add("Greater", self, other)

    def __ge__(self, other: Any) -> Value:
        return self.graph.add("GreaterOrEqual", self, other)

    def square(self) -> Value:
        """Square each element."""
        return self * self

    def total(self, axis: int, *, keep: bool = True) -> Value:
        """Sum along an axis."""
        return self.graph.add("ReduceSum", self, (axis,), keepdims=int(keep))

    def take(self, places: Any, axis: int) -> Value:
        """Gather elements of an axis."""
        return self.graph.add("Gather", self, places, axis=axis)

    def at(self, axis: int) -> Value:
        """Insert an axis of length 1."""
        return self.graph.add("Unsqueeze", self, (axis,))

    def without(self, axis: int) -> Value:
        """Remove an axis of length 1."""
        return self.graph.add("Squeeze", self, (axis,))

    def count(self) -> Value:
        """Count the rows, as a list of one number."""
        return self.graph.add("Slice", self.graph.add("Shape", self), (0,), (1,))


@dataclass
class Graph:
    """The nodes and constants of a graph in one precision, in the order in which they were added."""

    dtype: np.dtype[Any]
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    #: The number of names generated so far; a list, so that graphs of loops share it.
    names: list[int] = field(default_factory=lambda: [0])
    #: The nodes of this graph, and of all loops in it.
    bodies: list[list[Any]] = field(default_factory=list)
    #: The start of all names.
    prefix: str = "n"

    def __post_init__(self) -> None:
        self.bodies.append(self.nodes)

    def inner(self) -> Graph:
        """Begin the graph of a loop's body, which shares names and constants with this one."""
        return Graph(self.dtype, [], self.constants, self.names, self.bodies, self.prefix)

    def used_constants(self) -> list[Any]:
        """List the constants that at least one node uses."""
        used = {name for nodes in self.bodies for node in nodes for name in node.input}
        return [one for one in self.constants if one.name in used]

    def name(self) -> str:
        """Make a new, unused name."""
        self.names[0] += 1
        return f"{self.prefix}{self.names[0]}"

    def new(self) -> Value:
        """Name an input of a loop's body."""
        return Value(self, self.name())

    def here(self, value: Value) -> Value:
        """See a result of the graph outside in this one."""
        return Value(self, value.name)

    def add(self, op: str, *inputs: Any, **attributes: Any) -> Value:
        """Add a node with one output; see :meth:`constant` for inputs that are not results."""
        return self.split(op, *inputs, outputs=1, **attributes)[0]

    def split(self, op: str, *inputs: Any, outputs: int, **attributes: Any) -> list[Value]:
        """Add a node with several outputs."""
        from onnx import helper

        known = [(one if isinstance(one, Value) else self.constant(one)).name for one in inputs]
        made = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, known, made, **attributes))
        return [Value(self, name) for name in made]

    def constant(self, values: Any) -> Value:
        """Add a constant: numbers in the graph's precision, tuples as integers, others as they are."""
        from onnx import numpy_helper

        if isinstance(values, tuple):
            values = np.array(values, dtype=np.int64)
        found = np.asarray(values)
        if isinstance(values, float | int) or found.dtype == np.float64:
            found = found.astype(self.dtype)
        name = self.name()
        self.constants.append(numpy_helper.from_array(np.array(found, order="C"), name))
        return Value(self, name)

    def filled(self, shape: Value, value: float, dtype: Any = None) -> Value:
        """Add an array of equal numbers."""
        from onnx import numpy_helper

        one = numpy_helper.from_array(np.full(1, value, dtype=dtype or self.dtype))
        return self.add("ConstantOfShape", shape, value=one)

    def loop(self, title: str, most: Value, start: Value, width: int, body: Graph, *named: Value) -> Value:
        """Repeat `body` at most `most` times.

        `named` are its inputs, its number, whether it goes on and the matrix so far, ``(n, width)``, and its
        outputs, the last two again.
        """
        from onnx import TensorProto, helper

        real = TensorProto.FLOAT if self.dtype == np.float32 else TensorProto.DOUBLE
        number, going, so_far, still, then = named
        info = helper.make_tensor_value_info
        inner = helper.make_graph(
            body.nodes,
            title,
            [
                info(number.name, TensorProto.INT64, []),
                info(going.name, TensorProto.BOOL, []),
                info(so_far.name, real, [None, width]),
            ],
            [info(still.name, TensorProto.BOOL, []), info(then.name, real, [None, width])],
        )
        # No optional input is left empty, because sklearn-onnx sorts nodes by their inputs and expects names.
        return self.add("Loop", most, np.array(True), start, body=inner)
