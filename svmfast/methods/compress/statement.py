"""The error of a compressed model on rows that influenced no choice."""

from __future__ import annotations

import numpy as np

from svmfast.methods.common.error_statement import ErrorStatement, agreement
from svmfast.methods.compress.data_split import DataSplit
from svmfast.models.expansion import KernelExpansion
from svmfast.score import values_differing_percent

#: With fewer values than this, the 99.9 % quantile is the largest of them.
_VALUES_FOR_999 = 1000


def error_statement(
    exact: KernelExpansion, compressed: KernelExpansion, split: DataSplit, *, threads: int
) -> ErrorStatement:
    """Compare the models on the rows `split.state`."""
    part, columns = split.state, split.columns
    rows = part.rows.renumbered(
        columns[part.rows.indices].astype(np.int32), int(columns[-1]) + 1 if len(columns) else 0
    )
    decisions = compressed.decision_values(rows, threads=threads)
    source = "data" if split.from_data else "support vectors"
    if not decisions.size:
        return ErrorStatement(0, source, 0.0, 0.0, 0.0, 0.0, None, None, None, None)
    difference = np.abs(decisions - part.exact)
    median, q99, q999 = np.quantile(difference, [0.5, 0.99, 0.999], method="higher")
    share = low = high = values = None
    if exact.head.is_regression:
        values = values_differing_percent(decisions, part.exact)
    else:
        share, low, high = agreement(exact.head.predict(part.exact) == exact.head.predict(decisions))
    return ErrorStatement(
        rows=len(rows),
        rows_from=source,
        median=float(median),
        quantile_99=float(q99),
        quantile_999=float(q999),
        largest=float(difference.max()),
        values_differing_percent=values,
        label_agreement=share,
        agreement_low=low,
        agreement_high=high,
    )


def caution(statement: ErrorStatement) -> str | None:
    """Return a warning if a statement is based on too few rows, or None."""
    if statement.rows >= _VALUES_FOR_999:
        return None
    return (
        f"the difference was measured on only {statement.rows:,} held-out rows; the 99.9% quantile needs "
        f"about {_VALUES_FOR_999:,}: give more rows in `data`"
    )
