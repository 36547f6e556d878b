"""The choice among models: the Pareto front, and the model to recommend within given limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from svmfast.evaluation.loss import Estimate, Loss
from svmfast.evaluation.timing import Speed

#: Speed-ups below this are not worth another model.
GAIN = 1.5
#: Speeds of at least this share of the fastest one count as equal, and the closest model wins.
AS_FAST = 0.9


@dataclass(frozen=True)
class Point:
    """A measured model, alone or with the exact model as fallback.

    Attributes
    ----------
    name : str
        Such as ``compress-125``, or ``approximate-3 + exact`` with the exact model as fallback.
    method : str
        ``exact``, or the name of a method.
    choosing, confirming : Loss
        Losses on the rows that select the model to recommend, and on those that confirm it.
    n_bytes : int
        Total size of the files that a prediction needs.
    speed : Speed
        Relative to the exact model's, from parsed rows to labels.
    rows_per_second : float
    linear_cost : float
        Time divided by that of a linear model.
    linear_cost_counted : float or None
        Multiply-adds divided by a linear model's; None if the kind of model does not count them.
    certified_percent : float or None
        Confirming rows whose label is provably the exact model's.
    skilled : bool
        Whether the model is better than chance on the choosing rows.
    build_seconds : float or None
    command, use : str or None
        The commands that make the file and that predict with it; None for the exact model.
    allowance_percent : float or None
        For a cascade, the percentage of labels that may differ: the limit for which its threshold was chosen.
        None for other models.
    """

    name: str
    method: str
    choosing: Loss
    confirming: Loss
    n_bytes: int
    speed: Speed
    rows_per_second: float
    linear_cost: float
    linear_cost_counted: float | None
    certified_percent: float | None = None
    skilled: bool = True
    build_seconds: float | None = None
    command: str | None = None
    use: str | None = None
    allowance_percent: float | None = None

    @property
    def spent_percent(self) -> float | None:
        """The part of its allowance, in percent, that a cascade spent on the confirming rows; else None."""
        if not self.allowance_percent:
            return None
        return 100 * self.confirming.differing.value / self.allowance_percent

    @property
    def cost(self) -> float:
        """The cost that `max_operations` limits: counted, independent of load, or else measured."""
        return self.linear_cost if self.linear_cost_counted is None else self.linear_cost_counted


@dataclass(frozen=True)
class Limits:
    """Limits on the recommended model; None means no limit.

    Attributes
    ----------
    max_diff_percent : float or None
        Percent of the labels that may differ from the exact model's; regression: root mean square difference
        divided by the standard deviation of the exact model's values.
    max_loss_percent : float or None
        Percentage points of accuracy that may be lost; regression: percent by which the mean squared error
        may grow.
    max_bytes, max_operations : int or None, float or None
    balanced : bool
        Whether `max_loss_percent` refers to balanced accuracy, and limits on size or cost alone choose by it.
    regression : bool
    """

    max_diff_percent: float | None = None
    max_loss_percent: float | None = None
    max_bytes: int | None = None
    max_operations: float | None = None
    balanced: bool = False
    regression: bool = False

    @property
    def of_quality(self) -> bool:
        """Whether there is a limit on the quality of answers, not only on size and cost."""
        return self.max_diff_percent is not None or self.max_loss_percent is not None

    @property
    def of_size_alone(self) -> bool:
        """Whether there are limits on size or cost, but none on quality."""
        return not self.of_quality and (self.max_bytes, self.max_operations) != (None, None)

    def lost(self, loss: Loss) -> Estimate | None:
        """Return the figure that `max_loss_percent` limits; None without labels."""
        return loss.balanced_lost if self.balanced and loss.balanced_lost is not None else loss.lost

    def fits(self, point: Point) -> bool:
        """Return whether `point` is small and cheap enough."""
        pairs = ((point.n_bytes, self.max_bytes), (point.cost, self.max_operations))
        return all(limit is None or value <= limit for value, limit in pairs)

    def kept_by(self, loss: Loss) -> bool:
        """Return whether the answers are good enough on these rows; a limit of 0 on labels needs a proof."""
        unproven = self.max_diff_percent == 0 and loss.differing.high > 0
        return not unproven and not self._beyond(loss, lambda known: known.value)

    def refuted_by(self, loss: Loss) -> bool:
        """Return whether these rows show that a limit is exceeded: the whole interval lies beyond it."""
        return self._beyond(loss, lambda known: known.low)

    def shown_by(self, loss: Loss) -> bool:
        """Return whether these rows show that the limits are met: the whole intervals lie within them."""
        return not self._beyond(loss, lambda known: known.high)

    def _beyond(self, loss: Loss, end: Callable[[Estimate], float]) -> bool:
        pairs = ((loss.differing, self.max_diff_percent), (self.lost(loss), self.max_loss_percent))
        return any(
            limit is not None and known is not None and not end(known) <= limit for known, limit in pairs
        )

    def __str__(self) -> str:
        parts = []
        if self.max_diff_percent is not None:
            if self.regression:
                parts.append(f"values differing by at most {self.max_diff_percent:g}% of their spread")
            else:
                proven = ", proven" * (self.max_diff_percent == 0)
                parts.append(f"at most {self.max_diff_percent:g}% of the labels differing{proven}")
        if self.max_loss_percent is not None:
            what = "balanced accuracy" if self.balanced else "accuracy"
            more, lost = (
                f"{self.max_loss_percent:g}% more error",
                f"{self.max_loss_percent:g} points of {what} lost",
            )
            parts.append(f"at most {more if self.regression else lost}")
        if self.max_bytes is not None:
            parts.append(f"at most {self.max_bytes:,} bytes")
        if self.max_operations is not None:
            parts.append(f"at most {self.max_operations:g}x a linear model")
        return ", ".join(parts) or "no limits"


def pareto(points: Sequence[Point]) -> list[bool]:
    """Return which points are on the Pareto front of agreement with the exact model, speed and size.

    A point is dominated by one that is at least as good in all three and better in one. Agreement is measured
    on the confirming rows.
    """
    figures = [(p.confirming.differing.value, -p.speed.ratio, float(p.n_bytes)) for p in points]

    def dominates(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
        return a != b and all(x <= y for x, y in zip(a, b, strict=True))

    return [not any(dominates(other, own) for other in figures) for own in figures]


def within(points: Sequence[Point], limits: Limits) -> list[Point]:
    """Return the points, except the exact model (the first), that are within the limits and beat chance."""
    return [p for p in points[1:] if limits.fits(p) and limits.kept_by(p.choosing) and p.skilled]


def recommend(points: Sequence[Point], limits: Limits) -> Point | None:
    """Return the point to recommend, by the choosing rows alone; None recommends the exact model.

    A point must be within the limits, better than chance, and clearly faster than the exact model
    (:data:`GAIN`) or, if none is faster, smaller. If there are only limits on size or cost, the point closest
    to the exact model is recommended, or by balanced accuracy the one that loses least of it. Otherwise it is
    the closest among those about as fast as the fastest (:data:`AS_FAST`).
    """
    exact, kept = points[0], within(points, limits)
    faster = [p for p in kept if is_faster(p)]
    smaller = [p for p in kept if p.n_bytes < exact.n_bytes]
    if limits.of_size_alone:
        gains = [p for p in kept if p in faster or p in smaller]
        return min(gains, key=partial(_goodness, limits)) if gains else None
    if faster:
        first = fastest(faster)
        return min((p for p in faster if p is first or as_fast(p, first)), key=_closeness)
    return min(smaller, key=lambda p: (p.n_bytes, _closeness(p))) if smaller else None


def nearest(points: Sequence[Point], limits: Limits) -> Point | None:
    """Return the point nearest to the limits that is faster or smaller than the exact model, or None.

    Among the points that are small and cheap enough, this is the closest to the exact model; if there are
    none, it is the smallest.
    """
    exact, *others = points
    gains = [p for p in others if p.skilled and (is_faster(p) or p.n_bytes < exact.n_bytes)]
    fitting = [p for p in gains if limits.fits(p)]
    if fitting:
        return min(fitting, key=partial(_goodness, limits))
    return min(gains, key=lambda p: (p.n_bytes, _closeness(p))) if gains else None


def is_faster(point: Point) -> bool:
    """Return whether a point is clearly faster than the exact model."""
    return point.speed.ratio >= GAIN and point.speed.low > 1


def fastest(points: Sequence[Point]) -> Point:
    """Return the fastest point; if timing cannot decide, that with the fewest multiply-adds."""
    first = max(points, key=lambda p: p.speed.ratio)
    rivals = [p for p in points if p.speed.high >= first.speed.low]
    if any(p.linear_cost_counted is None for p in rivals):
        return first
    return min(rivals, key=lambda p: (p.linear_cost_counted, -p.speed.ratio))


def as_fast(point: Point, first: Point) -> bool:
    """Return whether `point` is nearly as fast as `first`; if timing cannot decide, multiply-adds do."""
    if point.speed.low >= AS_FAST * first.speed.high:
        return True
    if point.speed.high < AS_FAST * first.speed.low:
        return False
    own, least = point.linear_cost_counted, first.linear_cost_counted
    if own is None or least is None:
        return point.speed.ratio >= AS_FAST * first.speed.ratio
    return AS_FAST * own <= least


def _goodness(limits: Limits, point: Point) -> tuple[Any, ...]:
    """Return the loss by which a limit on size or cost alone chooses, and then the closeness."""
    lost = point.choosing.balanced_lost if limits.balanced else None
    return (0.0 if lost is None else lost.value, *_closeness(point))


def _closeness(point: Point) -> tuple[Any, ...]:
    counted = point.linear_cost_counted
    work = math.inf if counted is None else counted
    return point.choosing.differing.value, work, -point.speed.ratio, point.n_bytes, point.name
