"""How many cells, where, and of which order each: the plan of an approximation, before anything is built.

The degrees of a residual are known without its polynomial (:mod:`svmfast.solvers.residual`), for all orders
at once. So a plan is tried by its certificates alone: centres by k-means on the judge's rows, doubled until
enough rows are certified or more cells stop helping. (Splitting only the cells with most open rows was
measured too: at the same number of cells it certified fewer rows than k-means over all of them.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.certify import NEGLIGIBLE, last_degree
from svmfast.methods.judge import Judge
from svmfast.methods.terms import Terms
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.kernel_clusters import kmeans_centers
from svmfast.solvers.residual import Tail, residual_tail
from svmfast.threads import map_in_threads

# Sizes that are tried when the number of cells is free.
SIZES = (1, 5, 10, 20, 40, 80, 160, 320)
# More cells are worth trying while a doubling leaves at most this share of the open rows open.
PROGRESS = 0.92
# Below so many percent with ten cells or more no number of cells will do.
HOPELESS = 1.0
# Share of its bound that the error of an expansion of order 0, 1, 2 and more may take up, on the safe side:
# a row is foreseen as certified when its exact value exceeds bound and error.
ERROR_SHARE = (0.9, 0.4, 0.05)
# How much more than its cost an open row may count, to reach the target: see Plan.chosen.
PRICES = (1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, math.inf)


@dataclass(frozen=True, eq=False)
class Cell:
    """A centre, the judge's rows nearest to it, and how large the residual can be about it.

    Attributes
    ----------
    centre : (d,) float64
    rows : (m,) int64
    squared : (m,) float64
        Their squared distances from the centre.
    tails : tuple of p Tail
        Of order -1: all degrees.
    """

    centre: FloatArray
    rows: NDArray[np.int64]
    squared: FloatArray
    tails: tuple[Tail, ...]

    def bounds(self, gamma: float, orders: Sequence[int]) -> FloatArray:
        """Return the ``(m, p)`` truncation bounds when function p has order ``orders[p]``."""
        top = len(self.tails[0].degrees) - 1 if self.tails else 0
        r = np.sqrt(self.squared)
        powers = r[:, None] ** np.arange(top + 2)
        damped = np.exp(-gamma * self.squared)[:, None] * powers[:, : top + 1]
        out = np.empty((len(self.rows), len(self.tails)))
        for p, (tail, order) in enumerate(zip(self.tails, orders, strict=True)):
            out[:, p] = damped[:, order + 1 :] @ tail.degrees[order + 1 :] + tail.beyond * powers[:, top + 1]
        return out


@dataclass(frozen=True)
class Step:
    """What was tried: so many cells of at most this order certify this share of the judge's rows."""

    cells: int
    order: int
    certified_percent: float
    operations: float


@dataclass(frozen=True, eq=False)
class Plan:
    """Cells with the order of every polynomial.

    Attributes
    ----------
    cells : tuple of Cell
    orders : (cells, p) int32
    certified_percent : float
        Of the judge's rows.
    operations : float
        Counted multiply-adds a row, those of the exact model for open rows included.
    steps : tuple of Step
        The way here.
    """

    cells: tuple[Cell, ...]
    orders: NDArray[np.int32]
    certified_percent: float
    operations: float
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Costs:
    """Counted multiply-adds: of one polynomial (order, cells), of finding the cell, of the exact model."""

    polynomial: Callable[[int, int], float]
    routing: Callable[[int], float]
    exact: float


