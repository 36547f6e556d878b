"""Options of all commands, and messages for command lines that cannot be parsed.

An option that is given twice is an error: nothing that a user types is dropped silently. LIBSVM's own options
in the commands that stand in for its programs keep LIBSVM's rule: the last value counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click

#: LIBSVM's options, by the command that stands in for the program: svm-train, svm-predict, svm-scale.
LIBSVM = {"train": "stdgrncmephbwvq", "predict": "bq", "scale": "luysr"}


class Strict(click.Command):
    """A command that refuses repeated options."""

    def make_parser(self, ctx: click.Context) -> Any:
        parser: Any = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:
            words = list(args)  # parsing empties the list
            found = parse(args=args)
            if not ctx.resilient_parsing:
                _refuse_repeats(found[2], words, ctx)
            return found

        parser.parse_args = parse_args
        return parser


def _refuse_repeats(given: Iterable[click.Parameter], words: Sequence[str], ctx: click.Context) -> None:
    """Raise a UsageError if one of the parameters `given`, in their order, replaces an earlier one."""
    earlier: set[str | None] = set()
    for param in given:
        if not isinstance(param, click.Option) or param.multiple or param.count:
            continue
        only_on = param.is_flag and not param.secondary_opts
        if param.name in earlier and not only_on and not _as_libsvm(param, words, ctx):
            longest = max(param.opts, key=len)
            raise click.UsageError(f"'{longest}' is given more than once; give it once", ctx)
        earlier.add(param.name)


def _as_libsvm(param: click.Option, words: Sequence[str], ctx: click.Context) -> bool:
    """Whether every repeat is written as LIBSVM's program has it, with a letter."""
    if not any(f"-{letter}" in param.opts for letter in LIBSVM.get(str(ctx.command.name), "")):
        return False
    return not any(word.split("=")[0] in param.opts for word in words if word.startswith("--"))


def program_options() -> list[click.Option]:
    """``--progress`` and ``--debug``, which the program and all commands have."""
    usual: dict[str, Any] = {"expose_value": False, "is_eager": True}
    return [
        click.Option(
            ["--progress"],
            type=click.Choice(["auto", "plain", "none"]),
            callback=_set_progress,
            help="auto (the default): progress bars if stderr is a terminal. plain: a line of text every few "
            "seconds, for logs.",
            **usual,
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            callback=_set_debug,
            help="Show the Python traceback of an error.",
            **usual,
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


#: A name at least this similar to an existing one may be a typo.
_ALIKE = 0.8


def message_of(error: click.UsageError) -> str:
    """The message on one line; for an unknown option, suggest similar ones."""
    if isinstance(error, click.NoSuchOption):
        from difflib import get_close_matches

        name, known = error.option_name, list(error.possibilities or ())
        near = [one for one in known if one.startswith(name)] or get_close_matches(name, known, 1, _ALIKE)
        meant = " or ".join(map(repr, near))
        return f"No such option '{name}'" + (f"; did you mean {meant}?" if meant else "")
    message = error.format_message().rstrip(".").replace("\n", " ")
    if error.ctx is not None and message.startswith("Got unexpected extra argument"):
        usage = " ".join([error.ctx.command_path, *error.ctx.command.collect_usage_pieces(error.ctx)])
        return f"{message}; usage: {usage}"
    return message
