"""The inputs of a prediction of many files, and the paths of their outputs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from svmfast.commands.predict import SUFFIX
from svmfast.errors import OptionError
from svmfast.formats.done import NAME
from svmfast.formats.parts import Part


@dataclass
class Job:
    """The prediction of one input.

    `name` is the output's path relative to the folder, `made_from` its record in the list of finished
    outputs. On a cluster a job has parts; `ended` are the counts of those that have ended, by their numbers.
    """

    path: str
    place: str
    name: str
    made_from: dict[str, Any]
    counted: dict[str, Any] | None = None
    error: str | None = None
    parts: list[Part] = field(default_factory=list)
    ended: dict[int, dict[str, Any]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Plan:
    """Inputs and their outputs' paths relative to a folder, which are the same in every run."""

    folder: str
    pairs: list[tuple[str, str]]

    @classmethod
    def of(cls, data: Sequence[str], folder: str, suffix: str, relative_to: str | None) -> Plan:
        """Name the outputs; refuse two inputs with one output, and an output that is an input or no file."""
        if os.path.basename(suffix) != suffix:
            raise OptionError(f"`suffix` is '{suffix}'; expected the end of a name, such as '{SUFFIX}'")
        named: dict[str, str] = {}
        for path in data:
            name = _name(path, suffix, relative_to)
            if name == NAME:
                raise OptionError(f"the output of '{path}' would be '{NAME}', the list of finished outputs")
            first = named.setdefault(name, path)
            if os.path.realpath(first) != os.path.realpath(path):
                raise OptionError(
                    f"'{first}' and '{path}' would both be written to '{os.path.join(folder, name)}'; "
                    "give `relative_to`, a folder that contains both"
                )
        plan = cls(folder, [(path, name) for name, path in named.items()])
        plan.check_outputs()
        return plan

    def check_outputs(self) -> None:
        """Refuse an output that is an input, by whatever path, or a pipe or device, which has no end."""
        inputs = {key: path for path, _ in self.pairs if (key := _key(path)) is not None}
        for _, name in self.pairs:
            place = os.path.join(self.folder, name)
            if os.path.exists(place) and not (os.path.isfile(place) or os.path.isdir(place)):
                raise OptionError(f"the output '{place}' is not a regular file; remove it")
            same = inputs.get(_key(place) or (0, 0))
            if same is not None:
                raise OptionError(f"the output '{place}' is the input '{same}' itself; it would be lost")


def _name(path: str, suffix: str, relative_to: str | None) -> str:
    name = os.path.basename(path)
    if not name:
        raise OptionError(f"'{path}' is a folder's name; give its files: {files_in(path)}")
    if relative_to is not None:
        name = os.path.relpath(path, relative_to)
        if name.split(os.sep)[0] == os.pardir:
            raise OptionError(f"'{path}' is not in '{relative_to}' (`relative_to`)")
    return name if suffix and name.endswith(suffix) else name + suffix


def files_in(folder: str) -> str:
    """A shell pattern for the files of a folder, with their common extension if there is one."""
    try:
        names = [name for name in sorted(os.listdir(folder)) if not name.startswith(".")]
    except OSError:
        names = []
    return os.path.join(folder, "*" + (os.path.splitext(names[0])[1] if names else ""))


def _key(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino
