"""The search for a plan: more cells and higher orders until enough rows are certified or more do not help."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from svmfast.methods.approximate.cell_maker import CellMaker, OutOfTimeError, nearest_center
from svmfast.methods.approximate.cells import Cell, Found, Plan, Step
from svmfast.methods.approximate.certification_sample import CertificationSample
from svmfast.methods.approximate.costs import Costs
from svmfast.methods.approximate.order_choice import OrderChoice, numbers_of, with_error
from svmfast.rows import FloatArray

# Numbers of cells that are tried if the number is not given.
SIZES = (1, 5, 10, 20, 40, 80, 160, 320)
# More cells are tried as long as the last step left at most this share of the open rows open.
STALLED = 0.92
# If ten or more cells certify less than this percentage, the search ends; five if order 2 costs too much.
HOPELESS = 1.0
# Fitting rows per cell if the number of cells is not given: a center of fewer rows does not represent others.
ROWS_A_CELL = 10


class Planner:
    """Tries numbers of cells and orders for one model.

    Parameters
    ----------
    maker : CellMaker
    held_out : CertificationSample
        Rows that are used neither for fitting nor for choosing.
    costs : Costs
    target : float
        Share of the rows to certify, 0 to 1.
    """

    def __init__(
        self, maker: CellMaker, held_out: CertificationSample, costs: Costs, *, target: float
    ) -> None:
        self.maker, self.held_out, self.costs, self.target = maker, held_out, costs, target
        self._features, self._functions = len(maker.terms.features), maker.terms.n_functions

    def plan(self, center: FloatArray, cells: int | None) -> Found:
        """Return the plan for `cells` cells.

        Parameters
        ----------
        center : (d,) float64
            The center to use if there is a single cell.
        cells : int or None
            None: as many as needed.
        """
        tried: list[tuple[Plan, Step]] = []
        best: Plan | None = None
        open_before = math.inf
        late = False
        before: tuple[Cell, ...] = ()
        sizes = self._sizes() if cells is None else [cells]
        for size, following in zip(sizes, [*sizes[1:], None], strict=True):
            if not self._is_allowed(size, self.maker.lowest):
                break
            try:
                made = self.maker.cells(center[None, :] if size == 1 else self.maker.centers(size))
            except OutOfTimeError:
                late = True
                break
            plan = self.chosen(made, size)
            worth = self.costs.worth(self._numbers(plan), plan.operations)
            tried.append((plan, replace(self.step(plan), worth=worth)))
            reached = plan.certified_percent >= 100 * self.target
            if worth and (best is None or reached or plan.operations < best.operations):
                best = plan
            low = self._highest(size) < min(2, self.maker.highest)
            if reached or len(made) < size or _is_hopeless(size, plan, open_before, low=low):
                break
            if following is not None and before and self._lacks_orders(before, made, size, following):
                break
            open_before, before = 100 - plan.certified_percent, made
        steps = tuple(replace(step, chosen=plan is best) for plan, step in tried)
        of_best = next((step for step in steps if step.chosen), None)
        least = min(steps, key=lambda step: step.operations, default=None)
        return Found(best, of_best or least, steps, late)

    def chosen(self, cells: tuple[Cell, ...], size: int) -> Plan:
        """Return the plan of these cells with the best orders that are allowed for `size` cells."""
        return self._with_orders(cells, self._highest(size))

    def _highest(self, size: int) -> int:
        orders = range(self.maker.lowest, self.maker.highest + 1)
        return max((k for k in orders if self._is_allowed(size, k)), default=self.maker.lowest)

    def _with_orders(self, cells: tuple[Cell, ...], highest: int) -> Plan:
        allowed = range(self.maker.lowest, highest + 1)
        choice = OrderChoice(cells, allowed, self.maker.gamma, self._functions, self.maker.sample, self.costs)
        return choice.plan(self.target)

    def _lacks_orders(
        self, before: tuple[Cell, ...], cells: tuple[Cell, ...], size: int, following: int
    ) -> bool:
        """Return whether more cells allow only lower orders, with which `cells` hardly exceed `before`.

        The certificates of the cells are the slowest part of planning, and cover the lower orders too.
        """
        highest = self._highest(following)
        if highest == self._highest(size):
            return False
        earlier, now = (100 - self._with_orders(c, highest).certified_percent for c in (before, cells))
        return now > STALLED * earlier

    def step(self, plan: Plan) -> Step:
        """Return the share of the held-out rows that a plan certifies, and its cost on them."""
        held, p, n_cells = self.held_out, self._functions, len(plan.cells)
        nearest = nearest_center(held.points, np.array([cell.center for cell in plan.cells]))
        certified, operations = 0, 0.0
        for c, cell in enumerate(plan.cells):
            mine = np.flatnonzero(nearest == c)
            own = sum(self.costs.polynomial(int(order)) for order in plan.orders[c])
            operations += len(mine) * own
            if len(mine) and p:
                orders = plan.orders[c].tolist()
                squared = held.squared_distances(mine, cell.center)
                bounds = cell.bounds_at(squared, self.maker.gamma, orders) * with_error(orders)
                certified += int(held.certified(mine, bounds).sum())
            else:
                certified += len(mine)
        n = max(1, len(held))
        share = certified / n if len(held) else 1.0
        total = operations / n + self.costs.each_row(n_cells) + (1 - share) * self.costs.exact
        highest = int(plan.orders.max(initial=0))
        return Step(n_cells, highest, 100 * share, total, self._numbers(plan))

    def _sizes(self) -> list[int]:
        most = int(np.count_nonzero(self.maker.sample.fitting)) // ROWS_A_CELL
        return [size for size in SIZES if size <= max(1, most)]

    def _numbers(self, plan: Plan) -> int:
        return numbers_of(plan.orders, self._features, self.costs)

    def _is_allowed(self, cells: int, order: int) -> bool:
        return self.costs.obstacle(cells, order) is None


def _is_hopeless(size: int, plan: Plan, open_before: float, *, low: bool) -> bool:
    """Return whether more cells are unlikely to help.

    `open_before` is the percentage of open rows in the last step; `low` says that order 2 costs too much.
    """
    too_few = size >= (5 if low else 10) and plan.certified_percent < HOPELESS
    return too_few or (size >= 20 and 100 - plan.certified_percent > STALLED * open_before)
