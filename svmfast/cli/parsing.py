"""Options of all commands, and the rule that an option that is given twice is an error.

Nothing that a user types is dropped silently.

LIBSVM's own options in the commands that stand in for its programs keep LIBSVM's rule: the last value counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click

#: LIBSVM's options, by the command that stands in for the program: svm-train, svm-predict, svm-scale.
LIBSVM = {"train": "stdgrncmephbwvq", "predict": "bq", "scale": "luysr"}


def refuse_repeats(command: click.Command) -> None:
    """Make a command refuse repeated options when it parses its arguments."""
    if not isinstance(command.make_parser, _Parsers):
        command.make_parser = _Parsers(command.make_parser)  # type: ignore[method-assign]


@dataclass(frozen=True)
class _Parsers:
    """A command's ``make_parser``; its parsers refuse repeated options."""

    made: Callable[[click.Context], Any]

    def __call__(self, ctx: click.Context) -> Any:
        parser = self.made(ctx)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            words = list(args)  # parsing empties the list
            found = parse(args=args)
            if not ctx.resilient_parsing:
                _refuse(found[2], words, ctx)
            return found

        parser.parse_args = parse_args
        return parser


def _refuse(given: Iterable[click.Parameter], words: Sequence[str], ctx: click.Context) -> None:
    """Raise a UsageError if one of the parameters `given`, in their order, replaces an earlier one."""
    earlier: dict[str | None, click.Option] = {}
    for param in given:
        if not isinstance(param, click.Option) or param.multiple or param.count:
            continue
        other = earlier.get(param.name)
        earlier[param.name] = param
        if other is None or _harmless(param, other) or _as_libsvm(param, words, ctx):
            continue
        if other is not param:
            raise click.UsageError(f"'{_called(other)}' and '{_called(param)}': give one of them", ctx)
        raise click.UsageError(f"'{_called(param)}' is given more than once; give it once", ctx)


def _harmless(param: click.Option, other: click.Option) -> bool:
    """Return whether both say the same: a switch that can only be turned on."""
    return param is other and param.is_flag and not param.secondary_opts


def _as_libsvm(param: click.Option, words: Sequence[str], ctx: click.Context) -> bool:
    """Return whether every repeat is written as LIBSVM's program has it, with a letter."""
    if not any(f"-{letter}" in param.opts for letter in LIBSVM.get(str(ctx.command.name), "")):
        return False
    long = [name for name in param.opts if name.startswith("--")]
    return not any(word.split("=")[0] in long for word in words)


def _called(option: click.Option) -> str:
    return max(option.opts, key=len)


def program_options() -> list[click.Option]:
    """Return ``--progress`` and ``--debug``, which the program and all commands have."""
    return [
        click.Option(
            ["--progress"],
            type=click.Choice(["auto", "plain", "none"]),
            expose_value=False,
            is_eager=True,
            callback=_set_progress,
            help="auto (the default): progress bars if stderr is a terminal. plain: a line of text every few "
            "seconds, for logs.",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_set_debug,
            help="Show the Python traceback of an error.",
        ),
    ]


def _set_debug(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().obj.debug = True


def _set_progress(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    settings = ctx.find_root().obj
    if settings.progress is not None:
        raise click.UsageError("'--progress' is given more than once; give it once", ctx)
    settings.progress = value
