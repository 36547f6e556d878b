"""The losses of a model, with intervals of the stated coverage, and its skill."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from svmfast.evaluation.loss import NOTHING, Estimate, loss, no_loss
from svmfast.evaluation.skill import better_than_chance
from svmfast.rows import FloatArray
from svmfast.solvers.intervals import clopper_pearson, weighted_sum


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
