"""The JSON report of every command: a common head, then the command's own figures.

docs/command-line.md explains the keys; ``svmfast --show-schema`` prints their schema.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from svmfast import __version__
from svmfast.cli import messages
from svmfast.figures import Figures, figure, plain
from svmfast.options import Option
from svmfast.values import InputFile, OutputFile

#: Version of the schema: increased when a key changes its name or meaning, not when one is added.
VERSION = 1
#: Options that only change what is printed.
_OF_PRINTING = {"as_json", "wide", "quiet"}


@dataclass(frozen=True, kw_only=True)
class Written(Figures):
    """A file that was written, or a folder."""

    path: str = figure("The file as it was named.")
    bytes: int | None = figure("Its size; null if it is no regular file.")


@dataclass(frozen=True, kw_only=True)
class ReportHead(Figures):
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
        "Files written, by what they are: `model`, `predictions`, `folder`, `scaled`, `ranges`; null where "
        "nothing was written."
    )
    options: Mapping[str, Any] = figure(
        "Every other option's value, by its longest name without the dashes and with `_` for `-`; null where "
        "it was not given and has no fixed default. `threads` is the number of jobs."
    )
    seconds: float = figure("By the clock, from the first file to the end.")
    warnings: list[str] = figure("Warnings on stderr.")
    notes: list[str] = figure("Remarks on stderr, also those that were kept from being printed.")


def document(
    command: str,
    options: Sequence[Option],
    given: Mapping[str, Any],
    seconds: float,
    figures: Mapping[str, Any],
    *,
    written: bool,
) -> dict[str, Any]:
    """The report in JSON's plain types: the head, then the figures, whose keys must all differ."""
    inputs: dict[str, Any] = {}
    outputs: dict[str, Written | None] = {}
    others: dict[str, Any] = {}
    for one in options:
        value, kind = given.get(one.name), one.value
        if isinstance(kind, InputFile):
            if value is not None:
                role = kind.role or one.name
                # Some commands accept several data files, so reports always have a list.
                inputs[role] = [value] if role == "data" and isinstance(value, str) else value
        elif isinstance(kind, OutputFile):
            if value is not None:
                outputs[kind.role or one.name] = _written(value) if written else None
        elif one.name not in _OF_PRINTING:
            key = "threads" if one.name == "threads" else one.called.lstrip("-").replace("-", "_")
            others[key] = value
    head = ReportHead(
        svmfast_report=VERSION,
        command=command,
        version=__version__,
        inputs=inputs,
        outputs=outputs,
        options=others,
        seconds=seconds,
        warnings=list(messages.WARNINGS),
        notes=list(messages.REMARKS),
    ).to_dict()
    alike = head.keys() & figures.keys()
    assert not alike, f"keys of the head: {alike}"
    report: dict[str, Any] = plain({**head, **figures})
    return report


def _written(path: str) -> Written:
    try:
        status = os.stat(path)
    except OSError:
        return Written(path=path, bytes=None)
    return Written(path=path, bytes=status.st_size if stat.S_ISREG(status.st_mode) else None)
