"""The score of a cross-validation, as svm-train prints it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from svmfast.rows import FloatArray
from svmfast.score import Quality, quality


@dataclass(frozen=True)
class FoldScore:
    """The quality of predictions in which each row's model was trained without its fold.

    Attributes
    ----------
    rows, folds : int
    quality : Quality
    """

    rows: int
    folds: int
    quality: Quality

    @classmethod
    def of(cls, predicted: FloatArray, labels: FloatArray, folds: int, *, regression: bool) -> FoldScore:
        """Return the score of predictions, ``(n,)``, against `labels`."""
        return cls(len(labels), folds, quality(predicted, labels, regression=regression))

    def lines(self) -> list[str]:
        """Return svm-train's last lines."""
        found = self.quality
        if found.accuracy is not None:
            return [f"Cross Validation Accuracy = {found.accuracy:g}%"]
        return [
            f"Cross Validation Mean squared error = {found.mse:g}",
            f"Cross Validation Squared correlation coefficient = {found.scc:g}",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        return {"rows": self.rows, "folds": self.folds, **self.quality.as_dict()}
