"""The pairs of classes of a budgeted training run, with their machines and state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import MemoryLimitError
from svmfast.methods.budget.options import BudgetTrainOptions
from svmfast.methods.budget.sgd import BudgetedSgd, BudgetExpansion, StepOptions
from svmfast.rows import FloatArray, Rows

Arrays = dict[str, NDArray[Any]]


def whole_number(value: Any, most: int) -> int:
    """Return a count from a checkpoint; raise ValueError unless it is an int from 0 to `most`."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError("not a count")
    return value


@dataclass(eq=False)
class Pair:
    """One decision function: class `first` against `second`, or the regression function (0, 0).

    Attributes
    ----------
    count : int
        Number of training rows.
    machine : BudgetedSgd
    best : BudgetExpansion or None
        The iterate with the smallest loss so far at the end of a pass, if that is to be returned.
    best_loss : float
        The loss of `best`.
    """

    #: Names of the arrays that :meth:`save` returns; the best iterate's are missing if there is none.
    STATE: ClassVar = ("vectors", "slots", "inverse", "counters", "best_vectors", "best_coef")

    first: int
    second: int
    count: int
    machine: BudgetedSgd
    best: BudgetExpansion | None = None
    best_loss: float = np.inf

    def save(self) -> Arrays:
        """Return the state of the machine, and the best iterate, as arrays."""
        arrays: Arrays = dict(self.machine.save())
        if self.best is not None:
            arrays["best_vectors"] = self.best.vectors
            arrays["best_coef"] = np.append(self.best.coef, [self.best.bias, self.best_loss])
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]], columns: int) -> None:
        """Restore what :meth:`save` returned; the vectors must have `columns` columns.

        Raises
        ------
        KeyError, TypeError, ValueError, IndexError, OverflowError
            The arrays are not the state of such a pair.
        """
        self.machine.restore({name: arrays[name] for name in self.STATE[:4]})
        if "best_coef" not in arrays:
            return
        stored = arrays["best_coef"]
        if stored.ndim != 1 or not np.isfinite(stored).all():
            raise ValueError("coefficients that are not a row of finite numbers")
        *coef, bias, loss = stored.tolist()
        vectors = np.ascontiguousarray(arrays["best_vectors"])
        shape = len(coef), columns
        if not np.isfinite(vectors).all() or vectors.dtype != np.float64 or vectors.shape != shape:
            raise ValueError("vectors and coefficients are inconsistent")
        self.best, self.best_loss = BudgetExpansion(vectors, np.array(coef, float), bias), loss


def make_pairs(
    options: BudgetTrainOptions,
    gamma: float,
    classes: FloatArray,
    counts: NDArray[np.int64],
    columns: int,
    memory: int,
) -> list[Pair]:
    """Return every pair of classes, or the one function of regression, with a new machine.

    Parameters
    ----------
    options : BudgetTrainOptions
    gamma : float
    classes : (k,) float64
        Empty for regression.
    counts : (max(k, 1),) int64
        Training rows of each class.
    columns : int
        Number of entries of a vector.
    memory : int
        Limit on the memory for the machines, in bytes.

    Raises
    ------
    MemoryLimitError
    """
    k = len(classes)
    places = [(i, j) for i in range(k) for j in range(i + 1, k)] if options.is_classifier else [(0, 0)]
    needed = len(places) * 8 * (options.budget + 8) * columns
    if needed > memory:
        raise MemoryLimitError(
            f"training {len(places)} times {options.budget:,} vectors with {columns:,} features",
            needed,
            memory,
            "choose a smaller budget or allow more memory",
        )
    made = []
    for first, second in places:
        count = int(counts[first] + (counts[second] if second != first else 0))
        steps = step_options(options, gamma, count, classes[[second, first]] if k else None)
        made.append(Pair(first, second, count, BudgetedSgd(columns, steps)))
    return made


def step_options(
    options: BudgetTrainOptions, gamma: float, count: int, labels: FloatArray | None
) -> StepOptions:
    """Return the options of one machine.

    Parameters
    ----------
    options : BudgetTrainOptions
    gamma : float
    count : int
        Number of training rows of the pair, which gives lambda together with C.
    labels : (2,) float64 or None
        Labels of the pair's negative and positive class; None for regression.
    """
    weights = dict(options.weights)
    negative, positive = (1.0, 1.0) if labels is None else (weights.get(int(y), 1.0) for y in labels)
    return StepOptions(
        budget=options.budget,
        gamma=gamma,
        lambda_=options.lambda_ or 1.0 / (count * options.cost),
        maintenance=options.maintenance,
        loss="hinge" if options.is_classifier else "epsilon-insensitive",
        epsilon=options.p,
        weights=(negative, positive),
        bias=bool(options.bias),
    )


@dataclass(eq=False)
class Prepared:
    """A working set, with the norms, class numbers and targets that the machines need."""

    rows: Rows
    norms: FloatArray
    labels: FloatArray
    codes: NDArray[np.int32]
    targets: dict[int, FloatArray] = field(default_factory=dict)


@dataclass(eq=False)
class Selection:
    """Rows on which candidates are compared, in the input's own columns; code -1 is an unknown class."""

    rows: Rows
    labels: FloatArray
    codes: NDArray[np.int32]
    origin: str
