"""The error of a compressed model on rows that influenced no choice."""

from __future__ import annotations

import numpy as np

from svmfast.class_scores import KeptLabels, class_scores
from svmfast.methods.common.equal_rows import FREQUENT, quantiles
from svmfast.methods.common.error_statement import ErrorStatement, labels_differing
from svmfast.methods.compress.data_split import DataSplit, Part
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray
from svmfast.score import values_differing_percent

#: With fewer values than this, the 99.9 % quantile is the largest of them.
_VALUES_FOR_999 = 1000


def error_statement(
    exact: KernelExpansion, compressed: KernelExpansion, split: DataSplit, *, threads: int
) -> ErrorStatement:
    """Compare the models on the rows `split.state`, and on the frequent rows."""
    part = split.with_frequent(split.state)
    decisions = _decisions(compressed, part, split, threads)
    rows, frequent = (int(p.times.sum()) for p in (split.state, split.frequent))
    source = "data" if split.from_data else "support vectors"
    if not decisions.size:
        return ErrorStatement(0, 0, source, 0.0, 0.0, 0.0, 0.0, None, None, None, None)
    difference = np.abs(decisions - part.exact)
    values, low, high, share = None, None, None, None
    if exact.head.is_regression:
        values = values_differing_percent(decisions, part.exact, part.times)
    else:
        differing = exact.head.predict(part.exact) != exact.head.predict(decisions)
        share, low, high = labels_differing(split.counted(part).share(differing)).values()
    median, q99, q999 = quantiles(difference, part.times, [0.5, 0.99, 0.999])
    largest = float(difference.max())
    return ErrorStatement(rows, frequent, source, median, q99, q999, largest, values, share, low, high)


def choosing_difference(
    exact: KernelExpansion, compressed: KernelExpansion, split: DataSplit, *, threads: int
) -> float:
    """Return the figure that `max_diff` limits, on the rows `split.choose` and the frequent rows: the share
    of labels that differ, or for regression the share of the spread by which the values differ."""
    part = split.with_frequent(split.choose)
    decisions = _decisions(compressed, part, split, threads)
    if not decisions.size:
        return 0.0
    if exact.head.is_regression:
        return values_differing_percent(decisions, part.exact, part.times) / 100
    differing = exact.head.predict(part.exact) != exact.head.predict(decisions)
    return split.counted(part).share(differing)[0]


def kept_labels(
    exact: KernelExpansion, compressed: KernelExpansion, part: Part, split: DataSplit, *, threads: int
) -> KeptLabels:
    """Return how many of the distinct rows of `part` and of the frequent rows keep each label."""
    part = split.with_frequent(part)
    if exact.head.is_regression or not len(part):
        return KeptLabels()
    decisions = _decisions(compressed, part, split, threads)
    return KeptLabels(class_scores(exact.head.predict(decisions), exact.head.predict(part.exact)))


def _decisions(model: KernelExpansion, part: Part, split: DataSplit, threads: int) -> FloatArray:
    columns = split.columns
    rows = part.rows.renumbered(
        columns[part.rows.indices].astype(np.int32), int(columns[-1]) + 1 if len(columns) else 0
    )
    return model.decision_values(rows, threads=threads)


def caution(statement: ErrorStatement) -> str | None:
    """Return a warning if a statement is based on too few rows, or None."""
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
