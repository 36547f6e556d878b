"""A compressed model compared with the exact one, on rows that influenced no choice or that choose."""

from __future__ import annotations

import numpy as np

from svmfast.class_scores import KeptLabels, class_scores
from svmfast.methods.common.equal_rows import FREQUENT, quantiles
from svmfast.methods.common.error_statement import ErrorStatement, labels_differing
from svmfast.methods.compress.data_split import Answered, DataSplit
from svmfast.models.expansion import KernelExpansion
from svmfast.score import values_differing_percent

#: With fewer values than this, the 99.9 % quantile is the largest of them.
_VALUES_FOR_999 = 1000


class Compared:
    """A compressed model's answers to a part of the rows and to the frequent rows, and the exact model's."""

    def __init__(
        self,
        exact: KernelExpansion,
        compressed: KernelExpansion,
        split: DataSplit,
        part: Answered,
        threads: int,
    ) -> None:
        columns = split.columns
        self._head, self._split, self._own = exact.head, split, part
        self._part = part = split.with_frequent(part)
        rows = part.rows.renumbered(
            columns[part.rows.indices].astype(np.int32), int(columns[-1]) + 1 if len(columns) else 0
        )
        self._decisions = compressed.decision_values(rows, threads=threads)

    def _labels(self) -> tuple[np.ndarray, np.ndarray]:
        return self._head.predict(self._decisions), self._head.predict(self._part.exact)

    def _share(self) -> tuple[float, float, float]:
        ours, theirs = self._labels()
        return self._split.counted(self._part).share(ours != theirs)

    def _values_percent(self) -> float:
        return values_differing_percent(self._decisions, self._part.exact, self._part.times)

    @property
    def difference(self) -> float:
        """What `max_diff` limits: the share of differing labels (regression: of the values' spread)."""
        if not self._decisions.size:
            return 0.0
        return self._values_percent() / 100 if self._head.is_regression else self._share()[0]

    @property
    def kept(self) -> KeptLabels:
        """How many of the distinct rows keep each label."""
        if self._head.is_regression or not len(self._part):
            return KeptLabels()
        return KeptLabels(class_scores(*self._labels()))

    def statement(self) -> ErrorStatement:
        """State the error on these rows."""
        rows, frequent = (int(p.times.sum()) for p in (self._own, self._split.frequent))
        source = "data" if self._split.from_data else "support vectors"
        if not self._decisions.size:
            return ErrorStatement(0, 0, source, 0.0, 0.0, 0.0, 0.0, None, None, None, None)
        difference, times = np.abs(self._decisions - self._part.exact), self._part.times
        values, low, high, share = None, None, None, None
        if self._head.is_regression:
            values = self._values_percent()
        else:
            share, low, high = labels_differing(self._share()).values()
        median, q99, q999 = quantiles(difference, times, [0.5, 0.99, 0.999])
        largest = float(difference.max())
        return ErrorStatement(rows, frequent, source, median, q99, q999, largest, values, share, low, high)


def caution(statement: ErrorStatement) -> str | None:
    """Warn of a statement that is based on too few rows, or on rows that repeat."""
    rows = statement.rows + statement.frequent_rows
    if statement.frequent_rows > statement.rows:
        return (
            f"most of the {rows:,} rows on which the difference was measured occur {FREQUENT} times or more "
            "and were fitted: the figures are for data that repeat these rows; others may differ far more"
        )
    if rows >= _VALUES_FOR_999:
        return None
    return (
        f"the difference was measured on only {rows:,} held-out rows; the 99.9% quantile needs "
        f"about {_VALUES_FOR_999:,}: give more rows in `data`"
    )
