"""The error of a converted model on rows that influenced no choice: part of every report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.solvers.binomial import clopper_pearson


@dataclass(frozen=True)
class ErrorStatement:
    """A statistical statement from held-out rows, which proves nothing for a single row.

    Attributes
    ----------
    rows : int
        Distinct rows held out.
    rows_from : str
        ``data`` or ``support vectors``.
    median, quantile_99, quantile_999, largest : float
        Statistics of |difference of decision values| over all rows and decision functions.
    values_differing_percent : float or None
        How much the values differ (:func:`svmfast.score.values_differing_percent`); None unless regression.
    label_agreement : float or None
        Share of rows with the exact model's label; None for regression.
    agreement_low, agreement_high : float or None
        Its Clopper-Pearson interval at 95 % confidence.
    """

    rows: int
    rows_from: str
    median: float
    quantile_99: float
    quantile_999: float
    largest: float
    values_differing_percent: float | None
    label_agreement: float | None
    agreement_low: float | None
    agreement_high: float | None


def agreement(same: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Return the share of n > 0 rows with the same label, and its Clopper-Pearson interval at 95 %."""
    count = int(np.count_nonzero(same))
    return count / len(same), *clopper_pearson(count, len(same))


#: Names that methods use for figures of held-out rows, and the names in reports, which ``compare`` also uses.
_HELD_OUT = {
    **{"median": "median_abs_error", "q50": "median_abs_error", "q90": "abs_error_90"},
    **{"quantile_99": "abs_error_99", "q99": "abs_error_99", "quantile_999": "abs_error_999"},
    **{"largest": "max_abs_error", "max": "max_abs_error", "mean": "mean_abs_error"},
}
#: Shares of equal labels, and the percentages of differing labels to which they are converted.
_AGREEMENT = {
    "label_agreement": "labels_differing_percent",
    "agreement_high": "labels_differing_percent_low",
    "agreement_low": "labels_differing_percent_high",
}


def held_out(figures: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the figures measured on held-out rows, under the names that all reports share."""
    if figures is None:
        return None
    found = {_HELD_OUT.get(key, key): value for key, value in figures.items() if key not in _AGREEMENT}
    for key, name in _AGREEMENT.items():
        if key in figures:
            found[name] = None if figures[key] is None else round(100 * (1 - figures[key]), 10)
    if "labels_differing" in found:
        found["labels_differing_percent"] = 100 * found["labels_differing"] / found["rows"]
    return found
