"""The base class of all kinds of values, and the reader of decimal text."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Number
from typing import Any

#: Largest count: LIBSVM stores counts as 32-bit int.
MOST = 2**31 - 1
#: Largest number that is stored in 64 bits: seeds, bytes.
MOST_64 = 2**63 - 1

DECIMAL_TEXT = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_DECIMAL = re.compile(rf"[+-]?{DECIMAL_TEXT}(?:[eE][+-]?[0-9]+)?")
#: Longest text that is read as a number; Python refuses thousands of digits.
_MOST_DIGITS = 400


class Value(ABC):
    """A kind of value."""

    #: Its name in help.
    name = "value"
    #: Accepted types of a Python value.
    type_expected = "a number"

    def has_type(self, value: Any) -> bool:
        """Whether a Python value has one of the accepted types."""
        return isinstance(value, Number) and not isinstance(value, bool)

    def of_text(self, text: str) -> Any:
        """The value that `text` spells; None if it is not allowed."""
        text = text.strip(" \t\n")
        return self.read(text) if len(text) <= _MOST_DIGITS else None

    @abstractmethod
    def read(self, text: str) -> Any:
        """The value that `text` spells, ignoring blanks at its ends; None if it is not allowed."""

    def expected(self) -> str:
        """A description of the allowed values, to follow the word "expected"."""
        return self.type_expected

    @abstractmethod
    def accept(self, value: Any) -> Any:
        """A Python value in the form that :meth:`read` returns; None if it is not allowed."""

    def text(self, value: Any) -> str:
        """Text that :meth:`read` turns back into `value`."""
        return repr(value) if isinstance(value, float) else str(value)

    def command_words(self, flags: Sequence[str], value: Any) -> list[str]:
        """The command-line arguments that set an option with these flags to this value."""
        return [flags[0], self.text(value)]


class Worded(Value):
    """A kind of value that is text as it is."""

    def has_type(self, value: Any) -> bool:
        return isinstance(value, str)

    def read(self, text: str) -> str | None:
        return text

    def accept(self, value: Any) -> Any:
        return self.read(value) if isinstance(value, str) else None


def read_decimal(text: str) -> float | None:
    """The finite float64 that decimal `text` spells; None of other text, and if it under- or overflows."""
    if not _DECIMAL.fullmatch(text):
        return None
    number = float(text)
    underflows = number == 0 and any(digit in "123456789" for digit in re.split("[eE]", text)[0])
    return None if underflows or math.isinf(number) else number


def finite_float(value: Any) -> float | None:
    """A finite Python or NumPy number as a float; None for anything else."""
    if value is None or isinstance(value, bool | str | bytes):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
