"""Checks of arguments from Python; on the command line the option types do the same."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from svmfast.display import shown
from svmfast.errors import OptionError, WrongTypeError
from svmfast.values import Value


def check_number(
    name: str, value: Any, *, least: float = 0.0, above: bool = False, most: float = math.inf
) -> None:
    """Refuse anything but a finite number in a range, or None for a default.

    Parameters
    ----------
    name : str
        What the number is.
    value : object
    least, most : float
        Both belong to the range, `least` not with `above`.

    Raises
    ------
    WrongTypeError, OptionError
    """
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Real):
        raise WrongTypeError(name, value, "a number")
    number = float(value)
    if not math.isfinite(number) or not least <= number <= most or (above and number == least):
        low = f"above {least:g}" if above else f"of at least {least:g}"
        high = f" and at most {most:g}" if math.isfinite(most) else ""
        raise OptionError(f"{name} is {number:g}; expected a finite number {low}{high}")


def checked(name: str, value: Any, kind: Value) -> Any:
    """Return a Python value in the form that its kind has when it is read from text.

    Raises
    ------
    WrongTypeError
        `value` has a wrong type.
    OptionError
        `value` is not allowed.
    """
    if not kind.has_type(value):
        raise WrongTypeError(name, value, kind.type_expected)
    found = kind.accept(value)
    if found is None:
        raise OptionError(f"{name} is {shown(repr(value), 60)}; expected {kind.expected()}")
    return found
