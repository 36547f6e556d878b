"""The error of a converted model on held-out rows, measured as in compress."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from svmfast.methods.common.equal_rows import quantiles
from svmfast.methods.common.error_statement import ErrorStatement, labels_differing
from svmfast.methods.common.hold_out import Aside
from svmfast.methods.common.refit_probabilities import probability_error
from svmfast.models.base import Model
from svmfast.models.certified import label_margins
from svmfast.rows import Rows
from svmfast.score import values_differing_percent


def held_out(
    exact: Model, model: Model, rows: Rows, aside: Aside, *, values_fitted: bool, threads: int
) -> dict[str, float] | None:
    """Compare two models on the rows that are held out, and on the frequent rows; None if there are none.

    `values_fitted`: `model` was fitted to the decision values of `exact`, so that they can be compared.

    Returns
    -------
    dict
        ``rows`` and ``frequent_rows``, as in ErrorStatement. If values were fitted, statistics of |difference
        of decision values|: ``median``, ``quantile_99``, ``quantile_999`` and ``largest``; if there are
        probabilities, also ``probability_mean`` and ``probability_max`` of |difference of probabilities|.

        For regression ``values_differing_percent``; otherwise ``labels_differing_percent`` with its interval
        at 95 % (``_low``, ``_high``), and ``fallback_error``: the error of the decision values that
        ``predict`` may assume when it leaves uncertain rows to the exact model. If values were fitted, this
        is the 99.9 % quantile of their difference. If labels were fitted, it is the same quantile of the
        error that explains a row's label: 0 if the label is the exact one, else the certainty of the wrong
        label.

        ``trained_on`` 1 is added by :func:`svmfast.methods.dcpred.fit.fit_exact` if `exact` was trained
        on these rows, so that others will agree less.
    """
    if not len(aside.rows):
        return None
    compared, weights = rows.take(aside.rows), aside.counted.weights
    ours, theirs = (m.decision_values(compared, threads=threads) for m in (model, exact))
    found = {"rows": float(len(aside.held)), "frequent_rows": float(aside.counted.frequent_rows)}
    if values_fitted:
        difference = np.abs(ours - theirs)
        median, q99, q999 = quantiles(difference, weights, [0.5, 0.99, 0.999])
        found |= {"median": median, "quantile_99": q99, "quantile_999": q999}
        found |= {"largest": float(difference.max())}
        found |= probability_error(exact.head, ours, theirs)
    if exact.head.is_regression:
        found["values_differing_percent"] = values_differing_percent(ours, theirs, weights)
    else:
        differing = model.head.predict(ours) != exact.head.predict(theirs)
        found |= labels_differing(aside.counted.share(differing))
        found["fallback_error"] = found.get("quantile_999", 0.0)
        if not values_fitted:
            needed = np.where(differing, label_margins(model.head, ours), 0.0)
            (found["fallback_error"],) = quantiles(needed[:, None], weights, [0.999])
    return found


def as_held_out(statement: ErrorStatement) -> dict[str, float]:
    """Return compress's error statement, for a model fitted to values, in the form of :func:`held_out`."""
    found = {"rows": float(statement.rows), "frequent_rows": float(statement.frequent_rows)}
    found |= {"median": statement.median, "quantile_99": statement.quantile_99}
    found |= {"quantile_999": statement.quantile_999, "largest": statement.largest}
    found["fallback_error"] = statement.quantile_999
    labels = {key: value for key, value in asdict(statement).items() if key.startswith("labels_differing")}
    return found if None in labels.values() else found | labels
