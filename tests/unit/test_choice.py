"""frontier: the division of rows, the Pareto front, and the model that is recommended.

In one file, since the rule, its intervals and its error rates use the same made-up models.
"""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from losses import loss
from program import data, model
from scipy.stats import binom

from svmfast.class_scores import ClassScore, LostClass, lost_classes
from svmfast.errors import UnsupportedError
from svmfast.evaluation.loss import NOTHING, Estimate, Loss
from svmfast.evaluation.timing import Speed
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.frontiers.choice import ERROR, GAIN, Limits, Point, Recommendation, choose, contenders, pareto
from svmfast.frontiers.comparing import Comparing
from svmfast.frontiers.folder import MadeRecord
from svmfast.frontiers.measured import MeasuredModels
from svmfast.frontiers.plan import CandidateCommand
from svmfast.frontiers.request import RunRequest
from svmfast.frontiers.row_sets import LabelledRows, RowSets, divided, read_sets
from svmfast.methods.approximate import ApproximateOptions
from svmfast.methods.approximate.run import approximate
from svmfast.methods.common.equal_rows import row_keys
from svmfast.options import Reading
from svmfast.rows import Rows
from svmfast.score import Quality
from svmfast.solvers.intervals import clopper_pearson

RARE = (LostClass(ClassScore(7.0, 30, 0, 0), 80.0),)


def point(
    name: str,
    differing: float,
    speedup: float,
    n_bytes: int,
    cost: float | None = 1.0,
    *,
    spread: float = 1.01,
    loss_confirming: Loss | None = None,
    loss_choosing: Loss | None = None,
    skilled: bool = True,
    lost: tuple[bool, bool] = (False, False),
) -> Point:
    return Point(
        name=name,
        method="compress",
        loss_choosing=loss_choosing or loss(differing),
        loss_confirming=loss_confirming or loss(differing),
        n_bytes=n_bytes,
        speed=Speed(speedup, speedup / spread, speedup * spread, 20),
        linear_cost_counted=cost,
        skilled=skilled,
        lost_classes_choosing=RARE * lost[0],
        lost_classes_confirming=RARE * lost[1],
    )


EXACT = point("exact", 0.0, 1.0, 1000, 500.0)


def chosen(points: list[Point], limits: Limits) -> str | None:
    best = choose([EXACT, *points], limits).recommended
    return best and best.name


def test_the_front_agrees_with_the_definition() -> None:
    rng = np.random.default_rng(0)
    points = [
        point(str(i), float(d), float(s), int(b)) for i, (d, s, b) in enumerate(rng.integers(1, 6, (60, 3)))
    ]
    marked = pareto(points)
    figures = [(p.loss_confirming.differing.value, -p.speed.ratio, p.n_bytes) for p in points]
    for own, front in zip(figures, marked, strict=True):
        beaten = any(other != own and all(np.array(other) <= own) for other in figures)
        assert front == (not beaten)
    assert 0 < sum(marked) < len(points)


def test_with_a_limit_on_answers_the_fastest_is_recommended() -> None:
    points = [point("a", 0.4, 10, 100), point("b", 0.6, 50, 50), point("c", 0.1, 5, 10)]
    named = [
        (Limits(0.51), "a"),
        (Limits(0.71), "b"),
        (Limits(0.3), "c"),
        (Limits(0.15), None),
        (Limits(0.51, max_bytes=60), "c"),
        (Limits(0.71, max_bytes=60), "b"),
        (Limits(), "b"),
    ]
    for limits, name in named:
        for order in itertools.permutations(points):
            assert chosen(list(order), limits) == name, limits


def test_with_only_a_limit_on_size_or_cost_the_closest_is_recommended() -> None:
    """The fastest model that fits may be nearly useless."""
    points = [
        point("worst", 84.6, 200, 30, 1.0),
        point("close", 19.7, 12, 60, 12.0),
        point("large", 0.2, 5, 900, 50.0),
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
        point("majority", 3.0, 50, 30, loss_choosing=loss(3.0, 2.0, 30.0)),
        point("rare", 4.0, 40, 60, loss_choosing=loss(4.0, 3.0, 2.0)),
    ]
    assert chosen(points, Limits(max_bytes=60)) == "majority"
    assert chosen(points, Limits(max_bytes=60, balanced=True)) == "rare"
    assert chosen(points, Limits(max_bytes=50, balanced=True)) == "majority"


def test_the_whole_interval_must_be_within_the_limit_on_both_sets_of_rows() -> None:
    first, second = point("first", 0.3, 10, 100, loss_confirming=loss(0.45)), point("second", 0.1, 5, 100)
    limits = Limits(0.5)
    found = choose([EXACT, first, second], limits)
    assert (found.recommended, found.refused) == (second, ((first, "answers"),))
    assert chosen([point("borderline", 0.45, 10, 100), second], limits) == "second"
    assert choose([EXACT, first], limits) == Recommendation(None, ((first, "answers"),))


