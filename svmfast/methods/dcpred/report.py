"""The report of ``dcpred``, and the error of a converted model on held-out rows, measured as in compress."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from svmfast.figures import figure
from svmfast.methods.common.equal_rows import FREQUENT, Aside, quantiles
from svmfast.methods.common.error_statement import (
    labels_differing,
    labels_line,
    probability_error,
    probability_lines,
)
from svmfast.methods.common.landmarks import LandmarkReport
from svmfast.models.base import Model
from svmfast.rows import Rows
from svmfast.score import values_differing_percent

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
    held_out: Mapping[str, float] | None = figure(
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
            held=[*self._held(), *probability_lines(self.probabilities, self.held_out)],
            pseudo=f", {self.pseudo_landmarks:,} {self.pseudo} pseudo" if self.pseudo_landmarks else "",
        )

    def _held(self) -> list[str]:
        held = self.held_out
        if not held:
            return []
        parts = []
        if "labels_differing_percent" in held:
            parts.append(labels_line(held))
        if "values_differing_percent" in held:
            parts.append(f"values differ by {held['values_differing_percent']:.3g}% of their spread")
        if "median_abs_error" in held:
            parts.append(
                f"|difference| median {held['median_abs_error']:.3g}, 99% below {held['abs_error_99']:.3g}, "
                f"99.9% below {held['abs_error_999']:.3g}"
            )
        frequent = ""
        if held["frequent_rows"]:
            frequent = f" and {held['frequent_rows']:,.0f} that occur {FREQUENT} times or more"
        return [f"held out     {held['rows']:,.0f} rows{frequent}: {'; '.join(parts)}"]


def held_out(
    exact: Model, model: Model, rows: Rows, aside: Aside, *, values_fitted: bool, threads: int
) -> dict[str, float] | None:
    """Compare two models on the rows that are held out, and on the frequent rows; None if there are none.

    `values_fitted`: `model` was fitted to the decision values of `exact`, so that these can be compared.
    """
    if not len(aside.rows):
        return None
    compared, weights = rows.take(aside.rows), aside.counted.weights
    ours, theirs = (m.decision_values(compared, threads=threads) for m in (model, exact))
    found = {"rows": float(len(aside.held)), "frequent_rows": float(aside.counted.frequent_rows)}
    if values_fitted:
        difference = np.abs(ours - theirs)
        median, q99, q999 = quantiles(difference, weights, [0.5, 0.99, 0.999])
        found |= {"median_abs_error": median, "abs_error_99": q99, "abs_error_999": q999}
        found |= {"max_abs_error": float(difference.max())}
        found |= probability_error(exact.head, ours, theirs)
    if exact.head.is_regression:
        found["values_differing_percent"] = values_differing_percent(ours, theirs, weights)
    else:
        differing = model.head.predict(ours) != exact.head.predict(theirs)
        found |= labels_differing(aside.counted.share(differing))
    return found
