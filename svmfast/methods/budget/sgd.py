"""Stochastic gradient descent for kernel SVMs with a limit, the budget, on the number of support vectors.

    P(w, b) = lambda/2 ||w||^2 + 1/n sum_i loss(y_i, f(x_i))
    step t: eta_t = 1 / (lambda t); alpha *= 1 - 1/t; a row that violates the margin becomes a support vector;
            if there are then too many, two are merged, or one is removed or projected

Wang, Crammer and Vucetic, "Breaking the Curse of Kernelization" (JMLR 13, 2012); merging by table lookup:
Glasmachers and Qaadan, "Speeding Up Budgeted SGD SVM Training with Precomputed Golden Section Search" (2018).
Two support vectors of the same sign with kernel value kappa, of which the first has the share m of the sum of
the coefficients, are merged into z = h x_i + (1 - h) x_j with

    s(h) = m kappa^((1-h)^2) + (1-m) kappa^(h^2),   h = argmax over [0, 1]
    wd   = m^2 + (1-m)^2 + 2 m (1-m) kappa - s(h)^2

and the weight degradation is (alpha_i + alpha_j)^2 wd.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.errors import OptionError
from svmfast.rows import FloatArray, IntArray, Rows

#: Ways to keep the budget, with their numbers in the native core. Lookups use the precomputed table; gss is
#: golden section search to 0.01, gss-precise to 1e-10; remove and project are baselines without merging.
MAINTENANCE = {"lookup-wd": 0, "lookup-h": 1, "gss": 2, "gss-precise": 3, "remove": 4, "project": 5}
LOSSES = {"hinge": 0, "epsilon-insensitive": 1}
#: Grid points per side and precision of h in the tables, as in the paper.
GRID = 400
PRECISION = 1e-10


@dataclass(frozen=True)
class StepOptions:
    #: The most support vectors that are kept.
    budget: int
    gamma: float
    #: Regularization, 1 / (n C).
    lambda_: float
    #: A key of :data:`MAINTENANCE`.
    maintenance: str = "lookup-wd"
    #: A key of :data:`LOSSES`.
    loss: str = "hinge"
    #: Half the width of the insensitive tube.
    epsilon: float = 0.1
    #: Weights of the losses of negative and positive rows; hinge loss only.
    weights: tuple[float, float] = (1.0, 1.0)
    #: Give every row a constant feature 1, whose weight is the bias.
    bias: bool = False

    def __post_init__(self) -> None:
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise OptionError(f"gamma is {self.gamma:g}; budgeted training needs a positive one")
        if not (np.isfinite(self.lambda_) and self.lambda_ > 0):
            raise OptionError(f"lambda is {self.lambda_:g}; it must be positive")


@dataclass(frozen=True, eq=False)
class TrainingBlock:
    """Rows with their ||x||^2 and their targets (+1 and -1, or values)."""

    rows: Rows
    norms: FloatArray
    targets: FloatArray


@dataclass(frozen=True, eq=False)
class BudgetExpansion:
    """f(x) = sum_j coef_j K(vectors_j, x) + bias."""

    #: (m, columns)
    vectors: FloatArray
    coef: FloatArray
    bias: float


class BudgetedSgd:
    """One decision function in training; its memory is about ``8 * columns * (budget + 1)`` bytes."""

    def __init__(self, columns: int, options: StepOptions) -> None:
        self.columns = columns
        self.options = options
        self._native = _core.BudgetedSgd(
            columns,
            options.budget,
            options.gamma,
            options.lambda_,
            MAINTENANCE[options.maintenance],
            LOSSES[options.loss],
            options.epsilon,
            options.weights,
            options.bias,
            *_merge_lookup(),
        )

    def steps(self, block: TrainingBlock, order: IntArray) -> None:
        """Take a step for each row ``order[0], order[1], ...``; the division into calls does not matter."""
        self._native.steps(block.rows, block.norms, block.targets, order)

    def expansion(self) -> BudgetExpansion:
        return BudgetExpansion(*self._native.expansion())

    def counts(self) -> tuple[int, int]:
        """Count the steps so far, and those of them that exceeded the budget."""
        return self._native.counts()


def merge_tables() -> tuple[FloatArray, FloatArray]:
    """Compute wd and h, both ``(GRID/2 + 1, GRID)``, on the lower half, m <= 1/2, of a grid over [0, 1]^2.

    Row i is m = i / GRID, column j is kappa = j / (GRID - 1).
    The other half would follow from h(m, kappa) = 1 - h(1-m, kappa) and wd(m, kappa) = wd(1-m, kappa), but is
    not needed: the first partner of a merge always has the smaller share. Below kappa = e^-2, s can have two
    modes; for m <= 1/2 the better one lies in [0, 1/2], the interval of the golden section search.
    """
    return _core.merge_tables(GRID, PRECISION)


@lru_cache(maxsize=1)
def _merge_lookup() -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Put the tables in the solver's form (budget.hpp); they are computed once per process, in 0.1 s."""
    wd, h = merge_tables()
    cells = GRID - 1
    kappa = np.arange(GRID) / cells
    length = np.empty_like(wd)
    length[1:] = np.sqrt(wd[1:]) / (np.arange(1, len(wd))[:, None] / GRID)
    # m -> 0: the part of the small vector outside the span of phi(x_j) and its derivative towards x_i.
    logarithm = np.log(np.maximum(kappa, 1e-300))
    length[0] = np.sqrt(np.maximum(0, 1 - kappa * kappa * (1 - 2 * logarithm)))
    angle = np.arcsin(np.minimum(length, 1)).astype(np.float32)
    least, most = angle.min(axis=0), angle.max(axis=0)
    lowest, highest = np.minimum(least[:-1], least[1:]), np.maximum(most[:-1], most[1:])
    first = (lowest <= highest[:, None]).argmax(axis=1)
    # Slightly lower, because rounding determines the cell of a kappa.
    return angle, h.astype(np.float32), (first / cells - 1e-6).astype(np.float32)
