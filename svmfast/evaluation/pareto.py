"""Which of many models to take: those that no other beats, and the fastest within given limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Less than so many times the exact model's speed is no gain that a busy machine could show twice.
GAIN = 1.5
#: Speeds of at least this share of the fastest one are taken for equal: two runs differ by as much.
AS_FAST = 0.9


@dataclass(frozen=True)
class Point:
    """One way to answer, measured.

    Attributes
    ----------
    name : str
        ``compress-125``; with a certificate's fallback to the exact model ``approximate-3 + exact``.
    method : str
        ``exact``, ``linear`` or a conversion.
    differing_percent : float
        Classification: rows whose label is not the exact model's. Regression: root mean square difference
        from its values over their standard deviation.
    accuracy : float or None
        Percent; None for regression.
    mse : float or None
        None unless regression.
    n_bytes : int
        All files that a prediction needs.
    rows_per_second, speedup : float
        From parsed rows to labels; over the exact model.
    linear_cost : float
        Time over that of a linear model.
    linear_cost_counted : float or None
        Multiply-adds over a linear model's; None where a kind does not count them.
    certified_percent : float or None
        Rows whose label is provably the exact model's.
    build_seconds : float or None
    command, use : str or None
        What makes the file, and what predicts with it; None for the exact model.
    """

    name: str
    method: str
    differing_percent: float
    accuracy: float | None
    mse: float | None
    n_bytes: int
    rows_per_second: float
    speedup: float
    linear_cost: float
    linear_cost_counted: float | None
    certified_percent: float | None = None
    build_seconds: float | None = None
    command: str | None = None
    use: str | None = None

    @property
    def cost(self) -> float:
        """What ``--max-cost`` limits: the counted cost, which no other load moves, else the measured one."""
        return self.linear_cost if self.linear_cost_counted is None else self.linear_cost_counted


@dataclass(frozen=True)
class Limits:
    """What a recommended model must keep to; None: no limit."""

    max_differing_percent: float | None = None
    max_bytes: int | None = None
    max_cost: float | None = None

    def met_by(self, point: Point) -> bool:
        """Whether `point` is within all limits."""
        pairs = (
            (point.differing_percent, self.max_differing_percent),
            (point.n_bytes, self.max_bytes),
            (point.cost, self.max_cost),
        )
        return all(limit is None or value <= limit for value, limit in pairs)

    def __str__(self) -> str:
        parts = []
        if self.max_differing_percent is not None:
            parts.append(f"at most {self.max_differing_percent:g}% differing")
        if self.max_bytes is not None:
            parts.append(f"at most {self.max_bytes:,} bytes")
        if self.max_cost is not None:
            parts.append(f"at most {self.max_cost:g}x a linear model")
        return ", ".join(parts) or "no limits"


def pareto(points: Sequence[Point]) -> list[bool]:
    """Tell which points no other beats in agreement with the exact model, speed and size together.

    A point is beaten by one that is at least as good in all three and better in one.
    """
    figures = [(p.differing_percent, -p.speedup, float(p.n_bytes)) for p in points]

    def beats(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
        return a != b and all(x <= y for x, y in zip(a, b, strict=True))

    return [not any(beats(other, own) for other in figures) for own in figures]


def recommend(points: Sequence[Point], limits: Limits) -> Point | None:
    """Return the fastest point within the limits that gains something over the exact model.

    It gains when it is clearly faster (:data:`GAIN`) or smaller; where none is faster, the smallest is
    taken. Of those as fast as the fastest (:data:`AS_FAST`) it is the one closest to the exact model. None:
    keep the exact model, which is the first of `points`.
    """
    exact, *others = points
    within = [point for point in others if limits.met_by(point)]
    faster = [point for point in within if point.speedup >= GAIN]
    if faster:
        enough = AS_FAST * max(point.speedup for point in faster)
        as_fast = [point for point in faster if point.speedup >= enough]
        return min(as_fast, key=lambda point: (point.differing_percent, -point.speedup, point.n_bytes))
    smaller = [point for point in within if point.n_bytes < exact.n_bytes]
    return min(smaller, key=lambda point: (point.n_bytes, -point.speedup)) if smaller else None
