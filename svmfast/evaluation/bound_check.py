"""Whether a truncated expansion is accurate on data: the largest norms, and the rows inside the bound.

All functions process blocks of rows in bounded memory, and the division into blocks does not change the
results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from svmfast.certificate import MAX_ORDER
from svmfast.errors import OptionError, UnsupportedError
from svmfast.figures import Figures, computed, figure
from svmfast.models.base import Model
from svmfast.models.certified import certified_rows
from svmfast.rows import FloatArray, Rows
from svmfast.score import percent
from svmfast.validity_bound import centered_squared_norms, gamma_max, inside_bound

Blocks = Callable[[], Iterable[Rows]]
#: The most columns for which a mean is computed (one float64 each: 128 MiB). Wider data has no centered
#: bound.
WIDEST_MEAN = 1 << 24


@dataclass(frozen=True)
class ValidityBound(Figures):
    """The validity bound for an order about one center, on data (:mod:`svmfast.validity_bound`).

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


@dataclass(frozen=True)
class BoundCheck(Figures):
    """The result of a check of data against the bound."""

    rows: int = figure("Rows that were checked.")
    features: int = figure("Features of the rows: the largest index.")
    gamma: float | None = figure("Gamma of the kernel; null where it has none.", default=None)
    #: Of the expansion in question, or of an approximated model's polynomials, ascending; the lowest order of
    #: a cell counts. Empty if nothing is truncated.
    orders: tuple[int, ...] = figure("Degrees of the expansion.", default=())
    #: About the origin and the mean of the support vectors (of the data, if there is no model), or about the
    #: centers of an approximated model, which has only `own`.
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
    #: Names for the report; `model` is None if no model was given.
    data: str = "the data"
    model: str | None = None
    #: The center of an exact model's expansion.
    center: Literal["auto", "origin", "mean"] = "auto"
    required_percent: float | None = figure(
        "The percentage that `require_certified` requires.", key="required_certified_percent", default=None
    )
    tolerance: float | None = figure("The largest error that counts as certified.", default=None)

    @computed.figure("Percent of rows that are certified.")
    def certified_percent(self) -> float | None:
        return None if self.certified is None else percent(self.certified, self.rows)

    @computed.figure("Whether every row is inside the bound; null where none applies.")
    def inside(self) -> bool | None:
        if self.exact:
            return True
        asked = {"origin": [self.paper], "mean": [self.centered], "auto": [self.paper, self.centered]}
        bounds = asked[self.center] if self.own is None else [self.own]
        verdicts = [bound.inside for bound in bounds if bound is not None]
        return any(verdicts) if verdicts and None not in verdicts else None

    @computed.figure("Whether the required percentage is certified; null if none is required.")
    def met(self) -> bool | None:
        if self.required_percent is None:
            return None
        assert self.certified_percent is not None, "bound_check ensures this"
        return bool(self.certified_percent >= self.required_percent)

    @property
    def verdict(self) -> bool | None:
        """Whether all rows are inside, or enough of them certified; None without a model or gamma."""
        found: bool | None = self.inside if self.required_percent is None else self.met
        return found

    def lines(self) -> list[str]:
        """The report as text."""
        found = {"data": f"{self.data}: {self.rows:,} rows, {self.features:,} features"}
        gamma = "" if self.gamma is None else f"{self.gamma:.6g}"
        if self.model is not None:
            found["model"] = self.model + (f": gamma {gamma}" if gamma else "")
        elif gamma:
            found["gamma"] = gamma
        if self.orders:
            first, last = self.orders[0], self.orders[-1]
            found["order"] = f"{first}" + f" to {last}, each cell by its lowest" * (first != last)
        if self.paper is not None:
            found["paper"] = self.paper.words("the origin", self.rows)
            found["centered"] = "not computed: the data is too wide to keep a mean"
        if self.centered is not None:
            found["centered"] = self.centered.words("the mean", self.rows)
        if self.own is not None:
            found["own"] = self.own.words("the model's centers", self.rows)
        if self.certified_percent is not None:
            what = "labels are provably the exact model's"
            if self.regression:
                what = f"values are provably within {self.tolerance:g} of the exact model's"
            elif self.tolerance is not None:
                what += f", the values within {self.tolerance:g}"
            share = f"{self.certified:,} of {self.rows:,}"
            found["certified"] = f"{share} {what} ({self.certified_percent:.2f}%)"
        if self.met is not None:
            share = f"{self.required_percent:g}% of the rows are certified (`require_certified`)"
            found["verdict"] = f"{'met: at least' if self.met else 'not met: fewer than'} {share}"
        elif self.exact:
            found["verdict"] = "inside: the model converts exactly, no bound applies"
        elif self.inside is not None:
            words = {True: "inside: every row is within the bound", False: "outside: some rows are beyond it"}
            found["verdict"] = words[self.inside]
        return [f"{name:<11} {words}" for name, words in found.items()]


