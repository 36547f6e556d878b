"""Scores of decision values while a method trains, and of a cross-validation as svm-train prints it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from svmfast.class_scores import class_word
from svmfast.display import count
from svmfast.figures import Figures, figure
from svmfast.methods.method import Setting
from svmfast.models.head import Head
from svmfast.rows import FloatArray
from svmfast.score import Quality, Score, quality

#: The most rows on which the score on the training rows is measured: the first ones.
MOST_SCORED = 20_000


class HeadScore:
    """A running score of decision values, which `head` turns into predictions, in bounded memory."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._score = Score(by_class=True, sides=head.sides)

    def add(self, decisions: FloatArray, target: FloatArray) -> None:
        """Add n rows: decision values ``(n, p)`` and labels, or values for regression, ``(n,)``."""
        head = self._head
        values = None if head.sides is None else decisions[:, 0]
        self._score.add(head.predict(decisions), target, regression=head.is_regression, decisions=values)

    @property
    def quality(self) -> Quality:
        """The figures of all rows, of which there must be at least one."""
        return self._score.quality(regression=self._head.is_regression)


def head_quality(head: Head, decisions: FloatArray, target: FloatArray) -> Quality:
    """Compare decision values ``(n, p)`` with labels or values ``(n,)``; n > 0."""
    score = HeadScore(head)
    score.add(decisions, target)
    return score.quality


def value_quality(values: FloatArray, target: FloatArray) -> Quality:
    """Compare the values of all functions together with their targets; both ``(n, p)``, n > 0."""
    score = Score()
    for column in range(target.shape[1]):  # all columns at once would take several times the memory
        score.add(values[:, column], target[:, column], regression=True)
    return score.quality(regression=True)


def remark_on_classes(found: Quality | None, setting: Setting) -> None:
    """Note the classes that are predicted badly although the accuracy is high."""
    for line in () if found is None else found.neglected_lines(setting.names_of_labels()):
        setting.note(line)


#: Maximum number of classes whose recall is shown.
MAX_LISTED = 20


@dataclass(frozen=True)
class FoldScore(Figures):
    """The quality of predictions in which each row's model was trained without its fold."""

    rows: int = figure("Rows that were trained and measured on.")
    folds: int = figure("Folds of the cross-validation.")
    quality: Quality = figure("", spread=True)
    #: Whether :meth:`lines` has the balanced accuracy and the recall of each class too.
    by_class: bool = False
    #: The name of each label.
    names: Mapping[float, str] | None = None

    @classmethod
    def of(cls, predicted: FloatArray, labels: FloatArray, folds: int, *, regression: bool) -> FoldScore:
        """Compare predictions with labels, both ``(n,)``."""
        return cls(len(labels), folds, quality(predicted, labels, regression=regression))

    def lines(self) -> list[str]:
        """svm-train's last lines; with `by_class`, one more follows."""
        found = self.quality
        if found.accuracy is not None:
            more = [self.classes()] if self.by_class else []
            return [f"Cross Validation Accuracy = {found.accuracy:g}%", *more]
        return [
            f"Cross Validation Mean squared error = {found.mse:g}",
            f"Cross Validation Squared correlation coefficient = {found.scc:g}",
        ]

    def classes(self) -> str:
        """The balanced accuracy and the recall of each class, in a line."""
        known = [one for one in self.quality.classes if one.recall is not None]
        recalls = [
            f"{class_word(one.label, self.names)} {one.recall:.4g}% of {count(one.rows, 'row')}"
            for one in known[:MAX_LISTED]
        ]
        if len(known) > len(recalls):
            recalls.append(f"and {len(known) - len(recalls):,} more")
        return (
            f"balanced accuracy {self.quality.balanced_accuracy:.4g}%; recall of class {', '.join(recalls)}"
        )
