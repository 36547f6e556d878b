"""The remaining time of ``svmfast frontier``."""

from __future__ import annotations

import pytest

from svmfast.frontiers.forecast import PRIOR, START, TIMING, Forecast
from svmfast.frontiers.grid import CandidateCommand


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def candidate(name: str, seconds: float) -> CandidateCommand:
    return CandidateCommand(name, name.split("-")[0], 0, (), seconds=seconds)


def test_the_estimates_count_before_anything_is_measured() -> None:
    ahead = Forecast(1000.0, lambda begin: 60.0, Clock())
    left = ahead.left([candidate("a-1", 4.0), candidate("b-1", 9.0)], 2)
    assert left.seconds == 4 + 9 + 2 * START + 2 * TIMING
    assert str(left) == "about 17 s left"


def test_measured_times_correct_those_of_the_method_and_less_those_of_others() -> None:
    clock = Clock()
    ahead = Forecast(1e6, lambda begin: 60.0, clock)
    ahead.start(candidate("a-1", 99.0), 1e6)
    clock.now = 500.0
    ahead.stop(finished=True)
    assert ahead.seconds(candidate("a-2", 99.0)) == pytest.approx(500, rel=0.05)
    # So far everything took five times as long as estimated; b-1 is expected to do so too.
    assert ahead.seconds(candidate("b-1", 99.0)) == pytest.approx(500, rel=0.1)
    ahead.start(candidate("b-1", 99.0), 1e6)
    clock.now += 50
    ahead.stop(finished=True)
    assert ahead.seconds(candidate("b-2", 99.0)) == pytest.approx(50, rel=0.2)
    assert ahead.seconds(candidate("a-2", 99.0)) == pytest.approx(500, rel=0.05)
    assert PRIOR < 99


def test_the_time_limit_bounds_the_rest() -> None:
    clock = Clock()
    ahead = Forecast(100.0, lambda begin: 20.0, clock)
    assert str(ahead.left([candidate("a-1", 500.0)], 5)) == "at most 2 min 0 s left"
    clock.now = 90.0
    assert str(ahead.left([candidate("a-1", 500.0)], 5)) == "at most 30 s left"
    assert str(ahead.left([], 5)) == "about 5 s left"
    clock.now = 200.0
    assert str(ahead.left([candidate("a-1", 1.0)], 50)) == "at most 20 s left"


def test_a_running_candidate_counts_down_and_may_be_overdue() -> None:
    clock = Clock()
    ahead = Forecast(1000.0, lambda begin: 0.0, clock)
    ahead.start(candidate("a-1", 9.0), 40.0)
    seen = []
    for now in (0.0, 5.0, 9.0, 20.0, 39.0):
        clock.now = now
        seen.append(ahead.left([], 0).seconds)
    assert seen == [10, 5, 4.5, 10, 1]
    # It was stopped: another attempt is expected to take longer than this one.
    clock.now = 40.0
    ahead.stop(finished=False)
    assert ahead.seconds(candidate("a-1", 9.0)) == 60
    assert ahead.seconds(candidate("a-2", 9.0)) == 10


def test_the_share_never_decreases() -> None:
    clock = Clock()
    ahead = Forecast(1000.0, lambda begin: 0.0, clock)
    shares = []
    for now, seconds in ((0.0, 9.0), (5.0, 4.0), (6.0, 50.0), (9.0, 0.0), (10.0, -START)):
        clock.now = now
        shares.append(ahead.share(ahead.left([candidate("a-1", seconds)], 0)))
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] == 1
