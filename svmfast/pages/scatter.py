"""A scatter plot of models as SVG: speed across, and the difference from the exact model down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from svmfast.pages.page import text

_WIDTH, _HEIGHT = 900, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 870, 26, 404
#: Height of a difference of 0, which a logarithmic scale lacks, and of the smallest difference.
_NONE, _FIRST = _TOP + 14, _TOP + 46
#: Radius of a mark, and width of a character of its name.
_SIZE, _CHARACTER = 6.5, 6.6


@dataclass(frozen=True)
class Mark:
    """A model."""

    #: Its name, and the lines that are shown on hover.
    name: str
    details: Sequence[str]
    color: str
    #: Speed, positive, and difference, in percent.
    x: float
    y: float
    #: No other model is as good in all respects: the mark is filled.
    on_front: bool
    chosen: bool = False


def scatter(marks: Sequence[Mark], limit: float | None, title: str, caption: str) -> str:
    """The figure as HTML; `title` is that of the differences, and those beyond a `limit` are shaded."""
    speeds = [1.0, *(mark.x for mark in marks)]
    across = _Scale(min(speeds) / 1.3, max(speeds) * 1.3, _LEFT, _RIGHT)
    shares = [mark.y for mark in marks if mark.y > 0] + ([limit] if limit else [])
    low = 10.0 ** math.floor(math.log10(min(shares, default=0.1)))
    up = _Scale(low, max([*shares, low * 10]) * 1.3, _FIRST, _BOTTOM)
    out = [
        '<figure><div class="scroll">',
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="group" aria-label="{text(caption)}">',
    ]
    if limit:
        top = up.place(limit)
        box = f'x="{_LEFT}" y="{top:.1f}" width="{_RIGHT - _LEFT}" height="{_BOTTOM - top:.1f}"'
        out += [f'<rect class="beyond" {box}/>', _label(_RIGHT - 6, top + 16, f"more than {limit:g}%", "end")]
    for y, name in [(_NONE, "none"), *((up.place(tick), f"{tick:g}%") for tick in up.ticks())]:
        out += [_line(_LEFT, _RIGHT, y, y), _label(_LEFT - 8, y + 4, name, "end")]
    for tick in across.ticks():
        x = across.place(tick)
        out += [_line(x, x, _TOP, _BOTTOM), _label(x, _BOTTOM + 18, f"{tick:,.10g}x", "middle")]
    out.append(_label((_LEFT + _RIGHT) / 2, _HEIGHT - 12, "times the exact model's speed", "middle"))
    out.append(_label(_LEFT - 62, 14, title, "start"))
    drawn, named = list[str](), list[tuple[float, float]]()
    for mark in sorted(marks, key=lambda mark: (not mark.chosen, not mark.on_front)):
        x, y = across.place(mark.x), up.place(mark.y) if mark.y > 0 else _NONE
        drawn.append(_mark(mark, x, y))
        # Names of other marks than those on the front, and names over another one, are left out.
        width = _CHARACTER * len(mark.name) + 12
        if mark.on_front and all(abs(x - a) > width or abs(y - b) > 14 for a, b in named):
            named.append((x, y))
            left = x + width > _RIGHT
            out.append(_label(x - 10 if left else x + 10, y - 9, mark.name, "end" if left else "start"))
    out += [*reversed(drawn), "</svg></div>", f"<figcaption>{text(caption)}</figcaption></figure>"]
    return "\n".join(out)


@dataclass(frozen=True)
class _Scale:
    """A logarithmic axis."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + (self.end - self.start) * share

    def ticks(self) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (1.0,) if self.high > 300 * self.low else (1.0, 2.0, 5.0)
        found = [step * 10.0**k for k in range(first, last + 1) for step in steps]
        return [tick for tick in found if self.low <= tick * (1 + 1e-9) and tick <= self.high]


def _line(x1: float, x2: float, y1: float, y2: float) -> str:
    return f'<line class="grid" x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def _label(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text(words)}</text>'


def _mark(mark: Mark, x: float, y: float) -> str:
    # Browsers show <title> without a script; the script shows the same text.
    title = "\n".join(map(text, [mark.name, *mark.details]))
    place = f'cx="{x:.1f}" cy="{y:.1f}"'
    hollow = "none" if mark.color == "currentColor" else "var(--paper)"
    fill = mark.color if mark.on_front else hollow
    ring = f'<circle class="chosen" {place} r="{_SIZE + 5}"/>' if mark.chosen else ""
    dot = f'<circle {place} r="{_SIZE}" fill="{fill}" stroke="{mark.color}" stroke-width="2"/>'
    # The script lets arrow keys go from mark to mark, which together are one stop of the tab key.
    return f'<g class="mark" tabindex="-1" role="img"><title>{title}</title>{ring}{dot}</g>'
