"""The error of a converted model on rows that influenced no choice: part of every report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmfast.score import interval_text


@dataclass(frozen=True)
class ErrorStatement:
    """A statistical statement from held-out rows, which proves nothing for a single row.

    Attributes
    ----------
    rows : int
        Rows held out, with their copies.
    frequent_rows : int
        Rows of the data that are counted besides, because each of them is frequent
        (:class:`svmfast.methods.common.equal_rows.Counted`).
    rows_from : str
        ``data`` or ``support vectors``.
    median, quantile_99, quantile_999, largest : float
        Statistics of |difference of decision values| over all rows and decision functions.
    values_differing_percent : float or None
        How much the values differ (:func:`svmfast.score.values_differing_percent`); None unless regression.
    labels_differing_percent, labels_differing_percent_low, labels_differing_percent_high : float or None
        Share of rows whose label is not the exact model's, and its interval at 95 %; None for regression.
    """

    rows: int
    frequent_rows: int
    rows_from: str
    median: float
    quantile_99: float
    quantile_999: float
    largest: float
    values_differing_percent: float | None
    labels_differing_percent: float | None
    labels_differing_percent_low: float | None
    labels_differing_percent_high: float | None

    @property
    def agreement_low(self) -> float | None:
        """Lower end of the interval of the share of rows with the exact model's label."""
        high = self.labels_differing_percent_high
        return None if high is None else 1 - high / 100

    @property
    def agreement_high(self) -> float | None:
        """Upper end of the same interval."""
        low = self.labels_differing_percent_low
        return None if low is None else 1 - low / 100


def labels_differing(share: tuple[float, float, float]) -> dict[str, float]:
    """Return the figures of a share with its interval, as :meth:`Counted.share` returns it, in percent."""
    names = ("", "_low", "_high")
    # Rounded, so that 7 of 100 do not exceed a limit of 7 %.
    percents = (round(100 * one, 10) for one in share)
    return {f"labels_differing_percent{name}": one for name, one in zip(names, percents, strict=True)}


def labels_line(figures: Mapping[str, Any]) -> str:
    """Return these figures as text."""
    value, low, high = (figures[f"labels_differing_percent{name}"] for name in ("", "_low", "_high"))
    return f"{value:.3g}% of the labels differ ({interval_text(low, high)})"


#: Names that methods use for figures of held-out rows, and the names in reports, which ``compare`` also uses.
_HELD_OUT = {
    **{"median": "median_abs_error", "q50": "median_abs_error", "q90": "abs_error_90"},
    **{"quantile_99": "abs_error_99", "q99": "abs_error_99", "quantile_999": "abs_error_999"},
    **{"largest": "max_abs_error", "max": "max_abs_error", "mean": "mean_abs_error"},
}


def held_out(figures: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the figures measured on held-out rows, under the names that all reports share."""
    return None if figures is None else {_HELD_OUT.get(key, key): value for key, value in figures.items()}
