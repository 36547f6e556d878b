"""Whether a truncated expansion is accurate on data: the extent of the data, and the rows inside the bound.

All functions process blocks of rows in bounded memory, and the division into blocks does not change the
results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from svmfast.certificate import MAX_ORDER, centered_squared_norms, gamma_max, inside_bound
from svmfast.errors import OptionError, UnsupportedError
from svmfast.figures import Figures, computed, figure
from svmfast.models.base import Model
from svmfast.models.certified import certified_rows
from svmfast.rows import FloatArray, Rows
from svmfast.score import percent
from svmfast.values import percentage

Blocks = Callable[[], Iterable[Rows]]
#: The most columns for which a mean is computed (one float64 each: 128 MiB). Wider data has no centered
#: bound.
WIDEST_MEAN = 1 << 24


@dataclass(frozen=True)
class ValidityBound(Figures):
    """The validity bound for an order about one center (:func:`svmfast.certificate.inside_bound`), on data.

    At order 2, `gamma_max` is ``1 / (4 max||x|| max||z||)``; None for a model that is already approximated,
    whose gamma is fixed. Rows inside are None if gamma is not known.
    """

    gamma_max: float | None = figure("Largest gamma for which every row is inside; null: any.")
    max_squared_norm: float | None = figure("Largest squared distance of a row from the center.")
    rows_inside: int | None = figure("Rows that are inside.", default=None)
    inside_percent: float | None = figure("The same in percent.", default=None)

    @computed.figure("Whether every row is inside.")
    def inside(self) -> bool | None:
        return None if self.inside_percent is None else self.inside_percent == 100

    def words(self, about: str, rows: int) -> str:
        """The bound in a line of the report."""
        parts = []
        if self.gamma_max is not None:
            parts.append(f"gamma_max {self.gamma_max:.6g}")
        if self.max_squared_norm is not None:
            parts.append(f"max||z||^2 {self.max_squared_norm:.6g} about {about}")
        if self.rows_inside is not None:
            parts.append(f"{self.rows_inside:,} of {rows:,} rows inside ({self.inside_percent:.2f}%)")
        return ", ".join(parts)


def _required_percent(share: float | None) -> float | None:
    return None if share is None else percentage(share)


@dataclass(frozen=True, repr=False)
class BoundCheck(Figures):
    """The result of a check of data against the bound."""

    rows: int = figure("Rows that were checked.")
    features: int = figure("Features of the rows: the largest index.")
    gamma: float | None = figure("Gamma of the kernel; null where it has none.", default=None)
    #: Of the expansion in question, or of an approximated model's polynomials, ascending; the lowest order of
    #: a cell counts. Empty if nothing is truncated.
    orders: tuple[int, ...] = figure("Degrees of the expansion.", default=())
    #: About the origin, the mean of the support vectors (of the data, if there is no model), and the centers
    #: of an approximated model: such a model has only `own`, and not even that if no bound is known.
    paper: ValidityBound | None = figure("The bound about the origin.", default=None)
    centered: ValidityBound | None = figure("The bound about the mean.", default=None)
    own: ValidityBound | None = figure("The bound of the model's own expansion.", default=None)
    exact: bool = figure(
        "The kernel is a polynomial itself: nothing was truncated.", key="exact_conversion", default=False
    )
    #: None without a certificate, and for regression without a tolerance.
    certified: int | None = figure(
        "Rows whose label is proven to be the exact model's; regression: value within the tolerance.",
        default=None,
    )
    regression: bool = False
    #: The model is already an expansion.
    approximated: bool = False
    #: Names for the report; `model` is None if no model was given.
    data: str = "the data"
    model: str | None = None
    #: The center of an exact model's expansion.
    center: Literal["auto", "origin", "mean"] = "auto"
    #: As a share: 0.99 is 99%.
    require_certified: float | None = figure(
        "The percentage that `require_certified` requires.",
        key="required_certified_percent",
        value=_required_percent,
        default=None,
    )
    tolerance: float | None = figure("The largest error that counts as certified.", default=None)

    @computed.figure("Percent of rows that are certified.")
    def certified_percent(self) -> float | None:
        return None if self.certified is None else percent(self.certified, self.rows)

    def inside(self, center: str = "auto") -> bool | None:
        """Whether every row is inside the bound about the origin, the mean, or (auto) either of them.

        None if this is unknown: without gamma, or for a model without a known bound.
        """
        if self.exact:
            return True
        if self.approximated:
            return None if self.own is None else self.own.inside
        asked = {"origin": [self.paper], "mean": [self.centered], "auto": [self.paper, self.centered]}[center]
        verdicts = [bound.inside for bound in asked if bound is not None]
        return any(verdicts) if verdicts and None not in verdicts else None

    @computed.figure("Whether every row is inside the bound; null where none applies.", key="inside")
    def _inside(self) -> bool | None:
        return self.inside(self.center)

    @computed.figure("Whether the required percentage is certified; null if none is required.", key="met")
    def _met(self) -> bool | None:
        return None if self.require_certified is None else self.verdict

    @property
    def verdict(self) -> bool | None:
        """Whether all rows are inside, or enough of them certified; None without a model or gamma."""
        if self.require_certified is None:
            return self.inside(self.center)
        assert self.certified_percent is not None, "bound_check ensures this"
        return bool(self.certified_percent >= percentage(self.require_certified))

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def _sentence(self) -> str | None:
        verdict = self.verdict
        if self.require_certified is not None:
            share = f"{percentage(self.require_certified):g}% of the rows are certified (`require_certified`)"
            return f"met: at least {share}" if verdict else f"not met: fewer than {share}"
        if self.exact:
            return "inside: the model converts exactly, no bound applies"
        words = {True: "inside: every row is within the bound", False: "outside: some rows are beyond it"}
        return None if verdict is None else words[verdict]

    def lines(self) -> list[str]:
        """The report as text."""
        out = [f"data        {self.data}: {self.rows:,} rows, {self.features:,} features"]
        if self.model is not None:
            gamma = "" if self.gamma is None else f": gamma {self.gamma:.6g}"
            out.append(f"model       {self.model}{gamma}")
        elif self.gamma is not None:
            out.append(f"gamma       {self.gamma:.6g}")
        if self.orders:
            first, last = self.orders[0], self.orders[-1]
            out.append(f"order       {first}" + f" to {last}, each cell by its lowest" * (first != last))
        abouts = {"paper": "the origin", "centered": "the mean", "own": "the model's centers"}
        for name, about in abouts.items():
            bound: ValidityBound | None = getattr(self, name)
            if bound is not None:
                out.append(f"{name:<11} {bound.words(about, self.rows)}")
        if self.certified_percent is not None:
            what = "labels are provably the exact model's"
            if self.regression:
                what = f"values are provably within {self.tolerance:g} of the exact model's"
            elif self.tolerance is not None:
                what += f", the values within {self.tolerance:g}"
            share = f"{self.certified:,} of {self.rows:,}"
            out.append(f"certified   {share} {what} ({self.certified_percent:.2f}%)")
        if self.paper is not None and self.centered is None:
            out.append("centered     not computed: the data is too wide to keep a mean")
        sentence = self._sentence()
        if sentence is not None:
            out.append(f"verdict     {sentence}")
        return out


@dataclass
class Extent:
    """The size of rows, the largest ``||x||^2``, and their mean, None beyond :data:`WIDEST_MEAN` columns."""

    rows: int = 0
    features: int = 0
    max_squared_norm: float = 0.0
    mean: FloatArray | None = field(default_factory=lambda: np.zeros(0))

    def centers(self, blocks: Iterable[Rows]) -> list[tuple[FloatArray, float]]:
        """The centers of an expansion, origin and mean, each with the largest squared norm about it."""
        centers = [(np.zeros(0), self.max_squared_norm)]
        if self.mean is not None and self.rows:
            norms = (float(centered_squared_norms(block, self.mean).max()) for block in _filled(blocks))
            centers.append((self.mean, max(norms)))
        return centers


def extent(blocks: Iterable[Rows]) -> Extent:
    """The extent of all rows of `blocks`."""
    found, mean = Extent(), np.zeros(0)
    for block in _filled(blocks):
        found.rows += len(block)
        found.max_squared_norm = max(found.max_squared_norm, float(block.squared_norms().max()))
        found.features = max(found.features, _width(block))
        if found.features > WIDEST_MEAN:
            continue
        if len(mean) < found.features:
            # Doubling makes the total cost of copying linear in the width.
            mean = np.concatenate((mean, np.zeros(max(found.features, 2 * len(mean)) - len(mean))))
        # add.at adds values one by one, so the sums do not depend on the blocks.
        np.add.at(mean, block.indices, block.values)
    narrow = found.features <= WIDEST_MEAN
    found.mean = mean[: found.features] / max(found.rows, 1) if narrow else None
    return found


def check_data(blocks: Blocks, gamma: float | None = None, *, order: int = 2) -> BoundCheck:
    """Check data against itself, before any training, since support vectors will be rows of the data.

    `blocks` returns a new iterable over the same blocks of rows; it is called up to three times. Without
    `gamma`, rows inside are not counted.
    """
    data = extent(blocks())
    if not data.rows:
        raise OptionError("no rows to check")
    centers, inside = data.centers(blocks()), None
    if gamma is not None:
        inside = [data.rows for _ in centers]
        norms = [np.array([squared]) for _, squared in centers]
        if not all(inside_bound(gamma, float(norm[0]), norm, order=order).all() for norm in norms):
            *_, inside = _inside(blocks(), gamma, centers, order)
    largest = [squared for _, squared in centers]
    return BoundCheck(data.rows, data.features, gamma, (order,), *_bounds(data.rows, order, largest, inside))


def check_model(
    blocks: Iterable[Rows],
    model: Model,
    *,
    order: int | None = None,
    tolerance: float | None = None,
    threads: int = 1,
) -> BoundCheck:
    """Check data against a model, in one pass; UnsupportedError if it has no expansion with such a bound.

    An exact RBF model is checked at an order (by default 2) about the origin and about the mean of its
    support vectors, an approximated one about its own centers and for its own orders. Linear and polynomial
    models convert exactly. If the model has a certificate, rows whose error bound is within the tolerance
    count as certified; without one, certified rows are not counted for regression.
    """
    if model.expansion is None:
        if order is not None:
            raise OptionError("an order is for exact models: an approximated model has its own")
        return _check_approximated(blocks, model, tolerance, threads)
    kernel, vectors = model.expansion.kernel, [model.expansion.sv]
    if kernel.kind == "linear" or (kernel.kind == "polynomial" and kernel.degree <= MAX_ORDER):
        seen = extent(blocks)
        return BoundCheck(seen.rows, seen.features, exact=True)
    if kernel.kind != "rbf":
        raise UnsupportedError(
            f"the bound does not apply to the {kernel.kind} kernel", "it is for models with an RBF kernel"
        )
    order = 2 if order is None else order
    centers = extent(vectors).centers(vectors)
    rows, features, largest, inside = _inside(blocks, kernel.gamma, centers, order)
    vectors_largest = [squared for _, squared in centers]
    found = _bounds(rows, order, largest, inside, vectors_largest)
    return BoundCheck(rows, features, kernel.gamma, (order,), *found)


def _check_approximated(
    blocks: Iterable[Rows], model: Model, tolerance: float | None, threads: int
) -> BoundCheck:
    if not model.has_validity_bound:
        raise UnsupportedError(
            f"{model.kind} models have no such bound",
            "it is for RBF models, and for models that approximate made of them",
        )
    rows = features = inside = 0
    regression = model.head.is_regression
    certified = 0 if model.certifies and not (regression and tolerance is None) else None
    for block in _filled(blocks):
        rows += len(block)
        features = max(features, _width(block))
        inside += int(np.count_nonzero(model.inside_bound(block)))
        if certified is not None:
            sure = certified_rows(
                model.head, *model.certified_values(block, threads=threads), tolerance=tolerance
            )
            certified += int(np.count_nonzero(sure))
    if not rows:
        raise OptionError("no rows to check")
    gamma, orders = model.truncation or (None, ())
    return BoundCheck(
        rows,
        features,
        gamma,
        orders,
        own=ValidityBound(None, None, inside, percent(inside, rows)),
        exact=gamma is None,
        certified=certified,
        regression=regression,
        approximated=True,
    )


def _bounds(
    rows: int,
    order: int,
    largest: Sequence[float],
    inside: Sequence[int] | None,
    vectors: Sequence[float] | None = None,
) -> tuple[ValidityBound, ValidityBound | None]:
    """The bounds about the origin and, if there is one, the mean; `vectors`: if not the rows."""
    both = zip(vectors or largest, largest, strict=True)
    bounds = [ValidityBound(gamma_max(one, row, order=order), row) for one, row in both]
    if inside is not None:
        pairs = zip(bounds, inside, strict=True)
        bounds = [replace(one, rows_inside=n, inside_percent=percent(n, rows)) for one, n in pairs]
    return bounds[0], (bounds[1] if len(bounds) > 1 else None)


def _inside(
    blocks: Iterable[Rows], gamma: float, centers: Sequence[tuple[FloatArray, float]], order: int
) -> tuple[int, int, list[float], list[int]]:
    """Rows, features, and for each center the largest squared distance of a row and the rows inside."""
    rows = features = 0
    largest, inside = [0.0] * len(centers), [0] * len(centers)
    for block in _filled(blocks):
        rows += len(block)
        features = max(features, _width(block))
        for i, (center, vectors_squared) in enumerate(centers):
            squares = centered_squared_norms(block, center)
            largest[i] = max(largest[i], float(squares.max()))
            inside[i] += int(np.count_nonzero(inside_bound(gamma, vectors_squared, squares, order=order)))
    if not rows:
        raise OptionError("no rows to check")
    return rows, features, largest, inside


def _width(block: Rows) -> int:
    """The number of columns in use; ``n_columns`` of a streamed block is that of all rows so far."""
    return int(block.indices.max()) + 1 if block.nnz else 0


def _filled(blocks: Iterable[Rows]) -> Iterator[Rows]:
    return (block for block in blocks if len(block))
