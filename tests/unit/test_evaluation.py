"""Timing, races over a whole run, the bound over blocks, and comparisons from Python."""

import itertools
import json
import math
import time
from dataclasses import replace

import numpy as np
import pytest
from blocks import blocks_of
from program import data, model

import svmfast
from svmfast.evaluation import bound_check, timing
from svmfast.evaluation.timing import Rounds
from svmfast.frontiers import racing
from svmfast.frontiers.racing import FIRST, LEAST_ROUNDS, Racing
from svmfast.rows import Rows


class Machine:
    """Clocks that calls move on; under a `load` those that are slowed take so many times as long."""

    def __init__(self, monkeypatch):
        self.now, self.load, self.waited = 0.0, 1.0, 0.0
        self.calls = []
        for name in ("perf_counter", "monotonic"):
            monkeypatch.setattr(time, name, lambda: self.now)
        monkeypatch.setattr(time, "process_time", lambda: self.now - self.waited)

    def __call__(self):
        return self.now

    def call(self, name, seconds, slowed=False, waits=float):
        def run():
            self.calls.append(name)
            wait = waits()
            self.waited += wait  # for other programs: only the wall clock moves
            self.now += seconds * (self.load if slowed else 1.0) + wait

        return run

    def rounds(self, n, exact, fast, seconds=0.05):
        """Time n rounds of two calls."""
        made = Rounds("exact", exact, 0.1)
        made.add("fast", fast, seconds)
        for _ in range(n):
            made.round(["fast"])
        return made


@pytest.fixture
def machine(monkeypatch):
    return Machine(monkeypatch)


def test_a_first_call_is_repeated_unless_it_is_slow(machine):
    durations, results = iter([9.0, 1.0, 9.0]), itertools.count()

    def call():
        machine.now += next(durations)
        return next(results)

    assert timing.first_call(call, slow=10.0) == (1, 1.0)
    assert timing.first_call(call, slow=9.0) == (2, 9.0)


def test_timing_ends_early_or_is_reported_as_undecided(machine):
    calls = {name: machine.call(name, seconds) for name, seconds in (("exact", 0.1), ("fast", 0.002))}
    speeds = timing.race(calls, limit_seconds=1000)
    assert (speeds["exact"].ratio, speeds["fast"].ratio) == (1, pytest.approx(50))
    assert (speeds["fast"].samples, speeds["fast"].narrow) == (6, True)
    # Samples of both take equally long; two calls are the warm-up.
    assert [machine.calls.count(name) for name in calls] == [8, 302]
    rng = np.random.default_rng(0)

    def busy():
        machine.now += float(rng.uniform(1, 9))
        return 0.0

    calls = {name: machine.call(name, 0.0, waits=busy) for name in ("exact", "fast")}
    speeds = timing.race(calls, limit_seconds=300)
    assert not speeds["fast"].narrow
    assert speeds["fast"].low < 1 < speeds["fast"].high
    # Each is timed at least once, however short the time.
    fast = timing.race(calls, limit_seconds=0)["fast"]
    assert (fast.samples, fast.low, fast.high) == (1, 0, math.inf)


@pytest.mark.parametrize("n", [1, 5, 6, 9, 20, 41])
def test_the_interval_of_a_median_covers_as_often_as_stated(n):
    rng = np.random.default_rng(n)
    drawn = np.exp(rng.normal(size=(4000, n)))  # their median is 1
    found = [timing.median_ratio(ratios.tolist()) for ratios in drawn]
    covered = np.mean([speed.low <= 1 <= speed.high for speed in found])
    assert covered >= 0.94
    if n >= 6:
        assert covered < 1
        assert all(math.isfinite(speed.high) for speed in found)


@pytest.mark.parametrize("size", [1, 13, 4000])
def test_bounds_do_not_depend_on_the_blocks(size):
    rows = svmfast.read_svmlight(data("photos.test")).rows
    found = bound_check.check_data(lambda: blocks_of(rows, size))
    dense = rows.to_dense()
    assert (found.rows, found.features) == (4000, 15)
    assert found.paper.max_squared_norm == pytest.approx((dense**2).sum(axis=1).max(), rel=1e-14)
    mean = bound_check.mean_of(blocks_of(rows, size))
    np.testing.assert_array_equal(mean, np.cumsum(dense, axis=0)[-1] / 4000)  # added in the order of the rows
    for bound, center in ((found.paper, 0.0), (found.centered, mean)):
        largest = ((dense - center) ** 2).sum(axis=1).max()
        assert bound.gamma_max == pytest.approx(1 / (4 * largest), rel=1e-12)
    assert found.inside is None


