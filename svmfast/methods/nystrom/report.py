"""The report of ``nystrom``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmfast.display import count
from svmfast.figures import Figures, computed, figure
from svmfast.methods.common.error_statement import labels_line
from svmfast.score import Quality


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


@dataclass(frozen=True, kw_only=True)
class NystromReport(Figures):
    """The report of a fit, with its error on held-out rows."""

    rows: int = figure("Rows that were trained on.")
    rows_held_out: int = figure("Rows held out.")
    features: int = figure("Features in use.")
    landmarks: int = figure("Landmarks of the model.")
    rank: int = figure("Positive eigenvalues of the landmarks' kernel matrix.")
    functions: int = figure("Decision functions.")
    gamma: float = figure("Gamma of the kernel.")
    agreement: float | None = figure(
        "Percent of the held-out rows with the label of the data.",
        key="labels_right_percent",
        value=_percent,
        default=None,
    )
    agreement_low: float | None = figure(
        "Lower end of its 95% confidence interval.",
        key="labels_right_percent_low",
        value=_percent,
        default=None,
    )
    agreement_high: float | None = figure(
        "Upper end of its 95% confidence interval.",
        key="labels_right_percent_high",
        value=_percent,
        default=None,
    )
    relative_rms: float | None = figure(
        "Root mean square error over the standard deviation of the held-out targets.", default=None
    )
    #: Of a converted regression model (:func:`svmfast.score.values_differing_percent`).
    values_differing_percent: float | None = figure(
        "Root mean square difference from the exact values, in percent of their spread.", default=None
    )
    #: Of a converted classifier (:func:`svmfast.methods.common.error_statement.labels_differing`).
    labels_differing: Mapping[str, float] | None = None
    #: On the held-out rows; None if an exact model was converted, or if there are no such rows.
    held_out: Quality | None = None

    def lines(self) -> list[str]:
        """Return the report as text."""
        lines = [
            f"rows         {self.rows:,} to train on, {self.rows_held_out:,} held out",
            f"landmarks    {self.landmarks:,} (rank {self.rank:,}), gamma {self.gamma:g}, "
            f"{count(self.functions, 'function')}",
        ]
        if self.agreement is not None:
            lines.append(
                f"accuracy     {self.agreement:.2%} on the held-out rows (95% confidence: "
                f"{self.agreement_low:.2%} to {self.agreement_high:.2%})"
            )
        if self.labels_differing is not None:
            lines.append(f"labels       {labels_line(self.labels_differing)}, on the held-out rows")
        if self.relative_rms is not None:
            lines.append(
                f"error        root mean square over the spread of the values: {self.relative_rms:.2%}"
            )
        if self.values_differing_percent is not None:
            percent = self.values_differing_percent
            lines.append(f"values       differ by {percent:.3g}% of their spread, on the held-out rows")
        if self.held_out is not None:
            lines.append(f"held out     {self.held_out.line()}")
        return lines

    @computed.figure("Figures of the held-out rows.", key="held_out")
    def figures_held_out(self) -> dict[str, Any] | None:
        """The number of held-out rows and what was measured on them; None if nothing was."""
        found = self.labels_differing if self.held_out is None else self.held_out.as_dict()
        return None if found is None else {"rows": self.rows_held_out, **found}
