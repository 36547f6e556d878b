"""The description of a model's computation: every kind is converted to it, and every language prints it.

A row's *variables* are the features for which the model has numbers, scaled if there is a scaling; others
only count in distances. A route finds the cell of the variables, whose values are sums over vectors or
polynomials. The head turns them into the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import OptionError, UnsupportedError, WrongTypeError
from svmfast.kernels import LAPLACIAN
from svmfast.models.base import Model
from svmfast.models.cascade import CascadeModel
from svmfast.models.expansion import VectorModel
from svmfast.models.head import Head
from svmfast.models.mapped import MappedModel
from svmfast.models.polynomial import PolynomialModel
from svmfast.models.routed import PseudoLandmarks, RoutedModel
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.routing import flat_tree
from svmfast.rows import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Route:
    """A tree of centers, in the form that :class:`svmfast.routing.Router` takes."""

    #: (nodes,) number of children of each node, breadth first; the cells are the leaves in this order.
    children: IntArray
    #: (nodes - 1, d) centers of all nodes but the root, in the variables.
    centers: FloatArray

    @property
    def first_child(self) -> IntArray:
        """The first child of each node; of a leaf, the first of later nodes."""
        return 1 + starts_of(self.children)

    @property
    def cell(self) -> IntArray:
        """The cell of each leaf."""
        return np.cumsum(self.children == 0) - 1


@dataclass(frozen=True, eq=False)
class KernelSums:
    """value_p = sum_i coef_pi K_c(x_i, z) - rho_cp over the vectors of cell c."""

    #: ``linear``, ``polynomial``, ``rbf``, ``sigmoid`` or ``laplacian``.
    kernel: str
    #: (cells,)
    gamma: FloatArray
    coef0: float
    degree: int
    #: (m, d) the vectors of all cells, cell by cell.
    vectors: FloatArray
    #: (cells,)
    sizes: IntArray
    #: (p, m) or, with `classes`, (k - 1, m) in LIBSVM's layout.
    coef: FloatArray
    #: (cells, k) number of vectors of each class, if there are three classes or more.
    classes: IntArray | None
    #: (cells, p)
    rho: FloatArray
    pseudo: PseudoLandmarks | None = None


@dataclass(frozen=True, eq=False)
class Computation:
    """A model's computation, described in the same way for all kinds of models."""

    #: Turns decision values into the answer.
    head: Head
    #: Number of columns of a dense row.
    n_features: int
    #: (d,) columns that are variables, ascending. The others only count in distances.
    variables: IntArray
    #: None if there is a single cell.
    route: Route | None
    values: KernelSums | PolynomialModel
    #: The scaling of the `n_features` columns. Exported files do not round to its digits.
    scaling: Scaling | None = None
    #: One for each label of the head.
    class_names: tuple[str, ...] | None = None
    #: W and center of a linear map of the variables, in whose r coordinates the values are; other columns do
    #: not count.
    map: tuple[FloatArray, FloatArray] | None = None

    @property
    def laplacian(self) -> bool:
        """Whether distances are sums of absolute differences."""
        return isinstance(self.values, KernelSums) and self.values.kernel == LAPLACIAN


def computation_of(model: Model) -> Computation:
    """Describe `model`; an UnsupportedError says why its kind or kernel has no such description."""
    if not isinstance(model, Model):
        raise WrongTypeError("the model", model, "a model")
    if model.kind != "cascade" and model.head.n_functions == 0:
        raise UnsupportedError("the model has a single class", "every row has its label")
    return _described(model)


@singledispatch
def _described(model: Model) -> Computation:
    """Describe a kind of model, or say why not and what to export instead."""
    raise UnsupportedError(f"{model.kind} models cannot be exported", "export another kind of model")


@_described.register
def _of_vectors(model: VectorModel) -> Computation:
    head, kernel, d = model.head, model.kernel, max(1, model.n_features)
    if kernel.kind == "precomputed":
        raise UnsupportedError(
            "a precomputed kernel is not a function of features", "train with another kernel"
        )
    values = KernelSums(
        kernel.kind,
        np.array([kernel.gamma], dtype=np.float64),
        float(kernel.coef0),
        int(kernel.degree),
        model.sv.to_dense(d),
        np.array([len(model.sv)]),
        model.sv_coef,
        None if model.nr_sv is None or head.n_classes < 3 else model.nr_sv[None],
        model.rho[None],
    )
    return Computation(head, d, np.arange(d), None, values)


