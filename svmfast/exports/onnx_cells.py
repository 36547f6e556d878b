"""The ONNX operators of one cell's values: sums over vectors, pseudo landmarks, polynomials."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.exports.computation import Computation, KernelSums, degrees, starts_of
from svmfast.exports.onnx_graph import LEAST_OPSET, Graph, Value
from svmfast.kernels import pairwise_coefficients
from svmfast.models.polynomial import PolynomialModel
from svmfast.models.routed import PseudoLandmarks
from svmfast.monomials import by_degree


@dataclass
class CellTables:
    """The tables of a cell: of the only one, or of the one whose number is `cell`."""

    graph: Graph
    cell: Value | None = None

    def one(self, table: NDArray[Any]) -> Value:
        """The cell's entry of a table that has one entry for each cell."""
        if self.cell is None:
            return self.graph.constant(np.asarray(table[0]))
        return self.graph.constant(table).take(self.cell, 0)

    def part(self, table: NDArray[Any], sizes: NDArray[np.int64]) -> Value:
        """The cell's rows of a table that lists `sizes` rows for each cell, cell by cell."""
        if self.cell is None:
            return self.graph.constant(table)
        one = self.cell.at(0)
        ends = (starts_of(sizes), np.cumsum(sizes))
        start, stop = (self.graph.constant(part).take(one, 0) for part in ends)
        return self.graph.add("Slice", table, start, stop, (0,))


def cell_values(cell: CellTables, computation: Computation, z: Value, rest: Value | None) -> Value:
    """The decision values of rows of a cell: `z` are their variables, `rest` what others add to distances."""
    values = computation.values
    if isinstance(values, PolynomialModel):
        return _polynomials(values, cell, z, rest)
    return _sums(_mixed(_without_empty_cells(values)), computation.head.n_classes, cell, z, rest)


def _sums(values: KernelSums, n_classes: int, cell: CellTables, z: Value, rest: Value | None) -> Value:
    graph = cell.graph
    # Measured from the mean of all vectors, so that squared distances lose less to cancellation.
    middle = values.vectors.mean(axis=0) if values.kernel == "rbf" else np.zeros(values.vectors.shape[1])
    vectors = cell.part(values.vectors - middle, values.sizes)
    gamma = cell.one(values.gamma)
    if values.kernel == "rbf":
        z = z - middle
        across = graph.add("Gemm", z, vectors, transB=1)
        squares = cell.part((values.vectors - middle) ** 2 @ np.ones((len(middle), 1)), values.sizes)
        s = z.square().total(1) + graph.add("Transpose", squares, perm=[1, 0])
        s = graph.add("Max", s - across * 2, 0)
    elif values.kernel == "laplacian":
        s = graph.add("Abs", z.at(1) - vectors).total(2, keep=False)
    else:
        s = graph.add("Gemm", z, vectors, transB=1)
    if values.kernel in ("rbf", "laplacian"):
        s = s if rest is None else s + rest
        k = graph.add("Exp", -(s * gamma))
    elif values.kernel == "linear":
        k = s
    else:
        inner = s * gamma + values.coef0
        k = graph.add("Tanh", inner) if values.kernel == "sigmoid" else _power(inner, values.degree)
    out = _weighted(n_classes, values, cell, k)
    if values.pseudo is not None and values.pseudo.coef.size:
        out = out + _pseudo(values, values.pseudo, cell, k, s, gamma)
    return out - cell.one(values.rho)


def _without_empty_cells(values: KernelSums) -> KernelSums:
    """Add a vector with zero coefficients to each empty cell, because runtimes may fail on empty products."""
    empty = values.sizes == 0
    if not empty.any():
        return values
    places, classes = starts_of(values.sizes)[empty], values.classes
    if classes is not None:
        classes = classes.copy()
        classes[empty, 0] = 1
    return replace(
        values,
        vectors=np.insert(values.vectors, places, 0.0, axis=0),
        coef=np.insert(values.coef, places, 0.0, axis=1),
        sizes=np.maximum(values.sizes, 1),
        classes=classes,
    )


