"""What dcpred and meka, which train landmarks, share: above all the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from svmfast.figures import Figures, figure
from svmfast.methods.common.cross_validation import CrossValidation, score_lines
from svmfast.methods.common.problem import CLASSES, remark_on_classes
from svmfast.methods.method import Outcome, Setting
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.score import Quality


@dataclass(frozen=True, kw_only=True)
class LandmarkReport(Figures):
    task: str = figure("What was trained; of a conversion, what was fitted.")
    rows: int = figure("Rows that were trained on.")
    features: int = figure("Features: the largest index.")
    clusters: int = figure("Clusters.")
    landmarks: int = figure("Landmarks of the model, in all clusters together.")
    gamma: float = figure("Gamma of the kernel, as given or chosen.")
    regularization: float = figure("C (svc, labels) or lambda (ridge, values), given or chosen.")
    multiply_adds: float = figure("Counted multiply-adds of a prediction, on average over the rows.")
    linear_multiply_adds: float = figure("Counted multiply-adds of a linear model.")
    training: Quality = figure(
        "Figures of the model on rows that it was trained on (20,000 at most), against the labels or values "
        "that it was fitted to: accuracy, balanced_accuracy, auc, classes, or mse, scc, rmse, mae, r2."
    )
    cross_validation: tuple[CrossValidation, ...] = figure(
        "For every pair of parameters: gamma, regularization, score (percent of right labels, or root mean "
        "square error), and the figures of `training` on the rows left out.",
        default=(),
    )
    folds: int | None = figure("Folds of the cross-validation.")

    def text(
        self,
        *,
        data: str,
        kernel: str,
        own: Sequence[str] = (),
        fitted: str = "",
        held: Sequence[str] = (),
        pseudo: str = "",
    ) -> list[str]:
        """Put the lines together; the arguments are their ends, but `own` and `held` are lines."""
        classes = self.task in CLASSES
        kernel += f", {'C' if classes else 'lambda'} {self.regularization:.6g}"
        lines = [
            *score_lines(self.cross_validation, "C" if classes else "lambda"),
            f"data         {self.rows:,} rows, {self.features:,} features{data}",
            f"kernel       {kernel}",
            *own,
            f"training     {self.training.line()} on the training rows{fitted}",
            *held,
        ]
        times = self.multiply_adds / max(1.0, self.linear_multiply_adds)
        lines.append(f"prediction   {times:.3g} times a linear model's multiply-adds")
        return [*lines, f"model        {self.landmarks:,} landmarks{pseudo}"]


def outcome(made: tuple[Model | None, Any], setting: Setting, *, converted: bool) -> Outcome:
    """The outcome of a run that, unless the model was `converted`, remarks on classes that it neglects."""
    model, report = made
    if not converted:
        remark_on_classes(report.training, setting)
    return Outcome(model, report)


def widths_to_try(exact: KernelExpansion) -> dict[str, tuple[float, ...]]:
    """The option `gamma` of a candidate for ``frontier``; empty if the exact model's gamma is used."""
    if exact.kernel.kind == "rbf":
        return {}
    return {"gamma": (float(f"{1.0 / max(1, exact.n_features):.6g}"),)}
