"""Stochastic gradient descent for kernel SVMs with a limit, the budget, on the number of support vectors.

    P(w, b) = lambda/2 ||w||^2 + 1/n sum_i loss(y_i, f(x_i))
    step t: eta_t = 1 / (lambda t); alpha *= 1 - 1/t; a row that violates the margin becomes a support vector;
            if there are then too many, two are merged, or one is removed or projected

Wang, Crammer and Vucetic, "Breaking the Curse of Kernelization" (JMLR 13, 2012); merging by table lookup:
Glasmachers and Qaadan, "Speeding Up Budgeted SGD SVM Training with Precomputed Golden Section Search" (2018).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast import _core
from svmfast.errors import OptionError
from svmfast.methods.budget.merge_table import merge_lookup
from svmfast.rows import FloatArray, Rows
from svmfast.solvers.arithmetic import instruction_set

#: Ways to keep the budget, with their numbers in the native core. Lookups use the precomputed table; gss is
#: golden section search to 0.01, gss-precise to 1e-10; remove and project are baselines without merging.
MAINTENANCE = {"lookup-wd": 0, "lookup-h": 1, "gss": 2, "gss-precise": 3, "remove": 4, "project": 5}
LOSSES = {"hinge": 0, "epsilon-insensitive": 1}


_AUDITED = ("gss", "lookup-h", "lookup-wd")


@dataclass(frozen=True)
class StepOptions:
    """Settings of a machine.

    Attributes
    ----------
    budget : int
        The most support vectors that are kept.
    gamma : float
        Parameter of the RBF kernel exp(-gamma ||x - z||^2).
    lambda_ : float
        Regularization, 1 / (n C).
    maintenance : str
        A key of :data:`MAINTENANCE`.
    loss : str
        A key of :data:`LOSSES`.
    epsilon : float
        Half the width of the insensitive tube.
    weights : (float, float)
        Weights of the losses of negative and positive rows; hinge loss only.
    bias : bool
        Give every row a constant feature 1, whose weight is the bias.
    audit : bool
        Evaluate every merge with all methods, and count how often they agree (slow).
    """

    budget: int
    gamma: float
    lambda_: float
    maintenance: str = "lookup-wd"
    loss: str = "hinge"
    epsilon: float = 0.1
    weights: tuple[float, float] = (1.0, 1.0)
    bias: bool = False
    audit: bool = False

    def __post_init__(self) -> None:
        if self.maintenance not in MAINTENANCE:
            raise OptionError(f"no budget maintenance '{self.maintenance}'; one of {', '.join(MAINTENANCE)}")
        if self.loss not in LOSSES:
            raise OptionError(f"no loss '{self.loss}'; one of {', '.join(LOSSES)}")
        if self.budget < 1:
            raise OptionError(f"a budget of {self.budget}; it must be at least 1")
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise OptionError(f"gamma is {self.gamma:g}; budgeted training needs a positive one")
        if not (np.isfinite(self.lambda_) and self.lambda_ > 0):
            raise OptionError(f"lambda is {self.lambda_:g}; it must be positive")


RowArrays = tuple[NDArray[np.int64], NDArray[np.int32], FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class TrainingBlock:
    """Rows with their ||x||^2 and their targets (+1 and -1, or values)."""

    rows: Rows
    norms: FloatArray
    targets: FloatArray

    def arrays(self) -> RowArrays:
        """Return the five arrays that the native core takes."""
        return self.rows.indptr, self.rows.indices, self.rows.values, self.norms, self.targets


@dataclass(frozen=True, eq=False)
class BudgetExpansion:
    """f(x) = sum_j coef_j K(vectors_j, x) + bias.

    Attributes
    ----------
    vectors : (m, columns) float64
    coef : (m,) float64
    bias : float
    """

    vectors: FloatArray
    coef: FloatArray
    bias: float


@dataclass(frozen=True)
class StepStatistics:
    """Counts of the steps so far.

    Attributes
    ----------
    support_vectors, steps, violations : int
        A violation is a step that added a support vector.
    maintained, merged : int
        Steps that exceeded the budget, and those of them that merged rather than removed or projected.
    degradation : float
        Sum of ||w' - w||^2 over all maintained steps.
    seconds, maintenance_seconds : float
        Time of the steps in this process, and the part of it spent on maintenance.
    """

    support_vectors: int
    steps: int
    violations: int
    maintained: int
    merged: int
    degradation: float
    seconds: float
    maintenance_seconds: float


@dataclass(frozen=True)
class MergeAudit:
    """A comparison of merging decisions with those of golden section search to 1e-10.

    Attributes
    ----------
    events, measured : int
        Merges, and those whose optimal weight degradation is above rounding error.
    agreement : dict of str to float
        Share of events in which the method chose the same partner, or one that is exactly as good.
    factor : dict of str to float
        Mean over `measured` of the method's weight degradation divided by the optimum.
    total_factor : dict of str to float
        Sum of the method's weight degradations divided by the sum of the optima.
    lookup_like_gss : float
        Share of events in which lookup-wd and gss chose the same partner.
    """

    events: int
    measured: int
    agreement: Mapping[str, float]
    factor: Mapping[str, float]
    total_factor: Mapping[str, float]
    lookup_like_gss: float


class BudgetedSgd:
    """One decision function in training.

    Parameters
    ----------
    columns : int
        Width of the rows; memory is about ``8 * columns * (budget + 1)`` bytes.
    options : StepOptions
    """

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
            *options.weights,
            options.bias,
            options.audit,
            merge_lookup(),
        )

    def steps(self, block: TrainingBlock, order: NDArray[np.int64]) -> None:
        """Take one step for each row ``order[0], order[1], ...`` of the block.

        The result does not depend on how the steps are divided into calls.
        """
        self._native.steps(*block.arrays(), order)

    def expansion(self) -> BudgetExpansion:
        """Return the current decision function."""
        return BudgetExpansion(*self._native.expansion())

    def statistics(self) -> StepStatistics:
        """Return the counts of the steps so far."""
        c = self._native.counters()
        seconds, maintenance = self._native.seconds()
        return StepStatistics(
            support_vectors=int(c[0]),
            steps=int(c[3]),
            violations=int(c[5]),
            maintained=int(c[6]),
            merged=int(c[7]),
            degradation=float(c[8]),
            seconds=seconds,
            maintenance_seconds=maintenance,
        )

    def merge_audit(self) -> MergeAudit:
        """Return the results of an audited run."""
        events, measured, *rest = self._native.audit_numbers().tolist()
        agree, factor, degradation = rest[0:3], rest[3:6], rest[6:9]
        optimum, same = rest[9:11]

        def shares(values: list[float], whole: float) -> dict[str, float]:
            return {name: value / whole for name, value in zip(_AUDITED, values, strict=True) if whole}

        return MergeAudit(
            int(events),
            int(measured),
            shares(agree, events),
            shares(factor, measured),
            shares(degradation, optimum),
            same / events if events else 0.0,
        )

    def save(self) -> dict[str, FloatArray]:
        """Return the whole state, from which a machine continues bit for bit."""
        names = ("vectors", "slots", "inverse", "counters")
        return dict(zip(names, self._native.save(), strict=True))

    def restore(self, state: Mapping[str, FloatArray]) -> None:
        """Restore a saved state.

        Raises
        ------
        OptionError
            The state was not saved by a machine with these options.
        """
        try:
            self._native.restore(
                *(np.ascontiguousarray(state[name]) for name in ("vectors", "slots", "inverse", "counters"))
            )
        except (KeyError, TypeError, ValueError) as error:
            raise OptionError("the saved state does not fit these options and data") from error


def step_rounding() -> str:
    """Return the kind of arithmetic, ``fused`` or ``plain``; steps of the same kind agree bit for bit.

    AVX2 and AVX-512 give the same bits; a processor without fused multiply-add gives different ones.
    """
    return "plain" if instruction_set() == "baseline" else "fused"