@_described.register
def _of_polynomial(model: PolynomialModel) -> Computation:
    cells, d = model.n_cells, max(1, model.n_features)
    if not len(model.features):  # constant polynomials get a variable, because tables must not be empty
        first, none, orders = np.zeros(1, np.int64), np.zeros((cells, 1)), np.zeros_like(model.orders)
        model = replace(model, n_features=d, features=first, centers=none, orders=orders)
    route = None if cells == 1 else Route(flat_tree(cells), model.centers)
    return Computation(model.head, d, model.features, route, model)


@_described.register
def _of_routed(model: RoutedModel) -> Computation:
    head, d = model.head, max(1, model.n_features)
    centers = np.pad(model.centers, ((0, 0), (0, d - model.centers.shape[1])))
    values = KernelSums(
        model.kernel,
        model.gamma,
        0.0,
        0,
        model.landmarks.to_dense(d),
        model.sizes,
        model.coef,
        None if model.nr_sv is None or head.n_classes < 3 else model.nr_sv,
        model.rho,
        model.pseudo,
    )
    route = None if model.n_cells == 1 else Route(model.children, centers)
    return Computation(head, d, np.arange(d), route, values)


@_described.register
def _of_mapped(model: MappedModel) -> Computation:
    inner, d, r = _of_vectors(model.model), max(1, model.n_features), len(model.map)
    assert isinstance(inner.values, KernelSums)
    values = replace(inner.values, vectors=model.model.sv.to_dense(r))
    numbers = model.map.astype(np.float64), model.center.astype(np.float64)
    return replace(inner, n_features=d, variables=model.features, values=values, map=numbers)


@_described.register
def _of_scaled(model: ScaledModel) -> Computation:
    inner, scaling = computation_of(model.model), model.scaling
    width = max(len(scaling), inner.n_features)
    if scaling.clip is not None and width > len(scaling):
        raise UnsupportedError(
            f"the scaling clips {len(scaling)} columns and does not change the model's other columns",
            "scale every feature of the model",
        )
    wide = None if scaling.is_identity else scaling.widened(width)
    return replace(inner, n_features=width, scaling=wide, class_names=scaling.class_names)


@_described.register
def _of_cascade(_model: CascadeModel) -> Computation:
    raise UnsupportedError(
        "a cascade consists of two models and a rule",
        "export its two models; the exact one answers where a decision value is within its error",
    )


def stored(values: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Round numbers to the file's precision; raise OptionError for numbers beyond its range."""
    with np.errstate(over="ignore"):
        found = values.astype(dtype)
    if not np.isfinite(found).all():
        largest = float(np.abs(values).max())
        raise OptionError(f"the number {largest:.3g} is too large for single precision; use `double`")
    return found


def starts_of(sizes: NDArray[Any]) -> IntArray:
    """Where consecutive parts of these sizes begin."""
    return np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)


class Degree(NamedTuple):
    """The monomials of one degree m in d variables: sorted index tuples in lexicographic order."""

    #: (count,) the monomial of degree m - 1 without the last index.
    parent: IntArray
    #: (count,) the last index.
    last: IntArray

    @property
    def first(self) -> IntArray:
        """Where the monomials of each parent begin."""
        return np.flatnonzero(np.diff(self.parent, prepend=-1))


def degrees(d: int, order: int) -> Iterator[Degree]:
    """Yield degrees 0 to `order` in `d` variables, in the order in which polynomials are packed."""
    zero = np.zeros(1, dtype=np.int64)
    yield Degree(zero, zero)
    last = zero
    for _ in range(order):
        count = d - last
        parent = np.repeat(np.arange(len(last)), count)
        start = np.repeat(np.cumsum(count) - count, count)
        last = np.arange(len(parent)) - start + last[parent]
        yield Degree(parent, last)
