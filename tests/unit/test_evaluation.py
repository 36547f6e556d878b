"""Timing, the bound over blocks, and comparisons from Python."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from blocks import blocks_of
from program import data, model

import svmfast
from svmfast.errors import OptionError, UnsupportedError
from svmfast.evaluation import bound_check, timing, words
from svmfast.models.head import Head
from svmfast.rows import Rows


class Clock:
    """A clock that the call under test advances, and processor time, which is equal unless `alone` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.alone = 0.0, 0.0
        monkeypatch.setattr(timing.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(timing.time, "process_time", lambda: self.alone or self.now)


def test_a_first_call_is_repeated_unless_it_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    durations = iter([9.0, 1.0, 9.0])
    results = itertools.count()

    def call() -> int:
        clock.now += next(durations)
        return next(results)

    assert timing.first_call(call, slow=10.0) == (1, 1.0)
    assert timing.first_call(call, slow=9.0) == (2, 9.0)


class Runner:
    """A call that takes seconds on the test's clock, multiplied by a simulated load."""

    def __init__(self, clock: Clock, seconds: float, slowed: Callable[[float], float]) -> None:
        self.clock, self.seconds, self.slowed, self.calls = clock, seconds, slowed, 0

    def __call__(self) -> None:
        self.calls += 1
        self.clock.now += self.seconds * self.slowed(self.clock.now)


def test_timing_of_equally_fast_calls_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    exact, fast = (Runner(clock, seconds, lambda now: 1.0) for seconds in (0.1, 0.002))
    speeds = timing.race({"exact": exact, "fast": fast}, limit_seconds=1000)
    assert speeds["exact"].ratio == 1
    assert (speeds["fast"].ratio, speeds["fast"].samples) == (pytest.approx(50), 6)
    assert speeds["fast"].narrow
    # Samples of both take equally long; two calls are the warm-up.
    assert (exact.calls, fast.calls) == (8, 302)


def test_a_noisy_second_does_not_change_the_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one second of three all calls take four times as long."""
    clock = Clock(monkeypatch)
    load = lambda now: 4.0 if now % 3 < 1 else 1.0  # noqa: E731
    exact, fast = (Runner(clock, seconds, load) for seconds in (0.4, 0.1))
    speeds = timing.race({"exact": exact, "fast": fast}, limit_seconds=1000)
    assert speeds["fast"].low <= 4 <= speeds["fast"].high
    assert speeds["fast"].ratio == pytest.approx(4, rel=0.3)


def test_an_undecided_timing_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    rng = np.random.default_rng(0)
    exact, fast = (Runner(clock, seconds, lambda now: float(rng.uniform(1, 9))) for seconds in (1.0, 1.0))
    speeds = timing.race({"exact": exact, "fast": fast}, limit_seconds=300)
    assert not speeds["fast"].narrow
    assert speeds["fast"].low < 1 < speeds["fast"].high
    # Each is timed at least once, however short the time.
    speeds = timing.race({"exact": exact, "fast": fast}, limit_seconds=0)
    assert speeds["fast"].samples == 1
    assert (speeds["fast"].low, speeds["fast"].high) == (0, math.inf)


def test_processor_time_decides_where_other_programs_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    rng = np.random.default_rng(0)

    class Waiting(Runner):
        """Waits for its turn, which is no processor time."""

        def __call__(self) -> None:
            super().__call__()
            self.clock.alone += self.seconds * float(rng.uniform(1, 1.1))

    calls = {
        name: Waiting(clock, seconds, lambda now: float(rng.uniform(1, 9)))
        for name, seconds in (("exact", 1.0), ("fast", 0.125), ("faster", 0.0625))
    }
    speeds = timing.race(calls, limit_seconds=3000)
    assert speeds["fast"].processor
    assert speeds["faster"].processor
    assert speeds["fast"].low <= 8 <= speeds["fast"].high
    assert speeds["faster"].ratio == pytest.approx(16, rel=0.1)
    assert speeds["fast"].high < 1.3 * speeds["fast"].low
    # Threads that wait take no processor time: the interval covers the wall clock's median too.
    calls["fast"].slowed = lambda now: 2 * float(rng.uniform(1, 9))
    speeds = timing.race(calls, limit_seconds=3000)
    assert speeds["fast"].ratio == pytest.approx(8, rel=0.1)
    assert speeds["fast"].low < 5
    # An even wall clock is the one that counts.
    for call in calls.values():
        call.slowed = lambda now: 1.0
    clock.alone += 5.0
    speeds = timing.race(calls, limit_seconds=3000)
    assert not any(speed.processor for speed in speeds.values())
    assert speeds["fast"].ratio == pytest.approx(8)


@pytest.mark.parametrize("n", [1, 5, 6, 9, 20, 41])
def test_the_interval_of_a_median_covers_as_often_as_stated(n: int) -> None:
    rng = np.random.default_rng(n)
    drawn = np.exp(rng.normal(size=(4000, n)))  # their median is 1
    found = [timing.median_ratio(ratios.tolist()) for ratios in drawn]
    covered = np.mean([speed.low <= 1 <= speed.high for speed in found])
    assert covered >= 0.94
    if n >= 6:
        assert covered < 1
        assert all(math.isfinite(speed.high) for speed in found)


@pytest.mark.parametrize("size", [1, 13, 4000])
def test_bounds_do_not_depend_on_the_blocks(size: int) -> None:
    rows = svmfast.read_svmlight(data("photos.test")).rows
    found = bound_check.check_data(lambda: blocks_of(rows, size))
    dense = rows.to_dense()
    assert (found.rows, found.features) == (4000, 15)
    assert found.paper is not None
    assert found.paper.max_squared_norm == pytest.approx((dense**2).sum(axis=1).max(), rel=1e-14)
    mean = bound_check.mean_of(blocks_of(rows, size))
    assert mean is not None
    assert np.array_equal(mean, np.cumsum(dense, axis=0)[-1] / 4000)  # added in the order of the rows


def test_wide_data_have_a_bound_without_a_mean() -> None:
    wide = Rows(np.array([0, 1]), np.array([2**31 - 2], np.int32), np.array([2.0]), 2**31 - 1)
    found = bound_check.check_data(lambda: [wide], 0.01)
    assert found.centered is None
    assert found.paper is not None
    assert (found.paper.gamma_max, found.features, found.inside) == (1 / 16, 2**31 - 1, True)


def test_the_bound_of_a_model_takes_the_norms_of_its_vectors_and_of_the_rows() -> None:
    """Gamma_max is ``1 / (4 max||x|| max||z||)``, about the origin and about the mean of the vectors."""
    exact = svmfast.load_model(model("breast_c_rbf"))
    vectors = exact.expansion.sv.to_dense()
    rows = 3 * svmfast.read_svmlight(data("breast.test")).rows.to_dense()
    found = svmfast.bound_check(rows, model=exact)
    for bound, center in ((found.paper, 0 * vectors[0]), (found.centered, vectors.mean(axis=0))):
        largest = [np.linalg.norm(points - center, axis=1).max() for points in (vectors, rows)]
        assert bound is not None
        assert bound.gamma_max == pytest.approx(1 / (4 * largest[0] * largest[1]), rel=1e-12)
        assert bound.max_squared_norm == pytest.approx(largest[1] ** 2, rel=1e-12)


def test_rows_of_zeros_allow_any_gamma() -> None:
    found = svmfast.bound_check(np.zeros((3, 2)), gamma=1e9)
    assert found.paper is not None
    assert (found.paper.gamma_max, found.inside) == (math.inf, True)
    assert replace(found, center="mean").inside is True


def test_a_linear_model_has_a_weight_vector_per_class() -> None:
    for labels, expected in ((2, 1), (3, 3), (26, 26)):
        assert Head("c_svc", np.arange(labels)).linear_functions == expected
    assert Head("epsilon_svr").linear_functions == 1


def test_predict_from_arrays_matrices_and_files() -> None:
    given = svmfast.read_svmlight(data("breast.test"))
    expected = np.loadtxt(str(model("breast_c_rbf")).replace("models", "golden").replace(".model", ".out"))
    loaded = svmfast.load_model(model("breast_c_rbf"))
    for rows in (given, given.rows, given.rows.to_dense(), given.rows.to_scipy()):
        assert np.array_equal(svmfast.predict(loaded, rows, threads=1).predicted, expected)
    assert np.array_equal(svmfast.predict(model("breast_c_rbf"), given).predicted, expected)
    with pytest.raises(UnsupportedError, match="probability"):
        svmfast.predict(loaded, given, probability=True)
    answers = svmfast.predict(model("breast_c_rbf_prob"), given, probability=True)
    assert answers.probabilities is not None
    assert answers.probabilities.shape == (189, 2)


def test_compare_from_python() -> None:
    exact = svmfast.load_model(model("photos_c_rbf"))
    given = svmfast.read_svmlight(data("photos.test"))
    fast, _ = svmfast.approximate(exact)
    named = svmfast.compare({"exact": exact, "fast": fast}, given, repeats=1)
    assert [row.path for row in named.models] == ["exact", "fast"]
    apart = svmfast.compare(
        {"e": model("photos_c_rbf"), "f": fast}, given.rows.to_dense(), given.labels, repeats=1
    )
    assert [row.labels_differing for row in apart.models] == [row.labels_differing for row in named.models]
    assert apart.models[0].n_bytes == model("photos_c_rbf").stat().st_size
    assert apart.data_path is None
    lines = str(named).splitlines()
    assert lines[0].split()[:2] == ["model", "accuracy"]
    assert len(lines) == 3
    assert json.loads(json.dumps(named.to_dict(), allow_nan=False))["models"][1]["bytes"] is None
    bare = svmfast.compare({"exact": exact, "fast": fast}, given.rows, repeats=1)
    assert [row.accuracy for row in bare.models] == [None, None]
    assert [row.labels_differing for row in bare.models] == [row.labels_differing for row in named.models]
    with pytest.raises(OptionError, match="need as many labels"):
        svmfast.compare({"exact": exact}, given.rows, [1, 2])
    with pytest.raises(OptionError, match="no model"):
        svmfast.compare({}, given)


def test_public_names_exist_and_load_lazily() -> None:
    for name in svmfast.__all__:
        assert getattr(svmfast, name) is not None
    assert set(svmfast.__all__) <= set(dir(svmfast))
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = svmfast.frobnicate  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4.5e-6, "4.5 µs"), (1e-9, "0.001 µs")],
)
def test_times_are_shown_in_a_suitable_unit(value: float, text: str) -> None:
    assert words.seconds(value) == text
