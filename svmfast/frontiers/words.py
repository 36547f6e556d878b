"""The recommendation in sentences: gains, losses and reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from svmfast.class_scores import MAX_LINES, LostClass, class_word
from svmfast.display import count, shell_line
from svmfast.evaluation.loss import NOTHING, Estimate, Loss
from svmfast.evaluation.timing import Speed
from svmfast.frontiers.choice import AS_FAST, GAIN, KEYS, Limits, Point, Recommendation, keys, unmet
from svmfast.frontiers.report import Frontier
from svmfast.score import interval_text
from svmfast.solvers.intervals import CONFIDENCE, LEAST_FOR_MEANS, clopper_pearson, trials_needed


def verdict(found: Frontier) -> list[str]:
    """The lines of the recommendation: the model, its losses, and the command that makes it."""
    exact_point, best, limits = found.points[0], found.recommended, found.limits
    few = too_few_rows(found.points, limits)
    few_lines = [] if few is None else [f"too few rows: {few}"]
    if best is None:
        if found.choice.refused:
            why = f"the confirming rows show no model to be within the limits ({limits})"
        else:
            shown_within = "shown to be " * limits.of_quality
            why = f"no candidate is {shown_within}within the limits ({limits})"
            why += " and faster" * limits.fits(exact_point)
        kept = limits.fits(exact_point)
        instead = "the exact model as it is" if kept else "none, not the exact model either"
        lines = [f"recommended: {instead}; {why}"]
        lines += _refusals(found) + few_lines
        return lines + _hidden_by_accuracy(exact_point, found) + _left_out(found)
    first, *scores = loss_lines(best, exact_point, limits)
    lines = [
        f"recommended: {best.name}, {gain(best.speed, best, exact_point)}{undecided(found.choice)}",
        f"{'confirmed' if limits.of_quality else 'measured'}: {first}",
        *(f"quality: {text}" for text in scores),
    ]
    if (note := timing(best.speed)) is not None:
        lines.append(f"timing: {note}")
    lines += few_lines + _hidden_by_accuracy(best, found) + _refusals(found) + _left_out(found)
    lines.append(f"made by: {best.command}")
    if found.copy is not None:
        words = ["svmfast", "predict", "DATA", found.copy, "OUT", *["--unlabelled"] * found.unlabelled]
        lines.append(f"used by: {shell_line(words)}")
    return lines


def _refusals(found: Frontier) -> list[str]:
    """Lines on the models that the confirming rows refused."""
    return [f"refused: {point.name}, {refusal(point, by, found)}" for point, by in found.choice.refused]


def _left_out(found: Frontier) -> list[str]:
    """A line on the candidates that the time limit left out, if any."""
    late = sum(one.late for one in found.missing)
    what = f"the time limit left out {count(late, 'candidate')}; run again to continue"
    return [f"not everything was tried: {what}"] if late else []


def _hidden_by_accuracy(point: Point, found: Frontier) -> list[str]:
    """Lines on the classes that `point` loses, and on others with a recall far below the accuracy."""
    lost = {one.score.label: one for one in point.lost_classes_confirming}
    quality = point.loss_confirming.quality
    rest = replace(quality, classes=tuple(one for one in quality.classes if one.label not in lost))
    lines = [f"lost class: {lost_class(one, found.class_names)}" for one in list(lost.values())[:MAX_LINES]]
    if len(lost) > MAX_LINES:
        lines.append(f"lost classes: {len(lost) - MAX_LINES:,} more")
    return lines + [f"remark: {line}" for line in rest.neglected_lines(found.class_names)]


def gain(speed: Speed, point: Point, exact_point: Point) -> str:
    """Describe the speed and size of `point` relative to the exact model."""
    known = f" ({speed.low:.3g} to {speed.high:.3g})" if math.isfinite(speed.high) else ""
    fast = f"{speed.ratio:.3g} times as fast as the exact model{known}"
    shrink = exact_point.n_bytes / point.n_bytes
    if shrink == 1:
        return f"{fast} and of the same size"
    size = f"{shrink:.3g} times smaller" if shrink > 1 else f"{1 / shrink:.3g} times LARGER"
    return f"{fast} and {size}"


def undecided(choice: Recommendation) -> str:
    """The models that timing could not tell from the recommended one, to end the first line."""
    others = [point.name for point in choice.undecided]
    more = f" and {count(len(others) - 2, 'other')}" * (len(others) > 2)
    return f"; timing did not decide between it and {', '.join(others[:2])}{more}" if others else ""


def timing(speed: Speed) -> str | None:
    """A remark if a speed is uncertain."""
    if not math.isfinite(speed.high):
        return "too few samples for an interval; give a longer `time_limit`"
    if speed.processor:
        return "processor time, because the wall clock's times varied too much; run again on an idle machine"
    return None if speed.narrow else "too variable for a narrow interval; run again on an idle machine"


def loss_lines(point: Point, exact_point: Point, limits: Limits) -> list[str]:
    """Describe the losses of `point` on the confirming rows: the differences, and with labels the scores."""
    loss, known = point.loss_confirming, exact_point.loss_confirming
    rows = f"on {loss.n_rows:,} confirming rows"
    differs = f"{differing_within(loss)} {rows}"
    if loss.labels_differing is not None and loss.differing == NOTHING:
        differs = f"no label differs {rows}, and it is proven that none can"
    if loss.lost is None:
        return [differs]
    return [differs, _error(loss, known) if limits.regression else _accuracy(loss, known)]


def differing(loss: Loss) -> str:
    """Describe how much the answers differ from the exact model's, without the interval."""
    if loss.labels_differing is None:
        return f"values differ by {loss.differing.value:.3g}% of their spread"
    return f"{loss.differing.value:.3g}% of the labels differ"


