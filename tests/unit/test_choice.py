"""frontier: the division of rows, the Pareto front, and the model that is recommended."""

import itertools
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from losses import loss
from program import cells_of, data, model

from svmfast.class_scores import ClassScore, LostClass, lost_classes
from svmfast.errors import UnsupportedError
from svmfast.evaluation.loss import NOTHING, Estimate, Loss
from svmfast.evaluation.timing import Speed
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.frontiers.choice import ERROR, GAIN, Limits, Point, choose, contenders, pareto
from svmfast.frontiers.comparing import Comparing
from svmfast.frontiers.folder import MadeRecord
from svmfast.frontiers.measured import MeasuredModels
from svmfast.frontiers.plan import CandidateCommand
from svmfast.frontiers.row_sets import LabelledRows, divided, read_sets
from svmfast.frontiers.words import beyond
from svmfast.methods.approximate import ApproximateOptions
from svmfast.methods.approximate.run import approximate
from svmfast.methods.common.equal_rows import row_keys
from svmfast.options import Reading
from svmfast.rows import Rows
from svmfast.score import Quality
from svmfast.solvers.intervals import clopper_pearson

RARE = (LostClass(ClassScore(7.0, 30, 0, 0), 80.0),)


def point(
    name,
    differing,
    speedup,
    n_bytes,
    cost=1.0,
    *,
    spread=1.01,
    choosing=None,
    confirming=None,
    skilled=True,
    lost=(False, False),
):
    sides = choosing or loss(differing), confirming or loss(differing)
    speed, classes = Speed(speedup, speedup / spread, speedup * spread, 20), (RARE * lost[0], RARE * lost[1])
    return Point(name, "compress", *sides, n_bytes, speed, cost, None, None, skilled, *classes)


EXACT = point("exact", 0.0, 1.0, 1000, 500.0)


def test_the_front_agrees_with_the_definition():
    drawn = np.random.default_rng(0).integers(1, 6, (60, 3)).tolist()
    points = [point(str(i), *figures) for i, figures in enumerate(drawn)]
    marked = pareto(points)
    figures = [(p.loss_confirming.differing.value, -p.speed.ratio, p.n_bytes) for p in points]
    for own, front in zip(figures, marked, strict=True):
        assert front != any(other != own and all(np.array(other) <= own) for other in figures)
    assert 0 < sum(marked) < len(points)


THREE = [point("a", 0.4, 10, 100), point("b", 0.6, 50, 50), point("c", 0.1, 5, 10)]
SIZES = [point("worst", 84.6, 200, 30), point("close", 19.7, 12, 60, 12.0), point("large", 0.2, 5, 900, 50.0)]
#: The model with the fewest differing labels may be the one that never predicts a rare class.
CLASSES = [
    point("majority", 0, 50, 30, choosing=loss(3.0, 2.0, 30.0)),
    point("rare", 0, 40, 60, choosing=loss(4.0, 3.0, 2.0)),
]
LOSSY = [point("lossy", 0.1, 20, 9, lost=(True, True)), point("whole", 0.1, 5, 9)]
LATE = [point("late", 0.1, 10, 9, lost=(False, True)), LOSSY[1]]
FIRST = [point("first", 0.3, 10, 100, confirming=loss(0.45)), point("second", 0.1, 5, 100)]
#: Each further test on the confirming rows is stricter.
LATER = [point("a", 0.2, 10, 9, confirming=loss(0.45)), point("b", 0.1, 5, 9, confirming=loss(0.29))]
NONE = replace(loss(0.0), differing=NOTHING)
PROVEN = [point("lucky", 0.0, 30, 100), point("proven", 0.0, 10, 2000, choosing=NONE, confirming=NONE)]
EQUAL = [point("fastest", 0.4, 10, 100), point("close", 0.1, 9.1, 900), point("exact", 0, 8.9, 9)]
AS_FAST = [point(str(i), 0.5 - i / 10, 10 - i / 10, 9) for i in range(5)]
SLOW = [point("slow", 0.0, 0.8, 1200), point("small", 0.0, 0.8, 500)]
SETS = {
    **{"three": THREE, "sizes": SIZES, "classes": CLASSES, "lossy": LOSSY, "only lossy": LOSSY[:1]},
    **{"late": LATE, "first": FIRST, "later": LATER, "only later": LATER[1:], "proven": PROVEN},
    **{"equal": EQUAL, "as fast": AS_FAST, "slow": SLOW},
    "borderline": [point("borderline", 0.45, 10, 100), FIRST[1]],
    "unsure": [point("unsure", 0.0, 2.0, 1200, spread=3.0)],
    "useless": [point("useless", 40.0, 100, 10, skilled=False)],
    "untimed": [point("counted", 0, 2, 9, 10.0), point("timed", 0, 3, 9, None)],
}
#: Which models, the limits, which is recommended (nothing: none), and why.
CHOSEN = cells_of(Path(__file__).with_name("chosen.tsv"))


