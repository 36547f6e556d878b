"""Running scores against the plain formulas, however the rows are cut."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, precision_recall_fscore_support

from svmfast.evaluation.score import quality
from svmfast.score import Score


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
        theirs = (*(100 * figures[j][i] for j in range(3)), figures[3][i])
        assert [math.nan if value is None else value for value in ours] == pytest.approx(theirs, nan_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that are only predicted: they do not count
        expected = balanced_accuracy_score(target, predicted)
    assert score.balanced_accuracy == pytest.approx(100 * expected)
    found = quality(predicted, target, regression=False)
    assert (found.accuracy, found.balanced_accuracy) == (score.accuracy, score.balanced_accuracy)
    assert (found.classes, found.mse) == (score.classes, None)


def test_a_model_that_knows_one_class_only_is_worth_half() -> None:
    found = quality(np.ones(100), np.concatenate([np.ones(99), -np.ones(1)]), regression=False)
    assert (found.accuracy, found.balanced_accuracy) == (99, 50)
    assert [score.as_dict() for score in found.classes] == [
        {"label": -1, "rows": 1, "recall": 0, "precision": None, "f1": 0},
        {"label": 1, "rows": 99, "recall": 100, "precision": 99, "f1": pytest.approx(100 * 198 / 199)},
    ]
