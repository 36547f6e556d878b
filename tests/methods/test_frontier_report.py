"""The sentences of ``svmfast frontier``: gains, losses, and what could not be shown."""

from __future__ import annotations

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


def test_reports_are_valid_json_without_nan_and_infinity() -> None:
    values = json.loads(json.dumps(found(SMALL, Limits(0.5), UNKNOWN).to_dict(), allow_nan=False))
    assert values["recommended"]["speedup_interval"] == [0, None]
    assert values["row_sets"]["trained"] == {"path": "train", "rows": 300}
    assert [one["name"] for one in values["models"]] == ["exact", "compress-9"]


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
