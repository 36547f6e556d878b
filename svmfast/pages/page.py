"""HTML pages: escaped parts, assembled with the style sheet and the script inline."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from svmfast.display import shown


def text(words: str) -> str:
    """Untrusted text escaped for HTML, with control characters made visible."""
    return html.escape(shown(words))


def page(title: str, body: Sequence[str]) -> bytes:
    """A whole page: a title in plain text, and a body in HTML."""
    here = files(__package__)
    style, script = ((here / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{text(title)}</title>",
        f"<style>\n{style}</style></head><body>",
        *body,
        '<div id="tip" role="status"></div>',
        f"<script>\n{script}</script>",
        "</body></html>",
    ]
    return ("\n".join(parts) + "\n").encode()


def command(words: str, name: str) -> str:
    """A command line with a button that copies it; `name` is its id, unique on the page."""
    return (
        f'<div class="command"><pre><code id="{name}">{text(words)}</code></pre>'
        f'<button class="copy" type="button" data-of="{name}" hidden>copy</button></div>'
    )


@dataclass(frozen=True)
class TableCell:
    """A cell of a table."""

    words: str
    #: The key by which rows are sorted; rows with None or infinity stay last.
    value: float | str | None = None
    #: A remark below, in small type.
    note: str = ""


@dataclass(frozen=True)
class TableRow:
    """A row of a table; filters hide rows by `group`, and a `chosen` row is highlighted."""

    cells: Sequence[TableCell]
    group: str = ""
    chosen: bool = False


def table(heads: Sequence[str], rows: Sequence[TableRow]) -> str:
    """A table that a click on a column's head sorts."""
    out = ['<div class="scroll"><table class="sortable"><thead><tr>']
    out += [f'<th scope="col">{text(head)}</th>' for head in heads]
    out.append("</tr></thead><tbody>")
    for row in rows:
        kind = ' class="chosen"' if row.chosen else ""
        out.append(f'<tr{kind} data-of-group="{text(row.group)}">')
        for cell in row.cells:
            value = "" if cell.value in (None, math.inf) else f"{cell.value}"
            note = f'<div class="note">{text(cell.note)}</div>' if cell.note else ""
            out.append(f'<td data-value="{text(value)}">{text(cell.words)}{note}</td>')
        out.append("</tr>")
    out.append("</tbody></table></div>")
    return "\n".join(out)
