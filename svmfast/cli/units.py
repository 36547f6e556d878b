"""Option values that are numbers: whole and decimal ones, shares such as 5%, multiples, sizes, times, grids.

Every option that takes a number has one of these types (tests/test_numbers.py). Numbers are written in
decimal with the digits 0 to 9; nan, inf, ``1_000``, digits of other scripts and what float64 cannot hold are
refused.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

import click

from svmfast.display import shown

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # older click has no parameter there

#: Largest count: what LIBSVM's int holds. More than that of anything is a slip of the finger.
MOST = 2**31 - 1
#: Largest number that is stored in 64 bits: seeds, bytes.
MOST_64 = 2**63 - 1

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL_TEXT = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_DECIMAL = re.compile(rf"[+-]?{_DECIMAL_TEXT}(?:[eE][+-]?[0-9]+)?")
_SHARE = re.compile(rf"({_DECIMAL_TEXT}(?:[eE]-?[0-9]{{1,2}})?)\s*(%?)")
_MULTIPLE = re.compile(rf"({_DECIMAL_TEXT})\s*x?")
_SIZE = re.compile(rf"({_DECIMAL_TEXT})\s*([kKmMgGtT]?)(?:i?[bB])?")
_TIME = re.compile(rf"({_DECIMAL_TEXT})\s*([smh]?)")
#: Digits behind which no number here goes on; Python refuses to read thousands of them.
_MOST_DIGITS = 400


class Number(_ParamType):
    """An option value that is a number: the base of all types that are."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value  # a default
        text = value.strip(" \t\n")
        found = self.read(text) if len(text) <= _MOST_DIGITS else None
        if found is None:
            self.refuse(value, param, ctx)
        return found

    def read(self, text: str) -> Any:
        """Return the number that `text` spells, None where it is none that is allowed."""
        raise NotImplementedError

    def expected(self) -> str:
        """Say what is allowed."""
        raise NotImplementedError

    def refuse(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> NoReturn:
        """Raise the error for `value`."""
        self.fail(f"'{shown(value, 60)}' is not {self.expected()}", param, ctx)


class Whole(Number):
    """A whole number from `least` to `most`."""

    name = "number"

    def __init__(self, least: int = 0, most: int = MOST) -> None:
        self.least, self.most = least, most

    def read(self, text: str) -> int | None:
        number = int(text) if _WHOLE.fullmatch(text) else None
        return None if number is None or not self.least <= number <= self.most else number

    def expected(self) -> str:
        if self.most - self.least == 1:
            return f"{self.least} or {self.most}"
        return f"a whole number from {self.least} to {self.most}"


class WholeOrAuto(Whole):
    """A whole number from `least` to `most`, or ``auto``."""

    def read(self, text: str) -> Any:
        return text if text == "auto" else super().read(text)

    def expected(self) -> str:
        return f"{super().expected()}, nor 'auto'"


class Real(Number):
    """A finite decimal number; `least` and `most` belong to the range unless it is `open` there."""

    name = "number"

    def __init__(
        self, least: float = -math.inf, most: float = math.inf, *, above: bool = False, below: bool = False
    ) -> None:
        self.least, self.most, self.above, self.below = least, most, above, below

    def read(self, text: str) -> float | None:
        number = read_decimal(text)
        if number is None or not self.least <= number <= self.most:
            return None
        beyond = (self.above and number == self.least) or (self.below and number == self.most)
        return None if beyond else number

    def expected(self) -> str:
        parts = ["a finite decimal number"]
        if self.least > -math.inf:
            parts.append(f"above {self.least:g}" if self.above else f"of at least {self.least:g}")
        if self.most < math.inf:
            parts.append(f"below {self.most:g}" if self.below else f"of at most {self.most:g}")
        return parts[0] + (" " if len(parts) > 1 else "") + " and ".join(parts[1:])


def read_decimal(text: str) -> float | None:
    """Return the finite float64 that decimal `text` spells; None where it is no decimal number, or where only
    0 or infinity is nearest to it.
    """
    if not _DECIMAL.fullmatch(text):
        return None
    number = float(text)
    vanished = number == 0 and any(digit in "123456789" for digit in re.split("[eE]", text)[0])
    return None if vanished or math.isinf(number) else number


class Share(Number):
    """``5%``: a share above 0 and below 1, or from 0 to 1 where the ends may be meant.

    Without its sign a number is refused: 0.5 could be 0.5% or 50%. The share is exact until it is rounded
    once, as a share or (`percent`) as a percentage: it is then the double that ``k / n`` or ``100 * k / n``
    gives for the same share of n rows, and a limit is met by what just reaches it.
    """

    name = "share"

    def __init__(self, *, zero: bool = False, whole: bool = False, percent: bool = False) -> None:
        self.zero, self.whole, self.percent = zero, whole, percent

    def read(self, text: str) -> float | None:
        found = _SHARE.fullmatch(text)
        if found is None:
            return None
        share = Fraction(found[1]) / 100
        signed = found[2] or share == 0  # which is 0 either way
        if not signed or not 0 <= share <= 1:
            return None
        if (share == 0 and not self.zero) or (share == 1 and not self.whole):
            return None
        return float(100 * share) if self.percent else float(share)

    def expected(self) -> str:
        low = "of at least 0%" if self.zero else "above 0%"
        high = "at most 100%" if self.whole else "below 100%"
        return f"a share {low} and {high}, such as 5%"

    def refuse(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> NoReturn:
        found = _SHARE.fullmatch(value.strip(" \t\n"))
        if found is not None and not found[2] and len(found[1]) <= 20 and 0 < Fraction(found[1]) <= 100:
            number, whole = found[1], f"{float(100 * Fraction(found[1])):.15g}%"
            if Fraction(number) > 1:
                self.fail(f"'{number}' lacks the sign of a share; write {number}%", param, ctx)
            self.fail(f"'{number}' could mean {number}% or {whole}; write one of them", param, ctx)
        super().refuse(value, param, ctx)


class Multiple(Number):
    """``12x`` or ``12``, above 0."""

    name = "multiple"

    def read(self, text: str) -> float | None:
        found = _MULTIPLE.fullmatch(text)
        number = read_decimal(found[1]) if found else None
        return number or None

    def expected(self) -> str:
        return "a multiple such as 12x"


class Bytes(Number):
    """``32k``, ``2M``, ``500MiB``, ``1G`` or a plain number; k is 1024."""

    name = "bytes"

    def read(self, text: str) -> int | None:
        found = _SIZE.fullmatch(text)
        if found is None:
            return None
        size = int(Fraction(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " "))
        return size if 1 <= size <= MOST_64 else None

    def expected(self) -> str:
        return "a size such as 32k, 2M, 1G or a number of bytes"


class Duration(Number):
    """``90s``, ``10m`` or ``2h``, in seconds."""

    name = "time"

    def read(self, text: str) -> float | None:
        found = _TIME.fullmatch(text)
        number = read_decimal(found[1]) if found else None
        if found is None or not number:
            return None
        seconds = number * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]
        return seconds if seconds <= MOST else None

    def expected(self) -> str:
        return "a time such as 90s, 10m or 2h"


class Grid(Number):
    """One positive number or several: ``0.5``, ``2^-4``, ``0.01,0.1,1``; a tuple."""

    name = "grid"

    def read(self, text: str) -> tuple[float, ...] | None:
        numbers = [self._number(word.strip(" \t")) for word in text.split(",")]
        return None if None in numbers else tuple(number for number in numbers if number is not None)

    def _number(self, word: str) -> float | None:
        base, power, exponent = word.partition("^")
        low = read_decimal(base)
        high = read_decimal(exponent) if power else 1.0
        if low is None or high is None or low <= 0:
            return None
        try:
            number = low**high
        except OverflowError:
            return None
        return number if 0 < number < math.inf else None

    def expected(self) -> str:
        return "positive numbers such as 0.5, 2^-4 or 0.01,0.1,1"
