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

from svmfast.methods.approximate.certificate import NEGLIGIBLE, DualExpansion, last_degree
from svmfast.methods.approximate.costs import Costs
from svmfast.methods.approximate.sample import CertificationSample
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.kernel_clusters import kmeans_centers
from svmfast.solvers.residual import Tail, residual_tail
from svmfast.threads import map_with_threads


@dataclass(frozen=True, eq=False)
class Cell:
    """A center, the planning rows nearest to it, and bounds on the residual of an expansion about it.

    Attributes
    ----------
    center : (d,) float64
    rows : (m,) int64
        Indices of the rows.
    squared : (m,) float64
        Their squared distances from the center.
    tails : tuple of p Tail
        For order -1, which covers all degrees.
    """

    center: FloatArray
    rows: NDArray[np.int64]
    squared: FloatArray
    tails: tuple[Tail, ...]

    def bounds(self, gamma: float, orders: Sequence[int]) -> FloatArray:
        """Return the ``(m, p)`` truncation bounds of the cell's rows; function p has order ``orders[p]``."""
        return self.bounds_at(self.squared, gamma, orders)

    def bounds_at(self, squared: FloatArray, gamma: float, orders: Sequence[int]) -> FloatArray:
        """Return the ``(m, p)`` bounds of rows at these squared distances from the center."""
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


@dataclass(frozen=True)
class Step:
    """A plan that was tried, with the share of the held-out rows that it certifies.

    Attributes
    ----------
    cells, order : int
        Number of cells, and the largest order.
    certified_percent : float
        Predicted from the exact values and the bounds.
    operations : float
        Counted multiply-adds per row, including the exact model's for open rows.
    numbers : int
        Numbers that the polynomials, centers and certificate store.
    worth : bool
        Whether the plan may be chosen: the model's size does not grow by a larger factor than its speed.
    chosen : bool
    """

    cells: int
    order: int
    certified_percent: float
    operations: float
    numbers: int
    worth: bool = True
    chosen: bool = False


@dataclass(frozen=True, eq=False)
class Layout:
    """Cells with the order of every polynomial, ``(cells, p)``, and the results on the choosing rows.

    `certified` is a share, 0 to 1; `operations` counts multiply-adds per row, including the exact model's for
    open rows.
    """

    cells: tuple[Cell, ...]
    orders: NDArray[np.int32]
    certified: float
    operations: float


class OutOfTimeError(Exception):
    """The time limit of planning has passed."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CellMaker:
    """Makes the cells of one model: the rows nearest to each center, and bounds for orders lowest to highest.

    `sample` has the rows for fitting and choosing. Cells that are not finished at `deadline`, in the time of
    ``time.monotonic``, raise OutOfTimeError.
    """

    terms: DualExpansion
    gamma: float
    sample: CertificationSample
    lowest: int
    highest: int
    by_row_norms: bool = False
    seed: int = 0
    deadline: float = math.inf
    threads: int = 1
    progress: Progress = silent

    def centers(self, size: int) -> FloatArray:
        """Return at most `size` centers, found by k-means on the fitting rows."""
        fitting = Rows.from_dense(self.sample.points[self.sample.fitting])
        return kmeans_centers(fitting, size, seed=self.seed)

    def cells(self, centers: FloatArray) -> tuple[Cell, ...]:
        """Return the cells about `centers`, leaving out centers that are nearest to no row."""
        nearest = nearest_center(self.sample.points, centers)
        order = np.argsort(nearest, kind="stable")
        start = np.searchsorted(nearest[order], np.arange(len(centers) + 1))
        filled = [c for c in range(len(centers)) if start[c + 1] > start[c] or len(centers) == 1]
        groups = [order[start[c] : start[c + 1]] for c in filled]
        squared = [
            self.sample.squared_distances(rows, centers[c]) for c, rows in zip(filled, groups, strict=True)
        ]
        reaches = [float(np.sqrt(np.quantile(s, 0.95))) if len(s) else 0.0 for s in squared]
        top = max(last_degree(self.terms, self.gamma, reach, self.highest) for reach in reaches)
        done = 0

        def tails(cell: tuple[int, float], threads: int) -> tuple[Tail, ...]:
            nonlocal done
            center, reach = centers[cell[0]], cell[1]
            found = tuple(self._tail(p, center, top, reach, threads) for p in range(self.terms.n_functions))
            done += 1
            self.progress(done, len(filled), f"certify {len(filled)} cell{'s' * (len(filled) != 1)}")
            return found

        all_tails = map_with_threads(tails, zip(filled, reaches, strict=True), self.threads)
        return tuple(
            Cell(np.ascontiguousarray(centers[c]), rows, s, t)
            for c, rows, s, t in zip(filled, groups, squared, all_tails, strict=True)
        )

    def _tail(self, p: int, center: FloatArray, top: int, reach: float, threads: int) -> Tail:
        """Return function p's residual: for the only allowed order, otherwise for all orders at once."""
        return residual_tail(
            self.terms.points_of(p),
            self.terms.beta[p],
            self.gamma,
            center,
            self.highest if self.lowest == self.highest else -1,
            top=top,
            reach=reach,
            negligible=NEGLIGIBLE,
            by_row_norms=self.by_row_norms,
            tick=self._check_time,
            threads=threads,
        )

    def _check_time(self) -> None:
        if time.monotonic() > self.deadline:
            raise OutOfTimeError


