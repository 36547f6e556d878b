"""Text as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def escaped(text: str) -> str:
    """Return `text` escaped for Markdown; `words` in backquotes and flags become code."""
    parts = re.split(r"(`[^`\n]+`|(?<![\w-])--?[A-Za-z][\w-]*)", text)
    return "".join(
        code(part.strip("`")) if index % 2 else re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", part)
        for index, part in enumerate(parts)
    )


def linked(text: str, up: str) -> str:
    """Return Markdown in which `docs/PAGE.md` is a link; `up` leads to the pages."""
    return re.sub(r"`?\bdocs/([\w-]+)\.md`?", rf"[\1]({up}\1.md)", text)


def code(text: str) -> str:
    """Return `text` as code that is valid in a table."""
    marks = "``" if "`" in text else "`"
    return f"{marks}{text}{marks}".replace("|", r"\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown already."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |\n" for line in lines)


def paragraphs(text: str) -> str:
    r"""Return the text of a command's help: paragraphs, and lines that follow click's ``\b`` unchanged."""
    found = []
    for block in text.strip().split("\n\n"):
        if block.lstrip().startswith("\b"):
            body = "\n".join(line.rstrip() for line in block.strip().splitlines()[1:])
            found.append(f"```\n{body}\n```")
        else:
            found.append(escaped(" ".join(block.split())))
    return "\n\n".join(found) + "\n"


def contents(pages: Iterable[str], depth: int = 1) -> str:
    """Return a table of contents that lists `pages`."""
    return "```{toctree}\n" + f":maxdepth: {depth}\n\n" + "\n".join(pages) + "\n```\n"
