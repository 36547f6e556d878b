"""The command of each method, made from its declaration: parse, one call of the API, print."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import click

from svmfast.cli import options as shared
from svmfast.cli.files import Input as InputFile
from svmfast.cli.files import Output
from svmfast.cli.flags import with_flags
from svmfast.cli.json_report import show
from svmfast.cli.messages import line, lines, remark, warning
from svmfast.cli.units import Typed
from svmfast.display import rounded_up, shell_line
from svmfast.methods.method import Input, Method
from svmfast.options import Option, Reading, options_of
from svmfast.values import Choice, Switch

if TYPE_CHECKING:
    from svmfast.api.result import Result
    from svmfast.models.base import Model

#: Exit status of a negative answer.
NEGATIVE = 1
#: Endings that a default output's name leaves out.
_ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".txt", ".model")


def command_of(method: Method) -> click.Command:
    """Return the click command of a method."""
    inputs = [_input(one) for one in method.inputs]
    options = [option_of(one) for one in options_of(method.options)]
    first = next(one for one in method.inputs if one.flag is None)
    output = Output(
        "model",
        role="model",
        after=first.name,
        named=default_output(method.name),
        unless=method.makes_no_model,
    )
    written: list[click.Parameter] = [
        click.Option(
            ["-o", "--output"],
            type=output,
            metavar="OUT",
            help=f"Where to write (default: NAME.{method.name}.model in the current folder, NAME from "
            f"{first.name.upper()}).",
        )
    ]
    rows = any(one.content == "rows" for one in method.inputs)
    reading = [option_of(one) for one in options_of(Reading)] if rows else []
    if all(one.labels == "needed" for one in method.inputs if one.content == "rows"):
        reading = [one for one in reading if one.name != "unlabelled"]
    names = _Names(
        inputs=tuple(one.name for one in method.inputs),
        options=tuple(one.name for one in options_of(method.options)),
        reading=tuple(str(one.name) for one in reading),
    )

    @shared.as_json
    @shared.quiet
    @shared.jobs
    def callback(output: str | None, as_json: bool, quiet: bool, jobs: int, **given: Any) -> int:
        return _run(method, names, given, output, as_json=as_json, quiet=quiet, jobs=jobs)

    own = reversed(callback.__click_params__)  # type: ignore[attr-defined]
    params: list[click.Parameter] = [*inputs, *written, *options, *reading, *own]
    for param in params:
        if isinstance(param, click.Option) and param.help:
            param.help = with_flags(param.help, params)
    return click.Command(
        method.name,
        params=params,
        callback=callback,
        short_help=method.summary,
        help=with_flags(method.description, params),
    )


class _Names:
    """Parameters by what they are for."""

    def __init__(self, inputs: tuple[str, ...], options: tuple[str, ...], reading: tuple[str, ...]) -> None:
        self.inputs, self.options, self.reading = inputs, options, reading


def default_output(method: str) -> Any:
    """Return the rule of every default output: ``folder/NAME.txt`` -> ``NAME.METHOD.model``, here."""

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


def option_of(one: Option) -> click.Option:
    """Return the click option of an option."""
    text, words = one.help, one.shown
    if isinstance(one.value, Switch):
        return click.Option([*one.flags, one.name], is_flag=True, default=one.default, help=text)
    if words is None and one.default is not None:
        words = str(one.default)
    kind: Any = click.Choice(one.value.words) if isinstance(one.value, Choice) else Typed(one.value)
    return click.Option(
        [*one.flags, one.name],
        type=kind,
        default=one.default,
        show_default=False if words is None else words,
        metavar=one.metavar or (None if isinstance(one.value, Choice) else one.value.name),
        help=text,
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
    from svmfast.api.run import Listener, run_method
    from svmfast.cli.progress import progress_bar
    from svmfast.formats.detect import model_bytes, save_model
    from svmfast.formats.target import stored_size

    def size_of(model: Model) -> int:
        content = model_bytes(model)
        return len(content) if output is None else stored_size(output, content)

    begin = time.perf_counter()
    with progress_bar(quiet) as progress:
        result = run_method(
            method,
            {name: given[name] for name in names.inputs},
            {name: given[name] for name in names.options},
            reading={name: given[name] for name in names.reading},
            threads=jobs,
            listener=Listener(
                progress,
                lambda text: remark(with_flags(text), quiet),
                lambda text: warning(with_flags(text)),
            ),
            stored_size=size_of,
            writes=output is not None,
            timed=as_json or not quiet,
        )
    size = None
    if result.model is not None and output is not None:
        size = save_model(result.model, output)
    if as_json:
        shown = {} if output is None else {"bytes": size}
        show({**shown, **result.report.to_dict()}, written=size is not None)
    scored = output is None
    if (scored and not as_json) or (not scored and not quiet):
        lines(map(with_flags, result.report.lines()), err=not scored)
    if size is not None and not quiet:
        line(f"written      {output}, {size:,} bytes, {time.perf_counter() - begin:.1f} s", err=True)
        lines(_fallback(result, given, output), err=True)
    if result.refusal is not None:
        remark(f"{with_flags(result.refusal)}; nothing was written")
        return NEGATIVE
    return 0


def _fallback(result: Result, given: dict[str, Any], output: str | None) -> list[str]:
    """Return the line with which rows that the model may be wrong about are answered by the exact one."""
    exact = given.get("exact") or given.get("model")
    if result.fallback_error is None or not exact or output is None or "-" in (exact, output):
        return []
    error = rounded_up(result.fallback_error)
    words = ("svmfast", "predict", "DATA", output, "--exact", exact, "--assume-error", error)
    return [f"fallback     {shell_line(words)} (statistical)"]
