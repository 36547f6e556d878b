"""The choice of the order of each polynomial, for given cells.

The exact model answers open rows, those that are not certified, at a higher cost. For each cell the cost of
its polynomials is weighed against that of its open rows; a larger weight of open rows gives higher orders and
fewer open rows.
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

# A safe estimate of the error of an expansion of order 0, 1, 2 or more, as a share of its bound: a row is
# expected to be certified if its exact value exceeds bound plus error.
ERROR_SHARE = (0.9, 0.4, 0.05)
# Weights of an open row, as multiples of its cost, that are tried in order to reach the target.
OPEN_ROW_WEIGHTS = (1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, math.inf)


@dataclass(frozen=True)
class Orders:
    """One order for each cell, and the results on the choosing rows.

    Attributes
    ----------
    of_cells : list of int
    certified : float
        Share of the rows, 0 to 1.
    operations : float
        Counted multiply-adds per row, including the exact model's for open rows.
    """

    of_cells: list[int]
    certified: float
    operations: float


class OrderChoice:
    """Chooses the orders of the polynomials of given cells.

    Parameters
    ----------
    cells : tuple of Cell
    orders : range
        The orders to choose from.
    gamma : float
    functions : int
        Number of polynomials in a cell.
    sample : CertificationSample
        The rows for fitting and choosing.
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
        self._certified = [{k: self._expected(cell, [k] * functions) for k in orders} for cell in cells]

    def plan(self, target: float) -> Plan:
        """Return the cheapest orders that certify a share `target` of the rows, or else the cheapest of all.

        The weight of an open row is raised until enough of the choosing rows are certified by polynomials
        that are worth their size. If no weight achieves that, the weight is 1.
        """
        cheapest = self.at(OPEN_ROW_WEIGHTS[0])
        found = next((o for o in map(self.at, OPEN_ROW_WEIGHTS) if self._is_enough(o, target)), cheapest)
        each = np.empty((len(self.cells), self.functions), dtype=np.int32)
        for c, (cell, k) in enumerate(zip(self.cells, found.of_cells, strict=True)):
            only = len(self.orders) == 1
            each[c] = k if only else self._lowered(cell, k, self._certified[c][k])
        return Plan(self.cells, each, 100 * found.certified, found.operations)

    def at(self, weight: float) -> Orders:
        """Return each cell's cheapest order if an open row counts `weight` times its cost.

        Orders are fitted to the fitting rows, and certified rows are counted among the choosing rows. An
        infinite weight selects the order with the fewest open rows.
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

    def _is_enough(self, orders: Orders, target: float) -> bool:
        each = np.repeat(np.array(orders.of_cells, dtype=np.int32)[:, None], self.functions, axis=1)
        stored = numbers_of(each, len(self.sample.terms.features), self.costs)
        return orders.certified >= target and self.costs.worth(stored, orders.operations)

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
    """Return how many numbers a plan stores: centers, polynomials and certificate.

    Parameters
    ----------
    orders : (cells, p) int32
    features : int
    costs : Costs
    """
    each = {int(order): costs.numbers(int(order)) for order in np.unique(orders)}
    return len(orders) * features + sum(each[int(order)] for order in orders.flat)
