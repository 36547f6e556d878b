"""The option of all commands, and messages for command lines that cannot be parsed."""

from __future__ import annotations

import click


def debug_option() -> click.Option:
    """``--debug``, which the program and all commands have."""
    return click.Option(
        ["--debug"],
        is_flag=True,
        callback=_set_debug,
        help="Show the Python traceback of an error.",
        expose_value=False,
        is_eager=True,
    )


def _set_debug(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().obj.debug = True


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
