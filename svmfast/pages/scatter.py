"""A scatter plot of models as SVG: the best lie at the top right, and a line joins the efficient ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from svmfast.pages.page import text

_WIDTH, _HEIGHT = 900, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 30, 26, 56
#: Radius of a mark, and width of a character of its name.
_SIZE, _CHARACTER = 6.5, 6.6
SPEED_TITLE = "times the exact model's speed"


@dataclass(frozen=True)
class Mark:
    """A model."""

    name: str
    group: str
    color: str
    #: Positive; `y` is in percent, and 0 has its own position above the logarithmic scale.
    x: float
    y: float
    #: Lines that are shown on hover.
    details: Sequence[str]
    #: No other mark is at least as good in both directions.
    efficient: bool
    chosen: bool = False
    #: The mark is pale: the model exceeds a limit that is not one of the axes.
    excluded: bool = False


@dataclass(frozen=True)
class Axes:
    """The meaning of the axes."""

    #: Identifies the figure among those of a page.
    view: str
    x_title: str
    y_title: str
    #: Appended to the numbers of the x axis, such as ``x``.
    x_unit: str = ""
    #: The position of a vertical line, and its label.
    x_reference: tuple[float, str] | None = None
    #: The largest y that is acceptable; the area beyond it is shaded.
    limit: float | None = None
    #: The same for x, with the label of the shaded area.
    x_limit: tuple[float, str] | None = None
    #: The x axis runs from large to small.
    small_is_good: bool = False


def y_title(*, regression: bool) -> str:
    if regression:
        return "difference from the exact values, relative to their spread"
    return "labels that are not the exact model's"


def scatter(marks: Sequence[Mark], axes: Axes, caption: str) -> str:
    """The figure as HTML."""
    across, up = _across(marks, axes), _up(marks, axes)
    out = [
        f'<figure data-is-view="{text(axes.view)}">',
        '<div class="scroll">',
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="group" aria-label="{text(caption)}">',
        *_frame(axes, across, up),
    ]
    efficient = sorted((mark for mark in marks if mark.efficient), key=lambda mark: across.place(mark.x))
    if len(efficient) > 1:
        places = " ".join(f"{across.place(m.x):.1f},{up.place(m.y):.1f}" for m in efficient)
        out.append(f'<polyline class="front" points="{places}"/>')
    for mark in sorted(marks, key=lambda mark: (mark.chosen, mark.efficient)):
        out.append(_mark(mark, across.place(mark.x), up.place(mark.y)))
    out += _names(marks, across, up)
    out += ["</svg></div>", f"<figcaption>{text(caption)}</figcaption></figure>"]
    return "\n".join(out)


def efficient(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Which points (gain, loss) are efficient: no other point is at least as good in both."""
    return [
        not any(x >= own_x and y <= own_y and (x, y) != (own_x, own_y) for x, y in points)
        for own_x, own_y in points
    ]


@dataclass(frozen=True)
class _Scale:
    """A logarithmic axis; `none` is the position of 0, if the axis has one."""

    low: float
    high: float
    start: float
    end: float
    none: float | None = None

    def place(self, value: float) -> float:
        if self.none is not None and value < self.low:
            return self.none
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))

    def ticks(self) -> list[float]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        wide = math.log10(self.high / self.low) > 2.5
        steps = (1.0,) if wide else (1.0, 2.0, 5.0)
        found = [step * 10.0**k for k in range(first, last + 1) for step in steps]
        return [tick for tick in found if self.low <= tick * (1 + 1e-9) and tick <= self.high * (1 + 1e-9)]


def _across(marks: Sequence[Mark], axes: Axes) -> _Scale:
    values = [mark.x for mark in marks] + [line[0] for line in (axes.x_reference, axes.x_limit) if line]
    low, high = min(values) / 1.3, max(values) * 1.3
    ends = (_LEFT, _WIDTH - _RIGHT)
    return _Scale(low, high, *(ends[::-1] if axes.small_is_good else ends))


def _up(marks: Sequence[Mark], axes: Axes) -> _Scale:
    shares = [mark.y for mark in marks if mark.y > 0] + ([axes.limit] if axes.limit else [])
    low = 10.0 ** math.floor(math.log10(min(shares, default=0.1)))
    high = max([*shares, low * 10]) * 1.3
    # 0 has no logarithm; its position is above all other values.
    return _Scale(low, high, _TOP + 46, _HEIGHT - _BOTTOM, none=_TOP + 14)


