"""The most probable of many labels is certified only if LIBSVM's coupling cannot give another one."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from coupling_twin import libsvm_coupling
from fifty_digits import mpf
from hypothesis import given, settings
from hypothesis import strategies as st

from svmfast.certificate import coupled_winner_is_certain
from svmfast.models.certified import certified_rows
from svmfast.models.head import Head
from svmfast.rows import FloatArray


def pairs_of(r: FloatArray) -> FloatArray:
    return r[np.triu_indices(len(r), 1)]


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**31), k=st.integers(3, 8), lead=st.floats(0.51, 0.9999999), spread=st.floats(0, 0.5)
)
def test_certain_winners_win(seed: int, k: int, lead: float, spread: float) -> None:
    """For any values of the other pairs, with the winner's own pairs at their lower ends or above."""
    rng = np.random.default_rng(seed)
    c = int(rng.integers(k))
    low = np.clip(lead + spread * rng.uniform(-1, 1, size=k - 1), 0.4, 1 - 1e-7)
    if not coupled_winner_is_certain(low[None, :])[0]:
        return
    for others in ("any", "extreme", "cyclic", "one rival"):
        r = rng.uniform(1e-7, 1 - 1e-7, size=(k, k))
        if others == "extreme":
            r = np.where(r > 0.5, 1 - 1e-7, 1e-7)
        elif others == "cyclic":
            i, j = np.indices((k, k))
            r = np.where((j - i) % k <= k // 2, 1 - 1e-7, 1e-7)
        elif others == "one rival":
            r[(c + 1) % k] = 1 - 1e-7
        upper = np.triu(r, 1)
        r = upper + np.tril(1 - upper.T, -1)
        above = low + (rng.uniform(size=k - 1) < 0.3) * rng.uniform(size=k - 1) * (1 - 1e-7 - low)
        others_of_c = np.arange(k) != c
        r[c, others_of_c], r[others_of_c, c] = above, 1 - above
        assert libsvm_coupling(r).argmax() == c
        head = Head("c_svc", np.arange(k), np.full(k * (k - 1) // 2, -1.0), np.zeros(k * (k - 1) // 2))
        values = np.log(pairs_of(r) / (1 - pairs_of(r)))
        assert head.predict_with_probabilities(values[None, :])[0][0] == c


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**31), k=st.integers(3, 6))
def test_certified_rows_keep_their_label_within_the_bounds(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = k * (k - 1) // 2
    head = Head("c_svc", np.arange(k) + 5, rng.normal(size=pairs) - 2, rng.normal(size=pairs) * 0.1)
    strength = rng.normal(size=(60, k)) * rng.uniform(0.5, 4, size=(60, 1))
    i, j = np.triu_indices(k, 1)
    decisions = strength[:, i] - strength[:, j]
    bounds = np.abs(rng.normal(size=decisions.shape)) * rng.uniform(0, 0.5, size=(60, 1))
    bounds[rng.uniform(size=bounds.shape) < 0.02] = np.inf
    certified = certified_rows(head, decisions, bounds, probability=True)
    label = head.predict_with_probabilities(decisions)[0]
    reach = np.where(np.isfinite(bounds), bounds, 1e3)
    for _ in range(12):
        inside = decisions + rng.choice([-1.0, 1.0, 0.3, -0.6], size=bounds.shape) * reach
        assert (head.predict_with_probabilities(inside)[0] == label)[certified].all()


def margin(lowest: list[mpf]) -> mpf:
    """Upper bound on the objective at the end, minus lower bound where another class wins."""
    q = sum((1 - r) ** 2 for r in lowest)
    other = []
    for t, r in enumerate(lowest):
        rest = lowest[:t] + lowest[t + 1 :]
        b = 2 + sum(1 / one - 1 for one in rest)
        other.append(1 / ((b / (2 * r - 1)) ** 2 + sum(one**-2 for one in rest)))
    return max(mpf(5) / 4 * q, q + mpf("0.01") / (len(lowest) + 1)) + mpf("1e-6") - min(other)


@pytest.mark.parametrize(
    "others", [[], [0.9], [0.9] * 3, [0.97, 0.999, 0.93], [0.95] * 8, [0.999] * 8, [0.9999] * 20]
)
def test_winners_are_certain_from_the_proven_probability_on(others: list[float]) -> None:
    """Where the two bounds of docs/certificate.md meet: two equal pairs, or one besides others."""
    rest = [mpf(one) for one in others]

    def lowest(r: mpf) -> list[mpf]:
        return [r, *rest] if rest else [r, r]

    meet = mpmath.findroot(lambda r: margin(lowest(r)), (0.6, 0.95), solver="anderson")
    for step, expected in ((-1e-12, False), (1e-12, True)):
        row = np.array([[float(r) for r in lowest(meet + step)]])
        assert coupled_winner_is_certain(row)[0] == expected


def test_a_winner_of_all_pairs_but_one_is_not_certain() -> None:
    one_lost = np.full((1, 4), 0.99)
    one_lost[0, 2] = 0.49
    assert not coupled_winner_is_certain(one_lost)[0]


@pytest.mark.parametrize("bound", [0.0, 1e-3])
def test_clear_rows_are_certified(bound: float) -> None:
    head = Head("c_svc", np.array([4, 2, 7]), np.full(3, -3.0), np.zeros(3))
    decisions = np.array([[2.0, 2.0, 0.1], [-2.0, 0.1, 2.0], [0.01, 0.01, 0.01]])
    got = certified_rows(head, decisions, np.full((3, 3), bound), probability=True)
    assert got.tolist() == [True, True, False]
