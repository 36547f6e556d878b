"""The error of a converted model on rows that influenced no choice: part of every report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmfast.figures import Figures, figure
from svmfast.score import interval_text


@dataclass(frozen=True)
class ErrorStatement(Figures):
    """A statistical statement from held-out rows, which proves nothing for a single row."""

    rows: int = figure("Rows held out, with their copies.")
    #: See :class:`svmfast.methods.common.equal_rows.Counted`.
    frequent_rows: int = figure("Rows of the data that count besides, because each of them is frequent.")
    rows_from: str = figure("`data` or `support vectors`.")
    #: Statistics over all rows and decision functions.
    median: float = figure("Median difference of the decision values.", key="median_abs_error")
    quantile_99: float = figure("The 99% quantile of the differences.", key="abs_error_99")
    quantile_999: float = figure("The 99.9% quantile of the differences.", key="abs_error_999")
    largest: float = figure("The largest difference.", key="max_abs_error")
    values_differing_percent: float | None = figure(
        "Root mean square difference of the values in percent of their spread; null unless regression."
    )
    labels_differing_percent: float | None = figure(
        "Percent of rows whose label is not the exact model's; null for regression."
    )
    labels_differing_percent_low: float | None = figure("Lower end of its 95% confidence interval.")
    labels_differing_percent_high: float | None = figure("Upper end of its 95% confidence interval.")


def labels_differing(share: tuple[float, float, float]) -> dict[str, float]:
    """The figures of a share with its interval (:meth:`Counted.share`), in percent."""
    names = ("", "_low", "_high")
    # Rounded, so that 7 of 100 do not exceed a limit of 7 %.
    percents = (round(100 * one, 10) for one in share)
    return {f"labels_differing_percent{name}": one for name, one in zip(names, percents, strict=True)}


def labels_line(figures: Mapping[str, Any]) -> str:
    """These figures as text."""
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