def differing_within(loss: Loss) -> str:
    """Describe how much the answers differ from the exact model's, with the interval."""
    return f"{differing(loss)} ({interval_text(loss.differing.low, loss.differing.high)})"


def too_few_rows(points: Sequence[Point], limits: Limits) -> str | None:
    """A remark if the rows cannot show the limit even where no label differs."""
    exact_point, *others = points
    rows = min(exact_point.loss_choosing.n_rows, exact_point.loss_confirming.n_rows)
    limit = limits.max_diff_percent
    if limits.regression and limits.of_quality and rows < LEAST_FOR_MEANS:
        return (
            f"{rows:,} choosing and as many confirming rows cannot show how large an error may be; "
            f"{LEAST_FOR_MEANS:,} of each could; give more"
        )
    if not limit or limit >= 100 or limits.regression:
        return None
    share = limit / 100
    equal = (loss.differing for one in others for loss in (one.loss_choosing, one.loss_confirming))
    if clopper_pearson(0, rows)[1] <= share and not any(one.value == 0 and one.high > limit for one in equal):
        return None
    needed = trials_needed(share, (1 + CONFIDENCE) / 2)
    return (
        f"{rows:,} choosing and as many confirming rows cannot show that at most {limit:g}% differ; "
        f"{needed:,} different ones of each could; give more, or a larger limit"
    )


def _accuracy(loss: Loss, exact_loss: Loss) -> str:
    own, known = loss.quality, exact_loss.quality
    terms = [
        ("accuracy", own.accuracy, known.accuracy, loss.lost),
        ("balanced accuracy", own.balanced_accuracy, known.balanced_accuracy, loss.balanced_lost),
    ]
    return "; ".join(
        f"{name} {value:.4g}% instead of {other:.4g}%, {_points(lost)}"
        for name, value, other, lost in terms
        if lost is not None
    )


