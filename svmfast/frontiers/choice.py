"""The choice among models: the Pareto front, and the model to recommend within given limits.

The rule is :func:`choose`. docs/frontier.md proves how often it recommends a model beyond its limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from svmfast.class_scores import LostClass, shown_label
from svmfast.evaluation.loss import Estimate, Loss
from svmfast.evaluation.timing import Speed
from svmfast.figures import Figures, computed, figure

#: Speed-ups below this are not worth another model.
GAIN = 1.5
#: Speeds of at least this share of the fastest one count as equal.
AS_FAST = 0.9
#: Where timing cannot decide, a model whose median is slower by more than this factor counts as slower.
PERHAPS = 1.25
#: The k-th model that the confirming rows test may be beyond its limits with probability ERROR / 2^k, so that
#: any number of tests together errs with probability ERROR at most.
ERROR = 0.05
#: So many of the fastest models are timed precisely: the confirming rows may refuse the first ones.
SPARES = 3


def _labels(lost: Sequence[LostClass]) -> list[float | int]:
    return [shown_label(label) for label in sorted({one.score.label for one in lost})]


@dataclass(frozen=True)
class Point(Figures):
    """A measured model, alone or with the exact model as fallback."""

    #: Such as ``compress-125``, or ``approximate-3 + exact`` with the exact model as fallback.
    name: str = figure("The model's name, and its file's in `models`; NAME + exact has no file there.")
    method: str = figure("The method that made it; exact: the exact model.")
    loss_choosing: Loss = figure("Losses on the rows that select the model to recommend.", key="choosing")
    loss_confirming: Loss = figure("Losses on the rows that confirm it.", key="confirming")
    n_bytes: int = figure("Total size of the files that a prediction needs.", key="bytes")
    speed: Speed = figure("Relative to the exact model's, from parsed rows to labels.", spread=True)
    linear_cost_counted: float | None = figure(
        "Multiply-adds divided by a linear model's; null if that has none."
    )
    certified_confirming: float | None = figure(
        "Percent of the confirming rows whose label is provably the exact model's.",
        key="certified_percent",
        default=None,
    )
    #: The same of the choosing rows.
    certified_choosing: float | None = None
    skilled: bool = figure(
        "Whether it is better than chance on the choosing rows; true where that is not measured, for "
        "one-class models and without labels.",
        default=True,
    )
    #: The classes lost on the choosing and on the confirming rows; without labels, by the exact model's.
    lost_classes_choosing: tuple[LostClass, ...] = ()
    lost_classes_confirming: tuple[LostClass, ...] = ()
    build_seconds: float | None = figure("Time to make it.", default=None)
    command: str | None = figure("The command that makes the file.", default=None)

    @computed.figure(
        "Labels of the classes that it loses on the choosing or the confirming rows.",
        key="lost_classes",
        value=_labels,
    )
    def _lost(self) -> tuple[LostClass, ...]:
        return (*self.lost_classes_choosing, *self.lost_classes_confirming)


@dataclass(frozen=True)
class Limits(Figures):
    """Limits on the recommended model; None means no limit."""

    max_diff_percent: float | None = figure(
        "Percent of the labels that may differ from the exact model's; regression: root mean square "
        "difference in percent of the standard deviation of the exact model's values.",
        default=None,
    )
    max_loss_percent: float | None = figure(
        "Percentage points of accuracy that may be lost; regression: percent by which the mean squared error "
        "may grow.",
        default=None,
    )
    max_bytes: int | None = figure("Most bytes.", default=None)
    max_operations: float | None = figure(
        "Most multiply-adds, as a multiple of a linear model's.", default=None
    )
    #: `max_loss_percent` refers to balanced accuracy, and limits on size or cost alone choose by it.
    balanced: bool = False
    regression: bool = False
    lose_classes: bool = figure("Whether a model that loses a class may be recommended.", default=False)

    @computed.figure("The score that is limited: accuracy, balanced-accuracy or mse.")
    def metric(self) -> str:
        return "mse" if self.regression else "balanced-accuracy" if self.balanced else "accuracy"

    @property
    def of_quality(self) -> bool:
        """Whether there is a limit on the quality of answers, not only on size and cost."""
        return self.max_diff_percent is not None or self.max_loss_percent is not None

    @property
    def of_size_alone(self) -> bool:
        """Whether there are limits on size or cost, but none on quality."""
        return not self.of_quality and (self.max_bytes, self.max_operations) != (None, None)

    def lost(self, loss: Loss) -> Estimate | None:
        """The figure that `max_loss_percent` limits; None without labels."""
        return loss.balanced_lost if self.balanced and loss.balanced_lost is not None else loss.lost

    def fits(self, point: Point) -> bool:
        """Whether `point` is small and cheap enough."""
        pairs = ((point.n_bytes, self.max_bytes), (point.linear_cost_counted, self.max_operations))
        return all(limit is None or (value is not None and value <= limit) for value, limit in pairs)

    def shown_by(self, loss: Loss, test: int = 1) -> bool:
        """Whether these rows show that the limits are met, if this is the `test`-th model tested.

        The upper ends of the intervals must be within the limits. The probability that an upper end is too
        low is ERROR / 2 for the first test and is halved by each further one, which takes an interval that
        is wider by ln(2) / ln(2 / ERROR): exactly that if no row differs, less otherwise.
        """
        wider = (test - 1) * math.log(2) / math.log(2 / ERROR)
        pairs = ((loss.differing, self.max_diff_percent), (self.lost(loss), self.max_loss_percent))
        return all(
            limit is None or known is None or known.high + wider * (known.high - known.value) <= limit
            for known, limit in pairs
        )

    def __str__(self) -> str:
        differing, lost, parts = self.max_diff_percent, self.max_loss_percent, []
        if differing is not None and self.regression:
            parts.append(f"values differ by at most {differing:g}% of their spread")
        elif differing is not None:
            some = f"at most {differing:g}% of the labels differ"
            parts.append(some if differing else "it is proven that no label differs")
        if lost is not None:
            what = "balanced accuracy" if self.balanced else "accuracy"
            some = f"{lost:g}% more error" if self.regression else f"{lost:g} points of {what} lost"
            parts.append(f"at most {some}")
        if self.max_bytes is not None:
            parts.append(f"at most {self.max_bytes:,} bytes")
        if self.max_operations is not None:
            parts.append(f"at most {self.max_operations:g}x a linear model")
        return ", ".join(parts) or "no limits"


def pareto(points: Sequence[Point]) -> list[bool]:
    """Which points are on the Pareto front of agreement with the exact model, speed and size.

    A point is dominated by one that is at least as good in all three and better in one. Agreement is measured
    on the confirming rows.
    """
    figures = [(p.loss_confirming.differing.value, -p.speed.ratio, float(p.n_bytes)) for p in points]

    def dominates(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
        return a != b and all(x <= y for x, y in zip(a, b, strict=True))

    return [not any(dominates(other, own) for other in figures) for own in figures]


#: What may decide between models, a figure of which the smallest is best, by the words for a model that is
#: worse by it.
KEYS: dict[str, Callable[[Point], float]] = {
    "loses more balanced accuracy than": lambda p: (
        (p.loss_choosing.balanced_lost or p.loss_choosing.differing).value
    ),
    "differs more from the exact model than": lambda p: p.loss_choosing.differing.value,
    "slower than": lambda p: -p.speed.ratio,
}


def keys(limits: Limits) -> list[str]:
    """Those of the :data:`KEYS` that decide, the first one first."""
    return list(KEYS)[not limits.balanced :]


def unmet(point: Point, exact_point: Point, limits: Limits) -> str | None:
    """The first requirement for a recommendation that `point` does not meet, or None.

    The confirming rows play no part.
    """
    small, speed = limits.max_bytes is None or point.n_bytes <= limits.max_bytes, point.speed
    # As far as its samples tell.
    faster = speed.ratio >= GAIN and (speed.low > 1 or math.isinf(speed.high))
    requirements = {
        "skill": point.skilled,
        "bytes": small,
        "cost": limits.fits(point) or not small,
        "answers": limits.shown_by(point.loss_choosing),
        "classes": limits.lose_classes or not point.lost_classes_choosing,
        "speed": faster or not limits.fits(exact_point),
    }
    return next((name for name, met in requirements.items() if not met), None)


@dataclass(frozen=True)
class Recommendation:
    """The recommendation; None recommends the exact model, if that is within the limits."""

    recommended: Point | None = None
    #: The models that were chosen before it and that the confirming rows refused: because of their
    #: ``answers`` or their ``classes``.
    refused: tuple[tuple[Point, str], ...] = ()
    #: Models that are perhaps faster; timing could not decide.
    undecided: tuple[Point, ...] = ()


def choose(points: Sequence[Point], limits: Limits) -> Recommendation:
    """Choose the model to recommend among `points`, of which the first is the exact model.

    The models that meet all requirements (:func:`unmet`) compete: those about as fast as the fastest, or all
    if only size and cost are limited. The best of them by :func:`keys` is recommended if the confirming rows
    show that it is within the limits too; otherwise the competition goes on without it.
    """
    exact_point, *rest = points
    rest = [point for point in rest if unmet(point, exact_point, limits) is None]
    refused: list[tuple[Point, str]] = []
    while rest:
        rivals = rest if limits.of_size_alone else as_fast_as_the_fastest(rest)
        best = min(rivals, key=lambda p: (*(KEYS[words](p) for words in keys(limits)), p.name))
        if not limits.shown_by(best.loss_confirming, test=len(refused) + 1):
            refused.append((best, "answers"))
        elif best.lost_classes_confirming and not limits.lose_classes:
            refused.append((best, "classes"))
        else:
            unsure = () if limits.of_size_alone else tuple(p for p in rivals if not decided(p, best))
            return Recommendation(best, tuple(refused), unsure)
        rest.remove(best)
    return Recommendation(refused=tuple(refused))


def as_fast_as_the_fastest(points: Sequence[Point]) -> list[Point]:
    """The points that are about as fast as the fastest, or that perhaps are."""
    first = max(points, key=lambda p: (p.speed.low, p.speed.ratio, p.name))

    def as_fast(point: Point) -> bool:
        if decided(point, first):
            return point.speed.ratio >= AS_FAST * first.speed.ratio
        return PERHAPS * point.speed.ratio >= first.speed.ratio

    return [point for point in points if as_fast(point)]


def decided(one: Point, other: Point) -> bool:
    """Whether timing has decided which of two models is faster, or that they are equally fast."""
    a, b = one.speed, other.speed
    return one is other or (a.narrow and b.narrow) or a.high < AS_FAST * b.low or b.high < AS_FAST * a.low


def contenders(points: Sequence[Point], limits: Limits) -> list[Point]:
    """The models whose speeds decide, as far as is known, and the next fastest as spares."""
    exact_point, *others = points
    fit = [p for p in others if unmet(p, exact_point, limits) in (None, "speed")]
    if not fit or limits.of_size_alone:
        return fit
    known = as_fast_as_the_fastest(fit)
    ordered = sorted(fit, key=lambda p: (-p.speed.ratio, p.name))
    return [p for i, p in enumerate(ordered) if i < SPARES or p in known]
