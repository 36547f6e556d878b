"""Numbers in model files of both formats: reads lists of numbers and explains invalid tokens."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from svmfast._core import parse_float64, parse_int32, parse_int64
from svmfast.errors import ModelFormatError

_TOKEN = re.compile(rb"[^ \t\r\n]+")
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COMMA = re.compile(r"[+-]?\d+,\d*([eE][+-]?\d+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf)", re.ASCII | re.IGNORECASE)
_HEXADECIMAL = re.compile(r"[+-]?0x", re.ASCII | re.IGNORECASE)

_PARSERS: dict[str, Callable[[bytes, int, int], tuple[NDArray[Any], int, int]]] = {
    "float64": parse_float64,
    "int64": parse_int64,
    "int32": parse_int32,
}


def line_of(data: bytes, pos: int) -> int:
    """Return the line number, from 1, of a position."""
    return data.count(b"\n", 0, pos) + 1


def token_at(data: bytes, pos: int) -> tuple[str, int, int]:
    """Return the next token at or after `pos`, its start and its stop; at the end, an empty token."""
    match = _TOKEN.search(data, pos)
    if match is None:
        return "", len(data), len(data)
    return match.group().decode("utf-8", "backslashreplace"), match.start(), match.end()


def number_fault(
    path: str, line: int, token: str, of: str, dtype: str = "float64", *, finite: str = "a finite number"
) -> ModelFormatError:
    """Return the error that explains why `token` is not a number of type `dtype`.

    `of` names the value; `finite` is what the message expects in place of nan or infinity.
    """
    if not token:
        return ModelFormatError(path, line, f"{of} is missing", None, "expected a number")
    if _NOT_FINITE.match(token):
        return ModelFormatError(path, line, f"{of} is not finite", token, f"expected {finite}")
    if _COMMA.fullmatch(token):
        return ModelFormatError(path, line, f"{of} has a decimal comma", token, "expected a decimal point")
    if _HEXADECIMAL.match(token):
        return ModelFormatError(path, line, f"{of} is hexadecimal", token, "expected a decimal number")
    if dtype != "float64":
        if _INTEGER.fullmatch(token):
            return ModelFormatError(
                path, line, f"{of} is out of range", token, f"expected a {dtype[3:]}-bit integer"
            )
        return ModelFormatError(path, line, f"{of} is not an integer", token, "expected an integer")
    if _DECIMAL.fullmatch(token):
        return ModelFormatError(path, line, f"{of} is too large", token, "expected at most 1.8e308")
    return ModelFormatError(path, line, f"{of} is not a number", token, "expected a decimal number")


def read_numbers(data: bytes, pos: int, count: int, dtype: str) -> tuple[NDArray[Any], int, int]:
    """Read up to `count` numbers of `dtype`; return them, how many they are, and where reading ended.

    They are fewer than `count` if the token there is not such a number.
    """
    return _PARSERS[dtype](data, pos, count)
