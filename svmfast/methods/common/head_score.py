"""Scores of decision values against labels or target values."""

from __future__ import annotations

from svmfast.methods.given import Setting
from svmfast.models.head import Head
from svmfast.rows import FloatArray
from svmfast.score import Quality, Score

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
    """Return the figures of decision values ``(n, p)`` against labels or values ``(n,)``; n > 0."""
    score = HeadScore(head)
    score.add(decisions, target)
    return score.quality


def value_quality(values: FloatArray, target: FloatArray) -> Quality:
    """Return the figures of the values of all functions together; both ``(n, p)``, n > 0."""
    score = Score()
    for column in range(target.shape[1]):  # all columns at once would take several times the memory
        score.add(values[:, column], target[:, column], regression=True)
    return score.quality(regression=True)


def remark_on_classes(found: Quality | None, setting: Setting) -> None:
    """Note the classes that are predicted badly although the accuracy is high."""
    for line in () if found is None else found.neglected_lines(setting.names_of_labels()):
        setting.note(line)