@pytest.mark.parametrize(
    ("high", "regression", "said"),
    [
        (2.5, False, " on the confirming rows, and up to 2.5 points lost"),
        (2.5, True, " on the confirming rows, and up to 2.5 percent more error"),
        (math.inf, True, " on the confirming rows, which cannot show how much the error may grow"),
    ],
)
def test_a_refusal_says_what_may_be_lost(high, regression, said):
    found = replace(loss(0.1), lost=Estimate(0.5, 0.1, high))
    assert said in beyond(found, Limits(max_loss_percent=1.0, regression=regression), "confirming")


@pytest.mark.parametrize(CHOSEN[0], CHOSEN[1:])
def test_the_model_that_is_recommended(models, limits, name, why):
    given = Limits(**{key: float(value) for key, value in (word.split("=") for word in limits.split())})
    for order in itertools.permutations(SETS[models]):
        best = choose([EXACT, *order], given).recommended
        assert (best.name if best else "") == name
        assert best is None or best in contenders([EXACT, *order], given)


def test_models_that_the_confirming_rows_refuse_are_named():
    for points, why in ((FIRST, "answers"), (LATE, "classes")):
        assert choose([EXACT, *points], Limits(0.5)).refused == ((points[0], why),)


def test_a_later_test_is_stricter():
    """Each further one halves the probability of an error."""
    limits, close = Limits(0.4), loss(0.29)
    assert limits.shown_by(close, 1)
    assert not limits.shown_by(close, 2)
    for n, differing in ((1000, 0), (1000, 5), (20_000, 60), (50, 20)):
        for test in (1, 2, 5, 9):
            needed = 100 * clopper_pearson(differing, n, 1 - ERROR * 2 ** (1 - test))[1]
            assert not Limits(needed * 0.999).shown_by(losses_of(n, differing), test)
            assert test > 1 or Limits(needed * 1.001).shown_by(losses_of(n, differing), test)


def test_the_confirming_rows_err_with_the_stated_probability():
    """Twenty models just beyond the limit, and choosing rows by which all of them pass."""
    rows, limit, runs, wrong, good = 20_000, 0.5, 1000, 0, loss(0.1)
    drawn = np.random.default_rng(1).binomial(rows, 1.0001 * limit / 100, (runs, 20))
    for counts in drawn.tolist():
        sides = [{"choosing": good, "confirming": losses_of(rows, count)} for count in counts]
        points = [point(f"{i:02}", 0.1, 10.0, 100, **one) for i, one in enumerate(sides)]
        wrong += choose([EXACT, *points], Limits(limit)).recommended is not None
    assert ERROR / 2 < wrong / runs < ERROR  # if all tests were equal, about 35 %


def test_which_classes_are_lost():
    target = np.repeat([0.0, 1.0, 2.0, 3.0], [50, 10, 2, 1])
    exact, ours = target.copy(), target.copy()
    exact[58:60] = 0.0  # of class 1 the exact model recognizes 8
    ours[54:] = 0.0  # and this one 4; of class 2 none; one row of class 3 shows nothing
    assert [one.score.label for one in lost_classes(ours, exact, target)] == [2.0]
    ours[53] = 0.0
    first = lost_classes(ours, exact, target)[0]
    assert (first.score.label, first.score.correct, first.recall) == (1.0, 3, 80.0)


