"""Figures as words, as compare and frontier print them."""

from __future__ import annotations

from collections.abc import Callable

from svmfast.evaluation.timing import Speed

number, area, whole = "{:.3g}".format, "{:.4f}".format, "{:,}".format


def share(digits: int) -> Callable[[float], str]:
    """The function that shows percentages with so many digits."""
    return f"{{:.{digits}f}}%".format


def times(value: float) -> str:
    """A ratio such as ``0.85x``, ``12.5x`` or ``4,320x``."""
    return f"{float(f'{value:.3g}'):,.10g}x"


def faster(speed: Speed) -> str:
    """A speed-up such as ``12.5x``, with ``~`` if its interval is wide."""
    return ("" if speed.narrow else "~") + times(speed.ratio)


def differing(found: tuple[int, float]) -> str:
    """A count with its share in percent, such as ``35 (0.21%)``."""
    return f"{found[0]:,} ({found[1]:.3g}%)"


def seconds(value: float) -> str:
    """A time in a suitable unit."""
    factor, unit = next((pair for pair in ((1, "s"), (1e3, "ms")) if value * pair[0] >= 1), (1e6, "µs"))
    return f"{value * factor:.3g} {unit}"