def test_a_later_test_is_stricter() -> None:
    """Each further one halves the probability of an error."""
    limits, close = Limits(0.4), loss(0.29)
    assert limits.shown_by(close, 1)
    assert not limits.shown_by(close, 2)
    for n, differing in ((1000, 0), (1000, 5), (20_000, 60), (50, 20)):
        value, high = differing / n, clopper_pearson(differing, n)[1]
        one = Loss(n, Quality(), differing, Estimate(100 * value, 0.0, 100 * high), None, None)
        for test in (1, 2, 5, 9):
            needed = 100 * clopper_pearson(differing, n, 1 - ERROR * 2 ** (1 - test))[1]
            assert not Limits(needed * 0.999).shown_by(one, test)
            assert test > 1 or Limits(needed * 1.001).shown_by(one, test)


def test_a_model_that_loses_a_class_is_recommended_only_on_request() -> None:
    lossy, late = point("lossy", 0.1, 20, 9, lost=(True, True)), point("late", 0.1, 10, 9, lost=(False, True))
    whole = point("whole", 0.1, 5, 9)
    found = choose([EXACT, lossy, late, whole], Limits(0.5))
    assert (found.recommended, found.refused) == (whole, ((late, "classes"),))
    assert chosen([lossy, late, whole], Limits(0.5, lose_classes=True)) == "lossy"
    assert chosen([lossy], Limits(max_bytes=10)) is None


def test_which_classes_are_lost() -> None:
    target = np.repeat([0.0, 1.0, 2.0, 3.0], [50, 10, 2, 1])
    exact, ours = target.copy(), target.copy()
    exact[58:60] = 0.0  # of class 1 the exact model recognizes 8
    ours[54:] = 0.0  # and this one 4; of class 2 none; one row of class 3 shows nothing
    assert [one.score.label for one in lost_classes(ours, exact, target)] == [2.0]
    ours[53] = 0.0
    first = lost_classes(ours, exact, target)[0]
    assert (first.score.label, first.score.correct, first.recall) == (1.0, 3, 80.0)


def test_that_no_label_differs_must_be_proven() -> None:
    proven = replace(loss(0.0), differing=NOTHING)
    points = [
        point("lucky", 0.0, 30, 100),
        point("proven", 0.0, 10, 2000, loss_choosing=proven, loss_confirming=proven),
    ]
    assert chosen(points, Limits(0.0)) == "proven"
    assert chosen(points[:1], Limits(0.0)) is None
    assert chosen(points, Limits(0.1)) == "lucky"


def test_of_equally_fast_models_the_closest_is_recommended() -> None:
    points = [point("fastest", 0.4, 10, 100), point("close", 0.1, 9.1, 900), point("exact", 0, 8.9, 9)]
    assert chosen(points, Limits(0.6)) == "close"


@pytest.mark.parametrize("spread", [1.4, math.inf])
def test_an_undecided_race_is_said_and_agreement_decides_then_speed(spread: float) -> None:
    """Not bytes: a slow and small model was recommended where timing had found no intervals."""
    small = point("small", 0.38, 1.6, 9, spread=spread)
    close = point("close", 0.1, 4.3, 900, spread=spread)
    fast = point("fast", 0.2, 4.9, 950, spread=spread)
    equal = point("equal", 0.1, 4.4, 990, spread=spread)
    for order in itertools.permutations([small, close, fast, equal]):
        found = choose([EXACT, *order], Limits(0.5))
        assert found.recommended == equal
        assert set(found.undecided) == {close, fast}
    assert choose([EXACT, close], Limits(0.5)).undecided == ()


def test_models_without_any_gain_are_not_recommended() -> None:
    slow, small = point("slow", 0.0, 0.8, 1200), point("small", 0.0, 0.8, 500)
    assert chosen([slow, small], Limits(1.0)) is None
    # A model that fits gains where the exact one does not.
    assert chosen([slow, small], Limits(1.0, max_bytes=900)) == "small"
    # Perhaps faster, perhaps slower: the interval must be on one side.
    assert chosen([point("unsure", 0.0, 2.0, 1200, spread=3.0)], Limits(1.0)) is None


def test_models_no_better_than_chance_are_not_recommended() -> None:
    useless = point("useless", 40.0, 100, 10, skilled=False)
    assert chosen([useless], Limits(max_bytes=100)) is None


def test_a_model_whose_cost_is_not_counted_is_beyond_a_limit_on_it() -> None:
    counted, timed = point("counted", 0, 2, 9, 10.0), point("timed", 0, 3, 9, None)
    assert chosen([counted, timed], Limits(max_operations=12)) == "counted"


