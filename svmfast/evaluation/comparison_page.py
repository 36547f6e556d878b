"""A comparison as an HTML page: a plot of speed against difference, and the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmfast.display import shown
from svmfast.pages.page import TableCell, TableRow, page, table, text
from svmfast.pages.scatter import SPEED_TITLE, Axes, Mark, efficient, scatter, y_title

if TYPE_CHECKING:
    from svmfast.evaluation.comparison import Comparison

#: Colors of the exact model, and of the others.
_COLORS = ("#7a7f87", "#0072b2")


def as_html(comparison: Comparison) -> bytes:
    """A single file that needs no other files and no network."""
    heads, lines = comparison.cells()
    rows = [
        TableRow([TableCell(words, _figure(words)) for words in line], one.kind)
        for line, one in zip(lines, comparison.models, strict=True)
    ]
    body = [
        f"<h1>{text(comparison.title())}</h1>",
        _scatter(comparison, [shown(line[0]) for line in lines]),
        table(heads, rows),
        '<p class="soft">All figures refer to the answers that predict gives with each file, compared with '
        "those of the first model, the exact one.</p>",
    ]
    return page("svmfast compare", body)


def _figure(words: str) -> float | str | None:
    """The key for sorting a cell: the number with which it begins, or its text."""
    number = words.split(" ")[0].strip("~%x").replace(",", "")
    try:
        return float(number)
    except ValueError:
        return None if words == "-" else words


def _scatter(comparison: Comparison, names: list[str]) -> str:
    models = comparison.models
    regression = models[0].values_differing_percent is not None
    points = [
        (one.speedup, one.labels_differing_percent or one.values_differing_percent or 0.0) for one in models
    ]
    differing = "values differ by {:.3g}% of their spread" if regression else "{:.3g}% of the labels differ"
    marks = [
        Mark(
            name=name,
            group=one.kind,
            color=_COLORS[one is not models[0]],
            x=x,
            y=y,
            details=[differing.format(y), f"{x:.3g} times the exact model's speed"],
            efficient=front,
        )
        for name, one, (x, y), front in zip(names, models, points, efficient(points), strict=True)
    ]
    axes = Axes("speed", SPEED_TITLE, y_title(regression=regression), "x", (1.0, "exact"))
    caption = f"On {comparison.rows:,} rows. The best models lie at the top right; efficient ones are joined."
    return scatter(marks, axes, caption)
