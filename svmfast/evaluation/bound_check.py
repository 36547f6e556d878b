"""Whether a truncated expansion is accurate on data: the extent of the data, and the rows inside the bound.

All functions process blocks of rows in bounded memory, and the division into blocks does not change the
results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from svmfast.certificate import MAX_ORDER, centered_squared_norms, gamma_max, inside_bound
from svmfast.errors import OptionError, UnsupportedError
from svmfast.models.base import Model
from svmfast.models.certified import certified_rows, certifies
from svmfast.models.expansion import KernelExpansion
from svmfast.models.polynomial import PolynomialModel
from svmfast.rows import FloatArray, Rows
from svmfast.score import percent

#: The most columns for which a mean is computed (one float64 each: 128 MiB). Wider data has no centered
#: bound.
WIDEST_MEAN = 1 << 24


@dataclass(frozen=True)
class Extent:
    """The extent of data.

    Attributes
    ----------
    rows, features, values : int
        Number of rows, largest index, stored values.
    max_squared_norm : float
        Largest ``||x||^2``.
    mean : (features,) float64 or None
        None if the data is wider than :data:`WIDEST_MEAN`.
    """

    rows: int
    features: int
    values: int
    max_squared_norm: float
    mean: FloatArray | None


@dataclass(frozen=True)
class Bound:
    """The validity bound for an order about one center (:func:`svmfast.certificate.inside_bound`), on data.

    Attributes
    ----------
    gamma_max : float or None
        For smaller gamma every row is inside: ``1 / (4 max||x|| max||z||)`` at order 2. None for a model that
        is already approximated, whose gamma is fixed.
    max_squared_norm : float or None
        Largest ``||z - center||^2`` of the data.
    rows_inside : int or None
        None if gamma is not known.
    inside_percent : float or None
    """

    gamma_max: float | None
    max_squared_norm: float | None
    rows_inside: int | None = None
    inside_percent: float | None = None

    @property
    def inside(self) -> bool | None:
        """Whether every row is inside."""
        return None if self.inside_percent is None else self.inside_percent == 100


@dataclass(frozen=True)
class BoundReport:
    """The result of a check of data against the bound.

    Attributes
    ----------
    rows, features : int
    gamma : float or None
        The model's gamma, or the given one.
    orders : tuple of int
        The order of the expansion in question, or the orders of an approximated model's polynomials,
        ascending; the lowest order of a cell counts. Empty if nothing is truncated.
    paper, centered, own : Bound or None
        Bounds about the origin; about the mean of the support vectors (of the data, if there is no model);
        and about an approximated model's own centers. An approximated model has only `own`, and not even that
        if no bound is known (:attr:`svmfast.models.polynomial.PolynomialModel.has_validity_bound`).
    exact : bool
        The model converts exactly, so there is no bound and every row counts as inside.
    certified : int or None
        Rows whose label is provably the exact model's, or for regression, whose value is within the
        tolerance. None without a certificate, and for regression without a tolerance.
    regression : bool
        The model predicts values rather than labels.
    approximated : bool
        The model is already an expansion.
    """

    rows: int
    features: int
    gamma: float | None = None
    orders: tuple[int, ...] = ()
    paper: Bound | None = None
    centered: Bound | None = None
    own: Bound | None = None
    exact: bool = False
    certified: int | None = None
    regression: bool = False
    approximated: bool = False

    @property
    def certified_percent(self) -> float | None:
        """Share of the rows that are certified, in percent."""
        return None if self.certified is None else percent(self.certified, self.rows)

    def inside(self, center: str = "auto") -> bool | None:
        """Return whether every row is inside the bound about the origin, the mean, or (auto) either of them.

        None if this is unknown: without gamma, or for a model without a known bound.
        """
        if self.exact:
            return True
        if self.approximated:
            return None if self.own is None else self.own.inside
        asked = {"origin": [self.paper], "mean": [self.centered], "auto": [self.paper, self.centered]}[center]
        verdicts = [bound.inside for bound in asked if bound is not None]
        return any(verdicts) if verdicts and None not in verdicts else None


Blocks = Callable[[], Iterable[Rows]]


def extent(blocks: Iterable[Rows]) -> Extent:
    """Return the extent of all rows of `blocks`."""
    rows = features = values = 0
    largest = 0.0
    mean: FloatArray | None = np.zeros(0)
    for block in blocks:
        rows += len(block)
        values += block.nnz
        if not len(block):
            continue
        largest = max(largest, float(block.squared_norms().max()))
        features = max(features, _width(block))
        if features > WIDEST_MEAN:
            mean = None
        if mean is None:
            continue
        if len(mean) < features:
            # Doubling makes the total cost of copying linear in the width.
            mean = np.concatenate((mean, np.zeros(max(features, 2 * len(mean)) - len(mean))))
        # add.at adds values one by one, so the sums do not depend on the blocks.
        np.add.at(mean, block.indices, block.values)
    if mean is not None:
        mean = mean[:features] / max(rows, 1)
    return Extent(rows, features, values, largest, mean)


def check_data(blocks: Blocks, gamma: float | None = None, *, order: int = 2) -> BoundReport:
    """Check data against itself, before any training, since support vectors will be rows of the data.

    Parameters
    ----------
    blocks : callable
        Returns a new iterable over the same blocks of rows; called up to three times.
    gamma : float, optional
        Without it, rows inside are not counted.
    order : int
        Order of the expansion, 0 to 16.
    """
    data = extent(blocks())
    if not data.rows:
        raise OptionError("no rows to check")
    centers = [np.zeros(0)] if data.mean is None else [np.zeros(0), data.mean]
    norms = [data.max_squared_norm]
    for center in centers[1:]:
        norms.append(max(float(centered_squared_norms(block, center).max()) for block in _filled(blocks())))
    inside: list[int | None] = [None if gamma is None else data.rows for _ in norms]
    if gamma is not None and not all(_holds(gamma, norm, order) for norm in norms):
        counts = [0] * len(norms)
        for block in _filled(blocks()):
            for i, center in enumerate(centers):
                squares = centered_squared_norms(block, center)
                counts[i] += int(np.count_nonzero(inside_bound(gamma, norms[i], squares, order=order)))
        inside = list(counts)
    bounds = [
        Bound(gamma_max(norm, order=order), norm, count, None if count is None else percent(count, data.rows))
        for norm, count in zip(norms, inside, strict=True)
    ]
    centered = bounds[1] if len(bounds) > 1 else None
    return BoundReport(data.rows, data.features, gamma, (order,), bounds[0], centered)


def check_model(
    blocks: Iterable[Rows],
    model: Model,
    *,
    order: int | None = None,
    tolerance: float | None = None,
    threads: int = 1,
) -> BoundReport:
    """Check data against a model, in one pass.

    Parameters
    ----------
    blocks : iterable of Rows
    model : Model
        An exact RBF model is checked about the origin and about the mean of its support vectors, an
        approximated one about its own centers and for its own orders. Linear and polynomial models convert
        exactly. If the model has a certificate, certified rows are counted too.
    order : int, optional
        Order of the expansion of an exact model, 0 to 16 (default: 2).
    tolerance : float, optional
        A row is certified only if its error bound is at most this. Without it, certified rows are not counted
        for regression.
    threads : int

    Raises
    ------
    UnsupportedError
        The model has no expansion with such a bound.
    """
    if isinstance(model, KernelExpansion):
        kernel = model.kernel
        if kernel.kind == "linear" or (kernel.kind == "polynomial" and kernel.degree <= MAX_ORDER):
            seen = extent(blocks)
            return BoundReport(seen.rows, seen.features, exact=True)
        if kernel.kind != "rbf":
            raise UnsupportedError(
                f"the bound does not apply to the {kernel.kind} kernel", "it is for models with an RBF kernel"
            )
        order = 2 if order is None else order
        rows, features, found = _against(blocks, kernel.gamma, sv_centers(model.sv), order)
        centered = found[1] if len(found) > 1 else None
        return BoundReport(rows, features, kernel.gamma, (order,), found[0], centered)
    if order is not None:
        raise OptionError("an order is for exact models: an approximated model has its own")
    if not isinstance(model, PolynomialModel):
        raise UnsupportedError(
            f"{model.kind} models have no such bound",
            "it is for RBF models, and for models that approximate made of them",
        )
    rows = features = inside = 0
    regression = model.head.is_regression
    certified = 0 if certifies(model) and not (regression and tolerance is None) else None
    for block in _filled(blocks):
        rows += len(block)
        features = max(features, _width(block))
        if model.has_validity_bound:
            inside += int(np.count_nonzero(model.inside_bound(block)))
        if certified is not None:
            values, bounds = model.certified_values(block, threads=threads)
            certified += int(
                np.count_nonzero(certified_rows(model.head, values, bounds, tolerance=tolerance))
            )
    if not rows:
        raise OptionError("no rows to check")
    truncated = model.gamma > 0
    own = Bound(None, None, inside, percent(inside, rows)) if model.has_validity_bound else None
    return BoundReport(
        rows,
        features,
        model.gamma if truncated else None,
        tuple(np.unique(model.orders).tolist()) if truncated else (),
        own=own,
        exact=not truncated,
        certified=certified,
        regression=regression,
        approximated=True,
    )


def _against(
    blocks: Iterable[Rows], gamma: float, centers: list[tuple[FloatArray, float]], order: int
) -> tuple[int, int, list[Bound]]:
    """Return rows, features and the bounds about `centers`, each given with the support vectors' largest
    squared norm about it.
    """
    rows = features = 0
    largest = [0.0] * len(centers)
    inside = [0] * len(centers)
    for block in _filled(blocks):
        rows += len(block)
        features = max(features, _width(block))
        for i, (center, sv_squared) in enumerate(centers):
            squares = centered_squared_norms(block, center)
            largest[i] = max(largest[i], float(squares.max()))
            inside[i] += int(np.count_nonzero(inside_bound(gamma, sv_squared, squares, order=order)))
    if not rows:
        raise OptionError("no rows to check")
    bounds = [
        Bound(gamma_max(sv_squared, largest[i], order=order), largest[i], inside[i], percent(inside[i], rows))
        for i, (_, sv_squared) in enumerate(centers)
    ]
    return rows, features, bounds


def sv_centers(sv: Rows) -> list[tuple[FloatArray, float]]:
    """Return the centers about which an exact model can be expanded: origin and mean of the support vectors.

    Each is paired with the largest squared norm of the support vectors about it.
    """
    data = extent([sv])
    centers = [(np.zeros(0), data.max_squared_norm)]
    if data.mean is not None and len(sv):
        centers.append((data.mean, float(centered_squared_norms(sv, data.mean).max())))
    return centers


def _holds(gamma: float, squared_norm: float, order: int) -> bool:
    return bool(inside_bound(gamma, squared_norm, np.array([squared_norm]), order=order)[0])


def _width(block: Rows) -> int:
    """Return the number of columns in use; ``n_columns`` of a streamed block is that of all rows so far."""
    return int(block.indices.max()) + 1 if block.nnz else 0


def _filled(blocks: Iterable[Rows]) -> Iterator[Rows]:
    return (block for block in blocks if len(block))
