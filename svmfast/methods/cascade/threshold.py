"""The error of a cascade, and whether to join at all: from rows on which both models were evaluated.

The rows are divided at random. Some decide whether the two models together cost less than the exact one; the
others choose the error. Were both done on the same rows, a file would be written exactly where the error came
out small by chance, and where joining is barely faster every file that exists would break its guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmfast.rows import BoolArray, FloatArray, IntArray
from svmfast.solvers.intervals import largest_count, trials_needed, upper_limit

#: One row in this many decides, unless too few others would be left to show the limit.
DECIDING_SHARE = 5


@dataclass(frozen=True, eq=False)
class Evaluated:
    """The figures of n rows on which both models were evaluated."""

    #: (n,) the smallest error of the fast model's values that could change the label.
    margin: FloatArray
    #: (n,) whether the labels of the two models differ.
    differing: BoolArray
    #: (n,) equal numbers for equal rows, from 0.
    group: IntArray
    #: The largest absolute value that the fast model gives for a class; 0 if its values are not for classes.
    largest: float = 0.0


@dataclass(frozen=True, eq=False)
class Chosen:
    """What the rows show."""

    error: float
    #: (n,) the rows that decided; the others chose the error.
    deciding: BoolArray
    #: Whether joining saves work on the deciding rows.
    cheaper: bool
    #: An upper limit on the share of differing rows.
    limit: float

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
    cost_fast: float,
    cost_exact: float,
) -> Chosen:
    """Choose the smallest error for which the limit holds, and decide whether to join.

    Rows are counted in two ways: every row as often as it occurs, which is right for independent draws from
    a population of few distinct rows, and every distinct row once, which is right where rows were copied.
    The larger of the two errors is chosen, so the limit holds in both cases.

    There are at least :func:`least_rows` distinct rows. The costs of a row are both in time or both in
    multiply-adds.
    """
    deciding = _deciding(found, least_rows(max_diff, confidence), seed)
    own = np.flatnonzero(~deciding)
    _, first = np.unique(found.group[own], return_index=True)
    error = 0.0
    for members in (own, own[first]):
        margins = found.margin[members][found.differing[members]]
        error = max(error, smallest_error(margins, largest_count(len(members), max_diff, confidence)))
    if error and found.largest and math.isfinite(error):
        # certified_rows compares rounded sums of values and errors: no row of this margin may pass.
        error += float(np.spacing(found.largest))
    allowed = largest_count(len(own), max_diff, confidence)
    # If no row falls back, the observed count is the evidence.
    seen = int(np.count_nonzero(found.differing[own])) if error == 0 else allowed
    limit = upper_limit(min(seen, allowed), len(own), confidence)
    cheaper = _cheaper(found, deciding, allowed / len(own), cost_fast, cost_exact)
    return Chosen(error, deciding, cheaper, limit)


def smallest_error(margins: FloatArray, allowed: int) -> float:
    """The error with which at most `allowed` of the differing rows stay the fast model's."""
    if len(margins) <= allowed:
        return 0.0
    return float(np.partition(margins, -1 - allowed)[-1 - allowed])


def _deciding(found: Evaluated, least: int, seed: int) -> BoolArray:
    """Draw the deciding rows, and leave at least `least` distinct ones to choose the error."""
    n = len(found.margin)
    deciding = np.zeros(n, dtype=np.bool_)
    order = np.random.default_rng([seed, 17]).permutation(n)
    deciding[order[: min(n // DECIDING_SHARE, len(np.unique(found.group)) - least)]] = True
    return deciding


def _cheaper(found: Evaluated, deciding: BoolArray, rate: float, fast: float, exact: float) -> bool:
    """Decide, from the deciding rows alone, whether the two models together cost less than the exact one."""
    n = int(np.count_nonzero(deciding))
    error = smallest_error(found.margin[deciding & found.differing], int(rate * n))
    answered = int(np.count_nonzero(found.margin[deciding] > error)) / n if n else 1.0
    return fast + (1 - answered) * exact < exact
