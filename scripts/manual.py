"""Writes the manual pages of all commands, from their click declarations: scripts/man FOLDER."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import click

from svmfast import __version__
from svmfast.cli import main
from svmfast.commands import commands


def pages() -> dict[str, str]:
    """The manual pages of the program and of every command, by file name."""
    # Use the program's settings, since click caches the first help option that it creates.
    root = click.Context(main.program, info_name="svmfast", **main.program.context_settings)
    found = {"svmfast.1": _page(main.program, root)}
    for name in commands():
        command = main.program.get_command(root, name)
        assert command is not None
        found[f"svmfast-{name}.1"] = _page(command, click.Context(command, info_name=name, parent=root))
    return found


def _page(command: click.Command, ctx: click.Context) -> str:
    called = ctx.command_path.replace(" ", "-")
    about = inspect.cleandoc(command.help or "")
    parts = [
        f'.TH "{called.upper()}" "1" "" "svmfast {__version__}" "svmfast"',
        ".SH NAME",
        f"{_roff(called)} \\- {_roff(about.partition(chr(10))[0].rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_roff(ctx.command_path)}",
        _roff(" ".join(command.collect_usage_pieces(ctx))),
        ".SH DESCRIPTION",
    ]
    for paragraph in about.split("\n\n"):
        parts += [".PP", _roff(" ".join(paragraph.split()))]
    parts.append(".SH OPTIONS")
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is not None:
            parts += [".TP", f"\\fB{_roff(record[0])}\\fR", _roff(" ".join(record[1].split()))]
    if isinstance(command, click.Group):
        parts.append(".SH COMMANDS")
        for name, (_, text) in commands().items():
            parts += [".TP", f"\\fBsvmfast\\-{_roff(name)}\\fR(1)", _roff(text)]
    else:
        parts += [".SH SEE ALSO", ".BR svmfast (1)"]
    return "\n".join(parts) + "\n"


def _roff(text: str) -> str:
    """Escape what roff would interpret: backslashes, dashes, and a dot or quote that begins a line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


if __name__ == "__main__":
    for name, text in pages().items():
        Path(sys.argv[1], name).write_text(text)
