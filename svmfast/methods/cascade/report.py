"""What joining two models found, and how it prints."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from svmfast.class_scores import shown_label
from svmfast.display import count


@dataclass(frozen=True)
class ClassChange:
    """What joining does to one class.

    Attributes
    ----------
    label : float
    rows : int or None
        Rows whose true label it is; None where true labels are not known, and so the next two.
    correct_exact, correct : int or None
        Of these, those to which the exact model, and the two together, give it.
    exact_rows : int
        Rows to which the exact model gives it.
    labels_differing : int
        Of these, those to which the two together give another one.
    labels_differing_limit_percent : float or None
        At most this part of the rows to which the exact model gives it gets another; None unless asked for.
    """

    label: float
    rows: int | None
    correct_exact: int | None
    correct: int | None
    exact_rows: int
    labels_differing: int
    labels_differing_limit_percent: float | None

    @property
    def recall_exact(self) -> float | None:
        """The exact model's recall in percent."""
        return 100 * self.correct_exact / self.rows if self.rows and self.correct_exact is not None else None

    @property
    def recall(self) -> float | None:
        """The recall of both together in percent."""
        return 100 * self.correct / self.rows if self.rows and self.correct is not None else None

    def line(self) -> str:
        """Return the recall before and after, and how many of the exact model's rows get another label."""
        text = f"{shown_label(self.label)!s:<6} "
        if self.rows is not None:
            recall = "-" if self.recall is None else f"{self.recall_exact:.2f}% -> {self.recall:.2f}%"
            text += f"recall {recall} of {count(self.rows, 'row')}; "
        text += f"{self.labels_differing:,} of the exact model's {self.exact_rows:,} differ"
        limit = self.labels_differing_limit_percent
        return text if limit is None else f"{text}, at most {limit:.3g}%"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        more = {"label": shown_label(self.label), "recall_exact": self.recall_exact, "recall": self.recall}
        return {**asdict(self), **more}


@dataclass(frozen=True)
class CascadeReport:
    """What joining two models found on the rows.

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
        Rows of which the fast model alone has another label than the exact one.
    answered : int
        Rows that the fast model answers.
    labels_differing, labels_differing_choosing : int
        Those of them that differ, and how many of these are among the rows that chose the error.
    labels_differing_limit_percent : float
        With the confidence asked for, the part of rows like these that differs is at most this.
    accuracy_exact, accuracy, balanced_accuracy_exact, balanced_accuracy : float or None
        Of the exact model and of both together, in percent; None where true labels are not known.
    classes : tuple of ClassChange
        By ascending label.
    operations_fast, operations_exact, operations : float or None
        Multiply-adds of a row for either model, and on average for both together; None where a model does
        not count them.
    cheaper : bool
        Whether both together cost less than the exact model alone, as the deciding rows have it.
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
    labels_differing_limit_percent: float
    accuracy_exact: float | None
    accuracy: float | None
    balanced_accuracy_exact: float | None
    balanced_accuracy: float | None
    classes: tuple[ClassChange, ...]
    operations_fast: float | None
    operations_exact: float
    operations: float | None
    cheaper: bool

    @property
    def deciding(self) -> str:
        """What decided whether to join."""
        if not self.rows_deciding:
            return "the models' sizes (all rows are needed to choose the error)"
        return f"the {self.rows_deciding:,} rows that decide"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        values = {name.replace("operations", "multiply_adds"): value for name, value in asdict(self).items()}
        values["classes"] = [one.to_dict() for one in self.classes]
        return {**values, "labels_differing_percent": 100 * self.labels_differing / self.rows}

    def lines(self) -> list[str]:
        """Return the report as text."""
        n, differing, alone = self.rows, self.labels_differing, self.labels_differing_without_fallback
        choosing, among = self.rows_choosing, self.labels_differing_choosing
        claim = f"at most {self.labels_differing_limit_percent:.3g}% of rows like these"
        if self.per_class:
            claim = "the limits below hold for all classes at once"
        lines = [
            f"rows         {n:,}, {self.different_rows:,} of them different; {choosing:,} choose the error, "
            f"{self.rows_deciding:,} decide whether to join",
            f"fast alone   {alone:,} of {n:,} labels are not the exact model's ({alone / n:.3%})",
            f"error        {self.error:.6g}: rows whose values could be wrong by that much without another "
            "label are the fast model's",
            f"answered     {self.answered:,} of {n:,} rows by the fast model ({self.answered / n:.2%}), the "
            "others by the exact one",
            f"differing    {differing:,} of {n:,} ({differing / n:.3%}), {among:,} of them "
            f"among the {choosing:,}; {claim}, {self.confidence:.4g} confidence",
        ]
        if self.accuracy is not None:
            lines.append(
                f"accuracy     {self.accuracy_exact:.2f}% -> {self.accuracy:.2f}%, balanced "
                f"{self.balanced_accuracy_exact:.2f}% -> {self.balanced_accuracy:.2f}% (exact model, both)"
            )
        lines += [f"class {one.line()}" for one in self.classes]
        if self.operations is not None:
            fewer = f"{self.operations_exact / self.operations:.1f}x fewer; " if self.operations else ""
            lines.append(
                f"operations   {self.operations_exact:,.0f} -> {self.operations:,.0f} multiply-adds a row "
                f"({fewer}counted)"
            )
        return lines
