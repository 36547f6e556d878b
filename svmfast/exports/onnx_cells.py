"""The ONNX operators of one cell's values: sums over vectors, pseudo landmarks, polynomials."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.exports.computation import Computation, KernelSums, Polynomials, degrees
from svmfast.exports.onnx_graph import Graph
from svmfast.models.head import Head, pair_numbers


class CellTables:
    """The tables of a cell: of the only one, or of the one whose number has the name `cell` in the graph."""

    def __init__(self, graph: Graph, values: KernelSums | Polynomials, cell: str = "") -> None:
        self.graph, self.values, self.cell = graph, values, cell

    def one(self, table: NDArray[Any]) -> str:
        """Return the cell's entry of a table that has one entry for each cell."""
        if not self.cell:
            return self.graph.reals(table[0])
        return str(self.graph.add("Gather", self.graph.reals(table), self.cell, axis=0))

    def part(self, table: NDArray[Any], sizes: NDArray[np.int64], *, integers: bool = False) -> str:
        """Return the cell's rows of a table that lists `sizes` rows for each cell, cell by cell."""
        add = self.graph.constant if integers else self.graph.reals
        if not self.cell:
            return add(table)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        graph = self.graph
        one = graph.add("Unsqueeze", self.cell, graph.integers(0))
        start, stop = (
            graph.add("Gather", graph.constant(part), one, axis=0) for part in (ends[:-1], ends[1:])
        )
        return str(graph.add("Slice", add(table), start, stop, graph.integers(0)))


def cell_values(graph: Graph, computation: Computation, cell: CellTables, z: str, rest: str) -> str:
    if isinstance(computation.values, Polynomials):
        return _polynomials(graph, computation, cell, z, rest)
    return _sums(graph, computation, cell, z, rest)


def _sums(graph: Graph, computation: Computation, cell: CellTables, z: str, rest: str) -> str:
    values = _mixed(_without_empty_cells(cell.values))
    apart = values.kernel in ("rbf", "laplacian")
    # Measured from the mean of all vectors, so that squared distances lose less to cancellation.
    middle = values.vectors.mean(axis=0) if values.kernel == "rbf" else np.zeros(values.vectors.shape[1])
    vectors = cell.part(values.vectors - middle, values.sizes)
    gamma = cell.one(values.gamma)
    if values.kernel == "rbf":
        z = graph.add("Sub", z, graph.reals(middle))
        across = graph.add("Gemm", z, vectors, transB=1)
        squares = cell.part((values.vectors - middle) ** 2 @ np.ones((len(middle), 1)), values.sizes)
        s = graph.add("Add", graph.total(graph.square(z), 1), graph.add("Transpose", squares, perm=[1, 0]))
        s = graph.add("Sub", s, graph.add("Mul", across, graph.reals(2)))
        s = graph.add("Max", s, graph.reals(0))
    elif values.kernel == "laplacian":
        differences = graph.add("Sub", graph.add("Unsqueeze", z, graph.integers(1)), vectors)
        s = graph.total(graph.add("Abs", differences), 2, keep=False)
    else:
        s = graph.add("Gemm", z, vectors, transB=1)
    if apart:
        s = graph.add("Add", s, rest) if rest else s
        k = graph.add("Exp", graph.add("Neg", graph.add("Mul", s, gamma)))
    elif values.kernel == "linear":
        k = s
    else:
        inner = graph.add("Add", graph.add("Mul", s, gamma), graph.reals(values.coef0))
        k = graph.add("Tanh", inner) if values.kernel == "sigmoid" else _power(graph, inner, values.degree)
    out = _weighted(graph, computation.head, values, cell, k)
    if values.pseudo is not None and values.pseudo.coef.size:
        out = graph.add("Add", out, _pseudo(graph, values, cell, k, s, gamma))
    return str(graph.add("Sub", out, cell.one(values.rho)))


def _without_empty_cells(values: KernelSums | Polynomials) -> KernelSums:
    """Add a vector with zero coefficients to each empty cell, because runtimes may fail on empty products."""
    assert isinstance(values, KernelSums)
    empty = np.flatnonzero(values.sizes == 0)
    if not len(empty):
        return values
    places = np.concatenate([[0], np.cumsum(values.sizes)])[empty]
    classes = values.classes
    if classes is not None:
        classes = classes.copy()
        classes[empty, 0] = 1
    sizes = values.sizes.copy()
    sizes[empty] = 1
    return replace(
        values,
        vectors=np.insert(values.vectors, places, 0.0, axis=0),
        coef=np.insert(values.coef, places, 0.0, axis=1),
        sizes=sizes,
        classes=classes,
    )


