"""Builds ONNX graphs node by node, with generated names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Supported by every onnxruntime since 1.12.
OPSET = 17
IR_VERSION = 8


@dataclass
class Graph:
    """The nodes and constants of a graph in one precision.

    Attributes
    ----------
    dtype : float32 or float64
    nodes, constants : list
        In the order in which they were added.
    names : list of int
        The number of names generated so far; a list, so that graphs of loops share it.
    bodies : list of lists of nodes
        The nodes of this graph, and of all loops in it.
    prefix : str
        The start of all names.
    """

    dtype: np.dtype[Any]
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    names: list[int] = field(default_factory=lambda: [0])
    bodies: list[list[Any]] = field(default_factory=list)
    prefix: str = "n"

    def __post_init__(self) -> None:
        self.bodies.append(self.nodes)

    def inner(self) -> Graph:
        """Return the graph of a loop's body, which shares names and constants with this one."""
        return Graph(self.dtype, [], self.constants, self.names, self.bodies, self.prefix)

    def used_constants(self) -> list[Any]:
        """Return the constants that at least one node uses."""
        used = {name for nodes in self.bodies for node in nodes for name in node.input}
        return [one for one in self.constants if one.name in used]

    def name(self) -> str:
        """Return a new, unused name."""
        self.names[0] += 1
        return f"{self.prefix}{self.names[0]}"

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; return the name of its output, or of its outputs."""
        from onnx import helper

        made = [self.name() for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), made, **attributes))
        return made[0] if outputs == 1 else made

    def constant(self, values: NDArray[Any]) -> str:
        """Add a constant in its own type; return its name."""
        from onnx import numpy_helper

        name = self.name()
        self.constants.append(numpy_helper.from_array(np.array(values, order="C"), name))
        return name

    def reals(self, values: Any) -> str:
        """Add a constant in the graph's precision; return its name."""
        return self.constant(np.asarray(values, dtype=self.dtype))

    def integers(self, *values: int) -> str:
        """Add a constant list of integers; return its name."""
        return self.constant(np.array(values, dtype=np.int64))

    def total(self, name: str, axis: int, *, keep: bool = True) -> str:
        """Add a sum along an axis; return its name."""
        return str(self.add("ReduceSum", name, self.integers(axis), keepdims=int(keep)))

    def square(self, name: str) -> str:
        """Add the elementwise square; return its name."""
        return str(self.add("Mul", name, name))