@pytest.mark.parametrize("spread", [1.4, math.inf])
def test_an_undecided_race_is_said_and_agreement_decides_then_speed(spread):
    """Not bytes: a slow and small model was recommended where timing had found no intervals."""
    small, close = point("small", 0.38, 1.6, 9, spread=spread), point("close", 0.1, 4.3, 900, spread=spread)
    fast, equal = point("fast", 0.2, 4.9, 950, spread=spread), point("equal", 0.1, 4.4, 990, spread=spread)
    for order in itertools.permutations([small, close, fast, equal]):
        found = choose([EXACT, *order], Limits(0.5))
        assert found.recommended == equal
        assert set(found.undecided) == {close, fast}
    assert choose([EXACT, close], Limits(0.5)).undecided == ()


@cache
def losses_of(rows, differing):
    """The loss of a model on so many rows, of which so many differ."""
    low, high = clopper_pearson(differing, rows)
    share = Estimate(100 * differing / rows, 100 * low, 100 * high)
    return Loss(rows, Quality(accuracy=90.0, balanced_accuracy=80.0), differing, share, share, share)


LOSSES = st.integers(0, 30).map(lambda differing: losses_of(4000, differing))
SKILLED, LOST = st.sampled_from([*[True] * 5, False]), st.sampled_from([True, *[False] * 4])
SPREADS = st.sampled_from([1.02, 1.4, 3.0, math.inf])
CANDIDATES = st.lists(st.builds(
    point, st.integers(0, 99).map(str), st.just(0.0), st.floats(0.3, 50), st.integers(1, 1200),
    st.floats(1, 600), spread=SPREADS, choosing=LOSSES, confirming=LOSSES, skilled=SKILLED,
    lost=st.tuples(LOST, st.booleans()),
), max_size=12, unique_by=lambda one: one.name)  # fmt: skip
LIMITS = [
    Limits(0.5), Limits(0.3, lose_classes=True), Limits(max_loss_percent=0.4), Limits(0.5, max_bytes=400),
    Limits(max_bytes=300), Limits(max_bytes=300, balanced=True), Limits(0.6, max_operations=50),
]  # fmt: skip


@given(CANDIDATES, st.sampled_from(LIMITS))
def test_the_rule(others, limits):
    found = choose([EXACT, *others], limits)
    best = found.recommended
    assert choose([EXACT, *others[::-1]], limits).recommended == best
    if best is None:
        return
    assert best in contenders([EXACT, *others], limits) or found.refused
    assert limits.fits(best)
    assert best.skilled
    assert limits.lose_classes or not (best.lost_classes_choosing or best.lost_classes_confirming)
    for side in (best.loss_choosing, best.loss_confirming):
        for known, limit in ((side.differing, limits.max_diff_percent), (side.lost, limits.max_loss_percent)):
            assert limit is None or (known is not None and known.high <= limit)
    assert best.speed.ratio >= GAIN or not limits.fits(EXACT)
    refused = {p.name for p, _ in found.refused}
    for other in others if limits.of_quality else ():
        faster = other.speed.low > GAIN * max(1.0, best.speed.high)
        qualifies = limits.shown_by(other.loss_choosing) and limits.fits(other) and other.skilled
        whole = limits.lose_classes or not other.lost_classes_choosing
        assert not (faster and qualifies and whole) or other.name in refused


def sets(train, test, folder):
    known = {"seed": 0, "reading": Reading(), "threads": 1, "note": print}
    return read_sets(str(train), test and str(test), folder, columns=lambda *given: None, **known)


