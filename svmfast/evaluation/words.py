"""Figures as words, and tables in plain text, as compare and frontier print them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from svmfast.evaluation.timing import Speed

#: In place of a figure that does not apply.
ABSENT = "-"


def aligned(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in plain text: names, the first cells, are aligned left, and figures right."""
    widths = [max(map(len, column)) for column in zip(heads, *lines, strict=True)]
    return [
        "  ".join([first.ljust(widths[0]), *map(str.rjust, figures, widths[1:])]).rstrip()
        for first, *figures in (heads, *lines)
    ]


def number(value: float | None) -> str:
    """A number with three digits, or a dash."""
    return ABSENT if value is None else f"{value:.3g}"


def whole(value: int | None) -> str:
    """A count, or a dash."""
    return ABSENT if value is None else f"{value:,}"


def times(value: float | None) -> str:
    """A ratio such as ``0.85x``, ``12.5x`` or ``4,320x``, or a dash."""
    return ABSENT if value is None else f"{float(f'{value:.3g}'):,.10g}x"


def faster(speed: Speed | None) -> str:
    """A speed-up such as ``12.5x``, with ``~`` if its interval is wide, or a dash."""
    return ABSENT if speed is None else ("" if speed.narrow else "~") + times(speed.ratio)


def percent(value: float | None, digits: int) -> str:
    """A percentage, or a dash."""
    return ABSENT if value is None else f"{value:.{digits}f}%"


def share(digits: int) -> Callable[[float | None], str]:
    """The function that shows percentages with so many digits."""
    return lambda value: percent(value, digits)


def area(value: float | None) -> str:
    """An area under the ROC curve, or a dash."""
    return ABSENT if value is None else f"{value:.4f}"


def differing(found: tuple[int | None, float | None]) -> str:
    """A count with its share in percent, such as ``35 (0.21%)``, or a dash."""
    count, share = found
    return ABSENT if count is None or share is None else f"{count:,} ({share:.3g}%)"


def seconds(value: float | None) -> str:
    """A time in a suitable unit, or a dash."""
    if value is None:
        return ABSENT
    factor, unit = next((pair for pair in ((1, "s"), (1e3, "ms")) if value * pair[0] >= 1), (1e6, "µs"))
    return f"{value * factor:.3g} {unit}"
