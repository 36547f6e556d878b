"""The sentences of a recommendation: gains, losses and the rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from svmfast.class_scores import MIN_ROWS, class_word
from svmfast.evaluation.loss import NOTHING, Estimate, Loss
from svmfast.evaluation.timing import Speed
from svmfast.frontiers.pareto import AS_FAST, Limits, Point, as_fast, fastest, is_faster, within
from svmfast.solvers.binomial import CONFIDENCE, clopper_pearson, trials_needed


def gain(speed: Speed, point: Point, exact: Point) -> str:
    """Describe the speed and size of `point` relative to the exact model."""
    known = f" ({speed.low:.3g} to {speed.high:.3g})" if math.isfinite(speed.high) else ""
    fast = f"{speed.ratio:.3g} times as fast as the exact model{known}"
    shrink = exact.n_bytes / point.n_bytes
    if shrink == 1:
        return f"{fast} and of the same size"
    return (
        f"{fast} and {shrink:.3g} times smaller"
        if shrink > 1
        else f"{fast} and {1 / shrink:.3g} times LARGER"
    )


def timing(speed: Speed) -> str | None:
    """Return a remark if a speed is uncertain."""
    if not math.isfinite(speed.high):
        return "too few samples for an interval; give a longer `time_limit`"
    if speed.processor:
        return "processor time, because the wall clock's times varied too much; run again on an idle machine"
    return None if speed.narrow else "too variable for a narrow interval; run again on an idle machine"


def losses(point: Point, exact: Point, limits: Limits) -> list[str]:
    """Describe the losses of `point` on the confirming rows: the differences, and with labels the scores."""
    loss, known = point.confirming, exact.confirming
    rows = f"on {loss.rows:,} confirming rows"
    if loss.labels_differing is None:
        differs = f"values differ by {_share(loss.differing)} of their spread {rows}"
    elif loss.differing == NOTHING:
        differs = f"no label differs {rows}, and it is proven that none can"
    else:
        differs = f"{_share(loss.differing)} of the labels differ {rows}"
    if loss.lost is None:
        return [differs]
    return [differs, _error(loss, known) if limits.regression else _accuracy(loss, known, limits)]


def differing(loss: Loss) -> str:
    """Describe how much the answers differ from the exact model's, without the interval."""
    if loss.labels_differing is None:
        return f"values differ by {loss.differing.value:.3g}% of their spread"
    return f"{loss.differing.value:.3g}% of the labels differ"


def unstated(point: Point, limits: Limits) -> str | None:
    """Return a remark if there are too few confirming rows to show the limit although no label differs."""
    loss = point.confirming
    if (
        not limits.max_diff_percent
        or limits.max_diff_percent >= 100
        or loss.labels_differing != 0
        or loss.differing == NOTHING
    ):
        return None
    share = limits.max_diff_percent / 100
    if clopper_pearson(0, loss.rows)[1] <= share:
        return None
    needed = trials_needed(share, (1 + CONFIDENCE) / 2)
    return (
        f"{loss.rows:,} rows cannot show that at most {limits.max_diff_percent:g}% differ; {needed:,} could"
    )


def _accuracy(loss: Loss, exact: Loss, limits: Limits) -> str:
    worth, known = loss.quality, exact.quality
    assert worth.accuracy is not None
    assert loss.lost is not None
    accuracy = f"accuracy {worth.accuracy:.4g}% instead of {known.accuracy:.4g}%, {_points(loss.lost)}"
    if worth.balanced_accuracy is None or known.balanced_accuracy is None:
        return accuracy
    balanced = f"balanced accuracy {worth.balanced_accuracy:.4g}% instead of {known.balanced_accuracy:.4g}%"
    if limits.balanced and loss.balanced_lost is not None:
        return f"{balanced}, {_points(loss.balanced_lost)}; {accuracy}"
    return f"{accuracy}; {balanced}"


def _error(loss: Loss, exact: Loss) -> str:
    grown = loss.lost
    assert grown is not None
    word, part = "more", grown
    if grown.value < 0:
        word, part = "less", Estimate(-grown.value, -grown.high, -grown.low)
    errors = f"mean squared error {loss.quality.mse:.4g} instead of {exact.quality.mse:.4g}"
    return f"{errors}, {part.value:.3g}% {word} ({part.ends(2)})"


def lost_classes(point: Point, exact: Point, names: Mapping[float, str] | None = None) -> dict[float, str]:
    """Describe the classes of which `point` recognizes less than half of the exact model's share, by label.

    Classes with few confirming rows are left out (:data:`svmfast.class_scores.MIN_ROWS`).
    """
    found = {}
    known = {score.label: score.recall for score in exact.confirming.quality.classes}
    for score in point.confirming.quality.classes:
        before, after = known.get(score.label), score.recall
        if before and after is not None and after < before / 2 and score.rows >= MIN_ROWS:
            how = "is never predicted" if not score.predicted else f"has a recall of {after:.4g}%"
            what = f"class {class_word(score.label, names)} {how} ({score.correct:,} of {score.rows:,} rows)"
            found[score.label] = f"{what}; the exact model's recall is {before:.4g}%"
    return found


