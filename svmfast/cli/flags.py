"""From parameters to flags: below the command line a message names a parameter, as in "`gamma` is 0".

This is the one place where such a name becomes what a user of the command line types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

#: Parameters that the command line has under another name.
_OTHER_NAMES = {"threads": "jobs"}
#: Parameters of the command that runs, or ran last: errors are described when it has ended.
_RUNNING: list[click.Parameter] = []
_NAME = re.compile(r"`([A-Za-z][A-Za-z0-9_]*)`")


def remember(command: click.Command) -> None:
    """Take `command` for the one that runs."""
    _RUNNING[:] = command.params


def with_flags(text: str, params: Iterable[click.Parameter] | None = None) -> str:
    """Return `text` with the flag, or the argument, of a command for every name in backquotes.

    Parameters
    ----------
    text : str
    params : iterable of Parameter, optional
        Those of the command that runs by default. A name that none of them has becomes the flag of that name.
    """
    if params is None:
        params = _RUNNING
    known = {one.name: one for one in params}

    def shown(found: re.Match[str]) -> str:
        param = known.get(_OTHER_NAMES.get(found[1], found[1]))
        if isinstance(param, click.Argument):
            return (param.metavar or str(param.name)).upper()
        if param is not None:
            return max(param.opts, key=len)
        return "--" + found[1].rstrip("_").replace("_", "-")

    return _NAME.sub(shown, text)
