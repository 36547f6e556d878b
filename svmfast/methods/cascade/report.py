"""The report of ``cascade``: what joining two models found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from svmfast.class_scores import ClassScore, Confusion, KeptLabels, shown_label
from svmfast.display import count
from svmfast.figures import Figures, computed, figure
from svmfast.methods.common.error_statement import labels_differing, labels_line
from svmfast.score import Quality
from svmfast.solvers.intervals import clopper_pearson


def _of(part: str, name: str, help: str) -> computed:
    """Declare the figure `name` of the attribute `part`, which may be None."""

    def value(report: Any) -> float | None:
        found = getattr(report, part)
        return None if found is None else getattr(found, name)

    return computed.figure(help)(value)


@dataclass(frozen=True)
class ClassChange(Figures):
    """The effect of joining on one class, among the rows that the report measures on."""

    label: float = figure("The label.", value=shown_label)
    #: Counts against the true labels, of the exact model and of both together; None if those are unknown.
    by_exact: ClassScore | None  # type: ignore[misc]  # figures look like defaults
    by_both: ClassScore | None  # type: ignore[misc]
    #: Rows that the exact model assigns to the class, and those of them that keep the label.
    kept: ClassScore  # type: ignore[misc]
    labels_differing_limit_percent: float | None = figure(
        "Upper limit on their percentage; null without `per_class`."
    )
    exact_rows = _of("kept", "rows", "Rows that the exact model assigns to the class.")
    labels_differing = _of("kept", "differing", "Those of them whose label both together change.")
    rows = _of("by_both", "rows", "Rows with this true label; null, as all scores, if it is unknown.")
    correct_exact = _of("by_exact", "correct", "Those that the exact model recognizes.")
    recall_exact = _of("by_exact", "recall", "Percent of the class's rows that the exact model recognizes.")
    precision_exact = _of("by_exact", "precision", "The exact model's precision, in percent.")
    f1_exact = _of("by_exact", "f1", "The exact model's F1, in percent.")
    correct = _of("by_both", "correct", "Those that both together recognize.")
    recall = _of("by_both", "recall", "The recall of both together, in percent.")
    precision = _of("by_both", "precision", "Their precision, in percent.")
    f1 = _of("by_both", "f1", "Their F1, in percent.")

    def line(self) -> str:
        """The recall before and after, and how many of the exact model's rows change their label."""
        text = f"{shown_label(self.label)!s:<6} "
        if self.by_exact is not None and self.by_both is not None:
            before, after = self.by_exact.recall, self.by_both.recall
            recall = "-" if after is None else f"{before:.2f}% -> {after:.2f}%"
            text += f"recall {recall} of {count(self.by_both.rows, 'row')}; "
        differing = self.kept.differing
        text += (
            f"{differing:,} of the exact model's {count(self.kept.rows, 'label')} of this class "
            f"differ{'s' * (differing == 1)}"
        )
        limit = self.labels_differing_limit_percent
        return text if limit is None else f"{text}; guaranteed: at most {limit:.3g}%"


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
    per_class: bool = figure("Whether the limit holds within each of the exact model's classes.")
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
    #: Of the exact model and of both together on the measured rows; without true labels, all None.
    quality_exact: Quality  # type: ignore[misc]
    quality: Quality  # type: ignore[misc]
    classes: tuple[ClassChange, ...] = figure("Figures of every class, by ascending label.")
    operations_fast: float | None = figure(
        "Counted multiply-adds of the fast model for a row; null where a model does not count them.",
        key="multiply_adds_fast",
    )
    operations_exact: float = figure("The same for the exact model.", key="multiply_adds_exact")
    operations: float | None = figure("The same for both together, on average.", key="multiply_adds")
    cheaper: bool = figure(
        "Whether both together cost less than the exact model, measured on the deciding rows."
    )
    speedup_with_fallback: float | None = figure(
        "How many times as fast both together are as the exact model; null unless they were raced.",
        default=None,
    )
    accuracy_exact = _of(
        "quality_exact", "accuracy", "Percent of rows with the true label, the exact model's."
    )
    balanced_accuracy_exact = _of("quality_exact", "balanced_accuracy", "Its mean recall of the classes.")
    auc_exact = _of("quality_exact", "auc", "Its area under the ROC curve, 0 to 1.")
    auc_error_exact = _of("quality_exact", "auc_error", "How far that may be from the exact area.")
    accuracy = _of("quality", "accuracy", "Percent of rows with the true label, of both together.")
    balanced_accuracy = _of("quality", "balanced_accuracy", "Their mean recall of the classes.")
    auc = _of("quality", "auc", "Their area under the ROC curve, 0 to 1.")
    auc_error = _of("quality", "auc_error", "How far that may be from the exact area.")

    @computed.figure("The exact model's confusion table.")
    def confusion_exact(self) -> Confusion | None:
        return self.quality_exact.confusion

    @computed.figure("The confusion table of both together.")
    def confusion(self) -> Confusion | None:
        return self.quality.confusion

    @computed.figure("measured_labels_differing in percent of the measured rows.")
    def labels_differing_percent(self) -> float:
        return 100 * self.measured_labels_differing / self.measured_rows

    @property
    def kept(self) -> KeptLabels:
        """How many of the measured rows with each label of the exact model keep it."""
        return KeptLabels(tuple(one.kept for one in self.classes))

    @property
    def deciding(self) -> str:
        if not self.rows_deciding:
            return "the models' sizes (all rows are needed to choose the error)"
        return f"the {self.rows_deciding:,} rows that decide"

    def lines(self) -> list[str]:
        lines = self._lines_of_rows()
        before, after = self.quality_exact, self.quality
        if after.accuracy is not None:
            known = before.auc is not None and after.auc is not None
            area = f", ROC AUC {before.auc:.4f} -> {after.auc:.4f}" if known else ""
            lines.append(
                f"accuracy     {before.accuracy:.2f}% -> {after.accuracy:.2f}%, balanced "
                f"{before.balanced_accuracy:.2f}% -> {after.balanced_accuracy:.2f}%{area} "
                "(exact model, both; the same rows)"
            )
        lines += [f"class {one.line()}" for one in self.classes]
        if self.operations is not None:
            fewer = f"{self.operations_exact / self.operations:.1f}x fewer; " if self.operations else ""
            lines.append(
                f"operations   {self.operations_exact:,.0f} -> {self.operations:,.0f} multiply-adds per row "
                f"({fewer}counted)"
            )
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
        claim = "the limits below hold for all classes at once"
        if not self.per_class:
            limit = f"{self.labels_differing_limit_percent:.3g}%"
            claim = f"at most {limit} of the labels differ on rows like these"
        return [
            given,
            f"fast alone   {100 * alone / n:.3g}% of the labels differ: {alone:,} of the {n:,} rows",
            f"error bound  {bound}",
            f"answered     {self.measured_answered:,} of the {count(measured, 'measured row')} by the fast "
            f"model ({self.measured_answered / measured:.2%}), the others by the exact model",
            f"labels       {labels_line(share)}: {differing:,} of the {measured:,} {which}",
            f"guarantee    with {self.confidence:.4g} confidence {claim}, shown by the "
            f"{self.rows_choosing:,} rows that chose the error bound, of which "
            f"{self.labels_differing_choosing:,} differ",
        ]
