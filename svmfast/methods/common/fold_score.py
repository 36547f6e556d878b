"""The score of a cross-validation, as svm-train prints it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmfast.class_scores import class_word
from svmfast.display import count
from svmfast.rows import FloatArray
from svmfast.score import Quality, quality

#: Maximum number of classes whose recall is shown.
MAX_LISTED = 20


@dataclass(frozen=True)
class FoldScore:
    """The quality of predictions in which each row's model was trained without its fold."""

    rows: int
    folds: int
    quality: Quality
    #: Whether :meth:`lines` has the balanced accuracy and the recall of each class too.
    by_class: bool = False
    #: The name of each label.
    names: Mapping[float, str] | None = None

    @classmethod
    def of(cls, predicted: FloatArray, labels: FloatArray, folds: int, *, regression: bool) -> FoldScore:
        """Return the score of predictions, ``(n,)``, against `labels`."""
        return cls(len(labels), folds, quality(predicted, labels, regression=regression))

    def lines(self) -> list[str]:
        """Return svm-train's last lines; with `by_class`, more lines follow."""
        found = self.quality
        if found.accuracy is not None:
            more = [self.classes()] if self.by_class else []
            return [f"Cross Validation Accuracy = {found.accuracy:g}%", *more]
        return [
            f"Cross Validation Mean squared error = {found.mse:g}",
            f"Cross Validation Squared correlation coefficient = {found.scc:g}",
        ]

    def classes(self) -> str:
        """Return the balanced accuracy and the recall of each class, in a line."""
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

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        return {"rows": self.rows, "folds": self.folds, **self.quality.as_dict()}
