"""Numeric option values: whole and real numbers, shares, sizes and grids."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from svmfast.values.base import DECIMAL_TEXT, MOST, MOST_64, Value, finite_float, read_decimal

_WHOLE = re.compile(r"[+-]?[0-9]+")
_SHARE = re.compile(rf"({DECIMAL_TEXT}(?:[eE]-?[0-9]{{1,2}})?)\s*(%?)")
_SIZE = re.compile(rf"({DECIMAL_TEXT})\s*([kKmMgGtT]?)(?:i?[bB])?")


class Whole(Value):
    """A whole number from `least` to `most`."""

    name = "N"

    def __init__(self, least: int = 0, most: int = MOST) -> None:
        self.least, self.most = least, most

    def read(self, text: str) -> int | None:
        return self.accept(int(text)) if _WHOLE.fullmatch(text) else None

    def expected(self) -> str:
        if self.most - self.least == 1:
            return f"{self.least} or {self.most}"
        return f"a whole number from {self.least} to {self.most}"

    def accept(self, value: Any) -> int | None:
        if isinstance(value, bool):
            return None
        try:
            number = operator.index(value)
        except TypeError:
            return None
        return number if self.least <= number <= self.most else None


class WholeOr(Whole):
    """A whole number, or one of some words."""

    def __init__(self, *words: str, least: int = 1, most: int = MOST) -> None:
        super().__init__(least, most)
        self.words, self.name = words, "|".join(["N", *words])
        self._either = " or ".join(f"'{word}'" for word in words)
        self.type_expected = f"a number or {self._either}"

    def has_type(self, value: Any) -> bool:
        return isinstance(value, str) or super().has_type(value)

    def read(self, text: str) -> Any:
        return text if text in self.words else super().read(text)

    def expected(self) -> str:
        return f"{super().expected()}, or {self._either}"

    def accept(self, value: Any) -> Any:
        return value if isinstance(value, str) and value in self.words else super().accept(value)


class Real(Value):
    """A finite number from `least` to `most`; `above` excludes `least`, and `below` excludes `most`."""

    name = "NUMBER"

    def __init__(
        self, least: float = -math.inf, most: float = math.inf, *, above: bool = False, below: bool = False
    ) -> None:
        self.least, self.most, self.above, self.below = least, most, above, below

    def read(self, text: str) -> float | None:
        return self.accept(read_decimal(text))

    def expected(self) -> str:
        parts = ["a finite decimal number"]
        if self.least > -math.inf:
            parts.append(f"above {self.least:g}" if self.above else f"of at least {self.least:g}")
        if self.most < math.inf:
            parts.append(f"below {self.most:g}" if self.below else f"of at most {self.most:g}")
        return parts[0] + (" " if len(parts) > 1 else "") + " and ".join(parts[1:])

    def accept(self, value: Any) -> float | None:
        number = finite_float(value)
        return number if number is not None and self._allows(number) else None

    def _allows(self, number: float | Fraction) -> bool:
        at_end = (self.above and number == self.least) or (self.below and number == self.most)
        return self.least <= number <= self.most and not at_end


#: Denominators up to this are recovered from a float64: two such fractions differ by more than its rounding.
_MOST_ROWS = 2**26


def percentage(share: float) -> float:
    """A share in percent: for the double ``k / n``, the double ``100 * k / n``.

    The product ``100 * share`` may be another one: 100 * 0.07 is above 7, which 7 of 100 rows are.
    """
    exact = Fraction(share).limit_denominator(_MOST_ROWS)
    return float(100 * exact) if float(exact) == share else 100 * share


class Share(Real):
    """``5%``: a share above 0 and below 1; `zero` also allows 0, and `whole` 1.

    On the command line it has a percent sign: 0.5 could mean 0.5% or 50%. In Python it is a fraction: 0.005
    is 0.5%. Text is read exactly and rounded once, to the double that ``k / n`` gives for the same share of n
    rows, so that a count exactly at a limit does not exceed it.
    """

    name = "SHARE%"

    def __init__(self, *, zero: bool = False, whole: bool = False) -> None:
        super().__init__(0, 1, above=not zero, below=not whole)

    def read(self, text: str) -> float | None:
        found = _SHARE.fullmatch(text)
        if found is None:
            return None
        share = Fraction(found[1]) / 100
        return float(share) if (found[2] or share == 0) and self._allows(share) else None

    def expected(self) -> str:
        low, high = (
            "above 0%" if self.above else "of at least 0%",
            "below 100%" if self.below else "at most 100%",
        )
        return f"a share {low} and {high}, such as 5%"

    def text(self, value: Any) -> str:
        return f"{100 * value:.15g}%"


class Bytes(Value):
    """A size in bytes: ``32k``, ``2M``, ``500MiB``, ``1G`` or a plain number; k is 1024."""

    name = "SIZE"
    type_expected = "a number, or text such as '32k'"

    def has_type(self, value: Any) -> bool:
        return isinstance(value, str) or super().has_type(value)

    def read(self, text: str) -> int | None:
        found = _SIZE.fullmatch(text)
        if found is None:
            return None
        return self.accept(int(Fraction(found[1]) * 1024 ** " kmgt".index(found[2].lower() or " ")))

    def expected(self) -> str:
        return "a size such as 32k, 2M, 1G or a number of bytes"

    def accept(self, value: Any) -> int | None:
        if isinstance(value, str):
            found: int | None = self.of_text(value)
            return found
        return Whole(1, MOST_64).accept(value)


class Grid(Value):
    """A tuple of one or more positive numbers: ``0.5``, ``2^-4``, ``0.01,0.1,1``."""

    name = "G[,G...]"
    type_expected = "a number, or a sequence of numbers"

    def has_type(self, value: Any) -> bool:
        return super().has_type(value) or (isinstance(value, Sequence) and not isinstance(value, str))

    def read(self, text: str) -> tuple[float, ...] | None:
        return self.accept([self._number(word.strip(" \t")) for word in text.split(",")])

    def _number(self, word: str) -> float | None:
        base, power, exponent = word.partition("^")
        low = read_decimal(base)
        high = read_decimal(exponent) if power else 1.0
        if low is None or high is None or low <= 0:
            return None
        try:
            return float(low**high)
        except OverflowError:
            return None

    def expected(self) -> str:
        return "positive numbers such as 0.5, 2^-4 or 0.01,0.1,1"

    def text(self, value: Any) -> str:
        return ",".join(map(repr, value)) if isinstance(value, tuple) else repr(value)

    def accept(self, value: Any) -> tuple[float, ...] | None:
        numbers = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
        found = tuple(one for number in numbers if (one := Real(0, above=True).accept(number)) is not None)
        return found if 0 < len(found) == len(numbers) else None


class OneOrGrid(Real):
    """A number, or a tuple of several positive ones, as in :class:`Grid`."""

    name = "NUMBER[,...]"
    type_expected = "a number, or a sequence of numbers"

    def has_type(self, value: Any) -> bool:
        return Grid().has_type(value)

    def read(self, text: str) -> Any:
        return super().read(text) if not {*text} & {*",^"} else self.accept(Grid().read(text) or ())

    def expected(self) -> str:
        return f"{super().expected()}, or several positive ones such as 0.1,1,10 or 2^-4,2^-2"

    def text(self, value: Any) -> str:
        return Grid().text(value)

    def accept(self, value: Any) -> Any:
        if not isinstance(value, Sequence) or isinstance(value, str):
            return super().accept(value)
        several = Grid().accept(value)
        return several[0] if several and len(several) == 1 else several


class Pair(Value):
    """Two finite numbers, the limits of an interval; on the command line two words."""

    name = "LOWER UPPER"
    type_expected = "a pair of numbers"

    def has_type(self, value: Any) -> bool:
        return isinstance(value, Sequence) and not isinstance(value, str)

    def read(self, text: str) -> tuple[float, ...] | None:
        return self.accept([read_decimal(word) for word in text.split()])

    def accept(self, value: Any) -> tuple[float, ...] | None:
        found = tuple(number for one in value if (number := Real().accept(one)) is not None)
        return found if len(found) == len(value) == 2 else None
