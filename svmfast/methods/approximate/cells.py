"""The cells of a plan and the orders of their polynomials, before anything is built.

The residual of every order can be bounded without building the polynomial (:mod:`svmfast.solvers.residual`),
so a plan can be judged by its certificates alone.

The exact model answers open rows, those that are not certified, at a higher cost. For each cell the cost of
its polynomials is weighed against that of its open rows; a larger weight of open rows gives higher orders and
fewer open rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.approximate.certificate import NEGLIGIBLE, last_degree
from svmfast.methods.approximate.costs import Costs
from svmfast.methods.approximate.expansion import Expander
from svmfast.methods.approximate.sample import CertificationSample
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.kernel_clusters import kmeans_centers
from svmfast.solvers.residual import Tail, residual_tail
from svmfast.threads import map_with_threads


@dataclass(frozen=True, eq=False)
class Cell:
    """A center, the planning rows nearest to it, and bounds on the residual of an expansion about it."""

    center: FloatArray
    #: (m,) indices of the rows, and their squared distances from the center.
    rows: NDArray[np.int64]
    squared: FloatArray
    #: For each function, for order -1, which covers all degrees.
    tails: tuple[Tail, ...]

    def bounds(self, squared: FloatArray, gamma: float, orders: Sequence[int]) -> FloatArray:
        """The ``(m, p)`` truncation bounds of rows at these squared distances from the center."""
        top = len(self.tails[0].degrees) - 1 if self.tails else 0
        r = np.sqrt(squared)
        out = np.empty((len(squared), len(self.tails)))
        with np.errstate(over="ignore", invalid="ignore"):
            powers = r[:, None] ** np.arange(top + 2)
            damped = np.exp(-gamma * squared)[:, None] * powers[:, : top + 1]
            for p, (tail, order) in enumerate(zip(self.tails, orders, strict=True)):
                beyond = tail.beyond * powers[:, top + 1]
                out[:, p] = damped[:, order + 1 :] @ tail.degrees[order + 1 :] + beyond
        # Nothing is certified where a power of the distance is out of range.
        return np.where(np.isnan(out), np.inf, out)

    def certifies(
        self,
        sample: CertificationSample,
        rows: NDArray[np.int64],
        squared: FloatArray,
        gamma: float,
        orders: Sequence[int],
    ) -> NDArray[np.bool_]:
        """Whether each of these rows of `sample` is expected to be certified with these orders."""
        error = [1 + ERROR_SHARE[min(order, len(ERROR_SHARE) - 1)] for order in orders]
        return sample.certified(rows, self.bounds(squared, gamma, orders) * np.array(error))


@dataclass(frozen=True, eq=False)
class Layout:
    """Cells with the order of every polynomial, and the results on the choosing rows."""

    cells: tuple[Cell, ...]
    #: ``(cells, p)``.
    orders: NDArray[np.int32]
    #: A share, 0 to 1.
    certified: float
    #: Multiply-adds per row, including the exact model's for open rows.
    operations: float


class OutOfTimeError(Exception):
    """The time limit of planning has passed."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CellMaker:
    """Makes cells with bounds for orders lowest to highest; OutOfTimeError after `deadline` (monotonic)."""

    expander: Expander
    sample: CertificationSample
    lowest: int
    highest: int
    by_row_norms: bool = False
    seed: int = 0
    deadline: float = math.inf

    def centers(self, size: int) -> FloatArray:
        """Find at most `size` centers by k-means on the fitting rows."""
        fitting = Rows.from_dense(self.sample.points[self.sample.fitting])
        return kmeans_centers(fitting, size, seed=self.seed)

    def cells(self, centers: FloatArray) -> tuple[Cell, ...]:
        """Make the cells about `centers`, leaving out centers that are nearest to no row."""
        nearest = nearest_center(self.sample.points, centers)
        order = np.argsort(nearest, kind="stable")
        start = np.searchsorted(nearest[order], np.arange(len(centers) + 1))
        filled = [c for c in range(len(centers)) if start[c + 1] > start[c] or len(centers) == 1]
        groups = [order[start[c] : start[c + 1]] for c in filled]
        squared = [
            self.sample.squared_distances(rows, centers[c]) for c, rows in zip(filled, groups, strict=True)
        ]
        reaches = [float(np.sqrt(np.quantile(s, 0.95))) if len(s) else 0.0 for s in squared]
        terms, gamma = self.expander.terms, self.expander.model.kernel.gamma
        top = max(last_degree(terms, gamma, reach, self.highest) for reach in reaches)
        done = 0

        def tails(cell: tuple[int, float], threads: int) -> tuple[Tail, ...]:
            nonlocal done
            found = tuple(
                residual_tail(
                    terms.points_of(p),
                    terms.beta[p],
                    gamma,
                    centers[cell[0]],
                    # The only allowed order, or all orders at once.
                    self.highest if self.lowest == self.highest else -1,
                    top=top,
                    reach=cell[1],
                    negligible=NEGLIGIBLE,
                    by_row_norms=self.by_row_norms,
                    tick=self._check_time,
                    threads=threads,
                )
                for p in range(terms.n_functions)
            )
            done += 1
            what = f"certify {len(filled)} cell{'s' * (len(filled) != 1)}"
            self.expander.progress(done, len(filled), what)
            return found

        all_tails = map_with_threads(tails, zip(filled, reaches, strict=True), self.expander.threads)
        return tuple(
            Cell(np.ascontiguousarray(centers[c]), rows, s, t)
            for c, rows, s, t in zip(filled, groups, squared, all_tails, strict=True)
        )

    def _check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise OutOfTimeError


