"""Parts of reports: the error of a converted model on rows that chose nothing, and its probabilities."""

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
    value, low, high = (figures[f"labels_differing_percent{name}"] for name in ("", "_low", "_high"))
    return f"{value:.3g}% of the labels differ ({interval_text(low, high)})"


def probability_lines(what: str, held_out: Mapping[str, float] | None = None) -> list[str]:
    """The line of a report; `what` became of them is ``none`` (there were none), kept or dropped."""
    if what == "none":
        return []
    if what == "dropped":
        return ["probability  dropped: predict with `probability` will refuse the model"]
    line = "probability  probA and probB are the exact model's, applied to the new decision values"
    if held_out and "probability_max" in held_out:
        mean, largest = held_out["probability_mean"], held_out["probability_max"]
        line += f"; |difference| on held-out rows {mean:.3g} on average, {largest:.3g} at most"
    return [line]