def _error(loss: Loss, exact_loss: Loss) -> str:
    assert loss.lost is not None
    errors = f"mean squared error {loss.quality.mse:.4g} instead of {exact_loss.quality.mse:.4g}"
    return f"{errors}, {loss.lost.value:+.3g}% ({loss.lost.ends(2)})"


def lost_class(lost: LostClass, names: Mapping[float, str] | None = None) -> str:
    """Describe a class of which a model recognizes less than half of the exact model's share."""
    score = lost.score
    how = "is never predicted" if not score.predicted else f"has a recall of {score.recall:.4g}%"
    what = f"class {class_word(score.label, names)} {how} ({score.correct:,} of {score.rows:,} rows)"
    return f"{what}; the exact model's recall is {lost.recall:.4g}%"


def _points(lost: Estimate) -> str:
    if lost == NOTHING:
        return "nothing lost"
    return f"{lost.value:.2g} points lost ({lost.low:.2g} to {lost.high:.2g})"


def why_not(point: Point, found: Frontier) -> str:
    """Why `point` is not recommended, or that it is."""
    exact_point, best, limits = found.points[0], found.recommended, found.limits
    if point is best:
        return "recommended"
    if point is exact_point:
        kept = best is None and limits.fits(exact_point)
        return "recommended: no other model meets the limits" if kept else "the exact model"
    for refused, by in found.choice.refused:
        if refused.name == point.name:
            return refusal(point, by, found)
    failed = unmet(point, exact_point, limits)
    if failed == "answers":
        return beyond(point.loss_choosing, limits, "choosing")
    if failed is not None:
        return {
            "skill": "no better than chance",
            "bytes": f"{point.n_bytes:,} bytes, too large",
            "cost": "multiply-adds are not counted"
            if point.linear_cost_counted is None
            else f"{point.linear_cost_counted:.3g}x a linear model, too expensive",
            "classes": "".join(
                lost_class(lost, found.class_names) for lost in point.lost_classes_choosing[:1]
            ),
            "speed": f"not clearly {GAIN:g} times as fast as the exact model",
        }[failed]
    assert best is not None  # or the confirming rows would have refused this one too
    ordered = keys(limits)
    if not limits.of_size_alone and point.speed.ratio < AS_FAST * best.speed.ratio:
        ordered = ordered[::-1]
    worse = next((words for words in ordered if KEYS[words](point) > KEYS[words](best)), ordered[-1])
    return f"{worse} {best.name}"


def refusal(point: Point, by: str, found: Frontier) -> str:
    """Why the confirming rows refused a model."""
    if by == "classes":
        return f"{lost_class(point.lost_classes_confirming[0], found.class_names)} on the confirming rows"
    return beyond(point.loss_confirming, found.limits, "confirming")


def beyond(loss: Loss, limits: Limits, rows: str) -> str:
    """How far the answers are beyond the limits, or that these rows do not show that they are not."""
    known, most = loss.differing, limits.max_diff_percent
    if most == 0 and known.value == 0 < known.high:
        return f"no label differs on the {rows} rows, but this is not proven for other rows"
    if most is not None and known.value > most:
        return f"{differing(loss)} on the {rows} rows, more than {most:g}%"
    lost = limits.lost(loss)
    if lost is not None and limits.max_loss_percent is not None and lost.value > limits.max_loss_percent:
        what = f"{lost.value:.3g}% more error" if limits.regression else f"{lost.value:.3g} points lost"
        return f"{what} on the {rows} rows, more than {limits.max_loss_percent:g}"
    may = ""
    if lost is not None and limits.max_loss_percent:
        what = "percent more error" if limits.regression else "points lost"
        may = f", and up to {lost.high:.2g} {what}"
        if math.isinf(lost.high):
            may = ", which cannot show how much the error may grow"
    found = f"not shown to be within the limits: {differing_within(loss)} on the {rows} rows{may}"
    # With each model that the confirming rows refuse, the next one must pass with a wider interval.
    return found + "; the interval of a further model is wider" * limits.shown_by(loss)
