"""What joining two models found, and how it prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from svmfast.class_scores import ClassScore, shown_label
from svmfast.display import count
from svmfast.score import OF_CLASSES, Quality


@dataclass(frozen=True)
class ClassChange:
    """The effect of joining on one class, among the rows that the report measures on.

    Attributes
    ----------
    label : float
    by_exact, by_both : ClassScore or None
        Counts against the true labels, of the exact model and of the two together; None where true labels
        are not known.
    exact_rows : int
        Rows to which the exact model gives it.
    labels_differing : int
        The number of these rows whose label the two models together change.
    labels_differing_limit_percent : float or None
        At most this part of the rows to which the exact model gives it gets another; None unless asked for.
    """

    label: float
    by_exact: ClassScore | None
    by_both: ClassScore | None
    exact_rows: int
    labels_differing: int
    labels_differing_limit_percent: float | None

    def line(self) -> str:
        """Return the recall before and after, and how many of the exact model's rows get another label."""
        text = f"{shown_label(self.label)!s:<6} "
        if self.by_exact is not None and self.by_both is not None:
            before, after = self.by_exact.recall, self.by_both.recall
            recall = "-" if after is None else f"{before:.2f}% -> {after:.2f}%"
            text += f"recall {recall} of {count(self.by_both.rows, 'row')}; "
        text += f"{self.labels_differing:,} of the exact model's {self.exact_rows:,} differ"
        limit = self.labels_differing_limit_percent
        return text if limit is None else f"{text}, at most {limit:.3g}%"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        found: dict[str, Any] = {"label": shown_label(self.label)}
        found["rows"] = None if self.by_both is None else self.by_both.rows
        for ending, score in (("_exact", self.by_exact), ("", self.by_both)):
            for name in ("correct", "recall", "precision", "f1"):
                found[name + ending] = None if score is None else getattr(score, name)
        for name in ("exact_rows", "labels_differing", "labels_differing_limit_percent"):
            found[name] = getattr(self, name)
        return found


@dataclass(frozen=True)
class CascadeReport:
    """The figures of two joined models.

    What the two together do is measured on the deciding rows, which took no part in choosing the error; on
    all rows only if all of them were needed to choose it.

    Attributes
    ----------
    rows, different_rows : int
        All, and without repetitions.
    rows_choosing, rows_deciding : int
        Rows that chose the error, and the others, which decided whether to join.
    max_diff, confidence : float
    per_class : bool
        What was asked for; `per_class`: the limit is of the rows of each of the exact model's classes.
    error : float
        A row is the fast model's where all its decision values could be wrong by this much.
    labels_differing_without_fallback : int
        Rows for which the fast model alone gives another label than the exact one.
    answered : int
        Rows, of all, that the fast model answers.
    labels_differing, labels_differing_choosing : int
        Those of them that differ, and how many of these are among the rows that chose the error.
    measured_rows, measured_answered, measured_labels_differing : int
        Rows that the figures are measured on, those of them that the fast model answers, and those of these
        that differ.
    labels_differing_limit_percent : float
        Upper limit, at the given confidence, on the share of rows like these that differ.
    quality_exact, quality : Quality
        Of the exact model and of both together, on the measured rows; nothing in them is known where true
        labels are not.
    classes : tuple of ClassChange
        By ascending label.
    operations_fast, operations_exact, operations : float or None
        Multiply-adds of a row for either model, and on average for both together; None where a model does
        not count them.
    cheaper : bool
        Whether both together cost less than the exact model alone, as the deciding rows have it.
    speedup_with_fallback : float or None
        How many times as fast both together are as the exact model, from the time of either; None unless they
        were raced.
    """

    rows: int
    different_rows: int
    rows_choosing: int
    rows_deciding: int
    max_diff: float
    confidence: float
    per_class: bool
    error: float
    labels_differing_without_fallback: int
    answered: int
    labels_differing: int
    labels_differing_choosing: int
    measured_rows: int
    measured_answered: int
    measured_labels_differing: int
    labels_differing_limit_percent: float
    quality_exact: Quality
    quality: Quality
    classes: tuple[ClassChange, ...]
    operations_fast: float | None
    operations_exact: float
    operations: float | None
    cheaper: bool
    speedup_with_fallback: float | None = None

    @property
    def deciding(self) -> str:
        """The figures that decided whether to join."""
        if not self.rows_deciding:
            return "the models' sizes (all rows are needed to choose the error)"
        return f"the {self.rows_deciding:,} rows that decide"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        values = {name.replace("operations", "multiply_adds"): value for name, value in vars(self).items()}
        values |= {name: getattr(self, name).as_dict() for name in ("quality_exact", "quality")}
        for ending, worth in (("_exact", values.pop("quality_exact")), ("", values.pop("quality"))):
            values |= {name + ending: worth[name] for name in OF_CLASSES if name != "classes"}
        values["classes"] = [one.to_dict() for one in self.classes]
        return {
            **values,
            "labels_differing_percent": 100 * self.measured_labels_differing / self.measured_rows,
        }

    def lines(self) -> list[str]:
        """Return the report as text."""
        n, alone, choosing = self.rows, self.labels_differing_without_fallback, self.rows_choosing
        measured, differing = self.measured_rows, self.measured_labels_differing
        of_rows, but_choosing = f"{measured:,} rows", ", all of which chose the error"
        if self.rows_deciding:
            of_rows = f"the {measured:,} rows that decide"
            but_choosing = f", and {self.labels_differing_choosing:,} of the {choosing:,} that choose"
        claim = f"at most {self.labels_differing_limit_percent:.3g}% of rows like these"
        if self.per_class:
            claim = "the limits below hold for all classes at once"
        lines = [
            f"rows         {n:,}, {self.different_rows:,} of them different; {choosing:,} choose the error, "
            f"{self.rows_deciding:,} decide whether to join",
            f"fast alone   {alone:,} of {n:,} labels are not the exact model's ({alone / n:.3%})",
            f"error        {self.error:.6g}: rows whose values could be wrong by that much without another "
            "label are the fast model's",
            f"answered     {self.measured_answered:,} of {of_rows} by the fast model "
            f"({self.measured_answered / measured:.2%}), the others by the exact one",
            f"differing    {differing:,} of these {measured:,} ({differing / measured:.3%}){but_choosing}; "
            f"{claim}, {self.confidence:.4g} confidence",
        ]
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
                f"operations   {self.operations_exact:,.0f} -> {self.operations:,.0f} multiply-adds a row "
                f"({fewer}counted)"
            )
        if self.speedup_with_fallback is not None:
            lines.append(f"raced        {self.speedup_with_fallback:.2f} times as fast as the exact model")
        return lines