def _mixed(values: KernelSums) -> KernelSums:
    """Interleave vectors with positive and negative coefficients, if the order of the vectors is free.

    LIBSVM's models of two classes have all positive coefficients first. Summed in that order, partial sums
    grow to thousands before they return to about 1, which makes rounding errors large. Runtimes sum every
    second, fourth or eighth term separately, so the signs must alternate within these too. Therefore they
    follow the Thue-Morse sequence.
    """
    if values.pseudo is not None or values.classes is not None or values.coef.shape != (1, values.sizes[0]):
        return values
    size = np.abs(values.coef[0])
    place = np.empty(len(size))
    for sign in (values.coef[0] > 0, values.coef[0] <= 0):
        ends = np.cumsum(size[sign])
        place[sign] = (ends - size[sign] / 2) / max(ends[-1] if len(ends) else 0.0, np.finfo(np.float64).tiny)
    order = np.argsort(place, kind="stable")
    pairs = order[: len(order) // 2 * 2].reshape(-1, 2).copy()
    odd = np.array([i.bit_count() % 2 == 1 for i in range(len(pairs))], dtype=np.bool_)
    pairs[odd] = pairs[odd, ::-1]
    order[: pairs.size] = pairs.ravel()
    return replace(values, vectors=values.vectors[order], coef=values.coef[:, order])


def _power(graph: Graph, base: str, degree: int) -> str:
    if degree == 0:
        return str(graph.add("Add", graph.add("Mul", base, graph.reals(0)), graph.reals(1)))
    out = ""
    while degree > 0:
        if degree % 2:
            out = graph.add("Mul", out, base) if out else base
        degree //= 2
        base = graph.square(base) if degree else base
    return out


def _weighted(graph: Graph, head: Head, values: KernelSums, cell: CellTables, k: str) -> str:
    """Return the sums of kernel values times coefficients, for LIBSVM's layout too."""
    if values.classes is None:
        return str(graph.add("MatMul", k, cell.part(values.coef.T, values.sizes)))
    n_classes = head.n_classes
    pair, (one, other) = pair_numbers(n_classes), np.triu_indices(n_classes, 1)
    if cell.cell:
        full = np.zeros((values.coef.shape[1], len(one)))
        owner = np.concatenate([np.repeat(np.arange(n_classes), counts) for counts in values.classes])
        for c in range(n_classes):
            full[np.ix_(owner == c, np.delete(pair[c], c))] = values.coef[:, owner == c].T
        return str(graph.add("MatMul", k, cell.part(full, values.sizes)))
    # Class by class, a vector has k - 1 coefficients instead of one for each of the k (k - 1) / 2 pairs.
    sizes = values.classes[0]
    present = np.flatnonzero(sizes)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    parts = (
        [k]
        if len(present) == 1
        else graph.add("Split", k, graph.integers(*sizes[present].tolist()), axis=1, outputs=len(present))
    )
    found = []
    for part, c in zip(parts, present.tolist(), strict=True):
        found.append(graph.add("MatMul", part, graph.reals(values.coef[:, ends[c] : ends[c + 1]].T)))
    nothing = graph.add("Mul", found[0], graph.reals(0))
    by_class = dict(zip(present.tolist(), found, strict=True))
    every = graph.add("Concat", *(by_class.get(c, nothing) for c in range(n_classes)), axis=1)
    # The pair (i, j), i < j, is the sum of column j - 1 of class i and column i of class j.
    width = n_classes - 1
    firsts = graph.constant((one * width + other - 1).astype(np.int64))
    seconds = graph.constant((other * width + one).astype(np.int64))
    both = (graph.add("Gather", every, places, axis=1) for places in (firsts, seconds))
    return str(graph.add("Add", *both))


def _pseudo(graph: Graph, values: KernelSums, cell: CellTables, k: str, s: str, gamma: str) -> str:
    pseudo = values.pseudo
    assert pseudo is not None
    coef = cell.part(pseudo.coef.T, pseudo.sizes)
    if pseudo.kind == "poly":
        pair = (
            graph.add(
                "Gather",
                k,
                cell.part(pseudo.pairs[:, side].astype(np.int64), pseudo.sizes, integers=True),
                axis=1,
            )
            for side in (0, 1)
        )
        return str(graph.add("MatMul", graph.add("Mul", *pair), coef))
    each = pseudo.sizes * values.sizes
    flat = cell.part(pseudo.distances, each)
    if cell.cell:
        one = graph.add("Unsqueeze", cell.cell, graph.integers(0))
        count = graph.add("Gather", graph.constant(pseudo.sizes.astype(np.int64)), one, axis=0)
        width = graph.add("Gather", graph.constant(values.sizes.astype(np.int64)), one, axis=0)
        shape = graph.add("Concat", count, width, axis=0)
    else:
        shape = graph.integers(len(pseudo.coef.T), len(values.vectors))
    theirs = graph.add("Reshape", flat, shape, allowzero=1)
    roots = graph.add("Unsqueeze", graph.add("Sqrt", s), graph.integers(1))
    apart = graph.add("ReduceMax", graph.add("Abs", graph.add("Sub", roots, theirs)), axes=[2], keepdims=0)
    near = graph.add("Exp", graph.add("Neg", graph.add("Mul", graph.square(apart), gamma)))
    return str(graph.add("MatMul", near, coef))


def _polynomials(graph: Graph, computation: Computation, cell: CellTables, z: str, rest: str) -> str:
    values = cell.values
    assert isinstance(values, Polynomials)
    (cells, p), d = values.orders.shape, len(computation.variables)
    order = int(values.orders.max(initial=0))
    shifted = graph.add("Sub", z, cell.one(values.centers))
    w = shifted if values.centered else z
    inner, top = _coefficients(values, d, order)
    out = cell.one(inner[0])  # (1, p)
    powers = graph.add(
        "Add",
        graph.add(
            "Mul",
            graph.add("Slice", w, graph.integers(0), graph.integers(1), graph.integers(1)),
            graph.reals(0),
        ),
        graph.reals(1),
    )
    for m, one in enumerate(degrees(d, max(order - 1, 0))):
        if m:
            own = graph.add("Gather", w, graph.constant(one.last), axis=1)
            before = graph.add("Gather", powers, graph.constant(one.parent), axis=1)
            powers = graph.add("Mul", before, own)
            out = graph.add("Add", out, graph.add("MatMul", powers, cell.one(inner[m])))
    if order:
        # The highest degree is summed by its last index, which avoids a table of all its monomials per row.
        runs = graph.add("MatMul", powers, cell.one(top.reshape(cells, -1, p * d)))
        runs = graph.add("Reshape", runs, graph.integers(-1, p, d))
        out = graph.add(
            "Add",
            out,
            graph.total(graph.add("Mul", runs, graph.add("Unsqueeze", w, graph.integers(1))), 2, keep=False),
        )
    else:
        out = graph.add("Mul", powers, out)
    if values.gamma:
        s = graph.total(graph.square(shifted), 1)
        s = graph.add("Add", s, rest) if rest else s
        out = graph.add("Mul", graph.add("Exp", graph.add("Mul", s, graph.reals(-values.gamma))), out)
    return str(graph.add("Sub", out, graph.reals(values.rho[None])))


def _coefficients(
    values: Polynomials, d: int, order: int
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """Return the coefficients of each lower degree, ``(cells, count, p)``, and of the highest degree.

    Those of the highest degree are ``(cells, count, p, d)``: the last axis is the last index of the tuple.
    """
    (cells, p) = values.orders.shape
    every = list(degrees(d, order))
    inner = [np.zeros((cells, len(one.last), p)) for one in every[: max(order, 1)]]
    top = np.zeros((cells, len(every[order - 1].last) if order else 0, p, d))
    at = 0
    for cell in range(cells):
        for f in range(p):
            for m in range(int(values.orders[cell, f]) + 1):
                c = values.coefficients[at : at + len(every[m].last)]
                at += len(c)
                if m < max(order, 1):
                    inner[m][cell, :, f] = c
                else:
                    top[cell, every[m].parent, f, every[m].last] = c
    return inner, top
