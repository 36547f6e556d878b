"""Running scores against the plain formulas, however the rows are cut."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    mean_absolute_error,
    mean_squared_error,
    precision_recall_fscore_support,
    r2_score,
    roc_auc_score,
)

from svmfast.class_scores import MAX_CLASSES, ClassCounts, class_scores, neglected_lines
from svmfast.score import Score, quality, roc_auc


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


def test_accuracy_counts_equal_doubles() -> None:
    score = in_blocks(np.array([1.0, 2.0, 2.0, 1.0]), np.array([1.0, 2.0, 2.5, 2.0]), 3, False)
    assert (score.correct, score.total, score.accuracy) == (2, 4, 50.0)


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


def test_predicting_one_class_only_has_balanced_accuracy_one_half() -> None:
    found = quality(np.ones(100), np.concatenate([np.ones(99), -np.ones(1)]), regression=False)
    assert (found.accuracy, found.balanced_accuracy) == (99, 50)
    assert [score.to_dict() for score in found.classes] == [
        {"label": -1, "rows": 1, "recall": 0, "precision": None, "f1": 0},
        {"label": 1, "rows": 99, "recall": 100, "precision": 99, "f1": pytest.approx(100 * 198 / 199)},
    ]


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
