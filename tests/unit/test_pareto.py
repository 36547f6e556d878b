"""Which points are on the Pareto front, and which one is recommended."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from losses import loss

from svmfast.evaluation.loss import NOTHING, Loss
from svmfast.evaluation.timing import Speed
from svmfast.frontiers.pareto import Limits, Point, fastest, nearest, pareto, recommend


def point(
    name: str,
    differing: float,
    speedup: float,
    n_bytes: int,
    cost: float = 1.0,
    counted: float | None = None,
    *,
    spread: float = 1.01,
    confirming: Loss | None = None,
    choosing: Loss | None = None,
    skilled: bool = True,
) -> Point:
    return Point(
        name=name,
        method="compress",
        choosing=choosing or loss(differing),
        confirming=confirming or loss(differing),
        n_bytes=n_bytes,
        speed=Speed(speedup, speedup / spread, speedup * spread, 20),
        rows_per_second=100 * speedup,
        linear_cost=cost,
        linear_cost_counted=counted,
        skilled=skilled,
    )


EXACT = point("exact", 0.0, 1.0, 1000, 500.0)


def chosen(points: list[Point], limits: Limits) -> str | None:
    best = recommend([EXACT, *points], limits)
    return best and best.name


def test_the_front_agrees_with_the_definition() -> None:
    rng = np.random.default_rng(0)
    points = [
        point(str(i), float(d), float(s), int(b)) for i, (d, s, b) in enumerate(rng.integers(1, 6, (60, 3)))
    ]
    marked = pareto(points)
    figures = [(p.confirming.differing.value, -p.speed.ratio, p.n_bytes) for p in points]
    for own, front in zip(figures, marked, strict=True):
        beaten = any(other != own and all(np.array(other) <= own) for other in figures)
        assert front == (not beaten)
    assert 0 < sum(marked) < len(points)


def test_with_a_limit_on_answers_the_fastest_is_recommended() -> None:
    points = [point("a", 0.4, 10, 100), point("b", 0.6, 50, 50), point("c", 0.1, 5, 10)]
    named = [
        (Limits(0.5), "a"),
        (Limits(0.6), "b"),
        (Limits(0.3), "c"),
        (Limits(0.05), None),
        (Limits(0.5, max_bytes=60), "c"),
        (Limits(0.6, max_bytes=60), "b"),
        (Limits(), "b"),
    ]
    for limits, name in named:
        for order in itertools.permutations(points):
            assert chosen(list(order), limits) == name, limits


def test_with_only_a_limit_on_size_or_cost_the_closest_is_recommended() -> None:
    """The fastest model that fits may be nearly useless."""
    points = [
        point("worst", 84.6, 200, 30, counted=1.0),
        point("close", 19.7, 12, 60, counted=12.0),
        point("large", 0.2, 5, 900, counted=50.0),
    ]
    assert chosen(points, Limits(max_bytes=60)) == "close"
    assert chosen(points, Limits(max_operations=12)) == "close"
    assert chosen(points, Limits(max_bytes=50)) == "worst"
    assert chosen(points, Limits(max_bytes=20)) is None
    # A limit on the answers comes first if there is one.
    assert chosen(points, Limits(20.0, max_bytes=60)) == "close"
    assert chosen(points, Limits(90.0, max_bytes=60)) == "worst"


def test_with_a_limit_on_size_balanced_accuracy_may_choose() -> None:
    """The model with the fewest differing labels may be the one that never predicts a rare class."""
    points = [
        point("majority", 3.0, 50, 30, choosing=loss(3.0, 2.0, 30.0)),
        point("rare", 4.0, 40, 60, choosing=loss(4.0, 3.0, 2.0)),
    ]
    assert chosen(points, Limits(max_bytes=60)) == "majority"
    assert chosen(points, Limits(max_bytes=60, balanced=True)) == "rare"
    assert chosen(points, Limits(max_bytes=50, balanced=True)) == "majority"
    near = nearest([EXACT, *points], Limits(max_loss_percent=0.1, max_bytes=60, balanced=True))
    assert near is not None
    assert near.name == "rare"


def test_limits_on_losses() -> None:
    points = [
        point("a", 5.0, 30, 100, choosing=loss(5.0, 0.2, 3.0)),
        point("b", 5.0, 10, 100, choosing=loss(5.0, 0.4, 0.3)),
    ]
    assert chosen(points, Limits(max_loss_percent=0.5)) == "a"
    assert chosen(points, Limits(max_loss_percent=0.5, balanced=True)) == "b"
    assert chosen(points, Limits(max_loss_percent=0.1)) is None
    assert chosen(points, Limits(1.0, max_loss_percent=0.5)) is None


def test_the_confirming_rows_do_not_choose() -> None:
    bad = loss(3.0)
    assert chosen([point("a", 0.1, 10, 100, confirming=bad)], Limits(0.5)) == "a"
    assert chosen([point("a", 3.0, 10, 100, confirming=loss(0.1))], Limits(0.5)) is None
    limits = Limits(0.5)
    assert limits.refuted_by(bad)
    assert not limits.refuted_by(loss(0.55))
    assert not limits.shown_by(loss(0.45))
    assert limits.shown_by(loss(0.3))


def test_that_no_label_differs_must_be_proven() -> None:
    proven = replace(loss(0.0), differing=NOTHING)
    points = [
        point("lucky", 0.0, 30, 100),
        point("proven", 0.0, 10, 2000, choosing=proven, confirming=proven),
    ]
    assert chosen(points, Limits(0.0)) == "proven"
    assert chosen(points[:1], Limits(0.0)) is None
    assert chosen(points, Limits(0.1)) == "lucky"


def test_of_equally_fast_models_the_closest_is_recommended() -> None:
    points = [point("fastest", 0.4, 10, 100), point("close", 0.1, 9.1, 900), point("exact", 0, 8.9, 9)]
    assert chosen(points, Limits(0.5)) == "close"


def test_counted_work_decides_between_equally_fast_points() -> None:
    noisy = point("noisy", 0.1, 18.8, 100, counted=60.0, spread=4.5)  # 4.2 to 85
    quiet = point("quiet", 0.2, 8.0, 100, counted=20.0)
    assert fastest([noisy, quiet]).name == "quiet"
    assert chosen([noisy, quiet], Limits(0.5)) == "quiet"
    # Within 10 % of its work, or certainly within 10 % of its speed, it is equally fast, and closer.
    assert chosen([point("noisy", 0.1, 18.8, 9, counted=22.0, spread=4.5), quiet], Limits(0.5)) == "noisy"
    assert chosen([point("other", 0.1, 8.0, 9, counted=60.0), quiet], Limits(0.5)) == "other"
    # If one is not counted, or the intervals are disjoint, timing decides.
    unknown = point("noisy", 0.1, 18.8, 100, spread=4.5)
    assert fastest([unknown, quiet]).name == "noisy"
    assert fastest([point("fast", 0.1, 18.8, 100, counted=60.0), quiet]).name == "fast"


def test_models_without_any_gain_are_not_recommended() -> None:
    slow = point("slow", 0.0, 0.8, 1200)
    assert chosen([slow], Limits(1.0)) is None
    small = [point("smaller", 0.0, 0.8, 900), point("smallest", 0.0, 0.7, 500)]
    assert chosen([slow, *small], Limits(1.0)) == "smallest"
    # Perhaps faster, perhaps slower: the interval must be on one side.
    assert chosen([point("unsure", 0.0, 2.0, 1200, spread=3.0)], Limits(1.0)) is None
    assert chosen([point("unknown", 0.0, 2.0, 1200, spread=math.inf)], Limits(1.0)) is None


def test_models_no_better_than_chance_are_not_recommended() -> None:
    useless = point("useless", 40.0, 100, 10, skilled=False)
    assert chosen([useless], Limits(max_bytes=100)) is None
    assert nearest([EXACT, useless], Limits(max_bytes=100)) is None


def test_the_cost_limit_applies_if_the_cost_is_counted() -> None:
    counted, timed = point("counted", 0, 2, 9, 50.0, 10.0), point("timed", 0, 3, 9, 50.0)
    assert chosen([counted, timed], Limits(max_operations=12)) == "counted"


def test_the_nearest_miss() -> None:
    points = [EXACT, point("a", 3.0, 10, 100), point("b", 2.0, 5, 200), point("slow", 1.0, 0.5, 2000)]
    near = nearest(points, Limits(0.5))
    assert near is not None
    assert near.name == "b"
    near = nearest(points, Limits(max_bytes=50))
    assert near is not None
    assert near.name == "a"


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        (Limits(), "no limits"),
        (Limits(0.5), "at most 0.5% of the labels differing"),
        (Limits(0.0), "at most 0% of the labels differing, proven"),
        (
            Limits(0.5, max_bytes=2048, max_operations=20),
            "at most 0.5% of the labels differing, at most 2,048 bytes, at most 20x a linear model",
        ),
        (Limits(max_loss_percent=1.0), "at most 1 points of accuracy lost"),
        (Limits(max_loss_percent=1.0, balanced=True), "at most 1 points of balanced accuracy lost"),
        (
            Limits(2.0, max_loss_percent=1.0, regression=True),
            "values differing by at most 2% of their spread, at most 1% more error",
        ),
    ],
)
def test_limits_in_words(limits: Limits, text: str) -> None:
    assert str(limits) == text
