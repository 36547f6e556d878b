"""The report of ``dcpred``, and the error of a converted model on held-out rows, measured as in compress."""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.figures import figure
from svmfast.methods.common.equal_rows import Aside
from svmfast.methods.common.error_statement import ErrorStatement, probability_lines
from svmfast.methods.common.landmarks import LandmarkReport
from svmfast.models.base import Model
from svmfast.rows import Rows

#: Describes the targets, after the score on the training rows.
_FITTED = {
    "values": ", fitted to the exact decision values",
    "labels": ", fitted to the exact labels",
}


@dataclass(frozen=True, kw_only=True)
class DcpredReport(LandmarkReport):
    """The report of a training run; the task of a conversion is ``values`` or ``labels``."""

    leaf_rows: tuple[int, int] = figure("Rows of the smallest and the largest leaf.")
    pseudo_landmarks: int = figure("Pseudo landmarks of the model, in all leaves together.")
    pseudo: str = figure("Their kind.")
    leaf_gammas: tuple[float, float] = figure("Smallest and largest gamma of a leaf, after the optimization.")
    held_out: ErrorStatement | None = figure(
        "Of a conversion: differences from the exact model on held-out rows; null if there are none.",
        default=None,
    )
    probabilities: str = figure(
        "What became of the exact model's probabilities: none (it had none), kept, or dropped.",
        default="none",
    )

    def lines(self) -> list[str]:
        low, high = self.leaf_rows
        narrow, wide = self.leaf_gammas
        return self.text(
            data=f"; {self.clusters} clusters of {low:,} to {high:,} rows",
            kernel=f"rbf, gamma {self.gamma:.6g} (leaves {narrow:.4g} to {wide:.4g})",
            fitted=_FITTED.get(self.task, ""),
            held=[*(self.held_out.lines() if self.held_out else ()), *probability_lines(self.probabilities)],
            pseudo=f", {self.pseudo_landmarks:,} {self.pseudo} pseudo" if self.pseudo_landmarks else "",
        )


def held_out(
    exact: Model, model: Model, rows: Rows, aside: Aside, *, values_fitted: bool, threads: int
) -> ErrorStatement | None:
    """Compare two models on the rows that are held out, and on the frequent rows; None if there are none.

    `values_fitted`: `model` was fitted to the decision values of `exact`, so that these can be compared.
    """
    if not len(aside.rows):
        return None
    compared = rows.take(aside.rows)
    return ErrorStatement.of(
        (exact.head, model.head),
        (exact.decision_values(compared, threads=threads), model.decision_values(compared, threads=threads)),
        aside.counted,
        rows=len(aside.held),
        values_fitted=values_fitted,
    )
