"""The report of a cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.figures import Figures, figure
from svmfast.rows import FloatArray
from svmfast.score import Quality, quality


@dataclass(frozen=True)
class FoldScore(Figures):
    """The quality of predictions in which each row's model was trained without its fold."""

    rows: int = figure("Rows that were trained and measured on.")
    folds: int = figure("Folds of the cross-validation.")
    quality: Quality = figure("", spread=True)

    @classmethod
    def of(cls, predicted: FloatArray, labels: FloatArray, folds: int, *, regression: bool) -> FoldScore:
        return cls(len(labels), folds, quality(predicted, labels, regression=regression))

    def lines(self) -> list[str]:
        """svm-train's last lines."""
        found = self.quality
        if found.accuracy is not None:
            return [f"Cross Validation Accuracy = {found.accuracy:g}%"]
        return [
            f"Cross Validation Mean squared error = {found.mse:g}",
            f"Cross Validation Squared correlation coefficient = {found.scc:g}",
        ]
