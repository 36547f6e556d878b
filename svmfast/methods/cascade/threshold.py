"""The error of a cascade, and whether to join at all: from rows on which both models were evaluated.

The rows are divided at random. Some decide whether the two models together cost less than the exact one; the
others choose the error. Were both done on the same rows, a file would be written exactly where the error came
out small by chance, and where joining is barely faster every file that exists would break its guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmfast.models.certified import certified_rows
from svmfast.models.head import Head
from svmfast.rows import FloatArray
from svmfast.solvers.intervals import largest_count, trials_needed, upper_limit

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]

#: One row in this many decides, unless too few others would be left to show the limit.
DECIDING_SHARE = 5


@dataclass(frozen=True, eq=False)
class Evaluated:
    """The figures of n rows on which both models were evaluated."""

    #: The fast model's.
    head: Head
    #: (n,) the smallest error of the fast model's values that could change the label.
    margin: FloatArray
    #: (n,) whether the labels of the two models differ.
    differing: BoolArray
    #: (n,) equal numbers for equal rows, from 0.
    group: IntArray
    #: (n,) the limit must hold in every part: the number of the exact model's class, or 0 for all rows.
    part: IntArray
    parts: int
    #: (m, p) the fast model's decision values of the m differing rows, in order; with one value per class.
    values: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Chosen:
    """What the rows show."""

    error: float
    #: (n,) the rows that decided; the others chose the error.
    deciding: BoolArray
    #: Whether joining saves work on the deciding rows.
    cheaper: bool
    #: For each part, an upper limit on the share of differing rows.
    limits: tuple[float, ...]

    @property
    def measured(self) -> BoolArray:
        """The rows that a report measures on: those that did not choose the error, if there are any."""
        return self.deciding if self.deciding.any() else np.ones_like(self.deciding)


def least_rows(max_diff: float, confidence: float) -> int:
    """How many rows prove a share of at most `max_diff` if none of them differs."""
    least = trials_needed(max_diff, confidence)
    while largest_count(least, max_diff, confidence) < 0:  # the two round differently
        least += 1
    return least


def choose(
    found: Evaluated,
    max_diff: float,
    confidence: float,
    *,
    seed: int,
    cost_fast: float | None,
    cost_exact: float,
) -> Chosen:
    """Choose the smallest error for which the limit holds in every part, and decide whether to join.

    Rows are counted in two ways: every row as often as it occurs, which is right for independent draws from
    a population of few distinct rows, and every distinct row once, which is right where rows were copied.
    The larger of the two errors is chosen, so the limit holds in both cases.

    Every part has at least :func:`least_rows` distinct rows. The costs of a row are both in time or both in
    multiply-adds; `cost_fast` is None if unknown.
    """
    deciding = _deciding(found, least_rows(max_diff, confidence), seed)
    counted: list[tuple[BoolArray, int]] = []
    rates: list[float] = []
    error = 0.0
    for number in range(found.parts):
        own = np.flatnonzero(~deciding & (found.part == number))
        _, first = np.unique(found.group[own], return_index=True)
        for members in (own, own[first]):
            allowed = largest_count(len(members), max_diff, confidence)
            inside = np.zeros(len(deciding), dtype=np.bool_)
            inside[members] = True
            counted.append((inside[found.differing], allowed))
            error = max(error, smallest_error(found.margin[inside & found.differing], allowed))
        rates.append(counted[-2][1] / len(own))
    error = _beyond_rounding(found, error, counted)
    limits = []
    for number, (inside, allowed) in enumerate(counted[::2]):
        n = int(np.count_nonzero(~deciding & (found.part == number)))
        # If no row falls back, the observed count is the evidence; of several parts only the allowed counts
        # hold for all at once.
        seen = int(np.count_nonzero(inside)) if error == 0 and found.parts == 1 else allowed
        limits.append(upper_limit(min(seen, allowed), n, confidence))
    cheaper = _cheaper(found, deciding, rates, cost_fast, cost_exact)
    return Chosen(error, deciding, cheaper, tuple(limits))


def smallest_error(margins: FloatArray, allowed: int) -> float:
    """The error with which at most `allowed` of the differing rows stay the fast model's."""
    if len(margins) <= allowed:
        return 0.0
    return float(np.partition(margins, -1 - allowed)[-1 - allowed])


def _deciding(found: Evaluated, least: int, seed: int) -> BoolArray:
    """Draw the deciding rows of every part, and leave at least `least` distinct ones to choose the error."""
    deciding = np.zeros(len(found.margin), dtype=np.bool_)
    order = np.random.default_rng([seed, 17]).permutation(len(deciding))
    for number in range(found.parts):
        own = order[found.part[order] == number]
        different = len(np.unique(found.group[own]))
        deciding[own[: min(len(own) // DECIDING_SHARE, different - least)]] = True
    return deciding


def _cheaper(
    found: Evaluated, deciding: BoolArray, rates: list[float], fast: float | None, exact: float
) -> bool:
    """Decide, from the deciding rows alone, whether the two models together cost less than the exact one."""
    n = int(np.count_nonzero(deciding))
    error = 0.0
    for number, rate in enumerate(rates):
        own = deciding & (found.part == number)
        allowed = int(rate * np.count_nonzero(own))
        error = max(error, smallest_error(found.margin[own & found.differing], allowed))
    answered = int(np.count_nonzero(found.margin[deciding] > error)) / n if n else 1.0
    return answered > 0 if fast is None else fast + (1 - answered) * exact < exact


def _beyond_rounding(found: Evaluated, error: float, counted: list[tuple[BoolArray, int]]) -> float:
    """An error large enough that certified_rows, too, leaves at most the allowed number of rows.

    With one value per class it compares sums of rounded numbers, otherwise the numbers that were compared.
    """
    values = found.values
    if values is None or not error or not len(values) or not math.isfinite(error):
        return error
    step = float(np.spacing(np.abs(values).max()))
    while True:
        certified = certified_rows(found.head, values, np.full(values.shape, error))
        if all(np.count_nonzero(certified & inside) <= allowed for inside, allowed in counted):
            return error
        error, step = error + step, 2 * step