def nearest_center(points: FloatArray, centers: FloatArray) -> NDArray[np.int64]:
    """The index of the center nearest to each of ``(n, d)`` points."""
    if len(centers) == 1:
        return np.zeros(len(points), dtype=np.int64)
    squares = np.einsum("ij,ij->i", centers, centers)
    parts = [
        (squares - 2 * points[s : s + 4096] @ centers.T).argmin(axis=1) for s in range(0, len(points), 4096)
    ]
    nearest: NDArray[np.int64] = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    return nearest


# A safe estimate of the error of an expansion of order 0, 1, 2 or more, as a share of its bound: a row is
# expected to be certified if its exact value exceeds bound plus error.
ERROR_SHARE = (0.9, 0.4, 0.05)
# Weights of an open row, as multiples of its cost, that are tried in order to reach the target.
OPEN_ROW_WEIGHTS = (1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, math.inf)


class OrderChoice:
    """Chooses the orders of the polynomials of given cells, from a range, by cost on the rows of a sample."""

    def __init__(
        self, cells: tuple[Cell, ...], orders: range, sample: CertificationSample, costs: Costs
    ) -> None:
        self.cells, self.orders, self.sample, self.costs = cells, orders, sample, costs
        every = {k: [k] * costs.functions for k in orders}
        self._certified = [{k: self.expected(cell, every[k]) for k in orders} for cell in cells]

    def layout(self, target: float) -> Layout:
        """Find the cheapest orders that certify a share `target` of the rows; if none does, the cheapest of
        all.
        """
        cheapest = self.at(OPEN_ROW_WEIGHTS[0])
        found = next((o for o in map(self.at, OPEN_ROW_WEIGHTS) if self._is_enough(o, target)), cheapest)
        if len(self.orders) > 1:
            for c, (cell, flags) in enumerate(zip(self.cells, self._certified, strict=True)):
                k = int(found.orders[c].max(initial=self.orders.start))
                found.orders[c] = self._lowered(cell, k, flags[k])
        return found

    def at(self, weight: float) -> Layout:
        """Each cell's cheapest order by the fitting rows, if an open row counts `weight` times its cost."""
        choosing, costs = self.sample.choosing, self.costs
        chooses = max(1, int(np.count_nonzero(choosing)))
        certified, operations = 0, 0.0
        orders = np.empty((len(self.cells), costs.functions), dtype=np.int32)
        for c, (cell, flags) in enumerate(zip(self.cells, self._certified, strict=True)):
            best = self._cheapest(flags, self.sample.fitting[cell.rows], weight)
            mine = choosing[cell.rows]
            orders[c] = best
            certified += int(np.count_nonzero(flags[best] & mine))
            operations += int(np.count_nonzero(mine)) * (costs.functions * costs.polynomial(best))
        share = certified / chooses if choosing.any() else 1.0
        operations = operations / chooses + costs.each_row(len(self.cells))
        return Layout(self.cells, orders, share, operations + (1 - share) * costs.exact)

    def _cheapest(
        self, certified: dict[int, NDArray[np.bool_]], fits: NDArray[np.bool_], weight: float
    ) -> int:
        """The cell's order with the least cost of polynomials and open rows, on the fitting rows."""
        rows = int(np.count_nonzero(fits))

        def cost(order: int) -> tuple[float, float]:
            still_open = rows - int(np.count_nonzero(certified[order] & fits))
            own = self.costs.functions * self.costs.polynomial(order)
            if math.isinf(weight):
                return still_open, own
            return max(rows, 1) * own + still_open * weight * self.costs.exact, own

        return min(self.orders, key=cost)

    def _is_enough(self, found: Layout, target: float) -> bool:
        return found.certified >= target and self.costs.worth(
            self.costs.numbers(found.orders), found.operations
        )

    def expected(self, cell: Cell, orders: Sequence[int]) -> NDArray[np.bool_]:
        return cell.certifies(self.sample, cell.rows, cell.squared, self.costs.gamma, orders)

    def _lowered(self, cell: Cell, order: int, certified: NDArray[np.bool_]) -> list[int]:
        """Lower each pair's order as no certified row is lost; 0 where its sign is constant."""
        orders = [order] * self.costs.functions
        if len(orders) == 1:
            return orders
        if not certified.any():
            return [0] * len(orders)
        for q in range(len(orders)):
            for lower in range(order):
                trial = [*orders[:q], lower, *orders[q + 1 :]]
                if (self.expected(cell, trial) >= certified).all():
                    orders = trial
                    break
        return orders