@pytest.mark.parametrize("held_out", [False, True])
def test_copies_stay_in_one_set(tmp_path, held_out):
    """The second copies store zeros, and have their values in another text."""
    text = data("photos.test").read_text()
    (tmp_path / "twice").write_text(text + text.replace("\n", " 16:0\n"))
    given = (tmp_path / "twice", None) if held_out else (data("photos.train"), tmp_path / "twice")
    found = sets(*given, tmp_path)
    parts = [part for part in (found.choosing, found.confirming, found.rest) if part is not None]
    keys = [set(row_keys(part.rows)) for part in parts]
    assert sum(map(len, keys)) == len(set().union(*keys))
    assert sum(map(len, parts)) == 8000
    wanted = 0.15 * 8000 if held_out else 4000
    assert all(abs(len(part) - wanted) <= 10 for part in parts[:2])


@given(st.lists(st.integers(0, 8), min_size=1, max_size=60), st.integers(0, 99), st.booleans())
def test_every_row_is_in_one_set(numbers, seed, everything):
    _, group = np.unique(numbers, return_inverse=True)
    half = len(group) // 2 if everything else len(group) // 4
    parts = divided(group, half, np.random.default_rng(seed), everything=everything)
    assert sorted(np.concatenate(parts).tolist()) == [*range(len(group))]
    where = [{int(group[i]) for i in part} for part in parts]
    assert len(set().union(*where)) == sum(map(len, where))
    assert not everything or not len(parts[2])
    assert len(parts[1]) or len(parts[0]) == len(group)
    assert len(parts[0])


def test_rows_that_are_all_equal_are_refused(tmp_path):
    (tmp_path / "same").write_text("1 1:1\n" * 50)
    (tmp_path / "two").write_text("1 1:1\n-1 1:2\n" * 25)  # leave none to train on
    for given_ in ((data("photos.train"), tmp_path / "same"), (tmp_path / "two", None)):
        with pytest.raises(UnsupportedError, match="has 50 rows, too few different ones to divide"):
            sets(*given_, tmp_path)


@pytest.mark.parametrize("backed", [True, False])
def test_the_confirming_rows_do_not_decide_on_the_fallback(tmp_path, backed):
    """The certified share of the choosing rows decides; the report states that of the confirming rows."""
    exact = load_model(model("breast_c_rbf"))
    (tmp_path / "fast").write_bytes(model_bytes(approximate(exact, ApproximateOptions(order=2))[0]))
    near = read_svmlight(data("breast.test"))
    far = Rows.from_dense(50 * near.rows.to_dense())  # beyond the bound's validity
    sides = [LabelledRows(rows, near.labels) for rows in ((near.rows, far) if backed else (far, near.rows))]
    request = SimpleNamespace(
        exact_path=str(model("breast_c_rbf")), exact=exact, exact_bytes=1, comparing=Comparing(exact, *sides),
        limits=Limits(0.5), folder=SimpleNamespace(model=lambda one: str(tmp_path / "fast")), methods=(),
        command=lambda candidate: "", arguments=lambda *given: [], stored=lambda model: b"", memory=1 << 30,
    )  # fmt: skip
    measured = MeasuredModels(request)
    measured.measure(CandidateCommand("approximate-2", "approximate", 0, ()), MadeRecord("0" * 64, 1.0))
    names = ["exact", "approximate-2", "approximate-2 + exact"]
    points = measured.points(dict.fromkeys(names, Speed(1.0, 1.0, 1.0, 9)))
    assert [point.name for point in points] == names[: 2 + backed]
    shares = [points[1].certified_choosing, points[1].certified_confirming]
    assert [share > 50 for share in shares] == [backed, not backed]


def test_copies_narrow_no_interval():
    exact = load_model(model("digits_c_rbf_prob"))
    rows = read_svmlight(data("digits.test"))
    chosen = (np.tile(np.arange(300), times) for times in (1, 3))
    sides = [LabelledRows(rows.rows.take(which), rows.labels[which]) for which in chosen]
    found = Comparing(exact, *sides).compare(approximate(exact, ApproximateOptions(order=1))[0])
    alone, copied = found.loss_choosing, found.loss_confirming
    assert alone.labels_differing
    assert copied.labels_differing == 3 * alone.labels_differing
    for end in ("value", "low", "high"):
        assert getattr(copied.differing, end) == pytest.approx(getattr(alone.differing, end))
