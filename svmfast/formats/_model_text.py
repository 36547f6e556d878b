"""The text of a model file, in LIBSVM's format or svmfast's: tokens, numbers, and the faults of both."""

from __future__ import annotations

import math
import re
import sys
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import ModelFormatError

_TOKEN = re.compile(rb"[^ \t\r\n]+")
#: Of a type of numbers, the form of its tokens and its range. Python alone would also read nan and 1_000.
_NUMBERS = {
    "float64": (
        re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"),
        -sys.float_info.max,
        sys.float_info.max,
    ),
    "int32": (re.compile(rb"[+-]?[0-9]+"), -(2**31), 2**31 - 1),
}


class ModelText:
    """The whole text of a model; `path` is its name in messages, `pos` where reading goes on."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data, self.path, self.pos = data, path, 0

    def line_at(self, pos: int) -> int:
        """The line number, from 1, of a position."""
        return self.data.count(b"\n", 0, pos) + 1

    def token_at(self, pos: int) -> tuple[str, int, int]:
        """The next token at or after `pos`, its start and its stop; at the end, an empty token."""
        match = _TOKEN.search(self.data, pos)
        if match is None:
            return "", len(self.data), len(self.data)
        return match.group().decode("utf-8", "backslashreplace"), match.start(), match.end()

    def numbers_at(self, pos: int, count: int, dtype: str) -> tuple[NDArray[Any], int, int]:
        """Up to `count` numbers, how many they are, and where reading ended, at a token that is none."""
        form, least, most = _NUMBERS[dtype]
        numbers: list[float] = []
        for token in islice(_TOKEN.finditer(self.data, pos), count):
            number = float(token.group()) if form.fullmatch(token.group()) else math.nan
            if not least <= number <= most:
                pos = token.start()
                break
            numbers.append(number)
            pos = token.end()
        return np.array(numbers, dtype=dtype), len(numbers), pos

    def fault(self, line: int | None, what: str, expected: str, token: str | None = None) -> ModelFormatError:
        """An error about this file."""
        return ModelFormatError(self.path, line, what, token, f"expected {expected}")

    def not_a_number(self, line: int, token: str, of: str, dtype: str = "float64") -> ModelFormatError:
        """An error about a token that is not a number of a type; `of` names the value."""
        expected = "a finite decimal number" if dtype == "float64" else f"a {dtype[3:]}-bit integer"
        if re.fullmatch(r"[+-]?[0-9]+,[0-9]*([eE][+-]?[0-9]+)?", token):
            expected += " with a point, not a comma"
        return self.fault(line, f"{of} is {'not valid' if token else 'missing'}", expected, token or None)
