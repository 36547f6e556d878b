"""Running scores against the plain formulas, however the rows are cut."""

from __future__ import annotations

import math

import numpy as np
import pytest

from svmfast.evaluation.score import Score


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
