"""Names of flags in messages: the code below the command line names parameters, as in "`gamma` is 0".

Only this module converts such a name to the flag that a user types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import click

#: Parameters with another name on the command line.
_OTHER_NAMES = {"threads": "jobs"}
#: Parameters that users of LIBSVM know by a flag with a value, in every command.
_WITH_VALUE = {"probability": "-b 1"}
#: Parameters of the last command: its errors are described after it has ended.
_RUNNING: list[click.Parameter] = []
_NAME = re.compile(r"`([A-Za-z][A-Za-z0-9_]*)`")
#: Advice that names a parameter which not every command has.
_IF_IT_HAS = re.compile(r"; ([^;`]*)`(\w+)`, if the command has it")
#: What takes the place of such advice where the command does not have the parameter.
_INSTEAD = {
    "unlabelled": "; all rows need labels, such as a model's (svmfast predict --unlabelled --keep FEATURES)"
}


def remember(command: click.Command) -> None:
    """Remember `command` as the running one."""
    _RUNNING[:] = command.params


def with_flags(text: str, params: Iterable[click.Parameter] | None = None) -> str:
    """Replace every name in backquotes by the command's flag or argument.

    Parameters
    ----------
    text : str
    params : iterable of Parameter, optional
        By default those of the running command. A name that is not among them becomes ``--name``; but
        advice that ends in "if the command has it" is left out, or replaced by other advice.
    """
    if params is None:
        params = _RUNNING
    known = {one.name: one for one in params}

    def advice(found: re.Match[str]) -> str:
        if found[2] in known:
            return f"; {found[1]}`{found[2]}`"
        return _INSTEAD.get(found[2], "")

    def shown(found: re.Match[str]) -> str:
        if found[1] in _WITH_VALUE:
            return _WITH_VALUE[found[1]]
        param = known.get(_OTHER_NAMES.get(found[1], found[1]))
        if isinstance(param, click.Argument):
            return (param.metavar or str(param.name)).upper()
        if param is not None:
            return max(param.opts, key=len)
        return "--" + found[1].rstrip("_").replace("_", "-")

    return _NAME.sub(shown, _IF_IT_HAS.sub(advice, text))
