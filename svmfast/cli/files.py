"""The files of a command line, and checks that no file is overwritten by mistake.

The rules hold for all commands. They are checked before anything is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click

from svmfast.command import LAST
from svmfast.errors import OptionError
from svmfast.options import Option
from svmfast.values import InputFile, OutputFile, check_address


def arrange(given: dict[str, Any]) -> None:
    """Put all names of a method's DATA in their place, where it takes several.

    The last word is the model only after a single other one, as in svm-train; a list may have more names.
    """
    if "files_from" not in given:
        return
    from svmfast.commands.file_names import all_files, listed

    words = [*given["data"], *filter(None, [given.get(LAST)])]
    if given["files_from"] is not None:
        words += listed(given["files_from"])
    elif LAST in given and given["output"] is None and len(words) > 1:
        if len(words) > 2:
            raise OptionError("several DATA need a name for the model; give `output`")
        given["data"], given[LAST] = tuple(all_files(words[:1])), words[1]
        return
    if not words:
        raise click.UsageError("Missing argument 'DATA...'", click.get_current_context(silent=True))
    given["data"] = tuple(all_files(words))
    if LAST in given:
        given[LAST] = None


class _Named(NamedTuple):
    """A file and its name in the help."""

    name: str
    path: str


def settle(options: Sequence[Option], given: Mapping[str, Any]) -> dict[str, str | None]:
    """The outputs of a command line, after checking them against each other and the inputs.

    An output that is not given is named after an input. Standard input is read at most once, standard output
    gets at most one result, and no output is the same file as an input or another output, by whatever path or
    link. A path that cannot be written is refused before the work begins.
    """
    from svmfast.formats.target import is_stdout

    inputs: list[_Named] = []
    outputs: list[tuple[_Named, OutputFile]] = []
    settled: dict[str, str | None] = {}
    for one in options:
        value, kind = given.get(one.name), one.value
        if isinstance(kind, InputFile) and value is not None:
            paths = value if one.many else (value,)
            if kind.repeated and "-" in paths:
                raise OptionError(f"{one.called} is read more than once; give a file, not '-'")
            for path in paths:
                check_address(path)
                inputs.append(_Named(one.called, path))
        elif isinstance(kind, OutputFile):
            if value is None:
                value = _usual_name(one, kind, options, {**given, **settled})
            settled[one.name] = value
            if value is not None:
                outputs.append((_Named(one.called, value), kind))
    from_stdin = [file.name for file in inputs if file.path == "-"]
    if len(from_stdin) > 1:
        raise OptionError(f"standard input can be read only once: '-' is for {', '.join(from_stdin)}")
    to_stdout = [file.name for file, _ in outputs if is_stdout(file.path)]
    to_stdout += ["--json"] if given.get("as_json") else []
    if len(to_stdout) > 1:
        raise OptionError(f"{' and '.join(to_stdout)} cannot both go to standard output")
    _check_outputs(inputs, outputs)
    if "files_from" in given and given.get(LAST):
        from svmfast.commands.file_names import refuse_to_replace_data

        refuse_to_replace_data(given[LAST])
    return settled


def _check_outputs(inputs: list[_Named], outputs: list[tuple[_Named, OutputFile]]) -> None:
    from svmfast.formats.target import check_folder, check_writable, is_stdout

    for number, (output, kind) in enumerate(outputs):
        earlier = [other for other, _ in outputs[:number]]
        for other in (*inputs, *earlier):
            _refuse_the_same(output, other)
            if kind.folder and not kind.shared:
                _refuse_a_part(output, other)
        for other in earlier:
            # They may not exist yet, so inodes do not help.
            if os.path.realpath(output.path) == os.path.realpath(other.path):
                raise OptionError(f"{output.name} and {other.name} are one file, '{output.path}'")
        if not kind.folder:
            check_writable(output.path)
        elif is_stdout(output.path):
            raise OptionError(f"{output.name} is a folder of many files; give a name, not '{output.path}'")
        else:
            check_folder(output.path)


def _usual_name(
    one: Option, kind: OutputFile, options: Sequence[Option], given: Mapping[str, Any]
) -> str | None:
    if kind.named is None or kind.unless(given):
        return None
    path, source = given[kind.after], next(other for other in options if other.name == kind.after)
    if source.many:
        if len(path) > 1:
            raise OptionError(f"several {source.called} need a name for the {kind.role}; give {one.called}")
        path = path[0]
    if path == "-":
        stream = "output" if isinstance(source.value, OutputFile) else "input"
        raise OptionError(
            f"{source.called} is standard {stream}, so the {kind.role} needs a name; give {one.called}"
        )
    return kind.named(path)


def _refuse_the_same(output: _Named, other: _Named) -> None:
    ours, theirs = _status(output.path, 1), _status(other.path, 0)
    # A terminal or /dev/null may be both read and written; nothing is lost.
    if ours and theirs and stat.S_ISREG(theirs.st_mode) and os.path.samestat(ours, theirs):
        raise OptionError(f"{output.name} is {other.name} itself, '{output.path}'; it would be lost")


def _refuse_a_part(folder: _Named, other: _Named) -> None:
    theirs = _status(other.path, 0)
    for path, _, names in os.walk(folder.path):
        for place in (os.path.join(path, name) for name in names):
            ours = _status(place, 1)
            if ours and theirs and os.path.samestat(ours, theirs):
                raise OptionError(f"{other.name} is a file of {folder.name}, '{place}'; it could be lost")


def _status(path: str, descriptor: int) -> os.stat_result | None:
    """The status of a path, or of a descriptor for ``-``; None if there is no such file."""
    try:
        return os.fstat(descriptor) if path == "-" else os.stat(path)
    except (OSError, ValueError):
        return None
