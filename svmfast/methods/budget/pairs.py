"""What a budgeted run holds of each pair of classes, and which rows it visits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.budget.sgd import (
    BudgetedSgd,
    BudgetExpansion,
)
from svmfast.rows import FloatArray, Rows


def whole_number(value: Any, most: int) -> int:
    """Return a count of a checkpoint; ValueError where it is none, or larger than `most`."""
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError("not a count")
    return value


@dataclass(eq=False)
class Pair:
    """One decision function: class `first` against `second`, or the regression function (0, 0).

    Attributes
    ----------
    count : int
        Training rows.
    machine : BudgetedSgd
    best : BudgetExpansion or None
        The end-of-pass iterate with the smallest `best_loss` so far, where that is kept.
    """

    first: int
    second: int
    count: int
    machine: BudgetedSgd
    best: BudgetExpansion | None = None
    best_loss: float = np.inf


@dataclass(eq=False)
class Prepared:
    """A working set with what the machines need."""

    rows: Rows
    norms: FloatArray
    labels: FloatArray
    codes: NDArray[np.int32]
    targets: dict[int, FloatArray] = field(default_factory=dict)


@dataclass(eq=False)
class Selection:
    """Rows on which candidates are compared, in the input's own columns; codes -1: of no known class."""

    rows: Rows
    labels: FloatArray
    codes: NDArray[np.int32]
    origin: str
