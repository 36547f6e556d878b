"""The command of each method, made from its declaration: parse, one call of the API, print."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from svmfast.cli import options as shared
from svmfast.cli.files import Input as InputFile
from svmfast.cli.files import Output, in_this_folder
from svmfast.cli.flags import with_flags
from svmfast.cli.json_report import show
from svmfast.cli.messages import line, lines, raw, remark, warning
from svmfast.cli.signals import ending_softly
from svmfast.cli.svm_train import ClassWeight, SvmTrainCommand, WeightsCommand
from svmfast.display import rounded_up, shell_line
from svmfast.errors import OptionError
from svmfast.methods.given import NOTHING_WRITTEN, Input
from svmfast.methods.method import Method
from svmfast.options import Reading, options_of

if TYPE_CHECKING:
    from svmfast.api.result import Result

#: Exit status for a negative answer.
NEGATIVE = 1
#: The last argument of commands with svm-train's command line.
_LAST = "output_as_argument"
#: Endings that are removed from an input's name to form the output's default name.
_ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".txt", ".model")


def command_of(method: Method) -> click.Command:
    """Return the click command of a method."""
    inputs = [_input(one) for one in method.inputs]
    options = [shared.option_of(one) for one in options_of(method.options)]
    first = next(one for one in method.inputs if one.flag is None)
    written = _outputs(method, first)
    rows = any(one.content == "rows" for one in method.inputs)
    reading = [shared.option_of(one) for one in options_of(Reading)] if rows else []
    if all(one.labels == "needed" for one in method.inputs if one.content == "rows"):
        reading = [one for one in reading if one.name != "unlabelled"]
    names = _Names(
        inputs=tuple(one.name for one in method.inputs),
        options=tuple(one.name for one in options_of(method.options)),
        reading=tuple(str(one.name) for one in reading),
    )

    @shared.as_json
    @(shared.quiet_solver if method.stands_in_for_svm_train else shared.quiet)
    @shared.jobs
    def callback(output: str | None, as_json: bool, quiet: bool, jobs: int, **given: Any) -> int:
        last = given.pop(_LAST, None)
        if output is not None and last is not None:
            raise OptionError("the model has two names: `output` and the last argument; give one of them")
        return _run(method, names, given, output or last, as_json=as_json, quiet=quiet, jobs=jobs)

    own = reversed(callback.__click_params__)  # type: ignore[attr-defined]
    params: list[click.Parameter] = [*inputs, *written, *options, *_of_runs(method), *reading, *own]
    for param in params:
        if isinstance(param, click.Option) and param.help:
            param.help = with_flags(param.help, params)
    kind = click.Command
    if any(isinstance(param, ClassWeight) for param in params):
        kind = SvmTrainCommand if method.svm_train_output else WeightsCommand
    return kind(
        method.name,
        params=params,
        callback=callback,
        short_help=method.summary,
        help=with_flags(method.description, params),
    )


def _of_runs(method: Method) -> list[click.Parameter]:
    """Return the options for checkpoints and status lines, if the method has them."""
    found: list[click.Parameter] = []
    if method.checkpoints:
        kind = Output(packed=False)
        found.append(click.Option(["--checkpoint"], type=kind, metavar="FILE", help=method.checkpoints))
    if method.shows_status:
        found.append(click.Option(["--verbose"], is_flag=True, help=method.shows_status))
    return found


def _outputs(method: Method, first: Input) -> list[click.Parameter]:
    """Return the parameters that name the model: ``-o`` and, for svm-train's commands, the last argument."""
    if method.stands_in_for_svm_train:
        named = in_this_folder("model")
        usual = f"{first.name.upper()}'s file name with .model added, in the current folder"
    else:
        named = default_output(method.name)
        usual = f"NAME.{method.name}.model in the current folder, NAME from {first.name.upper()}"

    def unless(given: Mapping[str, Any]) -> bool:
        return given.get(_LAST) is not None or method.makes_no_model(given)

    output = Output("model", role="model", after=first.name, named=named, unless=unless)
    written: list[click.Parameter] = [
        click.Option(
            ["-o", "--output"], type=output, metavar="OUT", help=f"File to write (default: {usual})."
        )
    ]
    if method.svm_train_output:
        written.append(
            click.Argument([_LAST], type=Output("model", role="model"), required=False, metavar="[MODEL]")
        )
    return written


class _Names:
    """The names of a command's parameters, by purpose."""

    def __init__(self, inputs: tuple[str, ...], options: tuple[str, ...], reading: tuple[str, ...]) -> None:
        self.inputs, self.options, self.reading = inputs, options, reading


