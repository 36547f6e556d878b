"""Names of flags in messages: the code below the command line names parameters, as in "`gamma` is 0".

Only this module converts such a name to the flag that a user types.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svmfast.options import Option

#: Parameters that users of LIBSVM know by a flag with a value, in every command.
_WITH_VALUE = {"probability": "-b 1"}
#: Options of the last command: its errors are described after it has ended.
_RUNNING: list[Option] = []
_NAME = re.compile(r"`([A-Za-z][A-Za-z0-9_]*)`")
#: Advice that names a parameter which not every command has.
_IF_IT_HAS = re.compile(r"; ([^;`]*)`(\w+)`, if the command has it")
#: What takes the place of such advice where the command does not have the parameter.
_INSTEAD = {
    "unlabelled": "; all rows need labels, such as a model's (svmfast predict --unlabelled --keep FEATURES)"
}


def remember(options: Sequence[Option]) -> None:
    """Remember the options of the running command."""
    _RUNNING[:] = options


def with_flags(text: str, options: Sequence[Option] | None = None) -> str:
    """Replace every name in backquotes by the flag or argument of a command, by default the running one.

    A name that it does not have becomes ``--name``; but advice that ends in "if the command has it" is left
    out, or replaced by other advice.
    """
    known = {one.name: one for one in (_RUNNING if options is None else options)}

    def advice(found: re.Match[str]) -> str:
        if found[2] in known:
            return f"; {found[1]}`{found[2]}`"
        return _INSTEAD.get(found[2], "")

    def shown(found: re.Match[str]) -> str:
        if found[1] in _WITH_VALUE:
            return _WITH_VALUE[found[1]]
        one = known.get(found[1])
        return "--" + found[1].rstrip("_").replace("_", "-") if one is None else one.called

    return _NAME.sub(shown, _IF_IT_HAS.sub(advice, text))
