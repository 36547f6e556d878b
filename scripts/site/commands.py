"""The reference of the command line: a page for each command, generated from the commands themselves."""

from __future__ import annotations

import textwrap

import click
from markdown import code, contents, escaped, linked, paragraphs, table

from svmfast.cli import main
from svmfast.command import SECTIONS
from svmfast.commands import commands

_ORIGIN = "<!-- Made by scripts/site/commands.py. -->\n\n"


def pages() -> dict[str, str]:
    """Return the pages by their paths below the folder of the reference."""
    found = {"commands.md": _overview()}
    for name, (_, summary) in commands().items():
        found[f"commands/{name}.md"] = _page(name, summary)
    return found


def _overview() -> str:
    known = commands()
    parts = [
        _ORIGIN + "# Commands\n",
        "[Command line](../command-line.md) has what holds for all of them: numbers, files, exit status.\n",
    ]
    for section, title in SECTIONS.items():
        rows = [
            (f"[{name}](commands/{name}.md)", escaped(text))
            for name, (own, text) in known.items()
            if own == section
        ]
        parts.append(f"## {title}\n\n{table(('command', 'what it does'), rows)}")
    parts.append(
        contents((f"commands/{name}" for name in known), 1).replace(":maxdepth", ":hidden:\n:maxdepth")
    )
    return "\n".join(parts)


def _page(name: str, summary: str) -> str:
    program = click.Context(main.program, info_name="svmfast", obj=main.Settings())
    command = main.program.get_command(program, name)
    assert command is not None
    context = click.Context(command, info_name=name, parent=program)
    usage = textwrap.dedent(command.get_usage(context).replace("Usage:", "      "))
    rows = [
        (code(record[0]), escaped(record[1]))
        for param in command.get_params(context)
        if isinstance(param, click.Option) and (record := param.get_help_record(context)) is not None
    ]
    return "\n".join(
        [
            f"{_ORIGIN}# svmfast {name}\n",
            f"{escaped(summary)}\n",
            f"```\n{usage}\n```\n",
            linked(paragraphs(command.help or ""), "../../"),
            f"## Options\n\n{table(('option', 'meaning'), rows)}",
        ]
    )
