"""What ``svmfast`` prints about itself: manual pages, completion, the schema of reports, a Makefile."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from svmfast.cli import messages
from svmfast.commands import commands

#: Given to an option without its value.
UNNAMED = "-"
SHELLS = ("bash", "zsh", "fish")


def options(program: click.Group) -> list[click.Option]:
    """The program's options that print one of these and exit."""

    def option(name: str, metavar: str, text: str, write: Callable[[str], None]) -> click.Option:
        kind: dict[str, Any] = {"is_flag": False, "flag_value": UNNAMED} if metavar else {"is_flag": True}

        def chosen(ctx: click.Context, _param: click.Parameter, value: str | bool | None) -> None:
            if value and not ctx.resilient_parsing:
                write(str(value))
                ctx.exit()

        one = click.Option([name], callback=chosen, expose_value=False, is_eager=True, help=text, **kind)
        one.metavar = metavar or None
        return one

    return [
        option(
            "--man",
            "[COMMAND]",
            "Show the manual page of a command, or of the program; not on a terminal: its source for man.",
            lambda name: _show_page(program, name),
        ),
        option(
            "--show-completion",
            "[SHELL]",
            f"Print the completion script of a shell ({', '.join(SHELLS)}; default: that of $SHELL).",
            lambda shell: messages.raw(completion(program, shell)),
        ),
        option("--show-schema", "", "Print the JSON schema of the --json reports.", lambda _: _show_schema()),
        option(
            "--show-makefile",
            "",
            "Print a Makefile: train, choose a fast model, predict many files.",
            lambda _: messages.raw(Path(__file__).with_name("pipeline.mk").read_text(encoding="utf-8")),
        ),
    ]


def completion(program: click.Group, shell: str) -> str:
    """The script that makes a shell complete svmfast's commands, options and files."""
    name = os.path.basename(os.environ.get("SHELL", "")) if shell == UNNAMED else shell
    if name not in SHELLS:
        given = f"shell '{name}'" if name else "no shell"
        raise click.UsageError(f"--show-completion: {given}; expected {', '.join(SHELLS)}")
    from click.shell_completion import get_completion_class

    found = get_completion_class(name)
    assert found is not None
    return found(program, {}, "svmfast", "_SVMFAST_COMPLETE").source() + "\n"


def _show_page(program: click.Group, name: str) -> None:
    if name != UNNAMED and name not in commands():
        raise click.UsageError(f"--man: no command '{name}'; expected one of {', '.join(commands())}")
    from svmfast.cli.manual import manual_page

    text = manual_page(program, None if name == UNNAMED else name)
    if sys.stdout.isatty() and (man := shutil.which("man")):
        subprocess.run([man, "-l", "-"], input=text, text=True, check=False)
    else:
        messages.raw(text)


def _show_schema() -> None:
    from svmfast.cli.report_schema import schema

    messages.raw(json.dumps(schema(), indent=2) + "\n")
