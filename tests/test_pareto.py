"""Which points no other beats, and which one is recommended."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from svmfast.evaluation.pareto import Limits, Point, pareto, recommend


def point(
    name: str, differing: float, speedup: float, n_bytes: int, cost: float = 1.0, counted: float | None = None
) -> Point:
    return Point(name, "compress", differing, 90.0, None, n_bytes, speedup * 100, speedup, cost, counted)


EXACT = point("exact", 0.0, 1.0, 1000, 500.0)


def test_points_that_no_other_beats_against_the_definition() -> None:
    rng = np.random.default_rng(0)
    points = [
        point(str(i), float(d), float(s), int(b)) for i, (d, s, b) in enumerate(rng.integers(1, 6, (60, 3)))
    ]
    marked = pareto(points)
    for a, front in zip(points, marked, strict=True):
        beaten = False
        for b in points:
            good = b.differing_percent <= a.differing_percent and b.speedup >= a.speedup
            good = good and b.n_bytes <= a.n_bytes
            same = (b.differing_percent, b.speedup, b.n_bytes) == (
                a.differing_percent,
                a.speedup,
                a.n_bytes,
            )
            beaten = beaten or (good and not same)
        assert front == (not beaten)
    assert 0 < sum(marked) < len(points)


def test_the_fastest_within_the_limits_is_recommended() -> None:
    points = [EXACT, point("a", 0.4, 10, 100), point("b", 0.6, 50, 50), point("c", 0.1, 5, 10)]
    named = [
        (Limits(0.5), "a"),
        (Limits(0.6), "b"),
        (Limits(0.3), "c"),
        (Limits(0.05), None),
        (Limits(None, 60), "b"),
        (Limits(0.5, 60), "c"),
        (Limits(), "b"),
    ]
    for limits, name in named:
        best = recommend(points, limits)
        assert (best and best.name) == name, limits
    for order in itertools.permutations(points[1:]):
        best = recommend([EXACT, *order], Limits(0.5))
        assert best is not None
        assert best.name == "a"


def test_of_equally_fast_models_the_closest_is_recommended() -> None:
    points = [EXACT, point("fastest", 0.4, 10, 100), point("close", 0.1, 9.1, 900), point("exact", 0, 8.9, 9)]
    best = recommend(points, Limits(0.5))
    assert best is not None
    assert best.name == "close"


def test_what_gains_nothing_is_not_recommended() -> None:
    slow = point("slow", 0.0, 0.8, 1200)
    assert recommend([EXACT, slow], Limits(1.0)) is None
    small = [point("smaller", 0.0, 0.8, 900), point("smallest", 0.0, 0.7, 500)]
    best = recommend([EXACT, slow, *small], Limits(1.0))
    assert best is not None
    assert best.name == "smallest"


def test_the_cost_limit_counts_where_it_can() -> None:
    counted, timed = point("counted", 0, 2, 9, 50.0, 10.0), point("timed", 0, 3, 9, 50.0)
    best = recommend([EXACT, counted, timed], Limits(max_cost=12))
    assert best is not None
    assert best.name == "counted"


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(), "no limits"),
        (Limits(0.5), "at most 0.5% differing"),
        (
            Limits(0.5, 2048, 20),
            "at most 0.5% differing, at most 2,048 bytes, at most 20x a linear model",
        ),
    ],
)
def test_limits_in_words(limits: Limits, text: str) -> None:
    assert str(limits) == text
