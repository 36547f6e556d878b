"""The report of ``compress``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmfast.class_scores import KeptLabels, class_scores
from svmfast.figures import Figures, figure
from svmfast.methods.common.equal_rows import FREQUENT, quantiles
from svmfast.methods.common.error_statement import ErrorStatement, labels_differing, labels_line
from svmfast.methods.compress.data_split import Answered, DataSplit
from svmfast.models.expansion import KernelExpansion
from svmfast.score import values_differing_percent


@dataclass(frozen=True)
class StartReport(Figures):
    name: str = figure("Name of the start.")
    choosing_error: float = figure(
        "On the rows for choices, after some iterations if there are several starts: the mean of "
        "r^2 / (r^2 + f^2), with the error r of an exact value f; for regression the weighted mean squared "
        "error."
    )

    def line(self) -> str:
        return f"{self.name}: error {self.choosing_error:.3g} on the rows for choices"


@dataclass(frozen=True, kw_only=True)
class CompressReport(Figures):
    """The work done, and the difference from the exact model."""

    verdict: str = figure("`compressed`, or why there is no model.", default="compressed")
    source_bytes: int | None = figure("Size of the exact model's text.", key="bytes_exact", default=None)
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
    start: str = figure("The start that was taken.")
    starts: tuple[StartReport, ...] = figure("Every start that was tried.", default=())
    iterations: int = figure(
        "Iterations of the optimiser, without those that only compared starts.", default=0
    )
    evaluations: int = figure("Evaluations of its objective, including the other starts'.", default=0)
    stopped: str = figure(
        "Why it stopped: `held-out` (no improvement for some time), `converged` or `limit`; `exact` or `not "
        "moved` without it."
    )
    rows_fitted: int = figure("Rows that were fitted.")
    rows_choosing: int = figure("Rows that the choice was made by.")
    #: What `max_diff` limits, on the rows for choices.
    choosing_difference: float
    kept: KeptLabels = figure("", spread=True)
    #: On the rows for choices.
    kept_choosing: KeptLabels
    probabilities: str = figure("none, refitted or kept.")
    sizes_tried: tuple[tuple[int, float], ...] = figure(
        "Support vectors, and the difference on the rows for choices.", default=()
    )
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        held, n = self.statement, self.source_support_vectors
        lines = [f"vectors      {n:,} -> {self.support_vectors:,} ({self.support_vectors / n:.2%})"]
        if self.bytes is not None and self.source_bytes is not None:
            factor = self.source_bytes / self.bytes
            lines.append(f"bytes        {self.source_bytes:,} -> {self.bytes:,} ({factor:.1f}x smaller)")
        lines.append(f"rows         {self.rows_fitted:,} fitted, {self.rows_choosing:,} for choices")
        lines += [f"start        {start.line()}" for start in self.starts]
        if self.method == "reduced set":
            lines.append(
                f"moved        from {self.start}, {self.iterations:,} iterations "
                f"({self.evaluations:,} evaluations), stopped by: {self.stopped}"
            )
        elif self.method == "collapse":
            lines.append(
                "collapsed    a linear kernel needs one vector per function and class; this is exact"
            )
        frequent = ""
        if held.frequent_rows:
            frequent = f" and {held.frequent_rows:,} rows that occur {FREQUENT} times or more"
        lines.append(
            f"difference   of decision values on {held.rows:,} held-out rows ({held.rows_from}) on which "
            f"nothing was chosen{frequent}: half below {held.median:.3g}, 99% below {held.quantile_99:.3g}, "
            f"99.9% below {held.quantile_999:.3g}"
        )
        if held.labels_differing_percent is not None:
            lines.append(f"labels       {labels_line(held.to_dict())}, on these rows")
            lines += self.kept.lines()
        if held.values_differing_percent is not None:
            lines.append(
                f"values       differ by {held.values_differing_percent:.3g}% of their spread (standard "
                "deviation), root mean square"
            )
        if self.sizes_tried:
            tried = ", ".join(f"{size:,}: {value:.2%}" for size, value in self.sizes_tried)
            lines.append(f"sizes tried  {tried} (difference on the {self.rows_choosing:,} rows for choices)")
        return lines


@dataclass(frozen=True)
class Nothing(Figures):
    verdict: str = figure("Why there is no model.")

    def lines(self) -> list[str]:
        return []


def compared(
    exact: KernelExpansion, compressed: KernelExpansion, split: DataSplit, part: Answered, threads: int
) -> tuple[ErrorStatement, float, KeptLabels]:
    """Compare on a part of the rows and the frequent rows.

    With the statement come what `max_diff` limits (the share of differing labels, or the values' difference
    over their spread), and how many of the distinct rows keep each label.
    """
    columns, head, rows = split.columns, exact.head, int(part.times.sum())
    both = split.with_frequent(part)
    decisions = compressed.decision_values(
        both.rows.renumbered(
            columns[both.rows.indices].astype(np.int32), int(columns[-1]) + 1 if len(columns) else 0
        ),
        threads=threads,
    )
    source, kept = "data" if split.from_data else "support vectors", KeptLabels()
    if not decisions.size:
        return ErrorStatement(0, 0, source, 0.0, 0.0, 0.0, 0.0, None, None, None, None), 0.0, kept
    values, low, high, share = None, None, None, None
    if head.is_regression:
        values = values_differing_percent(decisions, both.exact, both.times)
        limited = values / 100
    else:
        ours, theirs = head.predict(decisions), head.predict(both.exact)
        found = split.counted(both).share(ours != theirs)
        limited, kept = found[0], KeptLabels(class_scores(ours, theirs))
        share, low, high = labels_differing(found).values()
    difference = np.abs(decisions - both.exact)
    median, q99, q999 = quantiles(difference, both.times, [0.5, 0.99, 0.999])
    frequent, largest = int(split.frequent.times.sum()), float(difference.max())
    statement = ErrorStatement(rows, frequent, source, median, q99, q999, largest, values, share, low, high)
    return statement, limited, kept
