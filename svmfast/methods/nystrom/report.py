"""The report of ``nystrom``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmfast.display import count
from svmfast.methods.common.error_statement import labels_line
from svmfast.score import Quality


@dataclass(frozen=True)
class NystromReport:
    """The report of a fit, with its error on held-out rows.

    Attributes
    ----------
    rows, rows_held_out, features, landmarks, rank, functions : int
        `rank` is the number of positive eigenvalues of the landmarks' kernel matrix.
    gamma : float
    agreement, agreement_low, agreement_high : float or None
        Share of the held-out rows whose label equals that of the data, and its interval at 95 %; None for
        regression and if an exact model was converted.
    relative_rms : float or None
        For regression: root mean square error divided by the standard deviation of the held-out targets; None
        if an exact model was converted.
    values_differing_percent : float or None
        If an exact regression model was converted: how much the values differ from its values on the held-out
        rows (:func:`svmfast.score.values_differing_percent`).
    labels_differing : mapping or None
        If an exact classifier was converted: the share of labels that differ from its labels, with its
        interval (:func:`svmfast.methods.common.error_statement.labels_differing`).
    held_out : Quality or None
        Quality on the held-out rows; None if an exact model was converted, or if there are no such rows.
    """

    rows: int
    rows_held_out: int
    features: int
    landmarks: int
    rank: int
    functions: int
    gamma: float
    agreement: float | None
    agreement_low: float | None
    agreement_high: float | None
    relative_rms: float | None
    values_differing_percent: float | None
    labels_differing: Mapping[str, float] | None
    held_out: Quality | None

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
        found = self.labels_differing if self.held_out is None else self.held_out.as_dict()
        return {
            "rows": self.rows,
            "rows_held_out": self.rows_held_out,
            "features": self.features,
            "landmarks": self.landmarks,
            "rank": self.rank,
            "functions": self.functions,
            "gamma": self.gamma,
            "labels_right_percent": None if self.agreement is None else 100 * self.agreement,
            "labels_right_percent_low": None if self.agreement_low is None else 100 * self.agreement_low,
            "labels_right_percent_high": None if self.agreement_high is None else 100 * self.agreement_high,
            "relative_rms": self.relative_rms,
            "values_differing_percent": self.values_differing_percent,
            "held_out": None if found is None else {"rows": self.rows_held_out, **found},
        }
