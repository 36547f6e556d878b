"""The error of a converted model on rows that nothing was chosen by: what every report of it holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorStatement:
    """A statistical statement: what held-out rows show, which says nothing of any single row.

    Attributes
    ----------
    rows : int
        Distinct rows held out.
    rows_from : str
        ``data`` or ``support vectors``.
    median, quantile_99, quantile_999, largest : float
        Of |difference of decision values|, over all rows and decision functions.
    relative_rms : float
        Root mean square difference over the standard deviation of the exact decision values.
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
    relative_rms: float
    label_agreement: float | None
    agreement_low: float | None
    agreement_high: float | None
