"""The sentences of ``svmfast frontier``: gains, losses, and what could not be shown."""

import json
import math
from dataclasses import replace

import numpy as np
from losses import loss

from svmfast.class_scores import ClassScore, LostClass, lost_classes
from svmfast.evaluation.loss import NOTHING, Estimate, Loss
from svmfast.evaluation.timing import Speed
from svmfast.frontiers.choice import Limits, Point, Recommendation, choose
from svmfast.frontiers.html import as_html
from svmfast.frontiers.plan import Missing
from svmfast.frontiers.report import Frontier
from svmfast.frontiers.row_sets import Origin
from svmfast.frontiers.words import verdict
from svmfast.score import Quality, quality

SLOWER = Speed(4.0, 4.0, 4.0, 9)
SAME = replace(loss(0.0), differing=NOTHING)
EXACT = Point("exact", "exact", SAME, SAME, 1000, Speed(1.0, 1.0, 1.0, 9), 500.0, 30.0, 30.0)
SMALL = Point(
    "compress-9", "compress", loss(0.3), loss(0.3, 0.2, 1.5), 100, Speed(8.0, 7.8, 8.2, 9), 4000.0, 3.0, 3.0,
    build_seconds=1.0, command="svmfast compress 'the model'",
)  # fmt: skip
HEADLINE = "compress-9, 8 times as fast as the exact model (7.8 to 8.2) and 10 times smaller"


def found(*points, limits=None, exact=EXACT):
    points, limits = [exact, *points], limits or Limits(0.5)
    return Frontier(
        "m", Origin("train", "test", 300, 1000, 1000), 7, 2, 0, points, [True] * len(points),
        [Missing("approximate-2", "approximate", "rejected: 48.6% of the labels differ")], limits,
        choose(points, limits), True, "0",
    )  # fmt: skip


def test_a_recommendation_states_gains_and_losses():
    assert verdict(found(SMALL)) == [
        f"recommended: {HEADLINE}",
        "confirmed: 0.3% of the labels differ (95% confidence: 0.2% to 0.4%) on 1,000 confirming rows",
        "quality: accuracy 89.8% instead of 90%, 0.2 points lost (0.1 to 0.3); "
        "balanced accuracy 78.5% instead of 80%, 1.5 points lost (1.4 to 1.6)",
        "made by: svmfast compress 'the model'",
    ]


def test_the_confirming_rows_decide():
    best = replace(SMALL, loss_confirming=loss(0.45))
    next_best = replace(SMALL, name="next", loss_choosing=loss(0.1), loss_confirming=loss(0.1), speed=SLOWER)
    reason = "not shown to be within the limits: 0.45% of the labels differ (95% confidence: 0.35% to 0.55%)"
    reason += " on the confirming rows"
    for given, chosen in (((best, next_best), "next"), ((best,), None)):
        one = found(*given)
        assert f"refused: compress-9, {reason}" in verdict(one)
        values = one.to_dict()
        assert values["refused"] == [{"name": "compress-9", "by": "answers"}]
        assert (values["recommended"] or {}).get("name") == chosen
        assert f'<div class="note">{reason}</div>' in as_html(one).decode()
    assert verdict(one)[0] == (
        "recommended: the exact model as it is; the confirming rows show no model to be within the limits "
        "(at most 0.5% of the labels differ)"
    )


def test_the_page_states_gains_and_why_others_were_not_chosen():
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
    rest = [replace(SMALL, name=f"n{i}", **given) for i, given in enumerate(others.values())]
    for one in (found(SMALL), found(SMALL, *rest)):
        page = as_html(one).decode()
        assert f"<b>Recommended:</b> {HEADLINE}" in page
    for i, reason in enumerate(others):
        assert f'>n{i}<div class="note">{reason}</div></td>' in page


def test_too_few_rows_are_reported():
    even = Quality(accuracy=90.0, balanced_accuracy=90.0)
    few = Loss(95, even, 0, Estimate(0.0, 0.0, 3.8), NOTHING, NOTHING)
    exact = replace(EXACT, loss_choosing=replace(few, differing=NOTHING))
    lines = verdict(found(replace(SMALL, loss_choosing=few, loss_confirming=few), exact=exact))
    assert lines[0].startswith("recommended: the exact model as it is; no candidate is shown to be within")
    assert (
        "too few rows: 95 choosing and as many confirming rows cannot show that at most 0.5% differ; "
        "736 different ones of each could; give more, or a larger limit"
    ) in lines


def test_reports_are_valid_json_without_nan_and_infinity():
    unknown = replace(SMALL, speed=Speed(8.0, 0.0, math.inf, 2))
    values = json.loads(json.dumps(found(unknown).to_dict(), allow_nan=False))
    assert values["recommended"]["speedup_interval"] == [0, None]
    assert values["row_sets"]["trained"] == {"path": "train", "rows": 300}
    assert [one["name"] for one in values["models"]] == ["exact", "compress-9"]


def test_a_class_that_only_the_exact_model_recognizes_is_named():
    """Once, by the comparison with the exact model if that recognizes the class."""
    target = np.repeat([-1.0, 1.0], [970, 30])

    def answered(hits):
        predicted = np.where(np.arange(1000) >= 1000 - hits, 1.0, -1.0)
        return predicted, replace(loss(2.0), quality=quality(predicted, target, regression=False))

    exactly, of_exact = answered(24)
    for hits, line in (
        (0, "lost class: class 1 is never predicted (0 of 30 rows); the exact model's recall is 80%"),
        (6, "lost class: class 1 has a recall of 20% (6 of 30 rows); the exact model's recall is 80%"),
        (12, "remark: class 1 is recognized far below the accuracy of 98.2%: recall 40% (12 of 30)"),
    ):
        predicted, confirming = answered(hits)
        lost = lost_classes(predicted, exactly, target)
        best = replace(SMALL, loss_confirming=confirming, lost_classes_confirming=lost)
        exact = replace(EXACT, loss_confirming=of_exact)
        one = found(best, limits=Limits(5.0, lose_classes=True), exact=exact)
        one = replace(one, choice=Recommendation(best))
        assert [text for text in verdict(one) if text.startswith(("lost class", "remark: "))] == [line]
        if lost:
            assert line.removeprefix("lost class: ").replace("'", "&#x27;") in as_html(one).decode()
