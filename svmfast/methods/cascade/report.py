"""What joining two models found, and how it prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from svmfast.class_scores import ClassScore, KeptLabels, shown_label
from svmfast.display import count
from svmfast.methods.common.error_statement import labels_differing, labels_line
from svmfast.score import OF_CLASSES, Quality
from svmfast.solvers.intervals import clopper_pearson


@dataclass(frozen=True)
class ClassChange:
    """The effect of joining on one class, among the rows that the report measures on.

    Attributes
    ----------
    label : float
    by_exact, by_both : ClassScore or None
        Counts against the true labels, of the exact model and of the two together; None if the true labels
        are unknown.
    exact_rows : int
        Rows that the exact model assigns to the class.
    labels_differing : int
        The number of these rows whose label the two models together change.
    labels_differing_limit_percent : float or None
        Upper limit on the share of `exact_rows` whose label changes; None unless requested.
    """

    label: float
    by_exact: ClassScore | None
    by_both: ClassScore | None
    exact_rows: int
    labels_differing: int
    labels_differing_limit_percent: float | None

    def line(self) -> str:
        """Return the recall before and after, and how many of the exact model's rows change their label."""
        text = f"{shown_label(self.label)!s:<6} "
        if self.by_exact is not None and self.by_both is not None:
            before, after = self.by_exact.recall, self.by_both.recall
            recall = "-" if after is None else f"{before:.2f}% -> {after:.2f}%"
            text += f"recall {recall} of {count(self.by_both.rows, 'row')}; "
        text += (
            f"{self.labels_differing:,} of the exact model's {count(self.exact_rows, 'label')} of this class "
            f"differ{'s' * (self.labels_differing == 1)}"
        )
        limit = self.labels_differing_limit_percent
        return text if limit is None else f"{text}; guaranteed: at most {limit:.3g}%"

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
        All rows, and distinct rows.
    rows_choosing, rows_deciding : int
        Rows that chose the error, and the others, which decided whether to join.
    max_diff, confidence : float
    per_class : bool
        As requested; `per_class`: the limit holds within each of the exact model's classes.
    error : float
        The fast model answers a row if an error of this size in every decision value cannot change its label.
    labels_differing_without_fallback : int
        Rows for which the label of the fast model alone differs from the exact model's.
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
        Scores of the exact model and of both together on the measured rows; without true labels, all None.
    classes : tuple of ClassChange
        The figures of each class, by ascending label.
    operations_fast, operations_exact, operations : float or None
        Multiply-adds of a row for either model, and on average for both together; None where a model does
        not count them.
    cheaper : bool
        Whether both together cost less than the exact model alone, measured on the deciding rows.
    speedup_with_fallback : float or None
        How many times as fast both together are as the exact model; None unless they were raced.
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
    def kept(self) -> KeptLabels:
        """How many of the measured rows with each label of the exact model keep it."""
        return KeptLabels(
            tuple(
                ClassScore(one.label, one.exact_rows, 0, one.exact_rows - one.labels_differing)
                for one in self.classes
            )
        )

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
        differing = self.measured_labels_differing
        share = labels_differing((differing / measured, *clopper_pearson(differing, measured)))
        return [
            given,
            f"fast alone   {100 * alone / n:.3g}% of the labels differ: {alone:,} of the {n:,} rows",
            f"error bound  {self._bound()}",
            f"answered     {self.measured_answered:,} of the {count(measured, 'measured row')} by the fast "
            f"model ({self.measured_answered / measured:.2%}), the others by the exact model",
            f"labels       {labels_line(share)}: {differing:,} of the {measured:,} {which}",
            f"guarantee    {self._guarantee()}",
        ]

    def _bound(self) -> str:
        if not self.error:
            return "0: the fast model may answer every row, because few enough of its labels differ"
        return (
            f"{self.error:.6g}: the fast model answers the rows whose label stays the same if every decision "
            "value is wrong by this much"
        )

    def _guarantee(self) -> str:
        """State the guarantee, and the rows that it comes from."""
        choosing, differing = self.rows_choosing, self.labels_differing_choosing
        origin = f"shown by the {choosing:,} rows that chose the error bound, of which {differing:,} differ"
        claim = "the limits below hold for all classes at once"
        if not self.per_class:
            limit = f"{self.labels_differing_limit_percent:.3g}%"
            claim = f"at most {limit} of the labels differ on rows like these"
        return f"with {self.confidence:.4g} confidence {claim}, {origin}"

    def lines(self) -> list[str]:
        """Return the report as text."""
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
