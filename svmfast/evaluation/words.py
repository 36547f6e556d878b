"""Figures as words, and tables in plain text, as compare and frontier print them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from svmfast.evaluation.timing import Speed


def aligned(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in plain text: names, the first cells, are aligned left, and figures right."""
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    return [
        "  ".join([first.ljust(widths[0]), *map(str.rjust, figures, widths[1:])]).rstrip()
        for first, *figures in (heads, *lines)
    ]


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
