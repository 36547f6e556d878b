"""The error of a converted model on held-out rows, measured as in compress."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmfast.methods.common.equal_rows import groups_of
from svmfast.methods.common.error_statement import ErrorStatement, agreement
from svmfast.methods.common.hold_out import held_out_count, random_rows
from svmfast.methods.common.refit_probabilities import probability_error
from svmfast.models.base import Model
from svmfast.models.certified import label_margins
from svmfast.rows import Rows
from svmfast.score import values_differing_percent

IntArray = NDArray[np.int64]


def held_out(
    exact: Model, model: Model, aside: Rows, *, values_fitted: bool, threads: int
) -> dict[str, float] | None:
    """Compare two models on the rows `aside`; None if there are none.

    Parameters
    ----------
    exact, model : Model
    aside : Rows
    values_fitted : bool
        Whether `model` was fitted to the decision values of `exact`, so that they can be compared.
    threads : int

    Returns
    -------
    dict
        ``rows``. If values were fitted, statistics of |difference of decision values|: ``median``,
        ``quantile_99``, ``quantile_999`` and ``largest``; if there are probabilities, also
        ``probability_mean`` and ``probability_max`` of |difference of probabilities|.

        For regression ``values_differing_percent``; otherwise ``label_agreement`` and its Clopper-Pearson
        interval at 95 %, ``agreement_low`` to ``agreement_high``, and ``fallback_error``: the error of the
        decision values that
        ``predict`` may assume when it leaves uncertain rows to the exact model. If values were fitted, this
        is the 99.9 % quantile of their difference. If labels were fitted, it is the same quantile of the
        error that explains a row's label: 0 if the label is the exact one, else the certainty of the wrong
        label.

        ``trained_on`` 1 is added by :func:`svmfast.methods.dcpred.convert.fit_exact` if `exact` was trained
        on these rows, so that others will agree less.
    """
    n = len(aside)
    if not n:
        return None
    ours, theirs = (m.decision_values(aside, threads=threads) for m in (model, exact))
    found = {"rows": float(n)}
    if values_fitted:
        difference = np.abs(ours - theirs)
        median, q99, q999 = np.quantile(difference, [0.5, 0.99, 0.999], method="higher")
        found |= {"median": float(median), "quantile_99": float(q99), "quantile_999": float(q999)}
        found |= {"largest": float(difference.max())}
        found |= probability_error(exact.head, ours, theirs)
    if exact.head.is_regression:
        found["values_differing_percent"] = values_differing_percent(ours, theirs)
    else:
        same = model.head.predict(ours) == exact.head.predict(theirs)
        share, low, high = agreement(same)
        found |= {"label_agreement": share, "agreement_low": low, "agreement_high": high}
        found["fallback_error"] = found.get("quantile_999", 0.0)
        if not values_fitted:
            needed = np.where(same, 0.0, label_margins(model.head, ours))
            found["fallback_error"] = float(np.quantile(needed, 0.999, method="higher"))
    return found


def rows_aside(keys: list[bytes], seed: int) -> tuple[IntArray, NDArray[np.bool_]]:
    """Choose a tenth of the distinct rows to hold out (none if there are few), with all rows equal to them.

    Parameters
    ----------
    keys : list of n bytes
        Hashes by :func:`svmfast.methods.common.equal_rows.row_keys`.
    seed : int

    Returns
    -------
    chosen : (c,) int64
        The first of each set of equal rows, ascending.
    kept : (n,) bool
        All rows that must not be used for fitting.
    """
    group, first = groups_of(keys)
    aside = random_rows(len(first), held_out_count(len(first)), (seed, 13))
    return first[aside], aside[group]


def as_held_out(statement: ErrorStatement) -> dict[str, float]:
    """Return compress's error statement, for a model fitted to values, in the form of :func:`held_out`."""
    found = {"rows": float(statement.rows), "median": statement.median}
    found |= {"quantile_99": statement.quantile_99, "quantile_999": statement.quantile_999}
    found |= {"largest": statement.largest, "fallback_error": statement.quantile_999}
    if statement.label_agreement is not None:
        assert statement.agreement_low is not None
        assert statement.agreement_high is not None
        found["label_agreement"] = statement.label_agreement
        found |= {"agreement_low": statement.agreement_low, "agreement_high": statement.agreement_high}
    return found
