"""Scores, losses and skill of predictions: plain formulas, scikit-learn, intervals of stated coverage."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from program import data, model
from sklearn import metrics

from svmfast.class_scores import MAX_CLASSES, ClassCounts
from svmfast.evaluation.loss import NOTHING, Estimate, loss, no_loss
from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.frontiers.comparing import better_than_chance
from svmfast.methods.common.cross_validation import fold_numbers
from svmfast.methods.common.equal_rows import Counted, frequent_groups, quantiles, row_keys, rows_aside
from svmfast.methods.common.error_statement import TRAINED_ON
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.compressor import Compressor
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.dcpred.fit import fit_exact
from svmfast.methods.method import Setting
from svmfast.methods.train.training import TrainOptions, train
from svmfast.rows import Rows
from svmfast.score import Score, quality, roc_auc
from svmfast.solvers.intervals import clopper_pearson, weighted_sum


def in_blocks(predicted, target, size, regression):
    score = Score(by_class=True)
    for start in range(0, len(predicted), size):
        score.add(predicted[start : start + size], target[start : start + size], regression=regression)
    return score


@pytest.mark.parametrize(("size", "center"), [(1, 100), (7, 1e8), (1000, 100), (1000, 1e8)])
def test_regression_figures_are_svm_predicts_and_scikit_learns(size, center):
    rng = np.random.default_rng(1)
    target = rng.normal(center, 1, 500)
    predicted = target + rng.normal(0, 0.5, 500)
    score = in_blocks(predicted, target, size, True)
    # svm-predict's loop, term by term
    error = sp = st = spp = stt = spt = 0.0
    for p, t in zip(predicted.tolist(), target.tolist(), strict=True):
        error += (p - t) * (p - t)
        sp, st, spp, stt, spt = sp + p, st + t, spp + p * p, stt + t * t, spt + p * t
    n = 500
    above = (n * spt - sp * st) * (n * spt - sp * st)
    scc = np.float64(above) / ((n * spp - sp * sp) * (n * stt - st * st))
    np.testing.assert_array_equal([score.mean_squared_error, score.squared_correlation], [error / n, scc])
    found = score.quality(regression=True)
    assert found.rmse == pytest.approx(metrics.mean_squared_error(target, predicted) ** 0.5, rel=1e-12)
    assert found.mae == pytest.approx(metrics.mean_absolute_error(target, predicted), rel=1e-12)
    assert found.r2 == pytest.approx(metrics.r2_score(target, predicted), rel=1e-9)


@pytest.mark.parametrize(("seed", "k", "size"), [(0, 2, 1), (1, 7, 13), (2, 26, 1000), (3, 3, 1000)])
def test_class_figures(seed, k, size):
    rng = np.random.default_rng(seed)
    target = rng.choice(np.arange(k) - 1.0, 400, p=rng.dirichlet(np.full(k, 0.3)))
    predicted = np.where(rng.random(400) < 0.6, target, rng.integers(-1, k + 1, 400))
    target[0] = 99.0  # a class that no model knows
    score, recalls = in_blocks(predicted, target, size, False), []
    assert [found.label for found in score.classes] == np.unique([target, predicted]).tolist()
    for found in score.classes:
        truly, given = target == found.label, predicted == found.label
        totals = (truly.sum(), given.sum(), (truly.sum() + given.sum()) / 2)
        recall, precision, f1 = (100 * (truly & given).sum() / n if n else None for n in totals)
        assert (found.rows, found.recall, found.precision) == (truly.sum(), recall, precision)
        assert found.f1 == pytest.approx(f1)
        recalls += [recall] if truly.any() else []
    found = quality(predicted, target, regression=False)
    assert (found.accuracy, found.balanced_accuracy) == (score.accuracy, pytest.approx(np.mean(recalls)))
    assert (found.classes, found.mse) == (score.classes, None)


def test_scores_of_parts_add_up_and_may_not_exist():
    rng = np.random.default_rng(4)
    target = np.r_[rng.integers(0, 3, 60), rng.integers(2, 6, 60)].astype(np.float64)
    target[60:] += 1e3  # sums of squares move
    predicted = np.roll(target, 5)
    for regression in (False, True):
        total = Score(by_class=True)
        for part in (slice(60, None), slice(60)):
            total.merge(in_blocks(predicted[part], target[part], 60, regression))
        found = total.quality(regression=regression).to_dict()
        expected = in_blocks(predicted, target, 120, regression).quality(regression=regression).to_dict()
        assert found == (pytest.approx(expected, rel=1e-12) if regression else expected)
    # Sums out of range are infinite or nan, without a remark.
    none, flat = Score(), in_blocks(np.array([1.0, 2.0]), np.array([3.0, 3.0]), 1, True)
    far = in_blocks(np.array([1e200, -1e300, 3.0]), np.array([-1e200, 1e300, 3.0]), 2, True)
    unknown = (none.accuracy, none.mean_squared_error, flat.squared_correlation, far.squared_correlation)
    assert np.isnan([*unknown, flat.r2]).all()
    assert (flat.mean_squared_error, far.mean_squared_error) == (2.5, math.inf)
    # Labels without end are not counted.
    counts = ClassCounts()
    counts.add(np.zeros(10), np.arange(10.0))
    counts.add(np.zeros(2), np.array([10.0, np.nan]))  # an eleventh class, and none
    assert [(one.label, one.rows) for one in counts.scores()] == [(float(i), 1) for i in range(11)]
    counts.add(np.zeros(MAX_CLASSES), np.arange(float(MAX_CLASSES)) + 0.5)
    assert counts.scores() == ()


def test_the_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(6)
    target = np.where(rng.random(2000) < 0.1, 1.0, -1.0)
    for scale in (1e-3, 1e6):
        decisions = scale * np.round(rng.normal(0.7 * target), 2)  # ties too
        expected = metrics.roc_auc_score(target == 1, decisions)
        assert roc_auc(decisions, target, (1.0, -1.0)) == pytest.approx(expected, rel=1e-14)
    for second, other, area in ((2.0, 1.0, None), (np.nan, -1.0, None), (1.0, -1.0, 1)):
        assert roc_auc(np.array([np.inf, second, 7]), np.array([1.0, other, 3.0]), (1.0, -1.0)) == area


def test_figures_of_labels():
    target = np.array([1.0] * 8 + [2.0] * 2)
    exact = np.array([1.0] * 7 + [2.0] * 3)  # one wrong
    predicted = np.array([1.0] * 8 + [2.0, 1.0])  # that one right, another one wrong
    found = loss(predicted, exact, target, regression=False)
    assert (found.n_rows, found.labels_differing, found.quality.accuracy, found.lost.value) == (10, 2, 90, 0)
    assert found.differing == Estimate(20.0, *(100 * end for end in clopper_pearson(2, 10)))
    # Recall 7/8 and 2/2 before, 8/8 and 1/2 after.
    assert found.balanced_lost.value == pytest.approx(50 * ((7 / 8 - 1) + (1 - 1 / 2)))
    values = found.to_dict()
    assert (values["labels_differing_percent"], values["accuracy_lost_percent"]) == (20, 0)
    assert values["labels_differing_percent_interval"] == [found.differing.low, found.differing.high]
    own = no_loss(exact, target, regression=False)
    assert (own.labels_differing, own.differing, own.balanced_lost) == (0, NOTHING, NOTHING)


def test_figures_of_values():
    target, by = np.arange(4.0), np.array([0.1, -0.1, 0.1, -0.1])
    exact, predicted = target + by, target + 2 * by
    found = loss(predicted, exact, target, regression=True)
    assert found.lost.value == pytest.approx(300)  # 0.04 for 0.01
    assert found.differing.value == pytest.approx(100 * 0.1 / exact.std())
    none = loss(exact, exact, target, regression=True)
    assert (none.lost.value, none.differing.value) == (0, 0)
    # Values of which none is above 0 differ as much as those with the other sign.
    both = [loss(sign * predicted, sign * target, sign * target, regression=True) for sign in (1, -1)]
    assert both[0].differing == both[1].differing
    # Zero spread, a single row and few rows do not cause an error.
    one, zero, few = np.ones(3), np.zeros(3), np.random.default_rng(4).normal(size=400)
    assert loss(one, zero, zero, regression=True).lost.value == np.inf
    assert loss(2 * one[:1], one[:1], zero[:1], regression=True).lost.value == 300
    found = loss(few + 0.01, few, np.full(400, np.nan), regression=True)
    assert found.differing.ends(2).startswith("at least ")


def lost_labels(worse, better, n, rng):
    drawn = rng.random(n)
    exact = 1.0 * ((drawn >= worse) & (drawn < worse + better))
    return loss(1.0 * (drawn < worse), exact, np.zeros(n), regression=False).lost


def lost_balanced(rng):
    target, chance = (np.repeat(values, (400, 60, 15)) for values in ([0.0, 1.0, 2.0], [0.01, 0.2, 0.5]))
    predicted = np.where(rng.random(len(target)) < chance, 9.0, target)
    return loss(predicted, target, target, regression=False).balanced_lost


def grown(rng):
    target, noise, more = rng.normal(size=(3, 1000))
    return loss(target + noise + 0.3 * more, target + noise, target, regression=True).lost


def differing(error, n, rng):
    exact = rng.normal(size=n)
    found = loss(exact + error(rng, n), exact, np.full(n, np.nan), regression=True).differing
    assert found.low <= found.value <= found.high
    return found


@pytest.mark.parametrize(
    ("draw", "truth", "high"),
    [
        (partial(lost_labels, 0.02, 0.01, 500), 1, 100),
        (partial(lost_labels, 0.45, 0.45, 300), 0, 100),
        (lost_balanced, 100 * (0.01 + 0.2 + 0.5) / 3, 100),
        (grown, 9, 50),  # the variances add: 1.09 for 1
        # Few rows have most of the error. The mean square of Pareto's distribution is 2 / ((3 - 1) (3 - 2)).
        (partial(differing, lambda rng, n: 0.02 * rng.pareto(3, n), 2000), 2, math.inf),
        (partial(differing, lambda rng, n: 0.01 * rng.normal(size=n), 1000), 1, 1.2),
    ],
)
def test_an_interval_covers(draw, truth, high):
    rng = np.random.default_rng(2)
    found = [draw(rng) for _ in range(1500)]
    covered = sum(one.low <= truth <= one.high <= high for one in found)
    assert covered >= (0.94 if high == 100 else 0.93) * 1500


def test_skill():
    rng = np.random.default_rng(0)
    skilled, target = partial(better_than_chance, regression=False), rng.integers(0, 10, 2000).astype(float)
    assert skilled(np.where(rng.random(2000) < 0.3, target, rng.integers(0, 10, 2000)), target)
    assert not skilled(np.full(2000, 3.0), target)
    # Rare classes: 97 of 100 right can be chance, and 98 may be skill.
    rare = np.where(np.arange(1000) < 30, 1.0, -1.0)
    assert not skilled(np.full(1000, -1.0), rare)
    assert skilled(np.where(np.arange(1000) < 15, 1.0, -1.0), rare)
    # Worse than chance, and a single class, for which any right label counts.
    assert not skilled(-rare, rare)
    assert [skilled(rare, np.full(1000, one)) for one in (1.0, 0.0)] == [True, False]
    # A few rows cannot show much and do not have to.
    assert skilled(np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 1.0]))
    # Chance passes for skill about one time in forty: two standard deviations.
    target = rng.choice([1.0, 2.0, 3.0], 300, p=[0.6, 0.3, 0.1])
    assert 5 <= sum(skilled(rng.permutation(target), target) for _ in range(1000)) <= 45
    skilled, target = partial(better_than_chance, regression=True), rng.normal(size=500)
    assert skilled(target + 0.5 * rng.normal(size=500), target)
    for one in (rng.permutation(target), target + 100, np.full(500, target.mean())):
        assert not skilled(one, target)


def test_rows_that_repeat_unevenly_are_fewer_observations():
    """Ten rows nine times, ninety once: 180^2 / (10 81 + 90) = 36 rows, if no label differs."""
    times = np.repeat([9.0, 1.0], [10, 90])
    none = np.zeros(100, dtype=np.bool_)
    most = np.concatenate([times, np.ones(10_000)])
    assert Counted(times, none, most).share(none)[2] == pytest.approx(clopper_pearson(0, 36)[1])
    # If one of the ten differs, the variance of the ratio is larger than that of 36 rows.
    value = 9 / 180
    size = value * (1 - value) * 180**2 / (81 * (1 - value) ** 2 + (9 * 81 + 90) * value**2)
    found = Counted(times, none, most).share(np.arange(100) == 0)
    assert found == pytest.approx((value, *clopper_pearson(value * size, size)))
    # The ends of a sum are combined each with its own kind.
    ends = (2.0, pytest.approx(2 - math.hypot(2, 1)), pytest.approx(2 + math.hypot(6, 2)))
    assert weighted_sum([(2.0, (1.0, 0.0, 4.0)), (1.0, (0.0, -1.0, 2.0))]) == ends
    # Rows that were not drawn count for how unevenly rows repeat.
    assert Counted(np.ones(36), none[:36], times).share(none[:36])[2] > 2 * clopper_pearson(0, 36)[1]


def test_frequent_rows_stand_for_themselves_alone():
    """Rows that occur 30 and 10 times; three of six that occur once are held out, or none."""
    times, differs = np.array([1.0, 1, 1, 30, 10]), np.array([1.0, 0, 0, 1, 0])
    often = (1.0, (30 / 46, *clopper_pearson(30, 46)))
    for start, others in ((0, (1 / 3, *clopper_pearson(1, 3))), (3, (0.0, 0.0, 1.0))):
        found = Counted(times[start:], times[start:] > 1, np.ones(6))
        value, low, high = weighted_sum([often, (6 / 46, others)])
        assert found.share(differs[start:]) == pytest.approx((value, low, min(1, high)))
        assert found.weights.tolist() == [2.0, 2.0, 2.0, 30.0, 10.0][start:]


@pytest.mark.parametrize(("count", "share"), [(0, 0.0), (4, 0.4), (300, 0.9)])
def test_the_interval_covers_the_share_of_rows(count, share):
    """Rows of which `count` make up so large a share of 3,000; those that are frequent may be fitted."""
    rng, covered, runs = np.random.default_rng(0), 0, 300
    for _ in range(runs):
        differ = rng.random(count) < 0.2
        *drawn, single = rng.multinomial(3000, [*np.full(count, share / max(1, count)), 1 - share])
        seen = np.array(drawn, int) > 0
        times = np.array([*np.array(drawn, int)[seen], *np.ones(single, int)])
        found = np.array([*differ[seen], *(rng.random(single) < 0.03)])
        frequent = frequent_groups(np.repeat(np.arange(len(times)), times))
        held = ~frequent & (rng.random(len(times)) < 0.1)
        own = found[[*np.flatnonzero(held), *np.flatnonzero(frequent)]].astype(float)
        _, low, high = Counted.of(times.astype(float), held, frequent).share(own)
        covered += low <= share * differ.sum() / max(1, count) + (1 - share) * 0.03 <= high
    assert covered >= 0.93 * runs


def test_quantiles_count_copies():
    rng = np.random.default_rng(1)
    values, times = rng.normal(size=(50, 3)), rng.integers(1, 6, 50)
    wanted = np.quantile(np.repeat(values, times, axis=0), [0.0, 0.5, 0.99, 1.0], method="higher")
    assert quantiles(values, times.astype(float), [0.0, 0.5, 0.99, 1.0]) == wanted.tolist()


def test_a_stored_zero_makes_no_other_row():
    """The held-out rows of compress were fitted where the model leaves out zeros that the data store."""
    exact, rows = load_model(model("photos_c_rbf")), read_svmlight(data("photos.train")).rows
    n, width = len(rows), rows.n_columns
    columns = np.tile(np.arange(width, dtype=np.int32), n)
    stored = Rows(width * np.arange(n + 1), columns, rows.to_dense(width).ravel(), width)
    both = Rows.concatenate([rows, stored])
    split = Compressor(exact, both, options=CompressOptions()).split
    fitted, chose, held = (set(row_keys(part.rows)) for part in (split.fit, split.choose, split.state))
    assert not held & (fitted | chose)
    assert not chose & fitted
    assert split.state.times.min() >= 2
    for parts in (rows_aside(row_keys(both), (0, 0)).fitted, fold_numbers(both, 5, 0)):
        np.testing.assert_array_equal(parts[:n], parts[n:])


def test_a_support_vector_that_svm_train_rounded_is_its_row():
    """svm-train writes 8 digits: rows of 17 digits were measured on although their vectors were fitted."""
    rng, notes = np.random.default_rng(4), []
    x = rng.normal(size=(300, 4)) * 10.0 ** np.arange(-9, 11, 5)
    full = train(Rows.from_dense(x), (np.arange(300) % 3).astype(float), TrainOptions(gamma=1e-3))
    vectors = np.array([[float(f"{value:.8g}") for value in row] for row in full.sv.to_dense()])
    short = replace(full, sv=Rows.from_dense(vectors))
    split = Compressor(short, Rows.from_dense(x), options=CompressOptions()).split
    parts = (split.fit, split.choose, split.state)
    assert split.trained_on
    assert sum(len(part) for part in parts) == 300
    fit_exact(Rows.from_dense(x), short, DcpredOptions(iterations=0), Setting(1, note=notes.append))
    assert notes == [TRAINED_ON]


def test_frequent_rows_are_counted_and_may_be_fitted():
    exact, rows = load_model(model("breast_c_rbf")), read_svmlight(data("breast.train")).rows
    often = np.concatenate([np.arange(len(rows)), *(np.full(20 + i, i) for i in range(8))])
    options = CompressOptions(start="kmeans", iterations=2)
    made, report = Compressor(exact, rows.take(often), options=options).compress(20)
    held = report.statement
    assert held.frequent_rows == sum(21 + i for i in range(8))
    ours, theirs = (one.head.predict(one.decision_values(rows[:8])) for one in (made, exact))
    share = (ours != theirs) @ (21.0 + np.arange(8)) / len(often)
    assert held.labels_differing_percent >= 100 * share
    # Copies of a file are no independent draws.
    split = Compressor(exact, Rows.concatenate([rows] * 12), options=CompressOptions()).split
    assert (len(split.frequent), split.state.times.min()) == (0, 12)
