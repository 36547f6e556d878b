"""The manual pages of all commands, from their click declarations."""

from __future__ import annotations

import inspect

import click

from svmfast import __version__
from svmfast.commands import commands


def manual_page(program: click.Group, name: str | None) -> str:
    """The page of a command, or of the program itself, as man's source."""
    # Use the program's settings, since click caches the first help option that it creates.
    root = click.Context(program, info_name="svmfast", **program.context_settings)
    if name is None:
        return _page(program, root)
    command = program.get_command(root, name)
    assert command is not None
    return _page(command, click.Context(command, info_name=name, parent=root))


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
