"""The JSON report of every command: a common header, then the command's own figures.

docs/json.md explains the keys; scripts/report_schema.py prints their schema.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click

from svmfast import __version__
from svmfast.cli import messages
from svmfast.cli.files import RUN, Input, Output, Run
from svmfast.cli.units import Typed
from svmfast.figures import Figures, figure, plain

#: Version of the schema: increased when a key changes its name or meaning, not when one is added.
VERSION = 1
#: Parameters that only change what is printed.
_OF_PRINTING = {"as_json", "form", "wide", "quiet", "verbose", "debug", "progress"}
_SHOWN = "svmfast.json"


def show(values: Mapping[str, Any], *, written: bool = True) -> None:
    """Print the report when the command ends; `written` says whether the outputs were written."""
    click.get_current_context().meta[_SHOWN] = (values, written)


def print_shown(context: click.Context) -> None:
    """Print the report that was passed to :func:`show`, with all remarks so far."""
    if _SHOWN in context.meta:
        import json  # not at the top: predict without --json does not need it

        values, written = context.meta[_SHOWN]
        text = json.dumps(document(values, written=written), indent=2, allow_nan=False)
        messages.raw(text + "\n")


@dataclass(frozen=True, kw_only=True)
class Written(Figures):
    """A file that was written, or a folder."""

    path: str = figure("The file as it was named.")
    bytes: int | None = figure("Its size; null if it is no regular file.")


@dataclass(frozen=True, kw_only=True)
class Head(Figures):
    """The figures that every report has."""

    svmfast_report: int = figure(
        "The version of the schema: it grows when a key changes its name or meaning, not when one is added."
    )
    command: str = figure("The command that was run.")
    version: str = figure("The version of svmfast.")
    inputs: Mapping[str, Any] = figure(
        "Files read, by what they are: `data` (a list), `model`, `exact` (the exact model), `fast`, "
        "`candidates` (a list), `test`, `validate`, `file`, `ranges`. Paths as given; a byte that is not "
        "UTF-8 is a lone surrogate."
    )
    outputs: Mapping[str, Written | None] = figure(
        "Files written, by what they are: `model`, `predictions`, `checkpoint`, `folder`, `scaled`, "
        "`ranges`; null where nothing was written."
    )
    options: Mapping[str, Any] = figure(
        "Every other option's value, by its longest name without the dashes and with `_` for `-`; null where "
        "it was not given and has no fixed default. `threads` is the number of jobs."
    )
    seconds: float = figure("By the clock, from the first file to the end.")
    warnings: list[str] = figure("Warnings on stderr.")
    notes: list[str] = figure("Remarks on stderr, also those that were kept from being printed.")


def document(values: Mapping[str, Any], *, written: bool = True) -> dict[str, Any]:
    """The report in JSON's plain types: the head, then `values`, whose keys must all differ."""
    head = _head(click.get_current_context(), written).to_dict()
    alike = head.keys() & values.keys()
    assert not alike, f"keys of the head: {alike}"
    report: dict[str, Any] = plain({**head, **values})
    return report


def _head(context: click.Context, written: bool) -> Head:
    run: Run = context.meta[RUN]
    inputs: dict[str, Any] = {}
    outputs: dict[str, Written | None] = {}
    options: dict[str, Any] = {}
    for param in context.command.params:
        value = run.given.get(param.name or "")
        if isinstance(param.type, Input):
            if value is not None:
                role = param.type.role or str(param.name)
                # Some commands accept several data files, so reports always have a list.
                inputs[role] = [value] if role == "data" and isinstance(value, str) else value
        elif isinstance(param.type, Output):
            if value is not None:
                outputs[param.type.role or str(param.name)] = _written(value) if written else None
        elif param.name not in _OF_PRINTING and param.name in run.given:
            if value is not None and isinstance(param.type, Typed):
                value = param.type.value.reported(value)
            options[_key(param)] = value
    return Head(
        svmfast_report=VERSION,
        command=str(context.info_name),
        version=__version__,
        inputs=inputs,
        outputs=outputs,
        options=options,
        seconds=run.seconds,
        warnings=list(messages.WARNINGS),
        notes=list(messages.REMARKS),
    )


def _key(param: click.Parameter) -> str:
    """Return the longest name of an option, with underscores: ``max_diff`` for ``--max-diff``."""
    if param.name == "jobs":
        return "threads"  # the name in reports with measurements
    return max(param.opts, key=len).lstrip("-").replace("-", "_")


def _written(path: str) -> Written:
    try:
        status = os.stat(path)
    except OSError:
        return Written(path=path, bytes=None)
    return Written(path=path, bytes=status.st_size if stat.S_ISREG(status.st_mode) else None)
