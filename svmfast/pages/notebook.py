"""Reports in notebooks: HTML without a script and without colours, which suits light and dark themes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from svmfast.pages.page import text

#: A line of a report: the name of a figure, and its words.
_NAMED = re.compile(r" *(\S.{0,30}?)(?:  +|: )(.*)")
_LEFT = ' style="text-align: left"'
#: For the elements of :mod:`svmfast.pages.scatter`, which have no colours of their own.
STYLE = (
    "<style>.svmfast svg { max-width: 60rem } .svmfast svg text { fill: currentColor }"
    " .svmfast .grid, .svmfast circle.chosen { fill: none; stroke: currentColor }"
    " .svmfast .grid { stroke-opacity: .25 } .svmfast .beyond { fill: currentColor; opacity: .06 }</style>"
)


def block(title: str, *parts: str) -> str:
    """HTML for a cell's output: a title in plain text, and parts in HTML."""
    return "\n".join(['<div class="svmfast">', f"<p>{text(title)}</p>" if title else "", *parts, "</div>"])


def table_of_lines(lines: Iterable[str]) -> str:
    """The lines of a report as a table: a name and its words in each row."""
    named = ((found.groups() if (found := _NAMED.fullmatch(one)) else ("", one.strip())) for one in lines)
    return plain_table([], list(named))


def plain_table(heads: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()) -> str:
    """A table whose first column names the rows; a note is shown on pointing at its row."""
    out, help = ["<table>"], iter(notes)
    if heads:
        out += ["<thead><tr>", *(f'<th scope="col">{text(one)}</th>' for one in heads), "</tr></thead>"]
    for first, *cells in rows:
        note = next(help, "")
        out.append(f'<tr title="{text(note)}">' if note else "<tr>")
        out.append(f'<th scope="row"{_LEFT}>{text(first)}</th>')
        out += [f"<td{'' if heads else _LEFT}>{text(one)}</td>" for one in cells]
        out.append("</tr>")
    return "".join([*out, "</table>"])


def folded(summary: str, content: str) -> str:
    """HTML that a click on its summary shows."""
    return f"<details><summary>{text(summary)}</summary>{content}</details>"


def _printed(one: Any) -> str:
    return "\n".join(one.printed())


class Shown:
    """A result that prints what its command prints, and is a table in notebooks."""

    def __init_subclass__(cls, **more: object) -> None:
        super().__init_subclass__(**more)
        if hasattr(cls, "lines"):
            # @dataclass then makes none.
            cls.__repr__ = _printed  # type: ignore[method-assign]

    def heading(self) -> str:
        """The line above the report, if it has one."""
        return ""

    def printed(self) -> list[str]:
        """The lines of its representation."""
        return [one for one in (self.heading(), *self.lines()) if one]  # type: ignore[attr-defined]

    def _repr_html_(self) -> str:
        return block(self.heading(), *self.html())

    def html(self) -> list[str]:
        """The parts of its HTML."""
        return [table_of_lines(self.lines())] if hasattr(self, "lines") else []
