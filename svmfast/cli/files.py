"""The input and output files of a command line, and checks that no file is overwritten by mistake.

A command declares its files by the types of its parameters, :class:`Input` and :class:`Output`. The rules are
checked for all commands in one place, by :class:`Guarded`, before anything is read.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from svmfast.errors import ModelAsDataError, NotAModelError, OptionError, SvmfastError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _ParamType = click.ParamType[str]
else:
    _ParamType = click.ParamType  # older click: not a generic class


def is_stdout(path: str) -> bool:
    """Return whether an output is standard output, under any of its names."""
    from svmfast.formats.target import is_stdout

    return is_stdout(path)


def in_this_folder(ending: str) -> Callable[[str], str]:
    """Return a function that maps ``folder/data`` to ``data.ending``, for :class:`Output`."""
    return lambda path: f"{os.path.basename(path)}.{ending}"


class _File(_ParamType):
    name = "file"
    content: str | None = None

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(incomplete, type="file")]


class Input(_File):
    """The path of a file that is read; ``-`` is standard input.

    Parameters
    ----------
    content : {"model", "data"}, optional
        The required content.
    role : str, optional
        The file's key in JSON reports; by default the parameter's name.
    repeated : bool
        The file is read more than once, so it cannot be standard input.
    """

    def __init__(
        self, content: str | None = None, *, role: str | None = None, repeated: bool = False
    ) -> None:
        self.content, self.role, self.repeated = content, role, repeated


class Output(_File):
    """The path of a file that is written; ``-`` is standard output.

    Parameters
    ----------
    content : {"model"}, optional
        The content of an output at a place where other commands read a model.
    role : str, optional
        The file's key in JSON reports; by default the parameter's name.
    after : str, optional
        The parameter from which the default name is derived.
    named : callable, optional
        Maps that parameter's value to the default name.
    unless : str or callable, optional
        No output is written if this parameter is set, or if this function of all parameter values is true.
    folder : bool
        The output is a folder of many files.
    shared : bool
        Other files in that folder are kept, so an input may be one of them.
    packed : bool
        The file is compressed if its name ends in .gz, .bz2, .xz or .zst.
    """

    def __init__(
        self,
        content: str | None = None,
        *,
        role: str | None = None,
        after: str | None = None,
        named: Callable[[str], str] | None = None,
        unless: str | Callable[[Mapping[str, Any]], bool] | None = None,
        folder: bool = False,
        shared: bool = False,
        packed: bool = True,
    ) -> None:
        self.content, self.role = content, role
        self.after, self.named, self.unless = after, named, unless
        self.folder, self.shared, self.packed = folder, shared, packed


#: The key of a command's :class:`Run` in its context.
RUN = "svmfast.run"


@dataclass(frozen=True)
class Run:
    """A running command: the values of its parameters, and its start time (``time.perf_counter``)."""

    given: Mapping[str, Any]
    began: float

    @property
    def seconds(self) -> float:
        """The time since the command began, in seconds."""
        return time.perf_counter() - self.began


@dataclass(frozen=True)
class _Named:
    """A file and its name in the help."""

    name: str
    path: str


@dataclass(frozen=True)
class Guarded:
    """The function of a command, called if its files pass the checks of :func:`settle`; then `after` is."""

    function: Callable[..., Any]
    after: Callable[[click.Context], None]

    def __call__(self, **given: Any) -> Any:
        """Name the outputs, check the files, run the command."""
        from svmfast.cli import messages
        from svmfast.cli.flags import remember

        messages.WARNINGS.clear()
        messages.REMARKS.clear()
        context = click.get_current_context()
        remember(context.command)
        settled = {**given, **settle(context.command, given)}
        context.meta[RUN] = Run(settled, time.perf_counter())
        try:
            status = self.function(**settled)
        except (NotAModelError, ModelAsDataError) as error:
            swapped = _swapped(context, settled)
            if swapped is None:
                raise
            raise OptionError(swapped) from error
        self.after(context)
        return status


def settle(command: click.Command, given: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the outputs of a command line, after checking them against each other and the inputs.

    An output that is not given is named after an input. Standard input is read at most once, standard output
    gets at most one result, and no output is the same file as an input or another output, by whatever path or
    link. A path that cannot be written is refused before the work begins.

    Parameters
    ----------
    command : click.Command
    given : mapping
        The values of its parameters.

    Raises
    ------
    OptionError, WriteError
    """
    inputs: list[_Named] = []
    outputs: list[tuple[_Named, Output]] = []
    settled: dict[str, str | None] = {}
    for param in command.params:
        value = given.get(param.name or "")
        if isinstance(param.type, Input) and value is not None:
            paths = value if param.multiple or param.nargs != 1 else (value,)
            if param.type.repeated and "-" in paths:
                raise OptionError(f"{_called(param)} is read more than once; give a file, not '-'")
            inputs += [_Named(_called(param), path) for path in paths]
        elif isinstance(param.type, Output):
            if value is None:
                value = _usual_name(command, param, param.type, given)
            settled[str(param.name)] = value
            if value is not None:
                outputs.append((_Named(_called(param), value), param.type))
    from_stdin = [file.name for file in inputs if file.path == "-"]
    if len(from_stdin) > 1:
        raise OptionError(f"standard input can be read only once: '-' is for {', '.join(from_stdin)}")
    from svmfast.formats.target import check_writable

    to_stdout = [file.name for file, _ in outputs if is_stdout(file.path)]
    to_stdout += ["--json"] if given.get("as_json") or given.get("form") == "json" else []
    if len(to_stdout) > 1:
        raise OptionError(f"{' and '.join(to_stdout)} cannot both go to standard output")
    for number, (output, kind) in enumerate(outputs):
        earlier = [other for other, _ in outputs[:number]]
        for other in (*inputs, *earlier):
            _refuse_the_same(output, other)
            if kind.folder and not kind.shared:
                _refuse_a_part(output, other)
        for other in earlier:
            _refuse_one_place(output, other)
        if kind.folder and is_stdout(output.path):
            raise OptionError(f"{output.name} is a folder of many files; give a name, not '{output.path}'")
        if not kind.folder:
            check_writable(output.path, pack=kind.packed)
    return settled


