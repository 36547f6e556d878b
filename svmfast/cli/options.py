"""Options that several commands share, defined once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from svmfast.cli.files import Input
from svmfast.cli.flags import with_flags
from svmfast.cli.svm_train import ClassWeight, joined
from svmfast.cli.units import NamesOrFile, Typed, WeightOfClass, Whole
from svmfast.options import MemoryOfModels, Option, Reading, options_of
from svmfast.threads import thread_count
from svmfast.values import Choice, ModelFile, Names, OnOff, ScalingFile, Switch, Text, Weights

F = TypeVar("F", bound=Callable[..., Any])


def _jobs(_ctx: click.Context, _param: click.Parameter, value: int | None) -> int:
    return thread_count(value)


#: ``-j N``; the command receives `jobs`, always a positive number.
jobs = click.option(
    "-j",
    "--jobs",
    type=Whole(1),
    callback=_jobs,
    metavar="N",
    help="Number of threads, at most four per core or 64 (default: the cores this process may use, but no "
    "more than OMP_NUM_THREADS if that is set). Results are the same for every N.",
)

#: ``--json``; the command receives `as_json`.
as_json = click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on stdout.")

#: ``-q``; the command receives `quiet`.
quiet = click.option("-q", "--quiet", is_flag=True, help="Print no summary and no progress.")

#: ``-q`` of svm-train; the command receives `quiet`.
quiet_solver = click.option("-q", "--quiet", is_flag=True, help="Do not print the solver's output.")

#: ``-q`` of a command whose report is its answer; the command receives `quiet`.
quiet_but_report = click.option(
    "-q", "--quiet", is_flag=True, help="Print only the report, without remarks and progress."
)


def option_of(one: Option) -> click.Option:
    """Return the click option for a declared option."""
    text, words, default = one.help, one.shown, one.default
    if isinstance(one.value, Switch) and not isinstance(one.value, OnOff):
        return click.Option(
            [*one.flags, one.name], is_flag=True, default=default, show_default=words or False, help=text
        )
    if isinstance(one.value, Weights):
        return ClassWeight(
            [*one.flags, one.name], type=WeightOfClass(one.value), multiple=True, callback=joined, help=text
        )
    if isinstance(default, str):
        default = one.value.text(default)  # parsed like a word that the user typed
    if words is None and default is not None:
        words = one.value.text(one.default)
    kind: Any = Typed(one.value)
    if isinstance(one.value, Choice):
        kind = click.Choice(one.value.words)
    elif isinstance(one.value, Text):
        kind = str
    elif isinstance(one.value, Names):
        kind = NamesOrFile(one.value)
    elif isinstance(one.value, ScalingFile):
        kind = Input(role="ranges")
    elif isinstance(one.value, ModelFile):
        kind = Input("model")
    return click.Option(
        [*one.flags, one.name],
        type=kind,
        default=default,
        show_default=False if words is None else words,
        metavar=one.metavar or (None if isinstance(one.value, Choice) else one.value.name),
        help=text,
    )


def options_from(cls: type, *names: str) -> Callable[[F], F]:
    """Return the decorator that adds options of a class, by default all; the command gets them by name."""
    declared = [one for one in options_of(cls) if not names or one.name in names]

    def added(function: F) -> F:
        made = [option_of(one) for one in declared]
        earlier = getattr(function, "__click_params__", [])
        function.__click_params__ = [*earlier, *made[::-1]]  # type: ignore[attr-defined]
        for one in made:
            if one.help:
                one.help = with_flags(one.help, function.__click_params__)  # type: ignore[attr-defined]
        return function

    return added


#: ``--memory SIZE`` of a command that needs much memory only for models; the command receives `memory`.
model_memory = options_from(MemoryOfModels)


def rows_format(function: F) -> F:
    """Add the options of :class:`svmfast.options.Reading`; the command receives them as `reading`."""
    return rows_format_without()(function)


def rows_format_without(*names: str) -> Callable[[F], F]:
    """Return :func:`rows_format` without some of the options, which keep their defaults."""
    declared = [option_of(one) for one in options_of(Reading) if one.name not in names]

    def added(function: F) -> F:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            reading = Reading(**{str(one.name): kwargs.pop(str(one.name)) for one in declared})
            return function(*args, reading=reading, **kwargs)

        wrapped.__name__, wrapped.__doc__ = function.__name__, function.__doc__
        for one in declared:
            if one.help:
                one.help = with_flags(one.help, declared)
        # Keep the options that earlier decorators added.
        earlier = getattr(function, "__click_params__", [])
        wrapped.__click_params__ = earlier + declared[::-1]  # type: ignore[attr-defined]
        return wrapped  # type: ignore[return-value]

    return added
