"""The report of ``svmfast frontier`` as an HTML page: the recommendation, a scatter plot, and a table."""

from __future__ import annotations

from collections.abc import Mapping

from svmfast.frontiers.report import Frontier, cells, legend, origins, title
from svmfast.frontiers.words import verdict, why_not
from svmfast.methods.registry import methods
from svmfast.pages.notebook import STYLE, plain_table, table_of_lines
from svmfast.pages.page import page, table, text
from svmfast.pages.scatter import Mark, scatter

#: The color of the exact model, which has no method.
_NEUTRAL = "#7a7f87"


def as_html(found: Frontier) -> bytes:
    """The report as one file that needs no other files and no network."""
    heads, lines = cells(found)
    notes = [why_not(point, found) for point in found.points]
    chosen = next((i for i, point in enumerate(found.points) if point is found.recommended), -1)
    body = [f"<h1>{text(found.exact_path)}</h1>", *_recommendation(found), "<h2>All models</h2>"]
    used = {point.method for point in found.points}
    colors = {"exact": _NEUTRAL, **{one.name: one.color for one in methods() if one.name in used}}
    body += _chart(found, heads, lines, colors)
    caption = "Each model's figures, and why it was not chosen. A click on a column's head sorts."
    body += ["<h2>What was tried</h2>", table(caption, heads, lines, notes, chosen)]
    body.append(f'<p class="soft">{text(legend(found))}</p>')
    if found.missing:
        body += ["<h2>Not in the table</h2>", "<ul>"]
        body += [f"<li><b>{text(one.name)}</b>: {text(one.reason)}</li>" for one in found.missing]
        body.append("</ul>")
    body += ["<h2>How it was measured</h2>", f"<p>{text(title(found))}</p>", "<ul>"]
    body += [f"<li><b>{text(line[:12].strip())}</b>: {text(line[12:])}</li>" for line in origins(found)]
    body += ["</ul>", f'<p class="soft">svmfast {text(found.version)}, seed {found.seed}</p>']
    return page(f"svmfast frontier: {found.exact_path}", body)


def notebook_parts(found: Frontier) -> list[str]:
    """The chart, the recommendation and the table of all models, for a cell of a notebook."""
    heads, lines = cells(found)
    notes = [why_not(point, found) for point in found.points]
    chart = _chart(found, heads, lines, {})
    return [STYLE, *chart[1:], table_of_lines(verdict(found)), plain_table(heads, lines, notes)]


def _recommendation(found: Frontier) -> list[str]:
    out = ['<div class="panel">']
    for line in verdict(found):
        name, _, words = line.partition(": ")
        is_command = name in ("made by", "used by")
        words = f"</p><pre><code>{text(words)}</code></pre>" if is_command else f" {text(words)}.</p>"
        out.append(f"<p><b>{text(name.capitalize())}:</b>{words}")
    return [*out, "</div>"]


def _chart(found: Frontier, heads: list[str], lines: list[list[str]], colors: Mapping[str, str]) -> list[str]:
    """The colours of the methods, and the figure; without `colors` that of the text."""
    marks = [
        Mark(
            point.name,
            [f"{head}: {cell}" for head, cell in zip(heads[2:], line[2:], strict=True)]
            + ([] if point.command is None else [point.command]),
            colors.get(point.method, _NEUTRAL if colors else "currentColor"),
            point.speed.ratio,
            point.loss_confirming.differing.value,
            on_front,
            point is found.recommended,
        )
        for point, on_front, line in zip(found.points, found.on_front, lines, strict=True)
    ]
    what = "labels that are not the exact model's"
    if found.regression:
        what = "difference from the exact values, relative to their spread"
    caption = (
        f"Differences are measured on {found.origin.confirming_rows:,} confirming rows, which select no "
        "model but may refuse the selected one, speeds on the choosing rows. Better models lie at the top "
        "right; those that no other one beats in difference, speed and size together are filled. Point at a "
        "mark, or move to it with the Tab key, for its figures and its command."
    )
    swatches = [
        f'<span class="swatch" style="background:{color}"></span>{text(name)}'
        for name, color in colors.items()
    ]
    chart = scatter(marks, found.limits.max_diff_percent, what, caption)
    return [f"<p>{' '.join(swatches)}</p>", chart]
