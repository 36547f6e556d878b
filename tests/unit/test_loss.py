"""The losses of a model, with intervals of the stated coverage, and its skill."""

from __future__ import annotations

import numpy as np
import pytest

from svmfast.evaluation.loss import NOTHING, Estimate, loss, no_loss
from svmfast.evaluation.skill import skill
from svmfast.solvers.binomial import clopper_pearson, sum_interval


def test_figures_of_labels() -> None:
    target = np.array([1.0] * 8 + [2.0] * 2)
    exact = np.array([1.0] * 7 + [2.0] * 3)  # one wrong
    predicted = np.array([1.0] * 8 + [2.0, 1.0])  # that one right, another one wrong
    found = loss(predicted, exact, target, regression=False)
    assert (found.rows, found.labels_differing, found.differing.value) == (10, 2, 20.0)
    assert found.differing == Estimate(20.0, *(100 * end for end in clopper_pearson(2, 10)))
    assert found.quality.accuracy == 90
    assert found.lost.value == 0
    assert found.balanced_lost is not None
    # Recall 7/8 and 2/2 before, 8/8 and 1/2 after.
    assert found.balanced_lost.value == pytest.approx(50 * ((7 / 8 - 1) + (1 - 1 / 2)))
    values = found.as_dict()
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
    values = found.as_dict()
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


@pytest.mark.parametrize(("worse", "better", "n"), [(0.02, 0.01, 500), (0.004, 0.0, 400), (0.1, 0.12, 100)])
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
    covered, n = 0, 400
    for _ in range(400):
        target, noise = rng.normal(size=n), rng.normal(size=n)
        exact = target + noise
        predicted = exact + 0.3 * rng.normal(size=n)
        found = loss(predicted, exact, target, regression=True).lost
        covered += found.low <= 9 <= found.high  # the variances add: 1.09 for 1
    assert covered >= 0.92 * 400


def test_one_share_is_its_own_sum() -> None:
    assert sum_interval([(1.0, 3, 50)])[1:] == pytest.approx(clopper_pearson(3, 50))
    total, low, high = sum_interval([(-2.0, 3, 50)])
    assert total == pytest.approx(-0.12)
    assert (low, high) == pytest.approx(tuple(-2 * end for end in reversed(clopper_pearson(3, 50))))


def test_skill_of_a_good_model_and_of_others() -> None:
    rng = np.random.default_rng(0)
    target = rng.integers(0, 10, 2000).astype(float)
    good = np.where(rng.random(2000) < 0.3, target, rng.integers(0, 10, 2000))
    assert skill(good, target, regression=False).some
    guess = skill(rng.permutation(target), target, regression=False)
    assert guess.chance == pytest.approx(10, abs=0.5)
    assert abs(guess.share) < 0.05
    assert not skill(np.full(2000, 3.0), target, regression=False).some
    # Rare classes: 97 of 100 right can be chance, and 98 may be skill.
    rare = np.where(np.arange(1000) < 30, 1.0, -1.0)
    assert not skill(np.full(1000, -1.0), rare, regression=False).some
    assert skill(np.where(np.arange(1000) < 15, 1.0, -1.0), rare, regression=False).some
    # Worse than chance, and a single class, for which any right label counts.
    assert not skill(-rare, rare, regression=False).some
    assert skill(rare, np.ones(1000), regression=False).some
    assert not skill(rare, np.zeros(1000), regression=False).some
    # A few rows cannot show much and do not have to.
    assert skill(np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 1.0]), regression=False).some


def test_chance_passes_for_skill_as_rarely_as_stated() -> None:
    """Two standard deviations: about one time in forty."""
    rng = np.random.default_rng(3)
    target = rng.choice([1.0, 2.0, 3.0], 300, p=[0.6, 0.3, 0.1])
    passed = sum(skill(rng.permutation(target), target, regression=False).some for _ in range(1000))
    assert 5 <= passed <= 45


def test_skill_of_a_regression() -> None:
    rng = np.random.default_rng(0)
    target = rng.normal(size=500)
    assert skill(target + 0.5 * rng.normal(size=500), target, regression=True).share == pytest.approx(
        0.75, abs=0.1
    )
    assert not skill(rng.permutation(target), target, regression=True).some
    assert not skill(target + 100, target, regression=True).some
    assert not skill(np.full(500, target.mean()), target, regression=True).some