def _mixed(values: KernelSums) -> KernelSums:
    """Interleave vectors with positive and negative coefficients, if the order of the vectors is free.

    In LIBSVM's order, all positive coefficients first, partial sums grow to thousands before they return to
    about 1. Runtimes sum every second, fourth or eighth term separately, so the signs must alternate within
    these too: they follow the Thue-Morse sequence.
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


def _power(base: Value, degree: int) -> Value:
    if degree == 0:
        return base * 0 + 1
    out = None
    while degree > 0:
        if degree % 2:
            out = base if out is None else out * base
        degree //= 2
        base = base.square() if degree else base
    assert out is not None
    return out


def _weighted(n_classes: int, values: KernelSums, cell: CellTables, k: Value) -> Value:
    """The sums of kernel values times coefficients, for LIBSVM's layout too."""
    if values.classes is None:
        return k @ cell.part(values.coef.T, values.sizes)
    graph, (one, other) = cell.graph, np.triu_indices(n_classes, 1)
    if cell.cell is not None:
        cells = zip(np.split(values.coef, np.cumsum(values.sizes)[:-1], axis=1), values.classes, strict=True)
        full = np.hstack([pairwise_coefficients(*one) for one in cells])
        return k @ cell.part(full.T, values.sizes)
    # Class by class, a vector has k - 1 coefficients instead of one for each of the k (k - 1) / 2 pairs.
    present = np.flatnonzero(values.classes[0])
    sizes = values.classes[0][present]
    parts = [k]
    if len(present) > 1:
        parts = graph.split("Split", k, tuple(sizes.tolist()), axis=1, outputs=len(present))
    coef = np.split(values.coef, np.cumsum(sizes)[:-1], axis=1)
    by_class = {c: part @ own.T for c, part, own in zip(present.tolist(), parts, coef, strict=True)}
    nothing = by_class[int(present[0])] * 0
    every = graph.add("Concat", *(by_class.get(c, nothing) for c in range(n_classes)), axis=1)
    # The pair (i, j), i < j, is the sum of column j - 1 of class i and column i of class j.
    width = n_classes - 1
    firsts, seconds = graph.constant(one * width + other - 1), graph.constant(other * width + one)
    return every.take(firsts, 1) + every.take(seconds, 1)


def _pseudo(
    values: KernelSums, pseudo: PseudoLandmarks, cell: CellTables, k: Value, s: Value, gamma: Value
) -> Value:
    graph = cell.graph
    coef = cell.part(pseudo.coef.T, pseudo.sizes)
    if pseudo.kind == "poly":
        first, second = (
            k.take(cell.part(pseudo.pairs[:, side].astype(np.int64), pseudo.sizes), 1) for side in (0, 1)
        )
        return (first * second) @ coef
    flat = cell.part(pseudo.distances, pseudo.sizes * values.sizes)
    shape: Any = (len(pseudo.coef.T), len(values.vectors))
    if cell.cell is not None:
        one = cell.cell.at(0)
        counts = (pseudo.sizes, values.sizes)
        sides = (graph.constant(each.astype(np.int64)).take(one, 0) for each in counts)
        shape = graph.add("Concat", *sides, axis=0)
    # Without this a 0 stands for the length of `flat`, which is 0 then, too.
    zero = {"allowzero": 1} if graph.opset > LEAST_OPSET else {}
    theirs = graph.add("Reshape", flat, shape, **zero)
    roots = graph.add("Sqrt", s).at(1)
    apart = graph.add("Abs", roots - theirs).largest(2, keep=False)
    return graph.add("Exp", -(apart.square() * gamma)) @ coef


def _polynomials(values: PolynomialModel, cell: CellTables, z: Value, rest: Value | None) -> Value:
    graph, (cells, p), d = cell.graph, values.orders.shape, values.centers.shape[1]
    order = int(values.orders.max(initial=0))
    shifted = z - cell.one(values.centers)
    w = shifted if values.about == "centre" else z
    # The coefficients of each degree, (cells, count, p). The highest one is summed by its last index, which
    # avoids a table of all its monomials per row: (cells, count, p, d).
    monomials = list(degrees(d, order))
    inner = [np.zeros((cells, len(one.last), p)) for one in monomials[: max(order, 1)]]
    top = np.zeros((cells, len(monomials[order - 1].last) if order else 0, p, d))
    for ((c, f), own), start in zip(np.ndenumerate(values.orders), values.starts.flat, strict=True):
        for m, part in enumerate(by_degree(values.coefficients[start:], d, own)):
            if m < max(order, 1):
                inner[m][c, :, f] = part
            else:
                top[c, monomials[m].parent, f, monomials[m].last] = part
    out = cell.one(inner[0])  # (1, p)
    powers = graph.add("Slice", w, (0,), (1,), (1,)) * 0 + 1
    for one, table in zip(monomials[1:order], inner[1:], strict=True):
        last, before = w.take(one.last, 1), powers.take(one.parent, 1)
        powers = before * last
        out = out + powers @ cell.one(table)
    if order:
        runs = powers @ cell.one(top.reshape(cells, -1, p * d))
        runs = graph.add("Reshape", runs, (-1, p, d))
        out = out + (runs * w.at(1)).total(2, keep=False)
    else:
        out = powers * out
    if values.gamma:
        s = shifted.square().total(1)
        s = s if rest is None else s + rest
        out = graph.add("Exp", s * -values.gamma) * out
    return out - values.rho[None]
