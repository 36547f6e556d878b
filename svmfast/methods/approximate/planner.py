"""The search for a plan: cells doubled, orders raised, until enough rows are certified or no more help."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.approximate.cells import Cell, Costs, Found, Plan, Step
from svmfast.methods.approximate.certification_sample import CertificationSample
from svmfast.methods.approximate.certify import NEGLIGIBLE, last_degree
from svmfast.methods.approximate.dual_expansion import DualExpansion
from svmfast.methods.approximate.residual import Tail, residual_tail
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.kernel_clusters import kmeans_centers
from svmfast.threads import map_in_threads

# Sizes that are tried when the number of cells is free.
SIZES = (1, 5, 10, 20, 40, 80, 160, 320)
# More cells are worth trying while a doubling leaves at most this share of the open rows open.
STALLED = 0.92
# Below so many percent with ten cells or more no number of cells will do.
HOPELESS = 1.0
# Share of its bound that the error of an expansion of order 0, 1, 2 and more may take up, on the safe side:
# a row is foreseen as certified when its exact value exceeds bound and error.
ERROR_SHARE = (0.9, 0.4, 0.05)
# Rows that fit, for each cell, where the number of cells is free: of fewer a center says little of others.
ROWS_A_CELL = 10
# How much more than its cost an open row may count, to reach the target: see Plan.chosen.
OPEN_ROW_WEIGHTS = (1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, math.inf)


class OutOfTimeError(Exception):
    """The time that planning may take is over."""


class Planner:
    """Tries numbers of cells and orders for one model.

    Parameters
    ----------
    terms : DualExpansion
    gamma : float
    judge : CertificationSample
        The rows that fit and choose.
    held_out : CertificationSample
        The rows that neither fit nor choose.
    highest : int
        No polynomial has a higher order.
    fixed : bool
        Every polynomial has just this order.
    target : float
        Share of the rows to certify, 0 to 1.
    by_row_norms : bool
        Bound by row norms only (:func:`svmfast.methods.approximate.residual.residual_tail`).
    deadline : float
        By ``time.monotonic``: a number of cells that is not finished then is left out.
    """

    def __init__(
        self,
        terms: DualExpansion,
        gamma: float,
        judge: CertificationSample,
        held_out: CertificationSample,
        costs: Costs,
        *,
        highest: int,
        fixed: bool,
        target: float,
        by_row_norms: bool = False,
        seed: int = 0,
        deadline: float = math.inf,
        threads: int = 1,
        progress: Progress = silent,
    ) -> None:
        self.terms, self.gamma, self.judge, self.costs = terms, gamma, judge, costs
        self.held_out, self.deadline = held_out, deadline
        self.highest, self.fixed, self.target = highest, fixed, target
        self.by_row_norms, self.seed, self.threads, self.progress = by_row_norms, seed, threads, progress

    def plan(self, center: FloatArray, cells: int | None, allowed: Callable[[int, int], bool]) -> Found:
        """Return the plan for `cells` cells, or (None) for as many as it takes.

        Parameters
        ----------
        center : (d,) float64
            Of a single cell.
        cells : int or None
        allowed : callable
            Whether this many cells of at most this order are allowed.
        """
        tried: list[tuple[Plan, Step]] = []
        best: Plan | None = None
        open_before = math.inf
        late = False
        for size in self._sizes() if cells is None else (cells,):
            if not allowed(size, self.lowest):
                break
            highest = max(k for k in range(self.lowest, self.highest + 1) if allowed(size, k))
            try:
                made = self.cells(center[None, :] if size == 1 else self.centers(size))
            except OutOfTimeError:
                late = True
                break
            plan = self.chosen(made, highest)
            tried.append((plan, self.step(plan)))
            reached = plan.certified_percent >= 100 * self.target
            worth = self.costs.worth(self._numbers(plan.orders), plan.operations)
            if worth and (best is None or reached or plan.operations < best.operations):
                best = plan
            still_open = 100 - plan.certified_percent
            hopeless = size >= 10 and plan.certified_percent < HOPELESS
            stuck = size >= 20 and still_open > STALLED * open_before
            if reached or len(made) < size or hopeless or stuck:
                break
            open_before = still_open
        steps = tuple(step for _, step in tried)
        of_best = next((step for plan, step in tried if plan is best), None)
        least = min(steps, key=lambda step: step.operations, default=None)
        return Found(best, of_best or least, steps, late)

    def _sizes(self) -> list[int]:
        most = int(np.count_nonzero(self.judge.fitting)) // ROWS_A_CELL
        return [size for size in SIZES if size <= max(1, most)]

    def _numbers(self, orders: NDArray[np.int32]) -> int:
        each = {int(order): self.costs.numbers(int(order)) for order in np.unique(orders)}
        centers = len(orders) * len(self.terms.features)
        return centers + sum(each[int(order)] for order in orders.flat)

    def step(self, plan: Plan) -> Step:
        """Return the share of the held-out rows that a plan certifies, and its cost on them."""
        held, p, n_cells = self.held_out, self.terms.n_functions, len(plan.cells)
        nearest = _nearest(held.points, np.array([cell.center for cell in plan.cells]))
        certified, operations = 0, 0.0
        for c, cell in enumerate(plan.cells):
            mine = np.flatnonzero(nearest == c)
            own = sum(self.costs.polynomial(int(order), n_cells) for order in plan.orders[c])
            operations += len(mine) * own
            if len(mine) and p:
                orders = plan.orders[c].tolist()
                bounds = cell.bounds_at(held.squared_distances(mine, cell.center), self.gamma, orders)
                certified += int(held.certified(mine, bounds * _error_allowance(orders)).sum())
            else:
                certified += len(mine)
        n = max(1, len(held))
        share = certified / n if len(held) else 1.0
        total = operations / n + self.costs.each_row(n_cells) + (1 - share) * self.costs.exact
        highest = int(plan.orders.max(initial=0))
        return Step(n_cells, highest, 100 * share, total, self._numbers(plan.orders))

    @property
    def lowest(self) -> int:
        """The lowest order that may be chosen."""
        return self.highest if self.fixed else 0

    def centers(self, size: int) -> FloatArray:
        """Return at most `size` centers of the rows that fit."""
        fitting = Rows.from_dense(self.judge.points[self.judge.fitting])
        return kmeans_centers(fitting, size, seed=self.seed)

    def cells(self, centers: FloatArray) -> tuple[Cell, ...]:
        """Return the cells about `centers`, without those that are nearest to no row."""
        nearest = _nearest(self.judge.points, centers)
        order = np.argsort(nearest, kind="stable")
        start = np.searchsorted(nearest[order], np.arange(len(centers) + 1))
        filled = [c for c in range(len(centers)) if start[c + 1] > start[c] or len(centers) == 1]
        groups = [order[start[c] : start[c + 1]] for c in filled]
        squared = [
            self.judge.squared_distances(rows, centers[c]) for c, rows in zip(filled, groups, strict=True)
        ]
        reaches = [float(np.sqrt(np.quantile(s, 0.95))) if len(s) else 0.0 for s in squared]
        top = max(last_degree(self.terms, self.gamma, reach, self.highest) for reach in reaches)
        done = 0

        def tails(cell: tuple[int, float], threads: int) -> tuple[Tail, ...]:
            nonlocal done
            c, reach = cell
            found = tuple(
                self._tail(p, centers[c], top, reach, threads) for p in range(self.terms.n_functions)
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
            Cell(np.ascontiguousarray(centers[c]), rows, s, t)
            for c, rows, s, t in zip(filled, groups, squared, all_tails, strict=True)
        )

    def _tail(self, p: int, center: FloatArray, top: int, reach: float, threads: int) -> Tail:
        return residual_tail(
            self.terms.points_of(p),
            self.terms.beta[p],
            self.gamma,
            center,
            self.highest if self.fixed else -1,
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

    def chosen(self, cells: tuple[Cell, ...], highest: int) -> Plan:
        """Choose every polynomial's order: the cheapest ones that reach the target, else the cheapest.

        A cell weighs its polynomials against what the exact model costs on the rows left open, by the rows
        that fit. That price is raised until enough of the rows that choose are certified; where no price is
        high enough, or only one whose polynomials are not worth their size, it stays the true one.
        """
        p = self.terms.n_functions
        orders = range(self.lowest, highest + 1)
        flags = [{k: self._certified(cell, [k] * p) for k in orders} for cell in cells]
        fitting, choosing = self.judge.fitting, self.judge.choosing
        chooses = max(1, int(np.count_nonzero(choosing)))
        each_row = self.costs.each_row(len(cells))

        def at(price: float) -> tuple[list[int], float, float]:
            found, certified, operations = [], 0, 0.0
            for cell, flag in zip(cells, flags, strict=True):
                fits, judges = fitting[cell.rows], choosing[cell.rows]
                m = int(np.count_nonzero(fits))

                def own(k: int) -> float:
                    return p * self.costs.polynomial(k, len(cells))

                def cost(
                    k: int,
                    m: int = m,
                    flag: dict[int, NDArray[np.bool_]] = flag,
                    fits: NDArray[np.bool_] = fits,
                ) -> tuple[float, float]:
                    still_open = m - int(np.count_nonzero(flag[k] & fits))
                    if math.isinf(price):
                        return still_open, own(k)
                    return max(m, 1) * own(k) + still_open * price * self.costs.exact, own(k)

                best = min(orders, key=cost)
                found.append(best)
                certified += int(np.count_nonzero(flag[best] & judges))
                operations += int(np.count_nonzero(judges)) * own(best)
            share = certified / chooses if choosing.any() else 1.0
            return found, share, operations / chooses + each_row + (1 - share) * self.costs.exact

        def enough(tried: tuple[list[int], float, float]) -> bool:
            stored = self._numbers(np.repeat(np.array(tried[0], dtype=np.int32)[:, None], p, axis=1))
            return tried[1] >= self.target and self.costs.worth(stored, tried[2])

        true_price = at(OPEN_ROW_WEIGHTS[0])
        found = next((tried for tried in map(at, OPEN_ROW_WEIGHTS) if enough(tried)), true_price)
        each = np.empty((len(cells), p), dtype=np.int32)
        for c, (cell, k, flag) in enumerate(zip(cells, found[0], flags, strict=True)):
            each[c] = k if self.fixed else self._thinned(cell, k, flag[k])
        return Plan(cells, each, 100 * found[1], found[2])

    def _certified(self, cell: Cell, orders: Sequence[int]) -> NDArray[np.bool_]:
        return self.judge.certified(cell.rows, cell.bounds(self.gamma, orders) * _error_allowance(orders))

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


def _error_allowance(orders: Sequence[int]) -> FloatArray:
    return np.array([1 + ERROR_SHARE[min(order, len(ERROR_SHARE) - 1)] for order in orders])


def _nearest(points: FloatArray, centers: FloatArray) -> NDArray[np.int64]:
    if len(centers) == 1:
        return np.zeros(len(points), dtype=np.int64)
    squares = np.einsum("ij,ij->i", centers, centers)
    parts = [
        (squares - 2 * points[s : s + 4096] @ centers.T).argmin(axis=1) for s in range(0, len(points), 4096)
    ]
    nearest: NDArray[np.int64] = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    return nearest
