"""The plan of an approximation, made before anything is built: the cells, their centers and orders.

The degrees of a residual are known without its polynomial (:mod:`svmfast.methods.approximate.residual`), for
all orders at once. So a plan is tried by its certificates alone: centers by k-means on the rows that fit,
doubled until enough rows are certified or more cells stop helping. (Splitting only the cells with most open
rows was measured too: at the same number of cells it certified fewer rows than k-means over all of them.)

A center is the mean of the rows it was made from, and so nearer to them than to any other row; with a few
rows a cell the difference is large. So the rows that compare the plans are others than those that fit them,
and what a step certifies is measured on rows that did neither.
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
    """A center, the planning rows nearest to it, and how large the residual can be about it.

    Attributes
    ----------
    center : (d,) float64
    rows : (m,) int64
    squared : (m,) float64
        Their squared distances from the center.
    tails : tuple of p Tail
        Of order -1: all degrees.
    """

    center: FloatArray
    rows: NDArray[np.int64]
    squared: FloatArray
    tails: tuple[Tail, ...]

    def bounds(self, gamma: float, orders: Sequence[int]) -> FloatArray:
        """Return the ``(m, p)`` truncation bounds of its rows when function p has order ``orders[p]``."""
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
    """A plan that was tried: a number of cells, the largest order, and the share of held-out rows certified.

    Attributes
    ----------
    cells, order : int
    certified_percent : float
        As foreseen from the exact values and the bounds.
    operations : float
        Counted multiply-adds a row, those of the exact model for open rows included.
    numbers : int
        Stored, by polynomials, centers and certificate.
    """

    cells: int
    order: int
    certified_percent: float
    operations: float
    numbers: int


@dataclass(frozen=True, eq=False)
class Plan:
    """Cells with the order of every polynomial.

    Attributes
    ----------
    cells : tuple of Cell
    orders : (cells, p) int32
    certified_percent : float
        Of the rows that choose.
    operations : float
        Counted multiply-adds of such a row, those of the exact model for open rows included.
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
        Of the best plan; without one, of the plan that costs least.
    steps : tuple of Step
        All that were tried.
    late : bool
        Planning ended because its time was over.
    """

    best: Plan | None
    step: Step | None
    steps: tuple[Step, ...]
    late: bool