def _frame(axes: Axes, across: _Scale, up: _Scale) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    out = []
    if axes.limit:
        top = up.place(axes.limit)
        box = f'x="{_LEFT}" y="{top:.1f}" width="{right - _LEFT}" height="{bottom - top:.1f}"'
        out.append(f'<rect class="beyond" {box}/>')
        out.append(_label(right - 6, top + 16, f"more than {axes.limit:g}%", "end", "soft"))
    if axes.x_limit is not None:
        ends = sorted([across.place(axes.x_limit[0]), _LEFT if axes.small_is_good else right])
        box = f'x="{ends[0]:.1f}" y="{_TOP}" width="{ends[1] - ends[0]:.1f}" height="{bottom - _TOP}"'
        out.append(f'<rect class="beyond" {box}/>')
        out.append(_label(ends[0] + 6, bottom - 22, axes.x_limit[1], "start", "soft"))
    heights = [(float(up.none or 0), "none"), *((up.place(tick), f"{tick:g}%") for tick in up.ticks())]
    for y, name in heights:
        out.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(_label(_LEFT - 8, y + 4, name, "end"))
    for tick in across.ticks():
        x = across.place(tick)
        out.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>')
        out.append(_label(x, bottom + 18, f"{tick:,.10g}{axes.x_unit}", "middle"))
    if axes.x_reference is not None:
        x = across.place(axes.x_reference[0])
        out.append(f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>')
        out.append(_label(x + 5, bottom - 6, axes.x_reference[1], "start", "soft"))
    out.append(_label((_LEFT + right) / 2, _HEIGHT - 12, axes.x_title, "middle"))
    out.append(_label(_LEFT - 62, 14, axes.y_title, "start"))
    return out


def _label(x: float, y: float, words: str, anchor: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{text(words)}</text>'


def _mark(mark: Mark, x: float, y: float) -> str:
    # Browsers show <title> without a script; the script shows the same text.
    title = "\n".join(map(text, [mark.name, *mark.details]))
    place = f'cx="{x:.1f}" cy="{y:.1f}"'
    fill = mark.color if mark.efficient else "var(--paper)"
    kind = "mark excluded" if mark.excluded else "mark"
    return "".join(
        [
            f'<g class="{kind}" tabindex="0" role="img" data-of-group="{text(mark.group)}">',
            f"<title>{title}</title>",
            f'<circle class="chosen" {place} r="{_SIZE + 5}"/>' if mark.chosen else "",
            f'<circle {place} r="{_SIZE}" fill="{fill}" stroke="{mark.color}" stroke-width="2"/>',
            "</g>",
        ]
    )


def _names(marks: Sequence[Mark], across: _Scale, up: _Scale) -> list[str]:
    """Label the chosen mark, then the efficient ones, where there is room."""
    places = [(across.place(mark.x), up.place(mark.y)) for mark in marks]
    taken = [(x - _SIZE, y - _SIZE, x + _SIZE, y + _SIZE) for x, y in places]
    out = []
    order = sorted(range(len(marks)), key=lambda i: (not marks[i].chosen, marks[i].y, -places[i][0]))
    for i in order:
        mark, (x, y) = marks[i], places[i]
        if not (mark.chosen or mark.efficient):
            continue
        width = _CHARACTER * len(mark.name)
        for dx, dy, anchor in ((12, -9, "start"), (-12, -9, "end"), (12, 18, "start"), (-12, 18, "end")):
            left = x + dx if anchor == "start" else x + dx - width
            box = (left, y + dy - 11, left + width, y + dy + 3)
            inside = box[0] >= _LEFT - 40 and box[2] <= _WIDTH - 4 and box[3] <= _HEIGHT - _BOTTOM
            free = not any(box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in taken)
            if inside and free:
                taken.append(box)
                out.append(_group(_label(x + dx, y + dy, mark.name, anchor, "name"), mark.group))
                break
    return out


def _group(svg: str, group: str) -> str:
    return f'<g data-of-group="{text(group)}">{svg}</g>'
