"""The statements in dcpred's reports: held-out rows are not fitted, and the cost is near its limit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from landmark_fits import tasks
from program import data as data_path
from program import model as model_path
from scipy.stats import beta

import svmfast.methods.dcpred.fit as fits
from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.common.equal_rows import Aside, Counted, row_keys, rows_aside
from svmfast.methods.common.problem import Problem
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.dcpred.tree import affordable_landmarks, kmeans_tree
from svmfast.rows import FloatArray, Rows

fit_svc, fit_ridge, _ = tasks(fits.fit)


def test_held_out_rows_are_distinct_and_include_their_copies() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (400, 4)).astype(float)  # 81 distinct rows at most
    keys = row_keys(Rows.from_dense(x))
    found = rows_aside(keys, (5, 0))
    distinct, times = np.unique(x, axis=0, return_counts=True)
    frequent = {tuple(row) for row in distinct[times >= 10]}
    chosen, others = (found.rows[found.counted.frequent == one] for one in (False, True))
    assert len(chosen) == len(np.unique(x[chosen], axis=0)) == int(0.1 * (len(distinct) - len(frequent)))
    assert {tuple(row) for row in x[others]} == frequent != set()
    aside = {tuple(row) for row in x[chosen]}
    assert [tuple(row) not in aside for row in x] == found.fitted.tolist()
    assert not aside & frequent
    assert found.counted.weights.sum() == pytest.approx(400)
    assert rows_aside(keys[:15], (5, 0)).fitted.all()
    # A stored zero makes no difference.
    stored = Rows(
        np.array([0, 2, 3, 5]), np.array([0, 2, 2, 1, 3], np.int32), np.array([0.0, 7.0, 7.0, 0.0, 7.0]), 4
    )
    a, b, c = row_keys(stored)
    assert a == b != c


@pytest.mark.parametrize("fit", ["values", "labels"])
def test_no_copy_of_a_held_out_row_is_fitted(fit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row twice, and the model's own vectors among them: rows for measuring were never fitted."""
    exact = load_model(model_path("breast_c_rbf"))
    once = read_svmlight(data_path("breast.train")).rows
    rows = Rows.concatenate([once, once])
    seen: dict[str, Rows] = {}
    real_fit, real_error = fits._fit_model, fits.held_out

    def fitting(problem: Problem, *rest: Any) -> Any:
        assert problem.vectors is not None
        seen["fitted"] = Rows.concatenate([problem.rows, problem.vectors[0]])
        return real_fit(problem, *rest)

    def error(exact: Any, model: Any, rows: Rows, aside: Any, **rest: Any) -> Any:
        seen["aside"] = rows.take(aside.rows)
        return real_error(exact, model, rows, aside, **rest)

    monkeypatch.setattr(fits, "_fit_model", fitting)
    monkeypatch.setattr(fits, "held_out", error)
    mine = DcpredOptions(gamma=(0.05,), clusters=1, landmarks=5, iterations=5, fit=fit)
    told = fits.fit_exact(rows, exact, mine)[1].held_out
    assert told is not None
    aside = row_keys(seen["aside"])
    assert len(aside) == len(set(aside)) == int(0.1 * len(set(row_keys(once))))
    assert told.rows == sum(key in set(aside) for key in row_keys(rows)) >= 2 * len(aside)
    assert not set(aside) & set(row_keys(seen["fitted"]))


def _in_two_parts(n: int) -> tuple[Rows, FloatArray]:
    """Rows ordered by their leaf, so that the first twenty thousand are not typical."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((n, 3)) * 0.1
    x[n // 2 :, 0] += 5
    y = np.where(rng.random(n) < 0.5, 1.0, 2.0)
    y[n // 2 :] = rng.integers(1, 4, n - n // 2)
    return Rows.from_dense(x), y


def test_the_reported_cost_is_that_of_all_rows() -> None:
    rows, y = _in_two_parts(24_000)
    mine = DcpredOptions(gamma=(1.0,), clusters=2, landmarks=6, iterations=0)
    model, report = fit_svc(rows, y, mine)
    assert report.multiply_adds == model.multiply_adds(rows)
    assert report.multiply_adds != model.multiply_adds(rows[:20_000])


def test_the_cost_limit_is_used_if_most_leaves_are_constant() -> None:
    """Three of four leaves have a single class, so the fourth's landmarks may cost four times the mean."""
    rng = np.random.default_rng(2)
    corner = np.repeat(np.arange(4), 400)
    x = rng.standard_normal((1600, 4)) * 0.3
    x[:, 0] += 10 * (corner % 2)
    x[:, 1] += 10 * (corner // 2)
    y = np.where(corner == 0, np.where(rng.random(1600) < 0.5, 1.0, 2.0), 1.0)
    problem = Problem.of_task("svc", Rows.from_dense(x), y)
    tree = kmeans_tree(problem.rows, 4)
    assert len(tree.leaf_centers) == 4
    # A quarter of the rows use landmarks with 4 features and one function; all are compared with 4 centers.
    each = (12.0 * 4 - 4 * 4) / (0.25 * (4 + 1))
    assert affordable_landmarks(problem, tree, 12.0) == int(each)


def test_held_out_error() -> None:
    """Quantiles, differing labels and their interval, from decision values of the same rows."""
    exact = load_model(model_path("breast_c_rbf"))
    rows = read_svmlight(data_path("breast.train")).rows
    test = read_svmlight(data_path("breast.test")).rows
    mine = DcpredOptions(gamma=(exact.kernel.gamma,), clusters=1, landmarks=3, iterations=5)  # type: ignore[attr-defined]
    model, _ = fits.fit_exact(rows, exact, mine)
    n = len(test)
    once = Counted(np.ones(n), np.zeros(n, dtype=np.bool_), np.ones(n))
    aside = Aside(np.zeros(n, dtype=np.bool_), np.arange(n), np.arange(n), once)
    found = fits.held_out(exact, model, test, aside, values_fitted=True, threads=1)
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
    labels = fits.held_out(exact, model, test, aside, values_fitted=False, threads=1)
    assert labels is not None
    assert labels.median is None
