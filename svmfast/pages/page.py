"""HTML pages: escaped text, and the whole page with its style sheet and script inline."""

from __future__ import annotations

import html
from collections.abc import Sequence
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
        f"<style>\n{style}</style></head><body><main>",
        *body,
        "</main>",
        '<div id="tip" role="status"></div>',
        f"<script>\n{script}</script>",
        "</body></html>",
    ]
    return ("\n".join(parts) + "\n").encode()


def table(
    caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str], chosen: int
) -> str:
    """A table that a click on a column's head sorts; a note stands below the first cell of each row."""
    out = [f'<div class="scroll"><table class="sortable"><caption>{text(caption)}</caption><thead><tr>']
    out += [f'<th scope="col">{text(head)}</th>' for head in heads]
    out.append("</tr></thead><tbody>")
    for number, ((first, *others), note) in enumerate(zip(rows, notes, strict=True)):
        out.append('<tr class="chosen">' if number == chosen else "<tr>")
        out.append(f'<td>{text(first)}<div class="note">{text(note)}</div></td>')
        out += [f"<td>{text(words)}</td>" for words in others]
        out.append("</tr>")
    out.append("</tbody></table></div>")
    return "\n".join(out)
