"""The error stated by `svmfast dcpred --from`."""

from __future__ import annotations

import numpy as np
import pytest
from program import data as data_path
from program import model as model_path
from scipy.stats import beta

from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.common.equal_rows import Aside, Counted
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.dcpred.fit import fit_exact
from svmfast.methods.dcpred.report import held_out
from svmfast.models.certified import certified_rows
from svmfast.models.head import Head


def test_one_against_the_rest_is_certain_when_nothing_within_the_bounds_changes_it() -> None:
    """Against the extreme case: the winner at its lowest value, each other class at its highest."""
    rng = np.random.default_rng(0)
    decisions, bounds = rng.normal(size=(400, 4)), rng.uniform(0, 0.8, (400, 4))
    head = Head("c_svc", np.array([3, 1, 2, 7]), one_vs_rest=True)
    certain = certified_rows(head, decisions, bounds)
    for row, width, sure in zip(decisions, bounds, certain, strict=True):
        best = row.argmax()
        worst = row + width
        worst[best] = row[best] - width[best]
        assert sure == (worst.argmax() == best)
    assert 0.1 < certain.mean() < 0.9


def test_held_out_error() -> None:
    """Quantiles, differing labels and their interval, from decision values of the same rows."""
    exact = load_model(model_path("breast_c_rbf"))
    rows = read_svmlight(data_path("breast.train")).rows
    test = read_svmlight(data_path("breast.test")).rows
    mine = DcpredOptions(gamma=(exact.kernel.gamma,), clusters=1, landmarks=3, iterations=5)  # type: ignore[attr-defined]
    model, _ = fit_exact(rows, exact, mine)
    n = len(test)
    once = Counted(np.ones(n), np.zeros(n, dtype=np.bool_), np.ones(n))
    aside = Aside(np.zeros(n, dtype=np.bool_), np.arange(n), np.arange(n), once)
    found = held_out(exact, model, test, aside, values_fitted=True, threads=1)
    assert found is not None
    ours, theirs = model.decision_values(test)[:, 0], exact.decision_values(test)[:, 0]
    gaps = np.sort(np.abs(ours - theirs))
    assert (found.largest, found.rows) == (gaps[-1], n)
    assert found.quantile_999 is not None
    assert found.quantile_999 <= found.largest
    median = found.median
    assert np.mean(gaps <= median) >= 0.5 > np.mean(gaps < median)
    same = int(np.count_nonzero((ours > 0) == (theirs > 0)))
    assert found.labels_differing_percent == pytest.approx(100 * (n - same) / n)
    low = beta.ppf(0.025, same, n - same + 1)
    assert found.labels_differing_percent_high == pytest.approx(100 * (1 - low))
    labels = held_out(exact, model, test, aside, values_fitted=False, threads=1)
    assert labels is not None
    assert labels.median is None
