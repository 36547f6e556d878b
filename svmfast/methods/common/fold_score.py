"""The score of a cross-validation, as svm-train prints it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from svmfast.rows import FloatArray
from svmfast.score import Score


@dataclass(frozen=True)
class FoldScore:
    """How well rows were predicted by models that were trained without their folds.

    Attributes
    ----------
    rows, folds : int
    accuracy : float or None
        Percent of right labels; None for regression.
    mse, scc : float or None
        Mean squared error and squared correlation coefficient; None for classes.
    """

    rows: int
    folds: int
    accuracy: float | None = None
    mse: float | None = None
    scc: float | None = None

    @classmethod
    def of(cls, predicted: FloatArray, labels: FloatArray, folds: int, *, regression: bool) -> FoldScore:
        """Return the score of predictions, ``(n,)``, against `labels`."""
        score = Score()
        score.add(predicted, labels, regression=regression)
        if regression:
            return cls(score.total, folds, mse=score.mean_squared_error, scc=score.squared_correlation)
        return cls(score.total, folds, accuracy=score.accuracy)

    def lines(self) -> list[str]:
        """Return svm-train's last lines."""
        if self.accuracy is not None:
            return [f"Cross Validation Accuracy = {self.accuracy:g}%"]
        return [
            f"Cross Validation Mean squared error = {self.mse:g}",
            f"Cross Validation Squared correlation coefficient = {self.scc:g}",
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        figures = {"mse": self.mse, "scc": self.scc} if self.accuracy is None else {"accuracy": self.accuracy}
        return {"rows": self.rows, "folds": self.folds, **figures}