def default_output(method: str) -> Any:
    """Return the function for default outputs: ``folder/NAME.txt`` -> ``NAME.METHOD.model``."""

    def named(path: str) -> str:
        name = os.path.basename(path)
        while name.endswith(_ENDINGS) and name not in _ENDINGS:
            name = name.removesuffix(next(ending for ending in _ENDINGS if name.endswith(ending)))
        return f"{name}.{method}.model"

    return named


def _input(one: Input) -> click.Parameter:
    kind = InputFile("data" if one.content == "rows" else "model", role=one.role or one.name)
    if one.flag is None:
        return click.Argument([one.name], type=kind, required=one.required)
    return click.Option(
        [one.flag, one.name],
        type=kind,
        multiple=one.many,
        required=one.required,
        metavar="FILE",
        help=one.help + (" May be given several times." if one.many else ""),
    )


def _run(
    method: Method,
    names: _Names,
    given: dict[str, Any],
    output: str | None,
    *,
    as_json: bool,
    quiet: bool,
    jobs: int,
) -> int:
    from svmfast.api.listener import Listener
    from svmfast.api.run import run_method
    from svmfast.cli.progress import progress_bar

    def log(text: str) -> None:
        raw(text, err=as_json or output == "-")

    begin = time.perf_counter()
    logs = method.stands_in_for_svm_train
    checkpoint, verbose = given.get("checkpoint"), given.get("verbose", False)

    def interrupted() -> None:
        remark(with_flags(f"interrupted; the state is in {checkpoint}, continue with `resume`"))

    with ExitStack() as stack:
        progress = stack.enter_context(progress_bar(quiet or logs))
        never: Callable[[], bool] = lambda: False  # noqa: E731
        stop = stack.enter_context(ending_softly(interrupted)) if checkpoint else never

        def status(step: str, text: str) -> None:
            progress.note(step, text)
            if verbose:
                progress.line(text)

        listener = Listener(
            progress,
            lambda text: remark(with_flags(text), quiet),
            lambda text: warning(with_flags(text)),
            log if logs and not quiet else None,
            status if verbose or progress.shown else None,
            stop,
        )
        result = run_method(
            method,
            {name: given[name] for name in names.inputs},
            {name: given[name] for name in names.options},
            reading={name: given[name] for name in names.reading},
            threads=jobs,
            listener=listener,
            output=output,
            writes=output is not None,
            timed=as_json or not quiet,
            checkpoint=checkpoint,
        )
    size = None
    if result.model is not None and output is not None:
        size = result.save(output)
    for text in result.warnings[len(listener.warnings) :]:
        warning(with_flags(text))
    seconds = time.perf_counter() - begin
    prints = not (quiet or logs)
    _print(result, given, output, size, seconds, as_json=as_json, prints=prints, quiet=quiet)
    if result.refusal is not None:
        remark(f"{with_flags(result.refusal)}{NOTHING_WRITTEN}")
        if result.advice is not None:
            remark(with_flags(result.advice))
        return NEGATIVE
    return 0


def _print(
    result: Result,
    given: dict[str, Any],
    output: str | None,
    size: int | None,
    seconds: float,
    *,
    as_json: bool,
    prints: bool,
    quiet: bool,
) -> None:
    """Print the report of a run and, if a file was written, its `size` in bytes.

    `prints`: whether to print the report of a run that writes a model as text. The report of a run that only
    scores is always printed.
    """
    before: int | None = getattr(result.report, "bytes_exact", None)
    scored = output is None
    if as_json:
        shown: dict[str, Any] = {} if scored else {"bytes": size}
        for key, value in result.report.to_dict().items():
            shown[key] = with_flags(value) if isinstance(value, str) else value
        show(shown, written=size is not None)
    if (scored and not as_json) or (not scored and prints):
        lines(map(with_flags, result.report.lines()), err=not scored)
    if size is not None and prints:
        factor = "" if before is None else f" ({_factor(before, size)})"
        line(f"written      {output}, {size:,} bytes{factor}, {seconds:.1f} s", err=True)
        lines(_fallback(result, given, output), err=True)
    if size is not None and before is not None and size >= before:
        remark(f"the file grew from {before:,} to {size:,} bytes", quiet)


def _fallback(result: Result, given: dict[str, Any], output: str | None) -> list[str]:
    """Return the predict command in which the exact model answers the rows close to a boundary."""
    exact = given.get("exact") or given.get("model")
    if result.fallback_error is None or not exact or output is None or "-" in (exact, output):
        return []
    error = rounded_up(result.fallback_error)
    words = ("svmfast", "predict", "DATA", output, "--exact", exact, "--assume-error", error)
    return [f"fallback     {shell_line(words)} (statistical)"]


def _factor(before: int, after: int) -> str:
    """Return a clause that compares a file's size with that of the exact model."""
    return f"{before / after:.1f}x smaller" if after < before else f"{after / before:.1f}x LARGER"