@cache
def losses_of(rows: int, differing: int) -> Loss:
    """The loss of a model on so many rows, of which so many differ."""
    low, high = clopper_pearson(differing, rows)
    share = Estimate(100 * differing / rows, 100 * low, 100 * high)
    quality = Quality(accuracy=90.0, balanced_accuracy=80.0)
    return Loss(rows, quality, differing, share, share, share)


def test_the_confirming_rows_err_with_the_stated_probability() -> None:
    """Twenty models just beyond the limit, and choosing rows by which all of them pass."""
    rng, rows, limit, runs = np.random.default_rng(1), 20_000, 0.5, 1000
    most = max(k for k in range(100) if 100 * clopper_pearson(k, rows)[1] <= limit)
    good, wrong = losses_of(rows, 0), 0
    worst = binom.cdf(most, rows, 1.0001 * limit / 100)
    assert 0.02 < worst < ERROR / 2
    for differing in rng.binomial(rows, 1.0001 * limit / 100, (runs, 20)):
        points = [
            point(f"{i:02}", 0.1, 10.0, 100, loss_choosing=good, loss_confirming=losses_of(rows, int(k)))
            for i, k in enumerate(differing)
        ]
        wrong += choose([EXACT, *points], Limits(limit)).recommended is not None
    assert ERROR / 2 < wrong / runs < ERROR  # if all tests were equal, about 35 %


@st.composite
def tables(draw: st.DrawFn) -> list[Point]:
    """Candidates with any figures."""
    points = [EXACT]
    for i in range(draw(st.integers(0, 12))):
        ratio = draw(st.floats(0.3, 50))
        speed = Speed(
            ratio, ratio * draw(st.sampled_from([0, 0.3, 0.7, 0.98])),
            ratio * draw(st.sampled_from([1.02, 1.5, 4, math.inf])), 6,
        )  # fmt: skip
        either = losses_of(4000, draw(st.integers(0, 30))), losses_of(4000, draw(st.integers(0, 30)))
        plain = point(
            f"m{i}", 0.0, 1.0, draw(st.integers(1, 1200)), loss_choosing=either[0], loss_confirming=either[1],
            skilled=draw(st.integers(0, 5)) > 0, lost=(draw(st.integers(0, 4)) == 0, draw(st.booleans())),
        )  # fmt: skip
        points.append(replace(plain, speed=speed, linear_cost_counted=draw(st.floats(1, 600))))
    return points


LIMITS = [
    Limits(0.5), Limits(0.3, lose_classes=True), Limits(max_loss_percent=0.4), Limits(0.5, max_bytes=400),
    Limits(max_bytes=300), Limits(max_bytes=300, balanced=True), Limits(0.6, max_operations=50),
]  # fmt: skip


@given(tables(), st.sampled_from(LIMITS), st.randoms(use_true_random=False))
def test_the_rule(points: list[Point], limits: Limits, random: np.random.Generator) -> None:
    found = choose(points, limits)
    best = found.recommended
    others = points[1:]
    random.shuffle(others)
    assert choose([points[0], *others], limits).recommended == best
    # Other sizes within the limit change nothing.
    resized = [replace(p, n_bytes=min(p.n_bytes, limits.max_bytes or 7)) if limits.fits(p) else p
               for p in points[1:]]  # fmt: skip
    again = choose([points[0], *resized], limits).recommended
    assert (again and again.name) == (best and best.name)
    competing = contenders(points, limits)
    if best is None:
        return
    assert best in competing or found.refused
    assert limits.fits(best)
    assert best.skilled
    for side, lost in (
        (best.loss_choosing, best.lost_classes_choosing),
        (best.loss_confirming, best.lost_classes_confirming),
    ):
        assert limits.lose_classes or not lost
        for known, limit in ((side.differing, limits.max_diff_percent), (side.lost, limits.max_loss_percent)):
            assert limit is None or (known is not None and known.high <= limit)
    if limits.fits(points[0]):
        assert best.speed.ratio >= GAIN
    if limits.of_quality:
        refused = {p.name for p, _ in found.refused}
        for other in others:
            beaten = other.speed.low > GAIN * best.speed.high
            qualifies = limits.shown_by(other.loss_choosing) and limits.fits(other) and other.skilled
            whole = limits.lose_classes or not other.lost_classes_choosing
            assert not (beaten and qualifies and whole and other.speed.low > GAIN) or other.name in refused


def sets(train: Path, test: Path | None, folder: Path) -> RowSets:
    return read_sets(
        str(train), test and str(test), folder, seed=0, reading=Reading(), threads=1, note=print,
        columns=lambda *given: None,
    )  # fmt: skip


