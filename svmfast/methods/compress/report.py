"""The report of ``compress``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmfast.class_scores import KeptLabels, class_scores
from svmfast.display import count
from svmfast.figures import Figures, figure
from svmfast.methods.common.error_statement import ErrorStatement
from svmfast.methods.compress.data_split import Answered, DataSplit
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion


@dataclass(frozen=True, kw_only=True)
class CompressReport(Figures):
    """The work done, and the difference from the exact model."""

    source_bytes: int | None = figure(
        "Size of the exact model's file, compressed if it is; null for a model that is no file.",
        key="bytes_exact",
        default=None,
    )
    source_support_vectors: int = figure("Support vectors of the exact model.", key="support_vectors_exact")
    statement: ErrorStatement = figure(
        "Differences from the exact model on rows that nothing was fitted to or chosen by.", key="held_out"
    )
    method: str = figure(
        "How the vectors were found: `reduced set`, `selection` (`select_only`) or `collapse` (the sums of a "
        "linear kernel)."
    )
    support_vectors: int = figure("Support vectors of the model.")
    bytes: int | None = figure("Size of the file written.", default=None)
    table_bytes: int | None = figure("Bytes of the tables in C that `max_flash` limits.", default=None)
    start: str = figure("The start that was taken, or `collapse`.")
    metric: int | None = figure("Number of coordinates of the learned metric.", default=None)
    scores: str = figure("Whether functions are of `pairs` or of `classes`.", default="pairs")
    iterations: int = figure("Iterations of the optimiser from that start.", default=0)
    stopped: str = figure(
        "Why it stopped: `held-out` (no improvement for some time), `converged` or `limit`; `exact` or `not "
        "moved` without it."
    )
    vectors_used: int = figure(
        "Support vectors of the exact model that took part; the others were not drawn."
    )
    rows_fitted: int = figure("Rows that were fitted.")
    rows_choosing: int = figure("Rows that the choice was made by.")
    #: What `max_diff` limits, on the rows for choices.
    choosing_difference: float
    kept: KeptLabels = figure("", spread=True)
    #: On the rows for choices.
    kept_choosing: KeptLabels
    probabilities: str = figure("none, refitted or kept.")
    sizes_tried: tuple[tuple[int, float | None], ...] = figure(
        "Support vectors, and the difference on the rows for choices and frequent rows; null without any.",
        default=(),
    )
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        n = self.source_support_vectors
        lines = [f"vectors      {n:,} -> {self.support_vectors:,} ({self.support_vectors / n:.2%})"]
        if self.bytes is not None and self.source_bytes is not None:
            factor = self.source_bytes / self.bytes
            lines.append(f"bytes        {self.source_bytes:,} -> {self.bytes:,} ({factor:.1f}x smaller)")
        if self.table_bytes is not None:
            lines.append(f"tables in C  {self.table_bytes:,} bytes")
        if self.metric is not None:
            lines.append(f"metric       a linear map to {coordinates(self.metric)}")
        if self.scores == "classes":
            lines.append("scores       one for each class; the largest wins")
        if self.vectors_used < n:
            lines.append(f"sample       {self.vectors_used:,} of the {n:,} support vectors")
        lines.append(f"rows         {self.rows_fitted:,} fitted, {self.rows_choosing:,} for choices")
        if self.method == "reduced set":
            lines.append(
                f"moved        from {self.start}, {self.iterations:,} iterations, stopped by: {self.stopped}"
            )
        elif self.method == "collapse":
            lines.append(
                "collapsed    a linear kernel needs one vector per function and class; this is exact"
            )
        lines += [*self.statement.lines(), *self.kept.lines()]
        if self.sizes_tried:
            rows = count(self.rows_compared, "row")
            tried = ", ".join(f"{n:,}" if one is None else f"{n:,}: {one:.2%}" for n, one in self.sizes_tried)
            lines.append(
                f"sizes tried  {tried}" + f" (difference on {rows} for choices)" * bool(self.rows_compared)
            )
        return lines

    @property
    def rows_compared(self) -> int:
        """The rows by which sizes are chosen."""
        return self.rows_choosing + self.statement.frequent_rows


def coordinates(rank: int) -> str:
    return count(rank, "coordinate")


def compared(
    exact: KernelExpansion, compressed: Model, split: DataSplit, part: Answered, threads: int
) -> tuple[ErrorStatement, KeptLabels]:
    """Compare on a part of the rows and the frequent rows; how many distinct rows keep each label."""
    columns, head, both = split.columns, exact.head, split.with_frequent(part)
    decisions = compressed.decision_values(
        both.rows.renumbered(
            columns[both.rows.indices].astype(np.int32), int(columns[-1]) + 1 if len(columns) else 0
        ),
        threads=threads,
    )
    statement = ErrorStatement.of(
        (head, compressed.head),
        (both.exact, decisions),
        split.counted(both),
        rows=int(part.times.sum()),
        rows_from="data" if split.from_data else "support vectors",
        values_fitted=compressed.head.same_functions(head),
    )
    kept = KeptLabels()
    if decisions.size and not head.is_regression:
        kept = KeptLabels(class_scores(compressed.head.predict(decisions), head.predict(both.exact)))
    return statement, kept
