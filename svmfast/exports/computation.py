"""The description of a model's computation: every kind is converted to it, and every language prints it.

A row's *variables* are the features for which the model has numbers; all other features only count in a
distance. The features may be scaled first. A route finds the cell of the variables, the cell's values are
sums over vectors or polynomials, and the head turns the values into the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import UnsupportedError, WrongTypeError
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.polynomial import PolynomialModel
from svmfast.models.pseudo import PseudoLandmarks
from svmfast.models.routed import RoutedModel, centers_on_the_way
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import ColumnRanges
from svmfast.routing import flat_tree
from svmfast.rows import Rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Affine:
    """The scaling in front of a model: z_j = (x_j - offset_j) factor_j, clipped.

    Attributes
    ----------
    offset, factor : (n_features,) float64
        A factor of 0 drops a column.
    clip : (float, float) or None
    drops_others : bool
        Whether further columns are dropped; otherwise they are not changed.
    ranges : ColumnRanges or None
        The exact form of the map, of which `offset` and `factor` are rounded.
    digits : int or None
        Significant digits to which the model rounds scaled values; exported files do not round.
    """

    offset: FloatArray
    factor: FloatArray
    clip: tuple[float, float] | None
    drops_others: bool
    ranges: ColumnRanges | None = None
    digits: int | None = None


@dataclass(frozen=True, eq=False)
class Route:
    """A tree of centers, in the form that :class:`svmfast.routing.Router` takes.

    Attributes
    ----------
    children : (nodes,) int64
        Number of children of each node, breadth first; the cells are the leaves in this order.
    centers : (nodes - 1, d) float64
        Centers of all nodes but the root, in the variables.
    """

    children: IntArray
    centers: FloatArray

    @property
    def is_flat(self) -> bool:
        """Whether all cells are children of the root."""
        return int(self.children[0]) == len(self.children) - 1


@dataclass(frozen=True, eq=False)
class KernelSums:
    """value_p = sum_i coef_pi K_c(x_i, z) - rho_cp over the vectors of cell c.

    Attributes
    ----------
    kernel : str
        ``linear``, ``polynomial``, ``rbf``, ``sigmoid`` or ``laplacian``.
    gamma : (cells,) float64
    coef0 : float
    degree : int
    vectors : (m, d) float64
        The vectors of all cells, cell by cell.
    sizes : (cells,) int64
        Number of vectors of each cell.
    coef : (p, m) or, with `classes`, (k - 1, m) float64
    classes : (cells, k) int64 or None
        Number of vectors of each class, if there are three classes or more and the coefficients have LIBSVM's
        layout.
    rho : (cells, p) float64
    pseudo : PseudoLandmarks or None
    """

    kernel: str
    gamma: FloatArray
    coef0: float
    degree: int
    vectors: FloatArray
    sizes: IntArray
    coef: FloatArray
    classes: IntArray | None
    rho: FloatArray
    pseudo: PseudoLandmarks | None = None


@dataclass(frozen=True, eq=False)
class Certificate:
    """The numbers that :func:`svmfast.certificate.error_bounds` takes, for every cell and function."""

    degrees: FloatArray
    rest: FloatArray


@dataclass(frozen=True, eq=False)
class Polynomials:
    """value_p = exp(-gamma |z - mu|^2) P_cp(w) - rho_p, where mu is the center of cell c, w = z - mu or z.

    Attributes
    ----------
    gamma : float
    centered : bool
        Whether w is z - mu.
    centers : (cells, d) float64
    orders : (cells, p) int32
    coefficients : (total,) float64
        In the order of :class:`svmfast.models.polynomial.PolynomialModel`.
    rho : (p,) float64
    certificate : Certificate or None
    """

    gamma: float
    centered: bool
    centers: FloatArray
    orders: NDArray[np.int32]
    coefficients: FloatArray
    rho: FloatArray
    certificate: Certificate | None

    def counts(self) -> IntArray:
        """Return the number of coefficients of every cell and function, ``(cells, p)``."""
        d = self.centers.shape[1]
        flat = [math.comb(d + int(order), int(order)) for order in self.orders.flat]
        return np.array(flat, dtype=np.int64).reshape(self.orders.shape)


@dataclass(frozen=True, eq=False)
class Computation:
    """A model's computation, described in the same way for all kinds of models.

    Attributes
    ----------
    kind : str
        The model's kind.
    head : Head
        Turns decision values into the answer.
    n_features : int
        Number of columns of a dense row.
    variables : (d,) int64
        Columns that are variables, ascending. The other columns only count in squared distances (in absolute
        ones for the laplacian kernel).
    route : Route or None
        None if there is a single cell.
    values : KernelSums or Polynomials
    provenance : mapping of str to str
    scaling : Affine or None
    class_names : tuple of str or None
        One for each label of the head.
    """

    kind: str
    head: Head
    n_features: int
    variables: IntArray
    route: Route | None
    values: KernelSums | Polynomials
    provenance: Mapping[str, str]
    scaling: Affine | None = None
    class_names: tuple[str, ...] | None = None

    @property
    def all_variables(self) -> bool:
        """Whether the variables of a dense row are the row itself: all its features, not scaled."""
        return len(self.variables) == self.n_features and self.scaling is None

    def multiply_adds(self, cells: NDArray[np.int32] | None = None) -> float:
        """Return the mean number of multiply-adds for a dense row, over rows in `cells` or over all cells."""
        values, d = self.values, len(self.variables)
        if isinstance(values, Polynomials):
            operations = values.counts().sum(axis=1).astype(np.float64) + d
        else:
            active = len(values.coef)
            operations = (values.sizes * (d + active)).astype(np.float64)
            if values.pseudo is not None:
                each = np.full(len(values.sizes), active)
                operations = operations + values.pseudo.multiply_adds(values.sizes, each)
        if self.route is not None:
            operations = operations + centers_on_the_way(self.route.children) * d
        return float(operations.mean() if cells is None else operations[cells].mean())


def _of_expansion(model: Model) -> Computation:
    assert isinstance(model, KernelExpansion)
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
        dense(model.sv, d),
        np.array([len(model.sv)]),
        model.sv_coef[: max(1, head.n_classes - 1)],
        None if model.nr_sv is None or head.n_classes < 3 else model.nr_sv[None],
        model.rho[None],
    )
    return Computation(model.kind, head, d, np.arange(d), None, values, {})


def _of_polynomial(model: Model) -> Computation:
    assert isinstance(model, PolynomialModel)
    certificate = None
    if model.bound_degrees is not None and model.bound_rest is not None:
        certificate = Certificate(model.bound_degrees, model.bound_rest)
    cells = model.n_cells
    variables, centers, orders = model.features, model.centers, model.orders
    if not len(variables):  # constant polynomials get a dummy variable, because tables must not be empty
        variables, centers, orders = np.zeros(1, np.int64), np.zeros((cells, 1)), np.zeros_like(orders)
    values = Polynomials(
        model.gamma,
        model.about == "centre",
        centers,
        orders,
        model.coefficients,
        model.rho,
        certificate,
    )
    route = None if cells == 1 else Route(flat_tree(cells), centers)
    width = max(1, model.n_features)
    return Computation(model.kind, model.head, width, variables, route, values, dict(model.provenance))


def _of_routed(model: Model) -> Computation:
    assert isinstance(model, RoutedModel)
    d = max(1, model.n_features)
    centers = np.zeros((len(model.centers), d))
    centers[:, : model.centers.shape[1]] = model.centers
    values = KernelSums(
        model.kernel,
        model.gamma,
        0.0,
        0,
        dense(model.landmarks, d),
        model.sizes,
        model.coef,
        None if model.nr_sv is None or model.head.n_classes < 3 else model.nr_sv,
        model.rho,
        model.pseudo,
    )
    route = None if model.n_cells == 1 else Route(model.children, centers)
    return Computation(model.kind, model.head, d, np.arange(d), route, values, dict(model.provenance))


def _of_scaled(model: Model) -> Computation:
    assert isinstance(model, ScaledModel)
    inner, scaling = computation_of(model.model), model.scaling
    width = max(len(scaling), inner.n_features)
    drops = scaling.ranges is not None
    if scaling.clip is not None and width > len(scaling):
        raise UnsupportedError(
            f"the scaling clips {len(scaling)} columns and does not change the model's other columns",
            "scale every feature of the model",
        )
    offset, factor = np.zeros(width), np.full(width, 0.0 if drops else 1.0)
    offset[: len(scaling)], factor[: len(scaling)] = scaling.offset, scaling.factor
    return replace(
        inner,
        kind=model.kind,
        n_features=width,
        provenance=dict(model.provenance),
        scaling=None
        if scaling.is_identity
        else Affine(offset, factor, scaling.clip, drops, scaling.ranges, scaling.digits),
        class_names=scaling.class_names,
    )


def _of_cascade(_model: Model) -> Computation:
    raise UnsupportedError(
        "a cascade consists of two models and a rule",
        "export its fast and its exact model, and program the rule of docs/export.md",
    )


#: For each kind of model, the function that returns its description or raises an error that explains why not.
DESCRIBED: dict[str, Callable[[Model], Computation]] = {
    "libsvm": _of_expansion,
    "polynomial": _of_polynomial,
    "routed": _of_routed,
    "cascade": _of_cascade,
    "scaled": _of_scaled,
}


def computation_of(model: Model) -> Computation:
    """Return the computation of `model`.

    Raises
    ------
    UnsupportedError
        The kind of model or its kernel has no such description.
    """
    kind = getattr(model, "kind", None)
    if kind is None:
        raise WrongTypeError("the model", model, "a model")
    if kind not in DESCRIBED:
        raise UnsupportedError(f"models of kind {kind} cannot be exported", f"one of {', '.join(DESCRIBED)}")
    return DESCRIBED[kind](model)


def dense(rows: Rows, width: int) -> FloatArray:
    """Return rows as a dense ``(n, width)`` array; columns beyond `width` are left out."""
    out = np.zeros((len(rows), width))
    at = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))
    known = rows.indices < width
    out[at[known], rows.indices[known]] = rows.values[known]
    return out


def split(computation: Computation, rows: Rows, dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the variables of `rows`, ``(n, d)``, and what the other columns add to a distance, ``(n,)``."""
    width, scaling = computation.n_features, computation.scaling
    wide = dense(rows, width).astype(dtype)
    if scaling is not None:
        wide = (wide - scaling.offset.astype(dtype)) * scaling.factor.astype(dtype)
        if scaling.clip is not None:
            wide = np.clip(wide, dtype.type(scaling.clip[0]), dtype.type(scaling.clip[1]))
    laplacian = getattr(computation.values, "kernel", "rbf") == "laplacian"
    others = np.ones(width, dtype=np.bool_)
    others[computation.variables] = False
    rest = np.zeros(len(rows), dtype=dtype)
    for j in np.flatnonzero(others):
        rest = rest + (np.abs(wide[:, j]) if laplacian else wide[:, j] * wide[:, j])
    unknown = rows.indices >= width
    if unknown.any() and not (scaling is not None and scaling.drops_others):
        at = np.repeat(np.arange(len(rows)), np.diff(rows.indptr))[unknown]
        beyond = rows.values[unknown].astype(dtype)
        rest = rest + np.bincount(
            at, np.abs(beyond) if laplacian else beyond * beyond, minlength=len(rows)
        ).astype(dtype)
    return np.ascontiguousarray(wide[:, computation.variables]), rest
