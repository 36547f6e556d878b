"""The report of ``nystrom``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmfast.display import count
from svmfast.methods.common.error_statement import labels_line
from svmfast.score import Quality


@dataclass(frozen=True, kw_only=True)
class NystromReport:
    """The report of a fit, with its error on held-out rows."""

    rows: int
    rows_held_out: int
    features: int
    landmarks: int
    #: The number of positive eigenvalues of the landmarks' kernel matrix.
    rank: int
    functions: int
    gamma: float
    #: Of a classifier: the share of the held-out rows with the label of the data, and its interval at 95 %.
    agreement: float | None = None
    agreement_low: float | None = None
    agreement_high: float | None = None
    #: Of regression: root mean square error over the standard deviation of the held-out targets.
    relative_rms: float | None = None
    #: If an exact regression model was converted (:func:`svmfast.score.values_differing_percent`).
    values_differing_percent: float | None = None
    #: If an exact classifier was converted
    #: (:func:`svmfast.methods.common.error_statement.labels_differing`).
    labels_differing: Mapping[str, float] | None = None
    #: Quality on the held-out rows; None if an exact model was converted, or if there are no such rows.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of docs/json.md."""
        names = ("rows", "rows_held_out", "features", "landmarks", "rank", "functions", "gamma")
        right = (self.agreement, self.agreement_low, self.agreement_high)
        percent = [None if share is None else 100 * share for share in right]
        found = self.labels_differing if self.held_out is None else self.held_out.as_dict()
        return {
            **{name: getattr(self, name) for name in names},
            "labels_right_percent": percent[0],
            "labels_right_percent_low": percent[1],
            "labels_right_percent_high": percent[2],
            "relative_rms": self.relative_rms,
            "values_differing_percent": self.values_differing_percent,
            "held_out": None if found is None else {"rows": self.rows_held_out, **found},
        }
