"""Functions whose options are declared by a class: signature and docstring are made from the declaration."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import TypeVar

from svmfast.options import Option, options_of

T = TypeVar("T")

#: The line of a docstring that is replaced by the options.
_LINE = "    {options}\n"
_INDENT = 4
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_WIDTH = 110


def takes(*declared: type) -> Callable[[T], T]:
    """Return a decorator for a function or class that takes the options of these classes as ``**options``.

    The function calls :func:`svmfast.options.made` with them, which checks them as on the command line. Here
    its signature and its docstring, in place of the line ``{options}``, get every one of them.
    """
    entries = [line for cls in declared for one in options_of(cls) for line in option_lines(one)]

    def decorated(target: T) -> T:
        signature = inspect.signature(target)  # type: ignore[arg-type]
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        first = [one for one in own if one.kind is not one.KEYWORD_ONLY]
        parameters = [*first, *option_parameters(*declared), *own[len(first) :]]
        target.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        if target.__doc__ is not None:  # python -OO has none
            text = "".join(f"{' ' * _INDENT}{line}\n" for line in entries)
            target.__doc__ = target.__doc__.replace(_LINE, text)
        return target

    return decorated


def option_parameters(*declared: type) -> list[inspect.Parameter]:
    """Return the keyword-only parameters for the options of these classes."""
    bases = [base for cls in declared for base in cls.__mro__[:-1]]
    hints = {name: hint for base in bases for name, hint in base.__annotations__.items()}
    found = []
    for one in (one for cls in declared for one in options_of(cls)):
        hint = hints[one.name]
        if one.default is None and "None" not in hint and hint != "Any":
            hint += " | None"  # the run sets it
        found.append(inspect.Parameter(one.name, _KEYWORD, default=one.default, annotation=hint))
    return found


def option_lines(one: Option) -> list[str]:
    """Return the entry of an option in a numpydoc docstring."""
    default = one.shown or ("" if one.default is None else repr(one.default))
    kind = one.value.expected() + (f" (default: {default})" if default else ", optional")
    return [f"{one.name} : {kind}", *wrapped(one.help, _INDENT)]


def wrapped(text: str, indent: int) -> list[str]:
    """Return paragraphs as lines of a docstring."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        if lines:
            lines.append("")
        body = " ".join(paragraph.split())
        lines += textwrap.wrap(body, _WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent)
    return lines
