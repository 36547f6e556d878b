"""Messages for command lines that cannot be parsed."""

from __future__ import annotations

import click

#: A name at least this similar to an existing one may be a typo; '--model' and '--help' have a ratio of 0.4.
_ALIKE = 0.7


def message_of(error: click.UsageError) -> str:
    """Return the message on one line; for an unknown option, suggest what may have been meant."""
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