def _swapped(context: click.Context, given: Mapping[str, Any]) -> str | None:
    """Return a message if two files are swapped: a model in the place of data, and data in that of a model.

    Called only after one of them turned out to have the wrong content. An output counts too: if the arguments
    of a training command are swapped, the data is named as the model to write.
    """
    models, others = [], []
    for param in context.command.params:
        if not isinstance(param.type, _File) or param.type.content is None:
            continue
        value = given.get(str(param.name))
        for path in value if isinstance(value, tuple) else (value,):
            is_model = None if path is None else _is_a_model(path)
            if param.type.content == "data" and is_model:
                models.append(_Named(_called(param), path))
            elif param.type.content == "model" and is_model is False:
                others.append(_Named(_called(param), path))
    if not models or not others:
        return None
    model, other = models[0], others[0]
    usage = " ".join([context.command_path, *context.command.collect_usage_pieces(context)])
    return (
        f"{model.name} is a model ('{model.path}') and {other.name} is not ('{other.path}'): swap them; "
        f"usage: {usage}"
    )


def _is_a_model(path: str) -> bool | None:
    """Return whether a file contains a model; None if it cannot be read, or cannot be read twice."""
    from svmfast.formats.detect import detect

    status = _status(path, 0)
    if path == "-" or status is None or not stat.S_ISREG(status.st_mode):
        return None
    try:
        return detect(path) not in ("data", "empty")
    except SvmfastError:
        return None


def _called(param: click.Parameter) -> str:
    """Return a parameter's name in the help: DATA, --data."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len)
    return (param.metavar or str(param.name)).upper().strip("[]").removesuffix("...")


def _usual_name(
    command: click.Command, param: click.Parameter, kind: Output, given: Mapping[str, Any]
) -> str | None:
    unless = kind.unless
    if kind.after is None or kind.named is None:
        return None
    if unless is not None and (unless(given) if callable(unless) else given[unless]):
        return None
    path = given[kind.after]
    if path == "-":
        source = next(_called(other) for other in command.params if other.name == kind.after)
        raise OptionError(f"{source} is standard input, so the model needs a name; give {_called(param)}")
    return kind.named(path)


def _refuse_the_same(output: _Named, other: _Named) -> None:
    ours, theirs = _status(output.path, 1), _status(other.path, 0)
    # A terminal or /dev/null may be both read and written; nothing is lost.
    if ours and theirs and stat.S_ISREG(theirs.st_mode) and os.path.samestat(ours, theirs):
        raise OptionError(f"{output.name} is {other.name} itself, '{output.path}'; it would be lost")


def _refuse_one_place(output: _Named, other: _Named) -> None:
    """Refuse two outputs with the same path; they may not exist yet, so inodes do not help."""
    if os.path.realpath(output.path) == os.path.realpath(other.path):
        raise OptionError(f"{output.name} and {other.name} are one file, '{output.path}'")


def _refuse_a_part(folder: _Named, other: _Named) -> None:
    theirs = _status(other.path, 0)
    for place in _files(folder.path):
        ours = _status(place, 1)
        if ours and theirs and os.path.samestat(ours, theirs):
            raise OptionError(f"{other.name} is a file of {folder.name}, '{place}'; it could be lost")


def _files(folder: str) -> Iterator[str]:
    for path, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(path, name)


def _status(path: str, descriptor: int) -> os.stat_result | None:
    """Return the status of a path, or of a descriptor for ``-``; None if there is no such file."""
    try:
        return os.fstat(descriptor) if path == "-" else os.stat(path)
    except (OSError, ValueError):
        return None
