"""Options of all commands, and messages for command lines that cannot be parsed.

An option that is given twice is an error: nothing that a user types is dropped silently.

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
    """Whether both say the same: a switch that can only be turned on."""
    return param is other and param.is_flag and not param.secondary_opts


def _as_libsvm(param: click.Option, words: Sequence[str], ctx: click.Context) -> bool:
    """Whether every repeat is written as LIBSVM's program has it, with a letter."""
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


#: A name at least this similar to an existing one may be a typo; '--model' and '--help' have a ratio of 0.4.
_ALIKE = 0.7


def message_of(error: click.UsageError) -> str:
    """The message on one line; for an unknown option, suggest what may have been meant."""
    if isinstance(error, click.NoSuchOption):
        if error.option_name == "--unlabelled" and error.ctx is not None and _reads_rows(error.ctx):
            return f"no option '--unlabelled': {error.ctx.info_name} needs the labels of all rows"
        hint = None if error.ctx is None else _meant(error.option_name, error.ctx)
        return f"No such option '{error.option_name}'" + (f"; {hint}" if hint else "")
    message = error.format_message().rstrip(".").replace("\n", " ")
    if error.ctx is not None and message.startswith("Got unexpected extra argument"):
        return f"{message}; usage: {_usage(error.ctx)}"
    return message


def _usage(ctx: click.Context) -> str:
    return " ".join([ctx.command_path, *ctx.command.collect_usage_pieces(ctx)])


def _reads_rows(ctx: click.Context) -> bool:
    return any(param.name == "zero_based" for param in ctx.command.params)


def _meant(name: str, ctx: click.Context) -> str | None:
    """Suggest what an unknown option may mean: an argument, an option of another name, or a typo."""
    from difflib import get_close_matches

    bare = name.lstrip("-")
    words: dict[str, str] = {}
    for param in ctx.command.get_params(ctx):
        if isinstance(param, click.Option):
            if param.name == bare.replace("-", "_"):
                return f"did you mean '{param.opts[-1]}'?"
            names = (*param.opts, *param.secondary_opts)
            words |= {word.lstrip("-"): word for word in names if word.startswith("--")}
        else:
            called = (param.metavar or str(param.name)).upper().strip("[]").removesuffix("...")
            if bare.upper() == called:
                return f"{called} is an argument: {_usage(ctx)}"
    if len(bare) > 1:
        starting = [word for word in words if word.startswith(bare)]
        near = starting or get_close_matches(bare, words, n=1, cutoff=_ALIKE)
        if near:
            return f"did you mean {' or '.join(repr(words[word]) for word in near)}?"
    return None
