"""Rows that repeat: intervals of the stated coverage, and no copy of a held-out row that was fitted."""

from __future__ import annotations

import numpy as np
import pytest
from program import data, model

from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.common.cross_validation import fold_numbers
from svmfast.methods.common.equal_rows import Counted, frequent_groups, quantiles, row_keys, rows_aside
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.compressor import Compressor
from svmfast.rows import Rows
from svmfast.solvers.intervals import clopper_pearson


def _with_zeros(rows: Rows) -> Rows:
    """Return the same rows with every zero stored."""
    n, width = len(rows), rows.n_columns
    columns = np.tile(np.arange(width, dtype=np.int32), n)
    return Rows(width * np.arange(n + 1), columns, rows.to_dense(width).ravel(), width)


def _population(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Return shares of rows that can repeat, whether their labels differ, and the share for all others."""
    if kind == "distinct":
        return np.zeros(0), np.zeros(0), 0.03
    count, share, differ = {"few far": (40, 0.9, 0.0), "few near": (6, 0.3, 0.5), "many": (700, 1.0, 0.05)}[
        kind
    ]
    return np.full(count, share / count), (rng.random(count) < differ).astype(float), 0.03


@pytest.mark.parametrize("kind", ["distinct", "few far", "few near", "many"])
def test_the_interval_covers_the_share_of_rows(kind: str) -> None:
    rng = np.random.default_rng(0)
    covered, n, runs = 0, 3000, 300
    for _ in range(runs):
        shares, differ, other = _population(kind, rng)
        *drawn, single = rng.multinomial(n, [*shares, max(0.0, 1 - shares.sum())])
        seen = np.array(drawn) > 0
        times = np.concatenate([np.array(drawn)[seen], np.ones(single)])
        found = np.concatenate([differ[seen], (rng.random(single) < other).astype(float)])
        frequent = frequent_groups(np.repeat(np.arange(len(times)), times.astype(int)))
        held = ~frequent & (rng.random(len(times)) < 0.1)
        own = np.concatenate([found[held], found[frequent]])
        _, low, high = Counted.of(times, held, frequent).share(own)
        covered += low <= shares @ differ + (1 - shares.sum()) * other <= high
        assert kind == "many" or high - low < 0.1
    assert covered >= 0.93 * runs


def test_distinct_rows_have_the_exact_interval() -> None:
    n, count = 100, 7
    once = Counted(np.ones(n), np.zeros(n, dtype=np.bool_), np.ones(10 * n))
    value, low, high = once.share(np.arange(n) < count)
    assert value == 0.07
    assert (low, high) == pytest.approx(clopper_pearson(count, n))


def test_rows_that_repeat_unevenly_are_fewer_observations() -> None:
    """Ten rows nine times, ninety once: 180^2 / (10 81 + 90) = 36 rows, if no label differs."""
    times = np.repeat([9.0, 1.0], [10, 90])
    none = np.zeros(100, dtype=np.bool_)
    most = np.concatenate([times, np.ones(10_000)])
    assert Counted(times, none, most).share(none)[2] == pytest.approx(clopper_pearson(0, 36)[1])
    # If one of the ten differs, the variance of the ratio is larger than that of 36 rows.
    one = np.arange(100) == 0
    value = 9 / 180
    size = value * (1 - value) * 180**2 / (81 * (1 - value) ** 2 + (9 * 81 + 90) * value**2)
    found = Counted(times, none, most).share(one)
    assert found == pytest.approx((value, *clopper_pearson(value * size, size)))
    assert size < 21
    # Rows that were not drawn count for how unevenly rows repeat.
    assert Counted(np.ones(36), none[:36], times).share(none[:36])[2] > 2 * clopper_pearson(0, 36)[1]


def test_quantiles_count_copies() -> None:
    rng = np.random.default_rng(1)
    values, times = rng.normal(size=(50, 3)), rng.integers(1, 6, 50)
    wanted = np.quantile(np.repeat(values, times, axis=0), [0.0, 0.5, 0.99, 1.0], method="higher")
    assert quantiles(values, times.astype(float), [0.0, 0.5, 0.99, 1.0]) == wanted.tolist()


def test_a_stored_zero_makes_no_other_row() -> None:
    """The held-out rows of compress were fitted where the model leaves out zeros that the data store."""
    exact, rows = load_model(model("photos_c_rbf")), read_svmlight(data("photos.train")).rows
    both = Rows.concatenate([rows, _with_zeros(rows)])
    split = Compressor(exact, both, options=CompressOptions()).split
    fitted, chose, held = (set(row_keys(part.rows)) for part in (split.fit, split.choose, split.state))
    assert not held & (fitted | chose)
    assert not chose & fitted
    assert split.state.times.min() >= 2
    aside = rows_aside(row_keys(both), (0, 0))
    np.testing.assert_array_equal(aside.fitted[: len(rows)], aside.fitted[len(rows) :])
    folds = fold_numbers(both, 5, 0)
    np.testing.assert_array_equal(folds[: len(rows)], folds[len(rows) :])


def test_frequent_rows_are_counted_and_may_be_fitted() -> None:
    exact, rows = load_model(model("breast_c_rbf")), read_svmlight(data("breast.train")).rows
    often = np.concatenate([np.arange(len(rows)), *(np.full(20 + i, i) for i in range(8))])
    made, report = Compressor(
        exact, rows.take(often), options=CompressOptions(start="kmeans", iterations=2)
    ).compress(20)
    held = report.statement
    assert held.frequent_rows == sum(21 + i for i in range(8))
    compared = read_svmlight(data("breast.train")).rows
    differ = made.head.predict(made.decision_values(compared)) != exact.head.predict(
        exact.decision_values(compared)
    )
    share = differ[:8] @ (21.0 + np.arange(8)) / len(often)
    assert held.labels_differing_percent >= 100 * share
    assert f"{held.frequent_rows:,} that occur 10 times or more" in "\n".join(report.lines())
    # Copies of a file are no independent draws.
    split = Compressor(exact, Rows.concatenate([rows] * 12), options=CompressOptions()).split
    assert not len(split.frequent)
    assert split.state.times.min() >= 12