def test_the_bound_of_a_model_takes_the_norms_of_its_vectors_and_of_the_rows():
    """Gamma_max is ``1 / (4 max||x|| max||z||)``, about the origin and about the mean of the vectors."""
    exact = svmfast.load_model(model("breast_c_rbf"))
    vectors = exact.expansion.sv.to_dense()
    rows = 3 * svmfast.read_svmlight(data("breast.test")).rows.to_dense()
    found = svmfast.bound_check(rows, model=exact)
    for bound, center in ((found.paper, 0 * vectors[0]), (found.centered, vectors.mean(axis=0))):
        x, z = (np.linalg.norm(points - center, axis=1).max() for points in (vectors, rows))
        assert (bound.gamma_max, bound.max_squared_norm) == pytest.approx((1 / (4 * x * z), z**2), rel=1e-12)
    # Wide data have a bound without a mean, and rows of zeros allow any gamma.
    wide = Rows(np.array([0, 1]), np.array([2**31 - 2], np.int32), np.array([2.0]), 2**31 - 1)
    found = bound_check.check_data(lambda: [wide], 0.01)
    assert (found.centered, found.paper.gamma_max) == (None, 1 / 16)
    assert (found.features, found.inside) == (2**31 - 1, True)
    found = svmfast.bound_check(np.zeros((3, 2)), gamma=1e9)
    assert (found.paper.gamma_max, found.inside) == (math.inf, True)
    assert replace(found, center="mean").inside


def test_compare_from_python():
    exact, given = model("photos_c_rbf"), svmfast.read_svmlight(data("photos.test"))
    fast, _ = svmfast.approximate(exact)
    named = svmfast.compare({"exact": svmfast.load_model(exact), "fast": fast}, given, repeats=1)
    assert json.loads(json.dumps(named.to_dict(), allow_nan=False))["models"][1]["bytes"] is None
    bare = svmfast.compare({"exact": exact, "fast": fast}, given.rows.to_dense(), repeats=1)
    for found, with_labels in zip(bare.models, named.models, strict=True):
        assert (found.path, found.labels_differing) == (with_labels.path, with_labels.labels_differing)
        assert found.accuracy is None
    assert (bare.models[0].path, bare.models[0].n_bytes) == ("exact", exact.stat().st_size)


def test_the_interval_covers_the_loads_of_the_whole_run(machine):
    """In one burst under load the interval is narrow, and wrong by a factor of two."""
    fast = machine.call("fast", 0.005, slowed=True)
    machine.load = 2.0
    assert machine.rounds(12, machine.call("exact", 0.1), fast, 0.005).wall("fast").high < 11
    race = Racing(machine.call("exact", 0.1), machine)
    machine.load = 1.0
    race.add("fast", fast)
    for load in (1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0):  # as candidates are made
        machine.now += 100.0
        machine.load = load
        race.between(lambda speeds: ["fast"])
    race.finish(machine.now + 1, lambda speeds: ["fast"])
    speed = race.speeds()["fast"]
    assert speed.low < 11
    assert speed.high > 19


def test_timing_takes_a_tenth_of_the_time_between_candidates(machine):
    race = Racing(machine.call("exact", 1.0), machine)
    race.add("a", machine.call("a", 0.1))
    before, begin = len(machine.calls), machine.now
    race.between(lambda speeds: ["a"])
    assert len(machine.calls) == before  # the first sample of a model counts, too
    for _ in range(500):
        machine.now += 1.0
        race.between(lambda speeds: ["a"])
    share = (machine.now - begin - 500) / (machine.now - begin)
    assert 0.05 < share <= racing.SHARE + 0.02


@pytest.mark.parametrize("left", [100.0, 0.0])
def test_what_can_be_recommended_gets_an_interval(machine, left):
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


@pytest.mark.parametrize(("wait", "clock"), [(0.0, "wall"), (0.02, "wall"), (0.1, "processor")])
def test_waits_of_the_exact_model_alone(machine, wait, clock):
    """A single sample has no interval; it is of the wall clock, unless a quarter of the time was waiting."""
    exact, fast = machine.call("exact", 0.1, waits=lambda: wait), machine.call("fast", 0.05)
    speeds = machine.rounds(1, exact, fast).result().speeds
    assert (speeds["fast"].clock, speeds["exact"].clock) == (clock, "wall")
    assert (speeds["fast"].low, speeds["fast"].high) == (0, math.inf)
    exact = machine.call("exact", 0.1, waits=lambda: 4 * wait)
    speed = machine.rounds(12, exact, fast).result().speeds["fast"]
    assert (speed.low, speed.ratio, speed.high) == pytest.approx((2, 2, 2))
    assert speed.clock == ("processor" if wait else "wall")


@pytest.mark.parametrize(("waits", "clock"), [([0.0], "wall"), ([0.0, 0.3, 0.02, 0.1], "processor")])
def test_the_clock_is_the_one_whose_ratios_vary_less(machine, waits, clock):
    """The interval of processor times reaches down to the wall clock's ratio, and not up to it."""
    turns = itertools.cycle(waits)
    fast = machine.call("fast", 0.05, waits=lambda: next(turns))
    speed = machine.rounds(12, machine.call("exact", 0.1), fast, 0.1).result().speeds["fast"]
    assert (speed.clock, speed.ratio, speed.high) == (clock, pytest.approx(2), pytest.approx(2))
    assert (speed.low < 1.5) == (clock == "processor")
