"""The report of ``svmfast frontier`` as an HTML page: the recommendation, two scatter plots, and a table."""

from __future__ import annotations

from typing import Any

from svmfast.evaluation.loss import Estimate
from svmfast.evaluation.timing import Speed
from svmfast.frontiers.choice import Point
from svmfast.frontiers.report import Frontier, columns, legend, origins, title
from svmfast.frontiers.words import differing, differing_within, spent, verdict, why_not
from svmfast.methods.registry import methods
from svmfast.pages.page import TableCell, TableRow, command, page, table, text
from svmfast.pages.scatter import SPEED_TITLE, Axes, Mark, efficient, scatter, y_title

#: The color of the exact model, which has no method.
_NEUTRAL = "#7a7f87"


def as_html(found: Frontier) -> bytes:
    """The report as one file that needs no other files and no network."""
    body = [f"<h1>{text(_headline(found))}</h1>", *_recommendation(found), "<h2>All models</h2>"]
    colors = _colors(found)
    body += _controls(colors)
    body += _scatters(found, colors)
    body += ["<h2>What was tried, and why it was not chosen</h2>", _table(found)]
    body.append(f'<p class="soft">{text(legend(found, "page"))}</p>')
    if found.missing:
        body += ["<h2>Not in the table</h2>", "<ul>"]
        body += [f"<li><b>{text(one.name)}</b>: {text(one.reason)}</li>" for one in found.missing]
        body.append("</ul>")
    body += ["<h2>How it was measured</h2>", f"<p>{text(title(found))}</p>", "<ul>"]
    body += [f"<li><b>{text(line[:12].strip())}</b>: {text(line[12:])}</li>" for line in origins(found)]
    body += ["</ul>", f'<p class="soft">svmfast {text(found.version)}, seed {found.seed}</p>']
    return page(f"svmfast frontier: {found.exact}", body)


def _headline(found: Frontier) -> str:
    best = found.recommended
    name = found.exact.replace("\\", "/").rsplit("/", 1)[-1]
    if best is None:
        fits = found.limits.fits(found.points[0])
        return f"{name}: {'keep the exact model' if fits else 'no model is within the limits'}"
    loss, smaller, speed = best.confirming, found.points[0].n_bytes / best.n_bytes, best.speed
    gained = f"{speed.ratio:.3g} times as fast" if speed.ratio > 1 else f"{smaller:.3g} times smaller"
    return f"{name}: {best.name} is {gained}; {differing(loss)}"


def _recommendation(found: Frontier) -> list[str]:
    out = ['<div class="panel">']
    for number, line in enumerate(verdict(found)):
        name, _, words = line.partition(": ")
        if name in ("made by", "used by"):
            out += [f'<p class="soft">{text(name.capitalize())}:</p>', command(words, f"command-{number}")]
        elif not number:
            out.append(f'<p class="lead"><b>{text(name.capitalize())}:</b> {text(words)}.</p>')
        else:
            out.append(f"<p><b>{text(name.capitalize())}:</b> {text(words or line)}.</p>")
    return [*out, "</div>"]


def _colors(found: Frontier) -> dict[str, str]:
    """The color of every method in the report, in the registry's order."""
    used = {point.method for point in found.points}
    known = {one.name: one.color for one in methods() if one.name in used}
    return {"exact": _NEUTRAL, **known}


def _controls(colors: dict[str, str]) -> list[str]:
    out = ['<div class="controls" role="group" aria-label="horizontal axis">']
    out += [
        f'<button type="button" data-view="{view}" aria-pressed="true">{words}</button>'
        for view, words in (("speed", "by speed"), ("size", "by size"))
    ]
    out += ["</div>", '<div class="controls" role="group" aria-label="methods shown">']
    out += [
        f'<button type="button" data-group="{text(name)}" aria-pressed="true">'
        f'<span class="swatch" style="background:{color}"></span>{text(name)}</button>'
        for name, color in colors.items()
    ]
    return [*out, "</div>"]


def _scatters(found: Frontier, colors: dict[str, str]) -> list[str]:
    """The plots by speed and by size."""
    exact, most = found.points[0], found.limits.max_bytes
    what, limit = y_title(regression=found.regression), found.limits.max_diff_percent or None
    by_speed = Axes(
        "speed",
        SPEED_TITLE,
        what,
        "x",
        (1.0, "exact"),
        limit,
    )
    by_size = Axes(
        view="size",
        x_title="size of the model's files, bytes",
        y_title=what,
        x_reference=(float(exact.n_bytes), f"exact: {exact.n_bytes:,} bytes"),
        limit=limit,
        x_limit=None if most is None else (float(most), f"more than {most:,} bytes"),
        small_is_good=True,
    )
    figures = [(by_speed, [p.speed.ratio for p in found.points])]
    figures.append((by_size, [float(p.n_bytes) for p in found.points]))
    return [scatter(_marks(found, colors, axes, xs), axes, _caption(found)) for axes, xs in figures]


def _caption(found: Frontier) -> str:
    pale = " Pale marks are models that are too large or too expensive."
    return (
        f"Differences are measured on {found.origin.confirming:,} confirming rows, which influenced no "
        "choice, speeds on the choosing rows. Better models lie at the top right; those that no other model "
        "beats in this view are filled and joined. Point at a mark, or move to it with the Tab key, for its "
        "figures and its command." + pale * (not all(map(found.limits.fits, found.points)))
    )


def _marks(found: Frontier, colors: dict[str, str], axes: Axes, xs: list[float]) -> list[Mark]:
    ys = [point.confirming.differing.value for point in found.points]
    on_front = efficient([(-x if axes.small_is_good else x, y) for x, y in zip(xs, ys, strict=True)])
    return [
        Mark(
            name=point.name,
            group=point.method,
            color=colors.get(point.method, _NEUTRAL),
            x=x,
            y=y,
            details=_details(point),
            efficient=front,
            chosen=point is found.recommended,
            excluded=not found.limits.fits(point),
        )
        for point, x, y, front in zip(found.points, xs, ys, on_front, strict=True)
    ]


def _details(point: Point) -> list[str]:
    out = [
        differing_within(point.confirming),
        f"{point.speed.ratio:.3g} times the exact model's speed",
        f"{point.n_bytes:,} bytes",
    ]
    allowance = spent(point)
    out += [] if allowance is None else [allowance]
    if point.confirming.lost is not None:
        out.append(point.confirming.quality.line())
    if point.command is not None:
        out.append(point.command)
    return out


def _table(found: Frontier) -> str:
    shown = columns(found, "page")
    rows = []
    for point in found.points:
        name = TableCell(point.name, point.name, why_not(point, found))
        cells = [TableCell(one.words(one.value(point)), _key(one.value(point))) for one in shown]
        rows.append(TableRow([name, *cells], point.method, point is found.recommended))
    return table(["model", *(one.head for one in shown)], rows)


def _key(value: Any) -> float | None:
    """The number by which a column is sorted."""
    if isinstance(value, Estimate):
        return value.high
    return value.ratio if isinstance(value, Speed) else value