def mean_of(blocks: Iterable[Rows]) -> FloatArray | None:
    """The mean of all rows, 0 if there are none, or None beyond :data:`WIDEST_MEAN` columns."""
    rows = width = 0
    total = np.zeros(0)
    for block in _filled(blocks):
        rows += len(block)
        width = max(width, _width(block))
        if width > WIDEST_MEAN:
            return None
        if len(total) < width:
            # Doubling makes the total cost of copying linear in the width.
            total = np.concatenate((total, np.zeros(max(width, 2 * len(total)) - len(total))))
        # add.at adds values one by one, so the sums do not depend on the blocks.
        np.add.at(total, block.indices, block.values)
    return total[:width] / max(rows, 1)


def _centers(blocks: Iterable[Rows]) -> list[FloatArray]:
    """The centers of an expansion: the origin and, unless the rows are too wide, their mean."""
    mean = mean_of(blocks)
    return [np.zeros(0), *([] if mean is None else [mean])]


def check_data(blocks: Blocks, gamma: float | None = None, *, order: int = 2) -> BoundCheck:
    """Check data against itself, before any training, since support vectors will be rows of the data.

    `blocks` returns a new iterable over the same blocks of rows; it is called up to three times. Without
    `gamma`, rows inside are not counted.
    """
    centers, inside = _centers(blocks()), None
    rows, features, largest, _ = _seen(blocks(), centers)
    if gamma is not None:
        *_, inside = _seen(blocks(), centers, largest, gamma, order)
    return BoundCheck(rows, features, gamma, (order,), *_bounds(rows, order, largest, largest, inside))


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
        return _check_approximated(blocks, model, tolerance, threads)
    kernel, vectors = model.expansion.kernel, [model.expansion.sv]
    if kernel.kind == "linear" or (kernel.kind == "polynomial" and kernel.degree <= MAX_ORDER):
        rows, features, *_ = _seen(blocks, [])
        return BoundCheck(rows, features, exact=True)
    if kernel.kind != "rbf":
        raise UnsupportedError(
            f"the bound does not apply to the {kernel.kind} kernel", "it is for models with an RBF kernel"
        )
    order, gamma, centers = 2 if order is None else order, kernel.gamma, _centers(vectors)
    *_, reach, _ = _seen(vectors, centers)
    rows, features, largest, inside = _seen(blocks, centers, reach, gamma, order)
    return BoundCheck(rows, features, gamma, (order,), *_bounds(rows, order, reach, largest, inside))


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
    )


def _bounds(
    rows: int, order: int, reach: Sequence[float], largest: Sequence[float], inside: Sequence[int] | None
) -> tuple[ValidityBound, ValidityBound | None]:
    """The bounds about the centers; `reach` and `largest` are squared norms of vectors and of rows."""
    if not rows:
        raise OptionError("no rows to check")
    bounds = [
        ValidityBound(gamma_max(*pair, order=order), pair[1]) for pair in zip(reach, largest, strict=True)
    ]
    if inside is not None:
        pairs = zip(bounds, inside, strict=True)
        bounds = [replace(one, rows_inside=n, inside_percent=percent(n, rows)) for one, n in pairs]
    return bounds[0], (bounds[1] if len(bounds) > 1 else None)


def _seen(
    blocks: Iterable[Rows],
    centers: Sequence[FloatArray],
    reach: Sequence[float] | None = None,
    gamma: float = 0.0,
    order: int = 2,
) -> tuple[int, int, list[float], list[int]]:
    """Rows, features, and for each center the largest squared distance of a row and the rows inside.

    `reach` are the largest squared distances of the support vectors, without which no rows are inside.
    """
    rows = features = 0
    largest, inside = [0.0] * len(centers), [0] * len(centers)
    for block in _filled(blocks):
        rows += len(block)
        features = max(features, _width(block))
        for i, center in enumerate(centers):
            squares = centered_squared_norms(block, center)
            largest[i] = max(largest[i], float(squares.max()))
            if reach is not None:
                inside[i] += int(np.count_nonzero(inside_bound(gamma, reach[i], squares, order=order)))
    return rows, features, largest, inside


def _width(block: Rows) -> int:
    """The number of columns in use; ``n_columns`` of a streamed block is that of all rows so far."""
    return int(block.indices.max()) + 1 if block.nnz else 0


def _filled(blocks: Iterable[Rows]) -> Iterator[Rows]:
    return (block for block in blocks if len(block))
