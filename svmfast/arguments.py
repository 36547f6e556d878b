"""Checks of arguments from Python; on the command line the option types do the same."""

from __future__ import annotations

from typing import Any

from svmfast.display import shown
from svmfast.errors import OptionError, WrongTypeError
from svmfast.values import Value


def checked(name: str, value: Any, kind: Value) -> Any:
    """Return a Python value in the form that its kind has when it is read from text."""
    if not kind.has_type(value):
        raise WrongTypeError(name, value, kind.type_expected)
    found = kind.accept(value)
    if found is None:
        raise OptionError(f"{name} is {shown(repr(value), 60)}; expected {kind.expected()}")
    return found
