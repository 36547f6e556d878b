"""The report of ``cascade``: what joining two models found."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.class_scores import KeptLabels
from svmfast.display import count
from svmfast.figures import Figures, computed, figure
from svmfast.methods.common.error_statement import labels_differing, labels_text
from svmfast.solvers.intervals import clopper_pearson


@dataclass(frozen=True)
class CascadeReport(Figures):
    """The figures of two joined models.

    What the two together do is measured on the deciding rows, which took no part in choosing the error; on
    all rows only if all of them were needed to choose it.
    """

    rows: int = figure("Rows read.")
    different_rows: int = figure("Rows without repetitions.")
    rows_choosing: int = figure("Rows that chose the error.")
    rows_deciding: int = figure("The others, which decided whether to join.")
    max_diff: float = figure("The share of rows that may differ.")
    confidence: float = figure("The requested confidence.")
    error: float = figure(
        "The fast model answers a row if an error of this size in every value cannot change its label."
    )
    labels_differing_without_fallback: int = figure(
        "Rows for which the label of the fast model alone differs from the exact model's."
    )
    answered: int = figure("Rows that the fast model answers.")
    labels_differing: int = figure("Those of them whose label differs from the exact model's.")
    labels_differing_choosing: int = figure("Those among the rows that chose the error.")
    measured_rows: int = figure("Rows that the figures are measured on: the deciding ones, if there are any.")
    measured_answered: int = figure("Those of the measured rows that the fast model answers.")
    measured_labels_differing: int = figure(
        "Those of the measured rows whose label differs from the exact model's."
    )
    labels_differing_limit_percent: float = figure(
        "Upper limit on the percentage that differs, at the requested confidence."
    )
    #: On the measured rows, of both together.
    kept: KeptLabels = figure("", spread=True)
    operations_fast: float = figure(
        "Counted multiply-adds of the fast model for a row.", key="multiply_adds_fast"
    )
    operations_exact: float = figure("The same for the exact model.", key="multiply_adds_exact")
    operations: float = figure("The same for both together, on average.", key="multiply_adds")
    cheaper: bool = figure(
        "Whether both together cost less than the exact model, measured on the deciding rows."
    )
    speedup_with_fallback: float | None = figure(
        "How many times as fast both together are as the exact model; null unless they were raced.",
        default=None,
    )

    @computed.figure("measured_labels_differing in percent of the measured rows.")
    def labels_differing_percent(self) -> float:
        return 100 * self.measured_labels_differing / self.measured_rows

    @property
    def deciding(self) -> str:
        if not self.rows_deciding:
            return "the models' sizes (all rows are needed to choose the error)"
        return f"the {self.rows_deciding:,} rows that decide"

    def lines(self) -> list[str]:
        fewer = f"{self.operations_exact / self.operations:.1f}x fewer; " if self.operations else ""
        lines = [
            *self._lines_of_rows(),
            *self.kept.lines(),
            f"operations   {self.operations_exact:,.0f} -> {self.operations:,.0f} multiply-adds per row "
            f"({fewer}counted)",
        ]
        if self.speedup_with_fallback is not None:
            lines.append(f"raced        {self.speedup_with_fallback:.2f} times as fast as the exact model")
        return lines

    def _lines_of_rows(self) -> list[str]:
        """Describe the rows, the error bound that they chose, and what they show."""
        n, alone, measured = self.rows, self.labels_differing_without_fallback, self.measured_rows
        given = f"rows         {n:,} given, {self.different_rows:,} of them distinct"
        which = "rows, which also chose the error bound"
        if self.rows_deciding:
            given += f"; {self.rows_choosing:,} choose the error bound, {self.rows_deciding:,} decide "
            given += "whether to join and are measured"
            which = "measured rows, which did not choose the error bound"
        else:
            given += "; all are needed to choose the error bound, so none decides whether to join"
        bound = "0: the fast model may answer every row, because few enough of its labels differ"
        if self.error:
            bound = f"{self.error:.6g}: the fast model answers the rows whose label stays the same if every "
            bound += "decision value is wrong by this much"
        differing = self.measured_labels_differing
        share = labels_differing((differing / measured, *clopper_pearson(differing, measured)))
        limit = f"{self.labels_differing_limit_percent:.3g}%"
        claim = f"at most {limit} of the labels differ on rows like these"
        return [
            given,
            f"fast alone   {100 * alone / n:.3g}% of the labels differ: {alone:,} of the {n:,} rows",
            f"error bound  {bound}",
            f"answered     {self.measured_answered:,} of the {count(measured, 'measured row')} by the fast "
            f"model ({self.measured_answered / measured:.2%}), the others by the exact model",
            f"labels       {labels_text(*share.values())}: {differing:,} of the {measured:,} {which}",
            f"guarantee    with {self.confidence:.4g} confidence {claim}, shown by the "
            f"{self.rows_choosing:,} rows that chose the error bound, of which "
            f"{self.labels_differing_choosing:,} differ",
        ]
