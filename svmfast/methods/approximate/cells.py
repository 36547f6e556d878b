"""The plan of an approximation, made before anything is built: the cells, their centers and orders.

The residual of every order can be bounded without building the polynomial
(:mod:`svmfast.methods.approximate.residual`), so a plan can be judged by its certificates alone. Centers come
from k-means on the fitting rows; their number doubles until enough rows are certified or more cells stop
helping. (Splitting only the cells with the most open rows certified fewer rows, in measurements, than k-means
over all rows with the same number of cells.)

A center is the mean of the rows from which it was made, and so is nearer to them than to other rows; with few
rows per cell the difference is large. Plans are therefore compared on rows that no center was fitted to, and
the share that a plan certifies is measured on rows that were used for neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.approximate.residual import Tail
from svmfast.rows import FloatArray


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
class Plan:
    """Cells with the order of every polynomial.

    Attributes
    ----------
    cells : tuple of Cell
    orders : (cells, p) int32
    certified_percent : float
        Share of the choosing rows.
    operations : float
        Counted multiply-adds per choosing row, including the exact model's for open rows.
    """

    cells: tuple[Cell, ...]
    orders: NDArray[np.int32]
    certified_percent: float
    operations: float


@dataclass(frozen=True, eq=False)
class Found:
    """The result of planning.

    Attributes
    ----------
    best : Plan or None
        None if no plan was worth its size, or none was finished in time.
    step : Step or None
        The step of the best plan; without one, that of the plan with the fewest multiply-adds.
    steps : tuple of Step
        All plans that were tried.
    late : bool
        Planning ended at the time limit.
    """

    best: Plan | None
    step: Step | None
    steps: tuple[Step, ...]
    late: bool