class Planner:
    """Tries numbers of cells and orders for one model.

    Parameters
    ----------
    terms : Terms
    gamma : float
    judge : Judge
    highest : int
        No polynomial has a higher order.
    fixed : bool
        Every polynomial has just this order.
    target : float
        Share of the judge's rows to certify, 0 to 1.
    by_row_norms : bool
        Bound by row norms only (:func:`svmfast.solvers.residual.residual_tail`).
    """

    def __init__(
        self,
        terms: Terms,
        gamma: float,
        judge: Judge,
        costs: Costs,
        *,
        highest: int,
        fixed: bool,
        target: float,
        by_row_norms: bool = False,
        seed: int = 0,
        threads: int = 1,
        progress: Progress = silent,
    ) -> None:
        self.terms, self.gamma, self.judge, self.costs = terms, gamma, judge, costs
        self.highest, self.fixed, self.target = highest, fixed, target
        self.by_row_norms, self.seed, self.threads, self.progress = by_row_norms, seed, threads, progress

    def plan(self, centre: FloatArray, cells: int | None, allowed: Callable[[int, int], bool]) -> Plan:
        """Return the plan for `cells` cells, or (None) for as many as it takes.

        Parameters
        ----------
        centre : (d,) float64
            Of a single cell.
        cells : int or None
        allowed : callable
            Whether so many cells of at most this order may be made at all.
        """
        steps: list[Step] = []
        best: Plan | None = None
        open_before = math.inf
        for size in SIZES if cells is None else (cells,):
            if not allowed(size, self.lowest):
                break
            highest = max(k for k in range(self.lowest, self.highest + 1) if allowed(size, k))
            made = self.cells(centre[None, :] if size == 1 else self.centres(size))
            plan = self.chosen(made, highest)
            steps.append(
                Step(len(made), int(plan.orders.max(initial=0)), plan.certified_percent, plan.operations)
            )
            reached = plan.certified_percent >= 100 * self.target
            if best is None or reached or plan.operations < best.operations:
                best = plan
            still_open = 100 - plan.certified_percent
            hopeless = size >= 10 and plan.certified_percent < HOPELESS
            stuck = size >= 20 and still_open > PROGRESS * open_before
            if reached or len(made) < size or hopeless or stuck:
                break
            open_before = still_open
        assert best is not None, "one cell of the lowest order is always allowed"
        return Plan(best.cells, best.orders, best.certified_percent, best.operations, tuple(steps))

    @property
    def lowest(self) -> int:
        """The lowest order that may be chosen."""
        return self.highest if self.fixed else 0

    def centres(self, size: int) -> FloatArray:
        """Return at most `size` centres of the judge's rows."""
        return kmeans_centers(Rows.from_dense(self.judge.points), size, seed=self.seed)

    def cells(self, centres: FloatArray) -> tuple[Cell, ...]:
        """Return the cells about `centres`, without those that are nearest to no row."""
        nearest = _nearest(self.judge.points, centres)
        order = np.argsort(nearest, kind="stable")
        start = np.searchsorted(nearest[order], np.arange(len(centres) + 1))
        filled = [c for c in range(len(centres)) if start[c + 1] > start[c] or len(centres) == 1]
        groups = [order[start[c] : start[c + 1]] for c in filled]
        squared = [
            self.judge.squared_distances(rows, centres[c]) for c, rows in zip(filled, groups, strict=True)
        ]
        reaches = [float(np.sqrt(np.quantile(s, 0.95))) if len(s) else 0.0 for s in squared]
        top = max(last_degree(self.terms, self.gamma, reach, self.highest) for reach in reaches)
        done = 0

        def tails(cell: tuple[int, float], threads: int) -> tuple[Tail, ...]:
            nonlocal done
            c, reach = cell
            found = tuple(
                residual_tail(
                    self.terms.points_of(p),
                    self.terms.beta[p],
                    self.gamma,
                    centres[c],
                    self.highest if self.fixed else -1,
                    top=top,
                    reach=reach,
                    negligible=NEGLIGIBLE,
                    by_row_norms=self.by_row_norms,
                    threads=threads,
                )
                for p in range(self.terms.n_functions)
            )
            done += 1
            self.progress(done, len(filled), f"certify {len(filled)} cell{'s' * (len(filled) != 1)}")
            return found

        if len(filled) > 1 and self.threads > 1:
            all_tails = map_in_threads(
                lambda cell: tails(cell, 1), zip(filled, reaches, strict=True), self.threads
            )
        else:
            all_tails = [tails(cell, self.threads) for cell in zip(filled, reaches, strict=True)]
        return tuple(
            Cell(np.ascontiguousarray(centres[c]), rows, s, t)
            for c, rows, s, t in zip(filled, groups, squared, all_tails, strict=True)
        )

    def chosen(self, cells: tuple[Cell, ...], highest: int) -> Plan:
        """Choose every polynomial's order: the cheapest ones that reach the target, else the cheapest.

        A cell weighs its polynomials against what the exact model costs on the rows left open. That price is
        raised until enough rows are certified; where no price is high enough, it stays the true one.
        """
        p, n = self.terms.n_functions, len(self.judge)
        routing = self.costs.routing(len(cells))
        orders = range(self.lowest, highest + 1)
        flags = [{k: self._certified(cell, [k] * p) for k in orders} for cell in cells]

        def at(price: float) -> tuple[list[int], float, float]:
            found, certified, operations = [], 0, 0.0
            for cell, flag in zip(cells, flags, strict=True):
                m = len(cell.rows)

                def cost(
                    k: int, m: int = m, flag: dict[int, NDArray[np.bool_]] = flag
                ) -> tuple[float, float]:
                    still_open = m - int(flag[k].sum())
                    own = max(m, 1) * p * self.costs.polynomial(k, len(cells))
                    if math.isinf(price):
                        return still_open, own
                    return own + still_open * price * self.costs.exact, own

                best = min(orders, key=cost)
                found.append(best)
                certified += int(flag[best].sum())
                operations += cost(best)[1]
            share = certified / n if n else 1.0
            return found, share, operations / max(n, 1) + routing + (1 - share) * self.costs.exact

        true_price = at(PRICES[0])
        found = next((tried for tried in map(at, PRICES) if tried[1] >= self.target), true_price)
        each = np.empty((len(cells), p), dtype=np.int32)
        for c, (cell, k, flag) in enumerate(zip(cells, found[0], flags, strict=True)):
            each[c] = k if self.fixed else self._thinned(cell, k, flag[k])
        return Plan(cells, each, 100 * found[1], found[2], ())

    def _certified(self, cell: Cell, orders: Sequence[int]) -> NDArray[np.bool_]:
        allowance = np.array([1 + ERROR_SHARE[min(order, len(ERROR_SHARE) - 1)] for order in orders])
        return self.judge.certified(cell.rows, cell.bounds(self.gamma, orders) * allowance)

    def _thinned(self, cell: Cell, order: int, certified: NDArray[np.bool_]) -> list[int]:
        """Lower the order of each pair as far as no certified row is lost.

        A pair whose sign is certain all over the cell, or that cannot matter there, needs little: order 0 is
        one number, its sign.
        """
        p = self.terms.n_functions
        orders = [order] * p
        if p == 1 or not certified.any():
            return orders if certified.any() or p == 1 else [0] * p
        for q in range(p):
            for lower in range(order):
                trial = [*orders[:q], lower, *orders[q + 1 :]]
                if (self._certified(cell, trial) >= certified).all():
                    orders = trial
                    break
        return orders


def _nearest(points: FloatArray, centres: FloatArray) -> NDArray[np.int64]:
    if len(centres) == 1:
        return np.zeros(len(points), dtype=np.int64)
    squares = np.einsum("ij,ij->i", centres, centres)
    parts = [
        (squares - 2 * points[s : s + 4096] @ centres.T).argmin(axis=1) for s in range(0, len(points), 4096)
    ]
    nearest: NDArray[np.int64] = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    return nearest
