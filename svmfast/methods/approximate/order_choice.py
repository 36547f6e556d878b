"""The choice of every polynomial's order, for cells that are given.

The exact model answers the rows that stay open, at a cost. A cell weighs the cost of its polynomials against
that of its open rows; the more an open row counts, the higher the orders and the fewer rows stay open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.approximate.cells import Cell, Plan
from svmfast.methods.approximate.certification_sample import CertificationSample
from svmfast.methods.approximate.costs import Costs
from svmfast.rows import FloatArray

# Share of its bound that the error of an expansion of order 0, 1, 2 and more may take up, on the safe side:
# a row is foreseen as certified when its exact value exceeds bound and error.
ERROR_SHARE = (0.9, 0.4, 0.05)
# How much more than its cost an open row may count, to reach the target.
OPEN_ROW_WEIGHTS = (1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, math.inf)


@dataclass(frozen=True)
class Orders:
    """One order for each cell, and what follows for the rows that choose.

    Attributes
    ----------
    of_cells : list of int
    certified : float
        Share of the rows, 0 to 1.
    operations : float
        Counted multiply-adds a row, those of the exact model for open rows included.
    """

    of_cells: list[int]
    certified: float
    operations: float


class OrderChoice:
    """The orders of the polynomials of some cells.

    Parameters
    ----------
    cells : tuple of Cell
    orders : range
        Those to choose from.
    gamma : float
    functions : int
        Polynomials of a cell.
    sample : CertificationSample
        The rows that fit and choose.
    costs : Costs
    """

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
        self._certified = [{k: self._foreseen(cell, [k] * functions) for k in orders} for cell in cells]

    def plan(self, target: float) -> Plan:
        """Return the cheapest orders that certify a share `target` of the rows, else the cheapest.

        The weight of an open row is raised until enough of the rows that choose are certified. Where none is
        large enough, or only one whose polynomials are not worth their size, it stays 1.
        """
        cheapest = self.at(OPEN_ROW_WEIGHTS[0])
        found = next((o for o in map(self.at, OPEN_ROW_WEIGHTS) if self._is_enough(o, target)), cheapest)
        each = np.empty((len(self.cells), self.functions), dtype=np.int32)
        for c, (cell, k) in enumerate(zip(self.cells, found.of_cells, strict=True)):
            only = len(self.orders) == 1
            each[c] = k if only else self._lowered(cell, k, self._certified[c][k])
        return Plan(self.cells, each, 100 * found.certified, found.operations)

    def at(self, weight: float) -> Orders:
        """Return each cell's cheapest order where an open row counts `weight` times its cost.

        Orders are fitted to the rows that fit; what they certify is counted on the rows that choose. With an
        infinite weight the order with the fewest open rows is taken.
        """
        choosing = self.sample.choosing
        chooses = max(1, int(np.count_nonzero(choosing)))
        found, certified, operations = [], 0, 0.0
        for cell, flags in zip(self.cells, self._certified, strict=True):
            best = self._cheapest(flags, self.sample.fitting[cell.rows], weight)
            mine = choosing[cell.rows]
            found.append(best)
            certified += int(np.count_nonzero(flags[best] & mine))
            operations += int(np.count_nonzero(mine)) * self._polynomials(best)
        share = certified / chooses if choosing.any() else 1.0
        operations = operations / chooses + self.costs.each_row(len(self.cells))
        return Orders(found, share, operations + (1 - share) * self.costs.exact)

    def _cheapest(
        self, certified: dict[int, NDArray[np.bool_]], fits: NDArray[np.bool_], weight: float
    ) -> int:
        """Return a cell's order: the least cost of its polynomials and open rows, among the rows that fit."""
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

    def _is_enough(self, orders: Orders, target: float) -> bool:
        each = np.repeat(np.array(orders.of_cells, dtype=np.int32)[:, None], self.functions, axis=1)
        stored = numbers_of(each, len(self.sample.terms.features), self.costs)
        return orders.certified >= target and self.costs.worth(stored, orders.operations)

    def _foreseen(self, cell: Cell, orders: Sequence[int]) -> NDArray[np.bool_]:
        bounds = cell.bounds(self.gamma, orders) * with_error(orders)
        return self.sample.certified(cell.rows, bounds)

    def _lowered(self, cell: Cell, order: int, certified: NDArray[np.bool_]) -> list[int]:
        """Lower the order of each pair as far as no certified row is lost.

        A pair whose sign is certain all over the cell, or that cannot matter there, needs little: order 0 is
        one number, its sign.
        """
        orders = [order] * self.functions
        if self.functions == 1 or not certified.any():
            return orders if certified.any() or self.functions == 1 else [0] * self.functions
        for q in range(self.functions):
            for lower in range(order):
                trial = [*orders[:q], lower, *orders[q + 1 :]]
                if (self._foreseen(cell, trial) >= certified).all():
                    orders = trial
                    break
        return orders


def with_error(orders: Sequence[int]) -> FloatArray:
    """Return, for each order, the factor by which bound and error together exceed the bound."""
    return np.array([1 + ERROR_SHARE[min(order, len(ERROR_SHARE) - 1)] for order in orders])


def numbers_of(orders: NDArray[np.int32], features: int, costs: Costs) -> int:
    """Return the numbers that a plan stores: centers, polynomials and certificate.

    Parameters
    ----------
    orders : (cells, p) int32
    features : int
    costs : Costs
    """
    each = {int(order): costs.numbers(int(order)) for order in np.unique(orders)}
    return len(orders) * features + sum(each[int(order)] for order in orders.flat)
