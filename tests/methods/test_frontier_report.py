"""The sentences of ``svmfast frontier``: gains, losses, and what could not be shown."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from losses import loss

from svmfast.evaluation.loss import NOTHING, Estimate, Loss
from svmfast.evaluation.report import aligned, times
from svmfast.evaluation.skill import Skill
from svmfast.evaluation.timing import Speed
from svmfast.frontiers.figure import draw
from svmfast.frontiers.html import as_html
from svmfast.frontiers.json_report import as_dict
from svmfast.frontiers.pareto import Limits, Point
from svmfast.frontiers.report import (
    Frontier,
    Missing,
    Origin,
    as_markdown,
    as_text,
    cells,
    legend,
    origins,
    verdict,
)
from svmfast.score import Quality, quality

EVEN, UNEVEN, UNKNOWN = Speed(8.0, 7.8, 8.2, 9), Speed(8.0, 2.0, 20.0, 40), Speed(8.0, 0.0, math.inf, 2)
EXACT = Point(
    "exact", "exact", replace(loss(0.0), differing=NOTHING), replace(loss(0.0), differing=NOTHING), 1000,
    Speed(1.0, 1.0, 1.0, 9), 500.0, 30.0, 30.0,
)  # fmt: skip
SMALL = Point(
    "compress-9", "compress", loss(0.3), loss(0.3, 0.2, 1.5), 100, EVEN, 4000.0, 3.0, 3.0,
    build_seconds=1.0, command="svmfast compress 'the model'", use="svmfast predict DATA x OUT",
)  # fmt: skip


def found(best: Point | None, limits: Limits, speed: Speed | None = EVEN) -> Frontier:
    points = [EXACT] if best is None else [EXACT, best]
    known = Skill(200, 0.8, 91.5, 50.0, True)
    return Frontier(
        "m", Origin("train", "test", 300, known, known, 1000, 1000), 7, 2, 0, points, [True] * len(points),
        [Missing("approximate-2", "approximate", "rejected: 48.6% of the labels differ")], limits, best,
        speed if best else None, True, "0",
    )  # fmt: skip


def message(best: Point | None, limits: Limits, speed: Speed | None = EVEN) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in verdict(found(best, limits, speed)))


def test_a_recommendation_states_gains_and_losses() -> None:
    assert message(SMALL, Limits(0.5)) == {
        "recommended": "compress-9, 8 times as fast as the exact model (7.8 to 8.2) and 10 times smaller",
        "confirmed": "0.3% (0.2% to 0.4% with 95% confidence) of the labels differ on 1,000 confirming rows",
        "quality": "accuracy 89.8% instead of 90%, 0.2 points lost (0.1 to 0.3); "
        "balanced accuracy 78.5% instead of 80%",
        "rule": "of the models with at most 0.5% of the labels differing on the choosing rows, the fastest; "
        "of those within 10% of the fastest, the closest to the exact model",
        "made by": "svmfast compress 'the model'",
    }
    balanced = message(SMALL, Limits(max_loss_percent=2.0, balanced=True))["quality"]
    assert balanced.startswith(
        "balanced accuracy 78.5% instead of 80%, 1.5 points lost (1.4 to 1.6); accuracy "
    )


def test_a_larger_model_is_called_larger() -> None:
    large = replace(SMALL, n_bytes=2600)
    assert message(large, Limits(0.5))["recommended"].endswith("(7.8 to 8.2) and 2.6 times LARGER")


def test_an_uncertain_speed_is_reported_as_such() -> None:
    assert "timing" not in message(SMALL, Limits(0.5))
    assert message(SMALL, Limits(0.5), UNEVEN)["timing"].startswith("too variable for a narrow interval; ")
    assert message(SMALL, Limits(0.5), UNKNOWN)["timing"].startswith("too few samples for an interval; ")
    assert "(" not in message(SMALL, Limits(0.5), UNKNOWN)["recommended"]


@pytest.mark.parametrize(
    ("differing", "state"),
    [(0.3, "confirmed"), (0.45, "measured"), (0.55, "not confirmed"), (0.7, "refuted")],
)
def test_the_confirming_rows_decide(differing: float, state: str) -> None:
    best = replace(SMALL, confirming=loss(differing))
    lines = message(best, Limits(0.5))
    assert state in lines
    assert lines[state].startswith(f"{differing:g}% (")
    exact = (
        "the exact model as it is; compress-9 meets the limits (at most 0.5% of the labels differing) only on"
    )
    assert (lines["recommended"] == f"{exact} the choosing rows") == (state == "refuted")
    values = as_dict(found(best, Limits(0.5)))
    assert (values["recommended"] is None) == (state == "refuted")
    assert (values["refuted"] or {}).get("by") == ("limits" if state == "refuted" else None)
    if state != "refuted":
        assert values["recommended"]["limits_shown"] == (state == "confirmed")


def test_models_that_are_larger_and_not_faster_are_not_recommended() -> None:
    slow, large = Speed(0.9, 0.8, 1.1, 9), replace(SMALL, n_bytes=1100)
    lines = message(large, Limits(0.5), slow)
    assert lines["recommended"] == (
        "the exact model as it is; compress-9 was the fastest when it was chosen, but when timed again it "
        "was 0.9 times as fast as the exact model (0.8 to 1.1) and 1.1 times LARGER"
    )
    assert as_dict(found(large, Limits(0.5), slow))["refuted"]["by"] == "speed"
    assert message(SMALL, Limits(0.5), slow)["recommended"].endswith(" and 10 times smaller")


def test_the_page_states_gains_and_why_others_were_not_chosen() -> None:
    slow, beaten = Speed(0.9, 0.8, 1.1, 9), replace(SMALL, name="compress-2", choosing=loss(4.2))
    assert (
        "<h1>m: compress-9 is 8 times as fast; 0.3% of the labels differ</h1>"
        in as_html(found(SMALL, Limits(0.5))).decode()
    )
    one = found(SMALL, Limits(0.5), slow)
    page = as_html(replace(one, points=[*one.points, beaten], on_front=[True, True, False])).decode()
    assert "<h1>m: compress-9 is 10 times smaller; 0.3% of the labels differ</h1>" in page
    reason = "4.2% of the labels differ on the choosing rows, more than 0.5%"
    assert f'>compress-2<div class="note">{reason}</div></td>' in page


def test_too_few_rows_are_reported() -> None:
    few = Loss(
        95, Quality(accuracy=90.0, balanced_accuracy=90.0), 0, Estimate(0.0, 0.0, 3.8), NOTHING, NOTHING
    )
    lines = message(replace(SMALL, confirming=few), Limits(0.5))
    assert lines["too few rows"] == "95 rows cannot show that at most 0.5% differ; 736 could"
    assert "measured" in lines
    assert "too few rows" not in message(SMALL, Limits(0.5))
    assert "too few rows" not in message(
        replace(SMALL, confirming=replace(few, differing=NOTHING)), Limits(0.5)
    )


def test_a_proof_needs_no_interval() -> None:
    lines = message(
        replace(SMALL, confirming=replace(loss(0.0), differing=NOTHING, lost=NOTHING)), Limits(0.5)
    )
    assert lines["confirmed"] == "no label differs on 1,000 confirming rows, and it is proven that none can"
    assert "nothing lost" in lines["quality"]


def test_with_a_size_limit_the_loss_is_reported() -> None:
    lines = message(replace(SMALL, confirming=loss(19.7, 12.0)), Limits(max_bytes=2048))
    assert lines["measured"].startswith("19.7% (")
    assert "12 points lost" in lines["quality"]
    assert lines["rule"] == (
        "of the models with at most 2,048 bytes, the closest to the exact model on the choosing rows"
    )


def test_where_nothing_beats_the_exact_model_it_is_recommended() -> None:
    assert verdict(found(None, Limits(0.5))) == [
        "recommended: the exact model as it is; no candidate meets the limits (at most 0.5% of the "
        "labels differing) and is faster or smaller"
    ]
    near = replace(found(None, Limits(0.1)), points=[EXACT, SMALL], on_front=[True, True])
    near = replace(near, missing=[Missing("linear", "linear", "not tried", late=True)], complete=False)
    assert verdict(near)[1:] == [
        "nearest: compress-9, 8 times as fast as the exact model, 100 bytes, 0.3% of the labels differing, "
        "0.2 points of accuracy lost on the confirming rows",
        "not everything was tried: the time limit left out 1 candidate; run again to continue",
    ]
    # The figures are not those by which it was chosen.
    lucky = replace(SMALL, confirming=loss(1.3, 0.4), speed=Speed(2.0, 0.0, math.inf, 3))
    assert (
        "about 2 times as fast as the exact model, 100 bytes, 1.3% of the labels differing, 0.4 points"
        in (verdict(replace(near, points=[EXACT, lucky]))[1])
    )
    # A recommendation may change too when the rest is tried.
    whole = replace(found(SMALL, Limits(0.5)), missing=near.missing, complete=False)
    assert verdict(near)[-1] in verdict(whole)


def test_the_verdict_on_a_regression_states_its_error() -> None:
    worth = Quality(mse=2.2, scc=0.5)
    lost = Loss(400, worth, None, Estimate(5.0, 4.0, 6.0), Estimate(10.0, -1.0, 21.0), None)
    exact = replace(EXACT, confirming=Loss(400, replace(worth, mse=2.0), None, NOTHING, NOTHING, None))
    best = replace(SMALL, confirming=lost, choosing=lost)
    limits = Limits(max_loss_percent=15.0, regression=True)
    one = replace(found(best, limits), points=[exact, best])
    lines = dict(line.split(": ", 1) for line in verdict(one))
    assert (
        lines["measured"]
        == "values differ by 5% (4% to 6% with 95% confidence) of their spread on 400 confirming rows"
    )
    assert lines["quality"] == "mean squared error 2.2 instead of 2, 10% more (-1% to 21%)"
    assert "at most 15% more error on the choosing rows, the fastest" in lines["rule"]
    gained = replace(lost, lost=Estimate(-3.0, -5.0, 1.0))
    lines = dict(
        line.split(": ", 1)
        for line in verdict(replace(one, points=[exact, best], chosen=replace(best, confirming=gained)))
    )
    assert lines["quality"].endswith("3% less (-1% to 5%)")


def test_no_words_of_labels_in_the_page_of_a_regression() -> None:
    worth = Quality(mse=2.2, scc=0.5, rmse=1.5, mae=1.0, r2=0.4)
    lost = Loss(400, worth, None, Estimate(5.0, 4.0, 6.0), Estimate(10.0, -1.0, 21.0), None)
    exact = replace(EXACT, confirming=replace(lost, differing=NOTHING, lost=NOTHING))
    far = replace(
        SMALL, name="far", choosing=replace(lost, differing=Estimate(7.0, 6.0, 8.0)), confirming=lost
    )
    wrong = replace(SMALL, name="wrong", choosing=lost, confirming=lost)
    best = replace(SMALL, choosing=replace(lost, lost=NOTHING), confirming=lost)
    points = [replace(exact, certified_percent=None), best, far, wrong]
    points = [replace(point, certified_percent=None) for point in points]
    limits = Limits(max_diff_percent=6.0, max_loss_percent=2.0, regression=True)
    one = replace(found(points[1], limits), points=points, on_front=[True] * 4, missing=[])
    page = as_html(one).decode()
    assert "values differ by 7% of their spread on the choosing rows, more than 6%" in page
    assert "10% more error on the choosing rows, more than 2%" in page
    assert "; values differ by 5% of their spread</h1>" in page
    words = re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    shown = " ".join([words, as_markdown(one), as_text(one), *verdict(one), *origins(one)])
    assert not re.findall(r"\blabels?\b|boundary|cascade|accuracy", shown)


def test_every_column_that_needs_it_is_explained() -> None:
    one = found(SMALL, Limits(0.5))
    explained = {"differ", "choosing", "speed-up", "counted", "certified"}
    for wide, more in ((False, set()), (True, {"interval", "of allowance", "cost"})):
        heads, _ = cells(one, wide=wide)
        words = " ".join(legend(one, wide=wide).split())
        for head in explained | more:
            assert (f"{head}: " in words) == (head in heads), head
    shown = " ".join(as_text(one).split()).replace("multiply- adds", "multiply-adds")
    assert shown.endswith(legend(one, wide=False))
    assert "interval: with" not in shown


def test_processor_time_is_named() -> None:
    one = found(SMALL, Limits(0.5), replace(EVEN, processor=True))
    lines = dict(line.split(": ", 1) for line in verdict(one))
    assert lines["timing"].startswith("processor time, because the wall clock's times varied too much")
    assert as_dict(one)["recommended"]["confirmed_speedup_clock"] == "processor"
    assert as_dict(one)["recommended"]["speedup_clock"] == "wall"
    assert "processor time" not in legend(one)
    assert "processor time" in legend(
        replace(one, points=[EXACT, replace(SMALL, speed=replace(EVEN, processor=True))])
    )


@pytest.mark.parametrize(("ratio", "text"), [(0.8512, "0.851x"), (12.54, "12.5x"), (4321.0, "4,320x")])
def test_a_ratio_has_three_digits(ratio: float, text: str) -> None:
    assert times(ratio) == text


def test_rejected_candidates_are_named_with_their_reason() -> None:
    one = found(SMALL, Limits(0.5))
    line = "approximate-2: rejected: 48.6% of the labels differ"
    assert f"\n{line}\n" in as_text(one)
    assert f"- {line}" in as_markdown(one)
    assert as_dict(one)["missing"][0]["reason"] == line.split(": ", 1)[1]


def test_reports_are_valid_json_without_nan_and_infinity() -> None:
    from svmfast.evaluation.json_values import finite

    values = json.loads(json.dumps(finite(as_dict(found(SMALL, Limits(0.5), UNKNOWN))), allow_nan=False))
    assert values["recommended"]["confirmed_speedup_interval"] == [0, None]
    assert values["row_sets"]["trained"] == {"path": "train", "rows": 300, "sampled": 200, "accuracy": 91.5}
    assert [one["name"] for one in values["models"]] == ["exact", "compress-9"]


@pytest.mark.parametrize("accuracy", [0.0, 100.0])
@pytest.mark.parametrize("regression", [False, True])
def test_a_figure_of_equal_models_has_axes_of_positive_length(accuracy: float, regression: bool) -> None:
    """Warnings are errors here, and matplotlib warns about an axis of length zero."""
    pytest.importorskip("matplotlib")
    same = Quality(mse=accuracy) if regression else Quality(accuracy=accuracy, balanced_accuracy=accuracy)
    points = [
        replace(point, confirming=replace(point.confirming, quality=same, differing=NOTHING))
        for point in (EXACT, SMALL, replace(SMALL, name="linear", method="linear"))
    ]
    drawn = draw(replace(found(None, Limits(0.5, regression=regression)), points=points, on_front=[True] * 3))
    assert drawn["png"].startswith(b"\x89PNG")


def test_a_class_that_the_accuracy_hides_is_named() -> None:
    """In the verdict on the recommended model, or on the exact one if that is kept."""
    target = np.repeat([-1.0, 1.0], [990, 10])
    never = quality(
        np.full(1000, -1.0), target, regression=False, decisions=np.arange(1000.0), sides=(1.0, -1.0)
    )
    hidden = replace(loss(0.3), quality=never)
    line = "class 1 is recognized far below the accuracy of 99%: recall 0% (0 of 10); it is never predicted"
    best = replace(SMALL, confirming=hidden)
    assert message(best, Limits(0.5))["remark"] == line
    assert "remark" not in message(SMALL, Limits(0.5))
    kept = found(None, Limits(0.5))
    kept = replace(kept, points=[replace(EXACT, confirming=hidden)])
    assert f"remark: {line}" in verdict(kept)
    whole = found(best, Limits(0.5))
    assert f"**Remark**: {line}." in as_markdown(whole)
    heads = next(row for row in as_markdown(whole).splitlines() if row.startswith("| model"))
    assert heads.startswith("| model |  | accuracy | balanced | lowest recall | ROC AUC | differ |")
    page = as_html(whole).decode()
    assert line in page
    assert "accuracy 99%, balanced accuracy 50%, ROC AUC 1.0000" in page
    confirming = as_dict(whole)["models"][1]["confirming"]
    assert (confirming["auc"], confirming["confusion"]["counts"]) == (1.0, [[990, 0], [10, 0]])
    assert [one["recall"] for one in confirming["classes"]] == [100.0, 0.0]


def test_a_class_that_only_the_exact_model_recognizes_is_named() -> None:
    target = np.repeat([-1.0, 1.0], [970, 30])

    def answered(hits: int) -> Loss:
        predicted = np.where(np.arange(1000) >= 1000 - hits, 1.0, -1.0)
        return replace(loss(2.0), quality=quality(predicted, target, regression=False))

    exact = replace(EXACT, confirming=answered(24))
    for hits, line in (
        (0, "class 1 is never predicted (0 of 30 rows); the exact model's recall is 80%"),
        (6, "class 1 has a recall of 20% (6 of 30 rows); the exact model's recall is 80%"),
        (12, None),
    ):
        one = replace(found(SMALL, Limits(5.0)), points=[exact, replace(SMALL, confirming=answered(hits))])
        one = replace(one, chosen=one.points[1])
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
            assert f"**Lost class**: {line}." in as_markdown(one)


def test_with_balanced_accuracy_the_table_and_the_rule_show_it() -> None:
    limits = Limits(max_bytes=500, balanced=True)
    assert message(SMALL, limits)["rule"] == (
        "of the models with at most 500 bytes, the one that loses the least balanced accuracy on the "
        "choosing rows"
    )
    assert message(SMALL, limits)["quality"].startswith("balanced accuracy 78.5% instead of 80%, ")
    heads, _ = cells(found(SMALL, limits))
    assert "balanced" in heads
    assert "balanced: balanced accuracy, the mean" in " ".join(as_text(found(SMALL, limits)).split())
    assert "balanced" not in cells(found(SMALL, Limits(0.5)))[0]


def test_the_marker_of_a_cascade_shows_the_spent_share_of_its_allowance() -> None:
    cascade = replace(SMALL, name="compress-9 + exact", allowance_percent=0.5)
    assert cascade.spent_percent == pytest.approx(60)
    one = found(cascade, Limits(0.5))
    page = as_html(one).decode()
    assert "60% of the 0.5% that may differ in this cascade" in page
    # A sector of 216 degrees, from the top of the circle to the lower left.
    (x, y, top, size, end_x, end_y) = map(
        float,
        re.findall(r'd="M ([\d.]+) ([\d.]+) V ([\d.]+) A ([\d.]+) [\d.]+ 0 1 1 ([\d.]+) ([\d.]+) Z"', page)[
            0
        ],
    )
    angle = math.radians(0.6 * 360)
    assert (x - end_x, end_y - y) == pytest.approx(
        (-size * math.sin(angle), -size * math.cos(angle)), abs=0.11
    )
    assert y - top == pytest.approx(size, abs=0.06)
    assert as_dict(one)["models"][1]["spent_percent"] == pytest.approx(60)
    assert "of allowance" in as_markdown(one)
    assert (
        draw(one)["svg"]
        != draw(replace(one, points=[EXACT, replace(cascade, allowance_percent=None)]))["svg"]
    )
    plain = as_html(found(SMALL, Limits(0.5))).decode()
    assert "allowance that it spent" not in plain
    assert ' Z"' not in plain


def test_a_long_name_is_broken_after_a_blank() -> None:
    table = aligned(["model", "x"], [["approximate-2-in-64 + exact", "1"], ["a" * 30, "2"]], 26)
    first, second, third, fourth = table.splitlines()[1:]
    assert [first, second] == ["approximate-2-in-64 +    1", "exact"]
    assert [third, fourth] == [f"{'a' * 23}  2", "a" * 7]
