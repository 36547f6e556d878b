"""The sentences of ``svmfast frontier``: gains, losses, and what could not be shown."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from losses import loss

from svmfast.class_scores import ClassScore, LostClass, lost_classes
from svmfast.evaluation.loss import NOTHING, Estimate, Loss
from svmfast.evaluation.timing import Speed
from svmfast.evaluation.words import times
from svmfast.frontiers.choice import Limits, Point, Recommendation, choose
from svmfast.frontiers.html import as_html
from svmfast.frontiers.plan import Missing
from svmfast.frontiers.report import (
    Frontier,
    cells,
    legend,
    origins,
    table_lines,
)
from svmfast.frontiers.row_sets import Origin
from svmfast.frontiers.words import verdict
from svmfast.score import Quality, quality

EVEN, UNEVEN, UNKNOWN = Speed(8.0, 7.8, 8.2, 9), Speed(8.0, 2.0, 20.0, 40), Speed(8.0, 0.0, math.inf, 2)
SLOWER = Speed(4.0, 4.0, 4.0, 9)
EXACT = Point(
    "exact", "exact", replace(loss(0.0), differing=NOTHING), replace(loss(0.0), differing=NOTHING), 1000,
    Speed(1.0, 1.0, 1.0, 9), 500.0, 30.0, 30.0,
)  # fmt: skip
SMALL = Point(
    "compress-9", "compress", loss(0.3), loss(0.3, 0.2, 1.5), 100, EVEN, 4000.0, 3.0, 3.0,
    build_seconds=1.0, command="svmfast compress 'the model'",
)  # fmt: skip


def found(best: Point | None, limits: Limits, speed: Speed | None = EVEN) -> Frontier:
    points = [EXACT] if best is None else [EXACT, replace(best, speed=speed or EVEN)]
    return Frontier(
        "m", Origin("train", "test", 300, 1000, 1000), 7, 2, 0, points, [True] * len(points),
        [Missing("approximate-2", "approximate", "rejected: 48.6% of the labels differ")], limits,
        choose(points, limits), True, "0",
    )  # fmt: skip


def message(best: Point | None, limits: Limits, speed: Speed | None = EVEN) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in verdict(found(best, limits, speed)))


def test_a_recommendation_states_gains_and_losses() -> None:
    assert message(SMALL, Limits(0.5)) == {
        "recommended": "compress-9, 8 times as fast as the exact model (7.8 to 8.2) and 10 times smaller",
        "confirmed": "0.3% of the labels differ (95% confidence: 0.2% to 0.4%) on 1,000 confirming rows",
        "quality": "accuracy 89.8% instead of 90%, 0.2 points lost (0.1 to 0.3); "
        "balanced accuracy 78.5% instead of 80%, 1.5 points lost (1.4 to 1.6)",
        "made by": "svmfast compress 'the model'",
    }


def test_a_larger_model_is_called_larger() -> None:
    large = replace(SMALL, n_bytes=2600)
    assert message(large, Limits(0.5))["recommended"].endswith("(7.8 to 8.2) and 2.6 times LARGER")


def test_an_uncertain_speed_is_reported_as_such() -> None:
    assert "timing" not in message(SMALL, Limits(0.5))
    assert message(SMALL, Limits(0.5), UNEVEN)["timing"].startswith("too variable for a narrow interval; ")
    assert message(SMALL, Limits(0.5), UNKNOWN)["timing"].startswith("too few samples for an interval; ")
    assert "(" not in message(SMALL, Limits(0.5), UNKNOWN)["recommended"]


def test_an_undecided_race_is_in_the_first_line() -> None:
    rivals = [replace(SMALL, name=name, speed=UNKNOWN, loss_choosing=loss(0.35)) for name in "abcd"]
    one = found(SMALL, Limits(0.5), UNKNOWN)
    points = [*one.points, *rivals]
    one = replace(one, points=points, on_front=[True] * 6, choice=choose(points, Limits(0.5)))
    assert verdict(one)[0].endswith("; timing did not decide between it and a, b and 2 others")
    assert one.to_dict()["undecided"] == [*"abcd"]


def test_the_confirming_rows_decide() -> None:
    best = replace(SMALL, loss_confirming=loss(0.45))
    next_best = replace(SMALL, name="next", loss_choosing=loss(0.1), loss_confirming=loss(0.1), speed=SLOWER)
    reason = (
        "not shown to be within the limits: 0.45% of the labels differ (95% confidence: 0.35% to 0.55%) on "
    )
    one = found(best, Limits(0.5))
    points = [*one.points, next_best]
    for given, chosen in ((points, "next"), (points[:2], None)):
        this = replace(one, points=given, on_front=[True] * len(given), choice=choose(given, Limits(0.5)))
        assert f"refused: compress-9, {reason}the confirming rows" in verdict(this)
        values = this.to_dict()
        assert values["refused"] == [{"name": "compress-9", "by": "answers"}]
        assert (values["recommended"] or {}).get("name") == chosen
        assert f'<div class="note">{reason}the confirming rows</div>' in as_html(this).decode()
    assert verdict(this)[0] == (
        "recommended: the exact model as it is; the confirming rows show no model to be within the limits "
        "(at most 0.5% of the labels differ)"
    )
    # After a refusal the next model must pass with a wider interval, which the report says.
    third = replace(SMALL, loss_confirming=loss(0.395))
    given = [*one.points, replace(third, name="third", speed=SLOWER)]
    lines = verdict(replace(one, points=given, on_front=[True] * 3, choice=choose(given, Limits(0.5))))
    assert "0.495%) on the confirming rows; the interval of a further model is wider" in lines[2]
    worse = message(replace(SMALL, loss_confirming=loss(0.7)), Limits(0.5))["refused"]
    assert worse == "compress-9, 0.7% of the labels differ on the confirming rows, more than 0.5%"


def test_one_figure_of_speed_everywhere() -> None:
    one = found(SMALL, Limits(0.5), Speed(7.77, 7.7, 7.8, 9))
    assert ">7.77x<" in as_html(one).decode()
    assert "compress-9, 7.77 times as fast" in as_html(one).decode()
    assert verdict(one)[0].startswith("recommended: compress-9, 7.77 times as fast")
    assert one.to_dict()["recommended"]["speedup"] == one.to_dict()["models"][1]["speedup"] == 7.77


def test_the_page_states_gains_and_why_others_were_not_chosen() -> None:
    headline = "<b>Recommended:</b> compress-9, 8 times as fast as the exact model (7.8 to 8.2) and 10 times"
    one = found(SMALL, Limits(0.5))
    assert headline in as_html(one).decode()
    lost = LostClass(ClassScore(3.0, 20, 0, 0), 75.0)
    others = {
        "4.2% of the labels differ on the choosing rows, more than 0.5%": {"loss_choosing": loss(4.2)},
        "slower than compress-9": {"speed": SLOWER, "loss_choosing": loss(0.1)},
        "differs more from the exact model than compress-9": {"loss_choosing": loss(0.35)},
        "not clearly 1.5 times as fast as the exact model": {"speed": Speed(1.2, 1.2, 1.2, 9)},
        "class 3 is never predicted (0 of 20 rows); the exact model&#x27;s recall is 75%": {
            "lost_classes_choosing": (lost,)
        },
    }
    points = [
        *one.points,
        *(replace(SMALL, name=f"n{i}", **given) for i, given in enumerate(others.values())),
    ]
    page = as_html(
        replace(one, points=points, on_front=[True] * len(points), choice=choose(points, Limits(0.5)))
    ).decode()
    assert headline in page
    for i, reason in enumerate(others):
        assert f'>n{i}<div class="note">{reason}</div></td>' in page


def test_too_few_rows_are_reported() -> None:
    few = Loss(
        95, Quality(accuracy=90.0, balanced_accuracy=90.0), 0, Estimate(0.0, 0.0, 3.8), NOTHING, NOTHING
    )
    one = found(replace(SMALL, loss_choosing=few, loss_confirming=few), Limits(0.5))
    points = [replace(EXACT, loss_choosing=replace(few, differing=NOTHING)), *one.points[1:]]
    lines = verdict(replace(one, points=points))
    assert lines[0].startswith("recommended: the exact model as it is; no candidate is shown to be within")
    assert (
        "too few rows: 95 choosing and as many confirming rows cannot show that at most 0.5% differ; "
        "736 different ones of each could; give more, or a larger limit"
    ) in lines
    assert "too few rows" not in message(SMALL, Limits(0.5))
    # Many rows, of which few are different.
    few = Loss(2000, few.quality, 0, Estimate(0.0, 0.0, 0.8), NOTHING, NOTHING)
    points = [EXACT, replace(SMALL, loss_choosing=few, loss_confirming=few)]
    assert (
        "too few rows: 1,000 choosing and as many confirming rows cannot show that at most 0.5% differ; "
        "736 different ones of each could; give more, or a larger limit"
    ) in verdict(replace(one, points=points))


def test_a_proof_needs_no_interval() -> None:
    lines = message(
        replace(SMALL, loss_confirming=replace(loss(0.0), differing=NOTHING, lost=NOTHING)), Limits(0.5)
    )
    assert lines["confirmed"] == "no label differs on 1,000 confirming rows, and it is proven that none can"
    assert "nothing lost" in lines["quality"]


def test_with_a_size_limit_the_loss_is_reported() -> None:
    lines = message(replace(SMALL, loss_confirming=loss(19.7, 12.0)), Limits(max_bytes=2048))
    assert lines["measured"].startswith("19.7% of the labels differ (95% confidence: ")
    assert "12 points lost" in lines["quality"]


def test_where_nothing_beats_the_exact_model_it_is_recommended() -> None:
    assert verdict(found(None, Limits(0.5))) == [
        "recommended: the exact model as it is; no candidate is shown to be within the limits (at most 0.5% "
        "of the labels differ) and faster"
    ]
    near = replace(found(None, Limits(0.1)), points=[EXACT, SMALL], on_front=[True, True])
    near = replace(near, missing=[Missing("linear", "linear", "not tried", late=True)], complete=False)
    assert verdict(near)[1:] == [
        "too few rows: 1,000 choosing and as many confirming rows cannot show that at most 0.1% differ; "
        "3,688 different ones of each could; give more, or a larger limit",
        "not everything was tried: the time limit left out 1 candidate; run again to continue",
    ]
    # A recommendation may change too when the rest is tried.
    whole = replace(found(SMALL, Limits(0.5)), missing=near.missing, complete=False)
    assert verdict(near)[-1] in verdict(whole)


def test_the_verdict_on_a_regression_states_its_error() -> None:
    worth = Quality(mse=2.2, scc=0.5)
    lost = Loss(400, worth, None, Estimate(5.0, 4.0, 6.0), Estimate(10.0, -1.0, 21.0), None)
    exact = replace(EXACT, loss_confirming=Loss(400, replace(worth, mse=2.0), None, NOTHING, NOTHING, None))
    best = replace(SMALL, loss_confirming=lost, loss_choosing=lost)
    limits = Limits(max_loss_percent=25.0, regression=True)
    one = replace(found(best, limits), points=[exact, best])
    lines = dict(line.split(": ", 1) for line in verdict(one))
    assert (
        lines["confirmed"]
        == "values differ by 5% of their spread (95% confidence: 4% to 6%) on 400 confirming rows"
    )
    assert lines["quality"] == "mean squared error 2.2 instead of 2, +10% (-1% to 21%)"
    gained = replace(lost, lost=Estimate(-3.0, -5.0, 1.0))
    lines = dict(
        line.split(": ", 1)
        for line in verdict(
            replace(one, points=[exact, best], choice=Recommendation(replace(best, loss_confirming=gained)))
        )
    )
    assert lines["quality"].endswith(", -3% (-5% to 1%)")
    assert lines["too few rows"] == (
        "400 choosing and as many confirming rows cannot show how large an error may be; 500 of each could; "
        "give more"
    )
    enough = [replace(one, loss_choosing=replace(one.loss_choosing, n_rows=500)) for one in (exact, best)]
    enough = [replace(one, loss_confirming=replace(one.loss_confirming, n_rows=500)) for one in enough]
    assert not any(line.startswith("too few") for line in verdict(replace(one, points=enough)))


def test_no_words_of_labels_in_the_page_of_a_regression() -> None:
    worth = Quality(mse=2.2, scc=0.5, rmse=1.5, mae=1.0, r2=0.4)
    lost = Loss(400, worth, None, Estimate(5.0, 4.0, 6.0), Estimate(10.0, -1.0, 21.0), None)
    exact = replace(EXACT, loss_confirming=replace(lost, differing=NOTHING, lost=NOTHING))
    far = replace(
        SMALL,
        name="far",
        loss_choosing=replace(lost, differing=Estimate(7.0, 6.0, 8.0)),
        loss_confirming=lost,
    )
    wrong = replace(SMALL, name="wrong", loss_choosing=lost, loss_confirming=lost)
    good = replace(lost, lost=NOTHING)
    best = replace(SMALL, loss_choosing=good, loss_confirming=good)
    points = [replace(exact, certified_confirming=None), best, far, wrong]
    points = [replace(point, certified_confirming=None) for point in points]
    limits = Limits(max_diff_percent=6.0, max_loss_percent=2.0, regression=True)
    one = replace(found(points[1], limits), points=points, on_front=[True] * 4, missing=[])
    assert one.recommended is not None
    page = as_html(one).decode()
    assert "values differ by 7% of their spread on the choosing rows, more than 6%" in page
    assert "10% more error on the choosing rows, more than 2" in page
    words = re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    shown = " ".join([words, *table_lines(one), *verdict(one), *origins(one)])
    assert not re.findall(r"\blabels?\b|boundary|cascade|accuracy", shown)


def test_columns_are_explained() -> None:
    one = found(SMALL, Limits(0.5))
    heads, _ = cells(one, main=True)
    for head in {"differ", "choosing", "speed-up", "counted", "certified"}:
        assert head in heads
        assert f"{head}: " in legend(one)
    assert "`" not in legend(one)  # which the program would take for an option
    shown = " ".join(table_lines(one)).replace("multiply- adds", "multiply-adds")
    assert shown.endswith(legend(one))
    assert set(heads) < set(cells(one)[0])
    assert "+ exact: " not in legend(one)
    assert "+ exact: " in legend(found(replace(SMALL, name="compress-9 + exact"), Limits(0.5)))


def test_processor_time_is_named() -> None:
    one = found(SMALL, Limits(0.5), replace(EVEN, processor=True))
    lines = dict(line.split(": ", 1) for line in verdict(one))
    assert lines["timing"].startswith("processor time, because the wall clock's times varied too much")
    assert one.to_dict()["recommended"]["speedup_clock"] == "processor"
    assert "processor time" in legend(one)
    assert "processor time" not in legend(found(SMALL, Limits(0.5)))


@pytest.mark.parametrize(("ratio", "text"), [(0.8512, "0.851x"), (12.54, "12.5x"), (4321.0, "4,320x")])
def test_a_ratio_has_three_digits(ratio: float, text: str) -> None:
    assert times(ratio) == text


def test_rejected_candidates_are_named_with_their_reason() -> None:
    one = found(SMALL, Limits(0.5))
    line = "approximate-2: rejected: 48.6% of the labels differ"
    assert line in table_lines(one)
    assert one.to_dict()["missing"][0]["reason"] == line.split(": ", 1)[1]


def test_reports_are_valid_json_without_nan_and_infinity() -> None:
    values = json.loads(json.dumps(found(SMALL, Limits(0.5), UNKNOWN).to_dict(), allow_nan=False))
    assert values["recommended"]["speedup_interval"] == [0, None]
    assert values["row_sets"]["trained"] == {"path": "train", "rows": 300}
    assert [one["name"] for one in values["models"]] == ["exact", "compress-9"]


def test_a_class_that_the_accuracy_hides_is_named() -> None:
    """In the verdict on the recommended model, or on the exact one if that is kept."""
    target = np.repeat([-1.0, 1.0], [990, 10])
    never = quality(np.full(1000, -1.0), target, regression=False)
    hidden = replace(loss(0.3), quality=never)
    line = "class 1 is recognized far below the accuracy of 99%: recall 0% (0 of 10); it is never predicted"
    best = replace(SMALL, loss_confirming=hidden)
    assert message(best, Limits(0.5))["remark"] == line
    assert "remark" not in message(SMALL, Limits(0.5))
    kept = found(None, Limits(0.5))
    kept = replace(kept, points=[replace(EXACT, loss_confirming=hidden)])
    assert f"remark: {line}" in verdict(kept)
    whole = found(best, Limits(0.5))
    assert cells(whole)[0][:6] == ["model", "", "accuracy", "balanced", "lowest recall", "differ"]
    page = as_html(whole).decode()
    assert f"<b>Remark:</b> {line}." in page
    assert "accuracy: 99.00%\nbalanced: 50.00%\n" in page
    confirming = whole.to_dict()["models"][1]["confirming"]
    assert [one["recall"] for one in confirming["classes"]] == [100.0, 0.0]


def test_a_class_that_only_the_exact_model_recognizes_is_named() -> None:
    target = np.repeat([-1.0, 1.0], [970, 30])

    def answered(hits: int) -> Loss:
        predicted = np.where(np.arange(1000) >= 1000 - hits, 1.0, -1.0)
        return replace(loss(2.0), quality=quality(predicted, target, regression=False))

    exact = replace(EXACT, loss_confirming=answered(24))
    labels = [np.where(np.arange(1000) >= 1000 - hits, 1.0, -1.0) for hits in (24, 0, 6, 12)]
    for i, (hits, line) in enumerate(
        (
            (0, "class 1 is never predicted (0 of 30 rows); the exact model's recall is 80%"),
            (6, "class 1 has a recall of 20% (6 of 30 rows); the exact model's recall is 80%"),
            (12, None),
        )
    ):
        lost = lost_classes(labels[i + 1], labels[0], target)
        best = replace(SMALL, loss_confirming=answered(hits), lost_classes_confirming=lost)
        limits = Limits(5.0, lose_classes=True)
        one = replace(found(best, limits), points=[exact, best], choice=Recommendation(best))
        lines = verdict(one)
        assert [text for text in lines if text.startswith("lost class: ")] == (
            [] if line is None else [f"lost class: {line}"]
        )
        # A class is named once, by the comparison with the exact model if that recognizes it.
        assert [text for text in lines if text.startswith("remark: ")] == (
            ["remark: class 1 is recognized far below the accuracy of 98.2%: recall 40% (12 of 30)"]
            if line is None
            else []
        )
        if line is not None:
            assert line.replace("'", "&#x27;") in as_html(one).decode()


def test_with_balanced_accuracy_the_table_shows_it() -> None:
    limits = Limits(max_bytes=500, balanced=True)
    assert "balanced accuracy 78.5% instead of 80%, " in message(SMALL, limits)["quality"]
    assert "balanced" in cells(found(SMALL, limits), main=True)[0]
    assert "balanced" not in cells(found(SMALL, Limits(0.5)), main=True)[0]


@pytest.mark.parametrize("skilled", [True, False])
def test_the_report_says_which_models_are_no_better_than_chance(skilled: bool) -> None:
    """Otherwise nobody can check by the rule why the smallest model was not recommended."""
    one = found(replace(SMALL, skilled=skilled), Limits(0.5))
    assert one.to_dict()["models"][1]["skilled"] is skilled