def spent(point: Point) -> str | None:
    """Describe the part of its allowance that a cascade spent on confirming rows; None for other points."""
    if point.spent_percent is None:
        return None
    return f"{point.spent_percent:.0f}% of the {point.allowance_percent:g}% that may differ in this cascade"


def _share(known: Estimate) -> str:
    return f"{known.value:.3g}% ({known.ends(2)} with {CONFIDENCE:.0%} confidence)"


def _points(lost: Estimate) -> str:
    if lost == NOTHING:
        return "nothing lost"
    word, low, high = ("lost", lost.low, lost.high) if lost.value >= 0 else ("gained", -lost.high, -lost.low)
    return f"{abs(lost.value):.2g} points {word} ({low:.2g} to {high:.2g})"


def rule(limits: Limits) -> str:
    """Describe how the recommended model is chosen."""
    if limits.of_size_alone:
        which = "that loses the least balanced accuracy" if limits.balanced else "closest to the exact model"
        return f"of the models with {limits}, the {'one ' * limits.balanced}{which} on the choosing rows"
    return (
        f"of the models with {limits} on the choosing rows, the fastest; of those within "
        f"{1 - AS_FAST:.0%} of the fastest, the closest to the exact model"
    )


def nearest_miss(point: Point) -> str:
    """Describe, on the confirming rows, the model that comes closest to the limits on the choosing rows."""
    loss = point.confirming
    about = "" if point.speed.narrow and not point.speed.processor else "about "
    fast = f"{about}{point.speed.ratio:.3g} times as fast as the exact model"
    lost = None if loss.lost is None else loss.lost.value
    if loss.labels_differing is None:
        what = f"values differing by {loss.differing.value:.3g}% of their spread"
        if lost is not None:
            what += f", {abs(lost):.3g}% {'more' if lost >= 0 else 'less'} error"
    else:
        what = f"{loss.differing.value:.3g}% of the labels differing"
        if lost is not None:
            what += f", {abs(lost):.3g} points of accuracy {'lost' if lost >= 0 else 'gained'}"
    return f"{fast}, {point.n_bytes:,} bytes, {what} on the confirming rows"


def why_not(
    point: Point, points: Sequence[Point], limits: Limits, best: Point | None, refuted: str | None
) -> str:
    """Return why `point` is not recommended, or that it is.

    Parameters
    ----------
    point : Point
    points : sequence of Point
        All points, the exact model first.
    limits : Limits
    best : Point or None
        The recommended point.
    refuted : str or None
        Why the chosen point is not recommended (:attr:`svmfast.frontiers.report.Frontier.refuted`).
    """
    exact = points[0]
    if point is best:
        return "recommended"
    if point is exact:
        if best is None and limits.fits(exact):
            return "recommended: no other model meets the limits"
        return "the exact model"
    if not point.skilled:
        return "no better than chance"
    if not limits.fits(point):
        size = limits.max_bytes is not None and point.n_bytes > limits.max_bytes
        return (
            f"{point.n_bytes:,} bytes, too large"
            if size
            else f"{point.cost:.3g}x a linear model, too expensive"
        )
    if not limits.kept_by(point.choosing):
        known = point.choosing
        if limits.max_diff_percent == 0 and known.differing.value == 0:
            return "no label differs on the choosing rows, but this is not proven for other rows"
        if limits.max_diff_percent is not None and not known.differing.value <= limits.max_diff_percent:
            return f"{differing(known)} on the choosing rows, more than {limits.max_diff_percent:g}%"
        lost, most = limits.lost(known), limits.max_loss_percent
        assert lost is not None
        if limits.regression:
            return f"{lost.value:.3g}% more error on the choosing rows, more than {most:g}%"
        return f"loses {lost.value:.3g} on the choosing rows, more than {most:g}"
    if not is_faster(point) and point.n_bytes >= exact.n_bytes:
        return "neither clearly faster nor smaller than the exact model"
    if best is None:
        return "the confirming rows refute it" if refuted else "not chosen"
    if limits.of_size_alone:
        ours, theirs = (limits.lost(one.choosing) for one in (point, best))
        if limits.balanced and ours is not None and theirs is not None and ours.value > theirs.value:
            return f"loses more balanced accuracy than {best.name}"
        if point.choosing.differing.value > best.choosing.differing.value:
            return f"farther from the exact model than {best.name}"
        own, least = point.linear_cost_counted, best.linear_cost_counted
        if own is not None and least is not None and own > least:
            return f"as close to the exact model as {best.name}, but takes more multiply-adds"
        return f"as close to the exact model as {best.name}, but slower or larger"
    if is_faster(best) and not is_faster(point):
        return f"smaller than the exact model, but not clearly faster; {best.name} is"
    if not is_faster(best):
        return f"larger than {best.name}"
    first = fastest([p for p in within(points, limits) if is_faster(p)])
    if point is not first and not as_fast(point, first):
        if point.speed.high < AS_FAST * first.speed.low:
            return f"slower than {first.name}"
        return f"timing cannot distinguish it from {first.name}, which takes fewer multiply-adds"
    if point.choosing.differing.value > best.choosing.differing.value:
        return f"as fast as {best.name}, but farther from the exact model on the choosing rows"
    return f"as close and as fast as {best.name}, but takes more multiply-adds"