def nearest_center(points: FloatArray, centers: FloatArray) -> NDArray[np.int64]:
    """Return the index of the center nearest to each of ``(n, d)`` points."""
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
    """Chooses the orders of the polynomials of given cells, each with the same number of functions."""

    def __init__(
        self,
        cells: tuple[Cell, ...],
        orders: range,
        gamma: float,
        functions: int,
        sample: CertificationSample,
        costs: Costs,
    ) -> None:
        self.cells, self.orders, self.gamma, self.functions = cells, orders, gamma, functions
        self.sample, self.costs = sample, costs
        self._certified = [{k: self._expected(cell, [k] * functions) for k in orders} for cell in cells]

    def layout(self, target: float) -> Layout:
        """Return the cheapest orders that certify a share `target` of the rows, or else the cheapest of all.

        The weight of an open row is raised until enough of the choosing rows are certified by polynomials
        that are worth their size. If no weight achieves that, the weight is 1.
        """
        cheapest = self.at(OPEN_ROW_WEIGHTS[0])
        found = next((o for o in map(self.at, OPEN_ROW_WEIGHTS) if self._is_enough(o, target)), cheapest)
        if len(self.orders) > 1:
            for c, (cell, flags) in enumerate(zip(self.cells, self._certified, strict=True)):
                k = int(found.orders[c].max(initial=self.orders.start))
                found.orders[c] = self._lowered(cell, k, flags[k])
        return found

    def at(self, weight: float) -> Layout:
        """Return each cell's cheapest order if an open row counts `weight` times its cost.

        Orders are fitted to the fitting rows, and certified rows are counted among the choosing rows. An
        infinite weight selects the order with the fewest open rows.
        """
        choosing = self.sample.choosing
        chooses = max(1, int(np.count_nonzero(choosing)))
        certified, operations = 0, 0.0
        orders = np.empty((len(self.cells), self.functions), dtype=np.int32)
        for c, (cell, flags) in enumerate(zip(self.cells, self._certified, strict=True)):
            best = self._cheapest(flags, self.sample.fitting[cell.rows], weight)
            mine = choosing[cell.rows]
            orders[c] = best
            certified += int(np.count_nonzero(flags[best] & mine))
            operations += int(np.count_nonzero(mine)) * self._polynomials(best)
        share = certified / chooses if choosing.any() else 1.0
        operations = operations / chooses + self.costs.each_row(len(self.cells))
        return Layout(self.cells, orders, share, operations + (1 - share) * self.costs.exact)

    def _cheapest(
        self, certified: dict[int, NDArray[np.bool_]], fits: NDArray[np.bool_], weight: float
    ) -> int:
        """Return the cell's order with the least cost of polynomials and open rows, on the fitting rows."""
        rows = int(np.count_nonzero(fits))

        def cost(order: int) -> tuple[float, float]:
            still_open = rows - int(np.count_nonzero(certified[order] & fits))
            own = self._polynomials(order)
            if math.isinf(weight):
                return still_open, own
            return max(rows, 1) * own + still_open * weight * self.costs.exact, own

        return min(self.orders, key=cost)

    def _polynomials(self, order: int) -> float:
        return self.functions * self.costs.polynomial(order)

    def _is_enough(self, found: Layout, target: float) -> bool:
        stored = numbers_of(found.orders, len(self.sample.terms.features), self.costs)
        return found.certified >= target and self.costs.worth(stored, found.operations)

    def _expected(self, cell: Cell, orders: Sequence[int]) -> NDArray[np.bool_]:
        bounds = cell.bounds(self.gamma, orders) * with_error(orders)
        return self.sample.certified(cell.rows, bounds)

    def _lowered(self, cell: Cell, order: int, certified: NDArray[np.bool_]) -> list[int]:
        """Lower the order of each pair as far as possible without losing a certified row.

        A pair whose sign is the same throughout the cell, or does not affect the label there, needs only
        order 0: a single number with the sign.
        """
        orders = [order] * self.functions
        if self.functions == 1 or not certified.any():
            return orders if certified.any() or self.functions == 1 else [0] * self.functions
        for q in range(self.functions):
            for lower in range(order):
                trial = [*orders[:q], lower, *orders[q + 1 :]]
                if (self._expected(cell, trial) >= certified).all():
                    orders = trial
                    break
        return orders


def with_error(orders: Sequence[int]) -> FloatArray:
    """Return, for each order, the sum of bound and expected error as a multiple of the bound."""
    return np.array([1 + ERROR_SHARE[min(order, len(ERROR_SHARE) - 1)] for order in orders])


def numbers_of(orders: NDArray[np.int32], features: int, costs: Costs) -> int:
    """Return how many numbers the orders ``(cells, p)`` store: centers, polynomials and certificate."""
    each = {int(order): costs.numbers(int(order)) for order in np.unique(orders)}
    return len(orders) * features + sum(each[int(order)] for order in orders.flat)
