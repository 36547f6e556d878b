"""Speeds measured in rounds over a whole run."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable

import pytest

from svmfast.evaluation import timing
from svmfast.evaluation.timing import Rounds
from svmfast.frontiers import racing
from svmfast.frontiers.racing import FIRST, LEAST_ROUNDS, Racing


class Machine:
    """Clocks that calls move on; under a `load` those that are slowed take so many times as long.

    While a call waits for other programs, only the wall clock moves.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.load, self.waited = 0.0, 1.0, 0.0
        self.calls: list[str] = []
        for name in ("perf_counter", "monotonic"):
            monkeypatch.setattr(time, name, lambda: self.now)
        monkeypatch.setattr(time, "process_time", lambda: self.now - self.waited)

    def __call__(self) -> float:
        return self.now

    def call(
        self, name: str, seconds: float, slowed: bool = False, waits: Callable[[], float] = float
    ) -> Callable[[], None]:
        def run() -> None:
            self.calls.append(name)
            wait = waits()
            self.waited += wait
            self.now += seconds * (self.load if slowed else 1.0) + wait

        return run


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_the_interval_covers_the_loads_of_the_whole_run(machine: Machine) -> None:
    """In one burst under load the interval is narrow, and wrong by a factor of two."""
    burst = Rounds("exact", machine.call("exact", 0.1), 0.1)
    burst.add("fast", machine.call("fast", 0.005, slowed=True), 0.005)
    machine.load = 2.0
    for _ in range(12):
        burst.round(["fast"])
    assert burst.wall("fast").high < 11
    race = Racing(machine.call("exact", 0.1), machine)
    race.add("fast", machine.call("fast", 0.005, slowed=True))
    for load in (1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0):  # as candidates are made
        machine.now += 100.0
        machine.load = load
        race.between(lambda speeds: ["fast"])
    race.finish(machine.now + 1, lambda speeds: ["fast"])
    speed = race.speeds()["fast"]
    assert speed.low < 11
    assert speed.high > 19


def test_timing_takes_a_tenth_of_the_time_between_candidates(machine: Machine) -> None:
    race = Racing(machine.call("exact", 1.0), machine)
    race.add("a", machine.call("a", 0.1))
    begin = machine.now
    for _ in range(500):
        machine.now += 1.0
        race.between(lambda speeds: ["a"])
    share = (machine.now - begin - 500) / (machine.now - begin)
    assert 0.05 < share <= racing.SHARE + 0.02


@pytest.mark.parametrize("left", [100.0, 0.0])
def test_what_can_be_recommended_gets_an_interval(machine: Machine, left: float) -> None:
    """Even without time left: with fewer than six samples no interval exists, and any choice is blind."""
    names = [f"m{i}" for i in range(30)]
    race = Racing(machine.call("exact", 0.2), machine)
    for i, name in enumerate(names):
        race.add(name, machine.call(name, 0.02 + 0.001 * i))
    machine.calls.clear()
    begin = machine.now
    race.finish(machine.now + left, lambda speeds: names[:4])
    speeds = race.speeds()
    finite = [name for name in names if math.isfinite(speeds[name].high)]
    assert finite[:FIRST] == names[:FIRST]
    if left:
        assert finite == names[:4]
        assert all(speeds[name].samples >= racing.FEW_ROUNDS for name in names)
        assert all(speeds[name].samples == LEAST_ROUNDS for name in finite)
    most = min(racing.MOST_TIMING, max(left, racing.LEAST_TIMING)) + racing.LEAST_TIMING
    assert machine.now - begin < most + 2
    assert speeds["m0"].ratio == pytest.approx(10, rel=0.01)


def test_samples_are_equally_long(machine: Machine) -> None:
    rounds = Rounds("exact", machine.call("exact", 0.1), 0.1)
    rounds.add("fast", machine.call("fast", 0.001), 0.001)
    rounds.round(["fast"])
    assert machine.calls == ["exact"] + 100 * ["fast"]
    found = rounds.result()
    assert found.seconds["fast"] == pytest.approx(0.001)
    assert found.speeds["fast"].ratio == pytest.approx(100)
    assert timing.median_ratio([2.0] * 5).high == math.inf


def test_a_load_that_only_slows_the_exact_model_makes_no_model_fast(machine: Machine) -> None:
    """Seen with two models, of which one was called 11 times as fast, and was 1.9 times as fast."""
    rounds = Rounds("exact", machine.call("exact", 0.1, waits=lambda: 0.4), 0.1)
    rounds.add("fast", machine.call("fast", 0.05), 0.05)
    for _ in range(12):
        rounds.round(["fast"])
    speed = rounds.result().speeds["fast"]
    assert speed.clock == "processor"
    assert (speed.low, speed.ratio, speed.high) == pytest.approx((2, 2, 2))


@pytest.mark.parametrize(("wait", "clock"), [(0.0, "wall"), (0.02, "wall"), (0.1, "processor")])
def test_a_single_sample_has_no_interval(machine: Machine, wait: float, clock: str) -> None:
    """It is of the wall clock, unless the exact model alone was made to wait by a quarter of its time."""
    rounds = Rounds("exact", machine.call("exact", 0.1, waits=lambda: wait), 0.1)
    rounds.add("fast", machine.call("fast", 0.05), 0.05)
    rounds.round(["fast"])
    speeds = rounds.result().speeds
    assert (speeds["fast"].clock, speeds["exact"].clock) == (clock, "wall")
    assert (speeds["fast"].low, speeds["fast"].high) == (0, math.inf)


@pytest.mark.parametrize(("waits", "clock"), [([0.0], "wall"), ([0.0, 0.3, 0.02, 0.1], "processor")])
def test_the_clock_is_the_one_whose_ratios_vary_less(
    machine: Machine, waits: list[float], clock: str
) -> None:
    """The interval of processor times reaches down to the wall clock's ratio, and not up to it."""
    turns = itertools.cycle(waits)
    rounds = Rounds("exact", machine.call("exact", 0.1), 0.1)
    rounds.add("fast", machine.call("fast", 0.05, waits=lambda: next(turns)), 0.1)
    for _ in range(12):
        rounds.round(["fast"])
    speed = rounds.result().speeds["fast"]
    assert (speed.clock, speed.ratio, speed.high) == (clock, pytest.approx(2), pytest.approx(2))
    assert (speed.low < 1.5) == (clock == "processor")
