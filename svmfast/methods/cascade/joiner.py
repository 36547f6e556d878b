"""cascade for ``frontier``: joins the models of other methods with the exact one under one limit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from svmfast.methods.cascade.join import join
from svmfast.methods.cascade.options import MOST_ROWS, CascadeOptions
from svmfast.methods.cascade.threshold import least_rows
from svmfast.methods.grid import Joining
from svmfast.models.base import Model
from svmfast.models.cascade import CascadeModel
from svmfast.values import Share

#: Of these confidences that of the guarantee is the first for which there are enough rows.
CONFIDENCES = (0.999, 0.99, 0.975)


def joiner(given: Joining) -> CascadeJoiner | None:
    """Return what joins models; None for regression, and for a limit that no sample can show or need show."""
    percent = given.max_percent
    # No sample can show that no label differs; and if all labels may differ, no cascade is needed.
    if given.exact.head.is_regression or not percent or percent >= 100:
        return None
    return CascadeJoiner(given, percent)


class CascadeJoiner:
    """Joins models with the exact one.

    The guarantee has a higher confidence than the command's default: the model must be within the limit on
    other rows too, by the upper end of an interval.

    Attributes
    ----------
    max_percent : float
    options : mapping
        The command's options that differ from their defaults.
    """

    def __init__(self, given: Joining, max_percent: float) -> None:
        self._given, self.max_percent = given, max_percent
        # The limit is parsed as the command parses it.
        limit = Share().of_text(f"{max_percent:.15g}%")
        enough = (c for c in CONFIDENCES if least_rows(limit, c) <= len(given.rows))
        confidence = next(enough, CONFIDENCES[-1])
        self.options: Mapping[str, Any] = {
            "max_diff": limit,
            "confidence": confidence,
            "seed": given.seed,
            # frontier times the models itself; a race could make the command fail on a busy machine.
            "force": True,
        }
        if len(given.rows) > MOST_ROWS:
            self.options = {**self.options, "rows": len(given.rows)}

    def join(self, fast: Model) -> CascadeModel | None:
        """Return `fast` with the exact model as fallback; None if that is not faster."""
        given = self._given
        model, report = join(
            fast,
            given.exact,
            given.rows,
            CascadeOptions(**self.options),
            scaling=given.scaling,
            labels=given.labels,
            source=given.source,
            threads=given.threads,
        )
        return model if report.cheaper and report.error else None
