"""Joining a fast model and the exact one, so that a promise holds about how many labels differ.

The fast model answers a row only where all its decision values could be wrong by `error` without another
label. On n rows like those to come it is known which of its labels are the exact model's; the smallest error
is taken with which so few of the answered rows differ that their share among all rows is, with the confidence
asked for, below the limit (Clopper and Pearson's binomial limit). Taking the smallest costs no confidence: a
larger error answers fewer rows, so the true share falls as the error grows, and only an error whose own count
was too small by chance can be taken wrongly (the nested case of Geifman and El-Yaniv, "Selective
Classification for Deep Neural Networks", NIPS 2017).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmfast.errors import OptionError, UnsupportedError
from svmfast.methods.binomial import CONFIDENCE, largest_count, trials_needed, upper_limit
from svmfast.models.base import CountedModel, Model
from svmfast.models.cascade import CascadeModel
from svmfast.models.certified import certainty, certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.progress import Progress, silent
from svmfast.rows import FloatArray, Rows

#: Decision values that are held at once.
_CELLS = 1 << 22


@dataclass(frozen=True)
class CascadeReport:
    """What joining two models found on the rows.

    Attributes
    ----------
    rows : int
    max_diff, confidence : float
        What was asked for.
    error : float
        A row is the fast model's where all its decision values could be wrong by this much.
    differing_fast : int
        Rows of which the fast model alone has another label than the exact one.
    answered, differing : int
        Rows that the fast model answers, and those of them that differ.
    differing_limit : float
        With the confidence asked for, the share of rows like these that differ is at most this.
    operations_fast, operations_exact, operations : float or None
        Multiply-adds of a row for either model, and on average for both together; None where a model does
        not count them.
    """

    rows: int
    max_diff: float
    confidence: float
    error: float
    differing_fast: int
    answered: int
    differing: int
    differing_limit: float
    operations_fast: float | None
    operations_exact: float
    operations: float | None

    @property
    def pays(self) -> bool:
        """Whether the two together cost less than the exact model alone, as far as can be counted."""
        if self.operations is None:
            return self.answered > 0
        return self.operations < self.operations_exact


def join(
    fast: Model,
    exact: KernelExpansion,
    rows: Rows,
    *,
    max_diff: float = 0.005,
    confidence: float = CONFIDENCE,
    labels: FloatArray | None = None,
    source: str | None = None,
    threads: int = 1,
    progress: Progress = silent,
) -> tuple[CascadeModel, CascadeReport]:
    """Return `fast` and `exact` in one model that differs from `exact` on few rows, and what was found.

    Parameters
    ----------
    fast : Model
        Of any kind; a cascade's own fast model is taken.
    exact : KernelExpansion
    rows : Rows of n rows
        Drawn like those to be predicted; neither model should have been trained on them.
    max_diff : float
        The share of rows with another label than the exact model's that may not be exceeded.
    confidence : float
        The probability with which that holds.
    labels : (n,) float64, optional
        The exact model's labels of `rows`, where they are known.
    source : str, optional
        ``sha256:`` and the hash of the exact model's file, for the provenance.
    threads : int
    progress : callable

    Raises
    ------
    OptionError
        `max_diff` or `confidence` not between 0 and 1, or too few rows to show as much.
    UnsupportedError
        Regression, or models that do not answer the same question.
    """
    for name, value in (("max_diff", max_diff), ("confidence", confidence)):
        if not 0 < value < 1:
            raise OptionError(f"{name} is {value:g}, not a share between 0 and 1")
    if isinstance(fast, CascadeModel):
        fast = fast.fast
    CascadeModel(fast, exact, 0.0)  # refuses what does not go together
    n = len(rows)
    allowed = largest_count(n, max_diff, confidence)
    if allowed < 0:
        needed = trials_needed(max_diff, confidence)
        raise OptionError(
            f"{n:,} rows cannot show with {confidence:.4g} confidence that at most {max_diff:.4%} differ; "
            f"give at least {needed:,} rows, or ask for less"
        )
    sure = np.empty(n)
    differing = np.zeros(n, dtype=np.bool_)
    size = max(1, _CELLS // max(1, fast.head.n_functions, exact.head.n_functions))
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
        few = rows.take(np.arange(part.start, part.stop))
        decisions = fast.decision_values(few, threads=threads)
        if labels is None:
            theirs = exact.head.predict(exact.decision_values(few, threads=threads))
        else:
            theirs = labels[part]
        differing[part] = fast.head.predict(decisions) != theirs
        sure[part] = np.nan_to_num(certainty(fast.head, decisions), posinf=np.inf)  # of nan nothing is sure
        progress(part.stop, n, "rows")
    error = _smallest_error(fast, rows.take(np.flatnonzero(differing)), sure[differing], allowed, threads)
    if error == math.inf:
        raise UnsupportedError("the fast model differs where its values are infinite", "join another one")
    answered = int(np.count_nonzero(sure > error))
    left = int(np.count_nonzero(sure[differing] > error))
    fast_cost = fast.multiply_adds(rows) if isinstance(fast, CountedModel) else None
    exact_cost = exact.multiply_adds(rows)
    report = CascadeReport(
        rows=n,
        max_diff=max_diff,
        confidence=confidence,
        error=error,
        differing_fast=int(np.count_nonzero(differing)),
        answered=answered,
        differing=left,
        differing_limit=upper_limit(left, n, confidence),
        operations_fast=fast_cost,
        operations_exact=exact_cost,
        operations=None if fast_cost is None else fast_cost + (1 - answered / n) * exact_cost,
    )
    # Plain floats: NumPy's name their type, and equal calls give equal files.
    asked = f"max-diff {float(max_diff)!r}, confidence {float(confidence)!r}"
    parameters = f"{asked}, rows {n}, answered {answered}"
    origin = {} if source is None else {"source": source}
    origin |= {"method": "cascade", "parameters": f"{parameters}, differing {left}"}
    return CascadeModel(fast, exact, error, origin), report


def _smallest_error(fast: Model, rows: Rows, sure: FloatArray, allowed: int, threads: int) -> float:
    """Return the error with which at most `allowed` of the differing `rows` stay the fast model's."""
    if len(sure) <= allowed:
        return 0.0
    error = float(np.sort(sure)[::-1][allowed])
    if not fast.head.one_vs_rest:  # sizes of values were compared, as certified_rows does
        return error
    decisions = fast.decision_values(rows, threads=threads)
    # What is certified is decided on sums of rounded numbers: go on until that has no say in it.
    step = float(np.spacing(np.abs(decisions).max()))
    while np.count_nonzero(certified_rows(fast.head, decisions, np.full(decisions.shape, error))) > allowed:
        error, step = error + step, 2 * step
    return error
