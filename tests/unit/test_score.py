"""Scores, losses and skill of predictions: plain formulas, scikit-learn, intervals of stated coverage.

In one file: losses and skill are compared with the same scores.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from program import data, model
from sklearn.metrics import (
    balanced_accuracy_score,
    mean_absolute_error,
    mean_squared_error,
    precision_recall_fscore_support,
    r2_score,
    roc_auc_score,
)

from svmfast.class_scores import MAX_CLASSES, ClassCounts, class_scores, neglected_lines
from svmfast.evaluation.loss import NOTHING, Estimate, loss, no_loss
from svmfast.evaluation.skill import better_than_chance
from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.common.cross_validation import fold_numbers
from svmfast.methods.common.equal_rows import Counted, frequent_groups, quantiles, row_keys, rows_aside
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.compressor import Compressor
from svmfast.rows import FloatArray, Rows
from svmfast.score import Score, quality, roc_auc
from svmfast.solvers.intervals import clopper_pearson, weighted_sum


def in_blocks(predicted: np.ndarray, target: np.ndarray, size: int, regression: bool) -> Score:
    score = Score()
    for start in range(0, len(predicted), size):
        score.add(predicted[start : start + size], target[start : start + size], regression=regression)
    return score


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_regression_figures_do_not_depend_on_the_blocks(size: int) -> None:
    rng = np.random.default_rng(1)
    target = rng.normal(100, 1, 500)
    predicted = target + rng.normal(0, 0.5, 500)
    score = in_blocks(predicted, target, size, True)
    # svm-predict's loop, term by term
    error = sp = st = spp = stt = spt = 0.0
    for p, t in zip(predicted.tolist(), target.tolist(), strict=True):
        error += (p - t) * (p - t)
        sp, st, spp, stt, spt = sp + p, st + t, spp + p * p, stt + t * t, spt + p * t
    n = 500
    assert score.mean_squared_error == error / n
    above = (n * spt - sp * st) * (n * spt - sp * st)
    assert score.squared_correlation == above / ((n * spp - sp * sp) * (n * stt - st * st))
    assert score.squared_correlation == pytest.approx(np.corrcoef(predicted, target)[0, 1] ** 2, rel=1e-6)


def test_constant_targets_have_no_correlation() -> None:
    score = in_blocks(np.array([1.0, 2.0]), np.array([3.0, 3.0]), 1, True)
    assert math.isnan(score.squared_correlation)
    assert score.mean_squared_error == 2.5


def test_nothing_seen_is_nan() -> None:
    score = Score()
    assert math.isnan(score.accuracy)
    assert math.isnan(score.mean_squared_error)


def test_sums_out_of_range_are_infinite_or_nan_without_a_remark() -> None:
    score = in_blocks(np.array([1e200, -1e300, 3.0]), np.array([-1e200, 1e300, 3.0]), 2, True)
    assert score.mean_squared_error == math.inf
    assert math.isnan(score.squared_correlation)


@pytest.mark.parametrize(("seed", "k", "size"), [(0, 2, 1), (1, 7, 13), (2, 26, 1000), (3, 3, 1000)])
def test_class_figures_are_those_of_scikit_learn(seed: int, k: int, size: int) -> None:
    """Rare classes, classes that are never predicted and labels that are never a target, in any blocks."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(k, 0.3))
    target = rng.choice(np.arange(k) - 1.0, 400, p=share)
    predicted = np.where(rng.random(400) < 0.6, target, rng.integers(-1, k + 1, 400))
    target[0] = 99.0  # a class that no model knows
    score = Score(by_class=True)
    for start in range(0, 400, size):
        score.add(predicted[start : start + size], target[start : start + size], regression=False)
    labels = np.unique(np.concatenate([target, predicted]))
    figures = precision_recall_fscore_support(target, predicted, labels=labels, zero_division=np.nan)
    assert [found.label for found in score.classes] == labels.tolist()
    for i, found in enumerate(score.classes):
        ours = (found.precision, found.recall, found.f1, found.rows)
        # Older versions of scikit-learn have no F1 where the recall or the precision is 0 / 0.
        right = 2 * np.sum((target == labels[i]) & (predicted == labels[i]))
        f1 = right / (np.sum(target == labels[i]) + np.sum(predicted == labels[i]))
        theirs = (100 * figures[0][i], 100 * figures[1][i], 100 * f1, figures[3][i])
        assert [math.nan if value is None else value for value in ours] == pytest.approx(theirs, nan_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that are only predicted: they do not count
        expected = balanced_accuracy_score(target, predicted)
    found = quality(predicted, target, regression=False)
    assert (found.accuracy, found.balanced_accuracy) == (score.accuracy, pytest.approx(100 * expected))
    assert (found.classes, found.mse) == (score.classes, None)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_regression_figures_are_those_of_scikit_learn_far_from_zero_too(size: int) -> None:
    rng = np.random.default_rng(3)
    target = rng.normal(1e8, 1, 500)
    predicted = target + rng.normal(0, 0.5, 500)
    found = in_blocks(predicted, target, size, True).quality(regression=True)
    assert found.rmse == pytest.approx(mean_squared_error(target, predicted) ** 0.5, rel=1e-12)
    assert found.mae == pytest.approx(mean_absolute_error(target, predicted), rel=1e-12)
    assert found.r2 == pytest.approx(r2_score(target, predicted), rel=1e-9)


def test_scores_of_parts_add_up() -> None:
    rng = np.random.default_rng(4)
    target = np.r_[rng.integers(0, 3, 60), rng.integers(2, 6, 60)].astype(np.float64)
    predicted = np.roll(target, 5)
    for regression in (False, True):
        whole, first, second = (Score(by_class=True) for _ in range(3))
        whole.add(predicted, target, regression=regression)
        first.add(predicted[:60], target[:60], regression=regression)
        second.add(predicted[60:], target[60:], regression=regression)
        total = Score(by_class=True)
        for part in (second, first):
            total.merge(part)
        found, expected = (one.quality(regression=regression).to_dict() for one in (total, whole))
        for name, value in expected.items():
            assert found[name] == (pytest.approx(value, rel=1e-12) if regression else value)


def test_labels_without_end_are_not_counted() -> None:
    counts = ClassCounts()
    counts.add(np.zeros(10), np.arange(10.0))
    counts.add(np.zeros(2), np.array([10.0, np.nan]))  # an eleventh class, and none
    assert [(one.label, one.rows) for one in counts.scores()] == [(float(i), 1) for i in range(11)]
    counts.add(np.zeros(MAX_CLASSES), np.arange(float(MAX_CLASSES)) + 0.5)
    assert counts.scores() == ()


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_the_area_is_that_of_scikit_learn(scale: float) -> None:
    rng = np.random.default_rng(6)
    target = np.where(rng.random(2000) < 0.1, 1.0, -1.0)
    decisions = scale * np.round(rng.normal(0.7 * target), 2)  # ties too
    expected = roc_auc_score(target == 1, decisions)
    assert roc_auc(decisions, target, (1.0, -1.0)) == pytest.approx(expected, rel=1e-14)


def test_the_area_of_one_class_or_of_nan_is_unknown() -> None:
    assert roc_auc(np.array([1.0, 2.0]), np.array([1.0, 1.0]), (1.0, -1.0)) is None
    assert roc_auc(np.array([1.0, np.nan]), np.array([1.0, -1.0]), (1.0, -1.0)) is None
    # Infinite values, and a row of another class.
    assert roc_auc(np.array([np.inf, -np.inf, 7.0]), np.array([1.0, -1.0, 3.0]), (1.0, -1.0)) == 1


def test_a_class_that_the_accuracy_hides_has_its_line() -> None:
    target = np.r_[np.ones(10), np.zeros(990)]
    scores = class_scores(np.zeros(1000), target)
    assert neglected_lines(scores, 99.0) == [
        "class 1 is recognized far below the accuracy of 99%: recall 0% (0 of 10); it is never predicted"
    ]
    assert neglected_lines(class_scores(target, target), 100.0) == []


def test_figures_of_labels() -> None:
    target = np.array([1.0] * 8 + [2.0] * 2)
    exact = np.array([1.0] * 7 + [2.0] * 3)  # one wrong
    predicted = np.array([1.0] * 8 + [2.0, 1.0])  # that one right, another one wrong
    found = loss(predicted, exact, target, regression=False)
    assert (found.n_rows, found.labels_differing, found.differing.value) == (10, 2, 20.0)
    assert found.differing == Estimate(20.0, *(100 * end for end in clopper_pearson(2, 10)))
    assert found.quality.accuracy == 90
    assert found.lost.value == 0
    assert found.balanced_lost is not None
    # Recall 7/8 and 2/2 before, 8/8 and 1/2 after.
    assert found.balanced_lost.value == pytest.approx(50 * ((7 / 8 - 1) + (1 - 1 / 2)))
    values = found.to_dict()
    assert values["labels_differing_percent"] == 20
    assert values["labels_differing_percent_interval"] == [found.differing.low, found.differing.high]
    assert values["accuracy_lost_percent"] == 0
    own = no_loss(exact, target, regression=False)
    assert (own.labels_differing, own.differing, own.balanced_lost) == (0, NOTHING, NOTHING)


def test_figures_of_values() -> None:
    target = np.array([0.0, 1.0, 2.0, 3.0])
    exact = target + np.array([0.1, -0.1, 0.1, -0.1])
    predicted = exact + np.array([0.1, -0.1, 0.1, -0.1])
    found = loss(predicted, exact, target, regression=True)
    assert found.lost.value == pytest.approx(300)  # 0.04 for 0.01
    assert found.differing.value == pytest.approx(100 * 0.1 / exact.std())
    assert found.labels_differing is None
    values = found.to_dict()
    assert set(values) == {
        "rows", "mse", "scc", "rmse", "mae", "r2", "values_differing_percent",
        "values_differing_percent_interval", "mse_increase_percent", "mse_increase_percent_interval",
    }  # fmt: skip
    same = loss(exact, exact, target, regression=True)
    assert (same.lost.value, same.differing.value) == (0, 0)
    # Values of which none is above 0 differ as much as those with the other sign.
    assert loss(-predicted, -np.arange(4.0), -target, regression=True).differing == (
        loss(predicted, np.arange(4.0), target, regression=True).differing
    )
    # Zero spread and a single row do not cause an error.
    flat = loss(np.ones(3), np.zeros(3), np.zeros(3), regression=True)
    assert flat.lost.value == np.inf
    one = loss(np.array([2.0]), np.array([1.0]), np.array([0.0]), regression=True)
    assert one.lost.value == 300


def test_the_ends_of_a_sum_are_combined_each_with_its_own_kind() -> None:
    value, low, high = weighted_sum([(2.0, (1.0, 0.0, 4.0)), (1.0, (0.0, -1.0, 2.0))])
    assert (value, low, high) == (
        2.0,
        pytest.approx(2 - math.hypot(2, 1)),
        pytest.approx(2 + math.hypot(6, 2)),
    )


@pytest.mark.parametrize(
    ("worse", "better", "n"), [(0.02, 0.01, 500), (0.004, 0.0, 400), (0.1, 0.12, 100), (0.45, 0.45, 300)]
)
def test_the_interval_of_lost_accuracy_covers(worse: float, better: float, n: int) -> None:
    rng = np.random.default_rng(n)
    covered = 0
    for _ in range(400):
        drawn = rng.random(n)
        target, exact, predicted = np.zeros(n), np.zeros(n), np.zeros(n)
        predicted[drawn < worse] = 1
        exact[(drawn >= worse) & (drawn < worse + better)] = 1
        found = loss(predicted, exact, target, regression=False).lost
        covered += found.low <= 100 * (worse - better) <= found.high
    assert covered >= 0.94 * 400


def test_the_interval_of_lost_balanced_accuracy_covers() -> None:
    rng = np.random.default_rng(1)
    shares = {0.0: (400, 0.01), 1.0: (60, 0.2), 2.0: (15, 0.5)}
    truth = 100 * np.mean([share for _, share in shares.values()])
    target = np.concatenate([np.full(n, label) for label, (n, _) in shares.items()])
    chance = np.concatenate([np.full(n, share) for n, share in shares.values()])
    covered = 0
    for _ in range(400):
        predicted = np.where(rng.random(len(target)) < chance, 9.0, target)
        found = loss(predicted, target, target, regression=False).balanced_lost
        assert found is not None
        covered += found.low <= truth <= found.high
    assert covered >= 0.94 * 400


def test_the_interval_of_growing_error_covers() -> None:
    rng = np.random.default_rng(2)
    covered, n = 0, 1000
    for _ in range(400):
        target, noise = rng.normal(size=n), rng.normal(size=n)
        exact = target + noise
        predicted = exact + 0.3 * rng.normal(size=n)
        found = loss(predicted, exact, target, regression=True).lost
        covered += found.low <= 9 <= found.high < 50  # the variances add: 1.09 for 1
    assert covered >= 0.93 * 400


def _far_off(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.normal(size=n) * np.where(rng.random(n) < 0.01, 0.5, 0.01)


def _pareto(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.pareto(3, n) * 0.02


@pytest.mark.parametrize("n", [200, 2000])
@pytest.mark.parametrize(("draw", "square"), [(_far_off, 0.002599), (_pareto, 0.0004)])
def test_the_interval_of_values_covers_where_few_rows_have_the_error(
    draw: Callable[..., FloatArray], square: float, n: int
) -> None:
    """The closed-form mean squares: 0.01 0.5^2 + 0.99 0.01^2, and 0.02^2 times 2 / ((3 - 1) (3 - 2))."""
    rng = np.random.default_rng(n)
    covered, unknown = 0, np.full(n, np.nan)
    for _ in range(400):
        exact = rng.normal(size=n)
        found = loss(exact + draw(rng, n), exact, unknown, regression=True).differing
        assert found.low <= found.value <= found.high
        covered += found.low <= 100 * np.sqrt(square) <= found.high
    assert covered >= 0.93 * 400


def test_the_interval_of_values_has_an_upper_end_where_all_rows_share_the_error() -> None:
    rng = np.random.default_rng(4)
    covered, n = 0, 1000
    for _ in range(300):
        exact = rng.normal(size=n)
        found = loss(exact + 0.01 * rng.normal(size=n), exact, np.full(n, np.nan), regression=True).differing
        covered += found.low <= 1 <= found.high < 1.2
    assert covered >= 0.93 * 300
    few = loss(exact[:400] + 0.01, exact[:400], np.full(400, np.nan), regression=True).differing
    assert few.ends(2).startswith("at least ")


def test_skill_of_a_good_model_and_of_others() -> None:
    rng = np.random.default_rng(0)
    target = rng.integers(0, 10, 2000).astype(float)
    good = np.where(rng.random(2000) < 0.3, target, rng.integers(0, 10, 2000))
    assert better_than_chance(good, target, regression=False)
    assert not better_than_chance(rng.permutation(target), target, regression=False)
    assert not better_than_chance(np.full(2000, 3.0), target, regression=False)
    # Rare classes: 97 of 100 right can be chance, and 98 may be skill.
    rare = np.where(np.arange(1000) < 30, 1.0, -1.0)
    assert not better_than_chance(np.full(1000, -1.0), rare, regression=False)
    assert better_than_chance(np.where(np.arange(1000) < 15, 1.0, -1.0), rare, regression=False)
    # Worse than chance, and a single class, for which any right label counts.
    assert not better_than_chance(-rare, rare, regression=False)
    assert better_than_chance(rare, np.ones(1000), regression=False)
    assert not better_than_chance(rare, np.zeros(1000), regression=False)
    # A few rows cannot show much and do not have to.
    assert better_than_chance(np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 1.0]), regression=False)


def test_chance_passes_for_skill_as_rarely_as_stated() -> None:
    """Two standard deviations: about one time in forty."""
    rng = np.random.default_rng(3)
    target = rng.choice([1.0, 2.0, 3.0], 300, p=[0.6, 0.3, 0.1])
    passed = sum(better_than_chance(rng.permutation(target), target, regression=False) for _ in range(1000))
    assert 5 <= passed <= 45


def test_skill_of_a_regression() -> None:
    rng = np.random.default_rng(0)
    target = rng.normal(size=500)
    assert better_than_chance(target + 0.5 * rng.normal(size=500), target, regression=True)
    assert not better_than_chance(rng.permutation(target), target, regression=True)
    assert not better_than_chance(target + 100, target, regression=True)
    assert not better_than_chance(np.full(500, target.mean()), target, regression=True)


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