@pytest.mark.parametrize("held_out", [False, True])
def test_copies_stay_in_one_set(tmp_path: Path, held_out: bool) -> None:
    """The second copies store zeros, and have their values in another text."""
    text = data("photos.test").read_text()
    (tmp_path / "twice").write_text(text + text.replace("\n", " 16:0\n"))
    given = (tmp_path / "twice", None) if held_out else (data("photos.train"), tmp_path / "twice")
    found = sets(*given, tmp_path)
    parts = [found.choosing, found.confirming, *([found.rest] if found.rest is not None else [])]
    keys = [set(row_keys(part.rows)) for part in parts]
    assert sum(map(len, keys)) == len(set().union(*keys))
    assert sum(map(len, parts)) == 8000
    wanted = 0.15 * 8000 if held_out else 4000
    assert all(abs(len(part) - wanted) <= 10 for part in parts[:2])


@given(st.lists(st.integers(0, 8), min_size=1, max_size=60), st.integers(0, 99), st.booleans())
def test_every_row_is_in_one_set(numbers: list[int], seed: int, everything: bool) -> None:
    _, group = np.unique(numbers, return_inverse=True)
    half = len(group) // 2 if everything else len(group) // 4
    parts = divided(group, half, np.random.default_rng(seed), everything=everything)
    assert sorted(np.concatenate(parts).tolist()) == [*range(len(group))]
    where = [{int(group[i]) for i in part} for part in parts]
    assert len(where[0] | where[1] | where[2]) == sum(map(len, where))
    assert not everything or not len(parts[2])
    assert len(parts[1]) or len(parts[0]) == len(group)
    assert len(parts[0])


def test_rows_that_are_all_equal_are_refused(tmp_path: Path) -> None:
    (tmp_path / "same").write_text("1 1:1\n" * 50)
    with pytest.raises(UnsupportedError, match="has 50 rows, too few different ones to divide"):
        sets(data("photos.train"), tmp_path / "same", tmp_path)
    # Two different ones leave none to train on.
    (tmp_path / "two").write_text("1 1:1\n-1 1:2\n" * 25)
    with pytest.raises(UnsupportedError, match="has 50 rows, too few different ones to divide"):
        sets(tmp_path / "two", None, tmp_path)


@pytest.mark.parametrize("backed", [True, False])
def test_the_confirming_rows_do_not_decide_on_the_fallback(tmp_path: Path, backed: bool) -> None:
    """The certified share of the choosing rows decides; the report states that of the confirming rows."""
    exact = load_model(model("breast_c_rbf"))
    fast, _ = approximate(exact, ApproximateOptions(order=2))
    (tmp_path / "fast").write_bytes(model_bytes(fast))
    near = read_svmlight(data("breast.test"))
    part = LabelledRows(near.rows, near.labels)
    far = LabelledRows(Rows.from_dense(50 * part.rows.to_dense()), part.labels)  # beyond the bound's validity
    comparing = Comparing(exact, *((part, far) if backed else (far, part)))
    nothing: Any = None
    folder: Any = SimpleNamespace(model=lambda candidate: str(tmp_path / "fast"))
    rows: Any = SimpleNamespace(train="t")
    end = time.monotonic() + 1
    request = RunRequest(
        exact_path=str(model("breast_c_rbf")), exact=exact, exact_identity="sha256:0", limits=Limits(0.5),
        methods=("approximate",), threads=1, seed=0, deadline=end, end=end, scaling=None, unlabelled=False,
        folder=folder, sets=rows, comparing=comparing, origin=nothing, memory=1 << 30,
    )  # fmt: skip
    measured = MeasuredModels(request)
    measured.measure(CandidateCommand("approximate-2", "approximate", 0, ()), MadeRecord("0" * 64, 1.0))
    names = ["exact", "approximate-2", "approximate-2 + exact"]
    points = measured.points(dict.fromkeys(names, Speed(1.0, 1.0, 1.0, 9)))
    assert [point.name for point in points] == names[: 2 + backed]
    first = points[1]
    assert first.certified_choosing is not None
    assert first.certified_confirming is not None
    assert (first.certified_choosing > 50, first.certified_confirming > 50) == (backed, not backed)


def test_copies_narrow_no_interval() -> None:
    exact = load_model(model("digits_c_rbf_prob"))
    fast, _ = approximate(exact, ApproximateOptions(order=1))
    rows = read_svmlight(data("digits.test"))
    once, three = (rows.rows.take(np.tile(np.arange(300), times)) for times in (1, 3))
    labels = rows.labels
    sides = LabelledRows(once, labels), LabelledRows(three, np.tile(labels, 3))
    found = Comparing(exact, *sides).compare(fast)
    assert found.loss_choosing.labels_differing
    assert found.loss_confirming.labels_differing == 3 * found.loss_choosing.labels_differing
    for end in ("value", "low", "high"):
        alone, copied = (getattr(one.differing, end) for one in (found.loss_choosing, found.loss_confirming))
        assert copied == pytest.approx(alone)
