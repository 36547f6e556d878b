"""The kinds of option values: numbers, shares, multiples, sizes, times, grids, choices and switches.

Every kind of value reads text (the command line) and accepts Python values (the API) by the same rules.
Numbers are written in decimal with the digits 0 to 9; nan, inf, ``1_000``, digits of other scripts and what
float64 cannot hold are refused.
"""

from __future__ import annotations

import math
import operator
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from numbers import Number
from typing import Any

from svmfast.display import shown

#: Largest count: what LIBSVM's int holds.
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
#: Longest text of a number; Python refuses to read thousands of digits.
_MOST_DIGITS = 400


class Value(ABC):
    """A kind of value.

    Attributes
    ----------
    name : str
        Its name in help.
    """

    name = "value"
    #: Accepted types of a Python value.
    type_expected = "a number"

    def has_type(self, value: Any) -> bool:
        """Return whether a Python value is of a type that may hold such a value."""
        return isinstance(value, Number) and not isinstance(value, bool)

    def of_text(self, text: str) -> Any:
        """Return the value that `text` spells; None if it is not allowed."""
        text = text.strip(" \t\n")
        return self.read(text) if len(text) <= _MOST_DIGITS else None

    @abstractmethod
    def read(self, text: str) -> Any:
        """Return the value that `text` spells, ignoring blanks at its ends; None if it is not allowed."""

    @abstractmethod
    def expected(self) -> str:
        """Return a description of the allowed values, to follow the word "expected"."""

    @abstractmethod
    def accept(self, value: Any) -> Any:
        """Return a Python value in the form that :meth:`read` gives; None where it is not allowed."""

    def text(self, value: Any) -> str:
        """Return text that :meth:`read` turns into `value` again."""
        return repr(value) if isinstance(value, float) else str(value)

    def command_words(self, flags: Sequence[str], value: Any) -> list[str]:
        """Return the words of a command line that give an option with these flags this value."""
        return [flags[0], self.text(value)]

    def reported(self, value: Any) -> Any:
        """Return a value as JSON reports have it: as it is typed."""
        return value

    def hint(self, text: str) -> str | None:
        """Return a message for `text` that is not allowed, where there is a better one than the usual."""
        return None


class Switch(Value):
    """True or False; on the command line a flag without a value."""

    type_expected = "True or False"

    def has_type(self, value: Any) -> bool:
        return isinstance(value, bool)

    def read(self, text: str) -> bool | None:
        return {"True": True, "False": False}.get(text)

    def expected(self) -> str:
        return "True or False"

    def accept(self, value: Any) -> bool | None:
        return value if isinstance(value, bool) else None

    def command_words(self, flags: Sequence[str], value: Any) -> list[str]:
        yes, _, no = flags[-1].partition("/")
        if value:
            return [yes]
        return [no] if no else []


class OnOff(Switch):
    """True or False; on the command line ``1`` or ``0``, as LIBSVM's programs have it."""

    name = "0|1"

    def read(self, text: str) -> bool | None:
        return {"0": False, "1": True}.get(text)

    def hint(self, text: str) -> str | None:
        return f"'{shown(text, 60)}' is not 0 or 1"

    def text(self, value: Any) -> str:
        return str(int(value))

    def command_words(self, flags: Sequence[str], value: Any) -> list[str]:
        return [flags[0], self.text(value)]

    def reported(self, value: Any) -> Any:
        return int(value)


class Choice(Value):
    """One of a few words."""

    type_expected = "a word"

    def __init__(self, *words: str) -> None:
        self.words = words

    def has_type(self, value: Any) -> bool:
        return isinstance(value, str)

    @property
    def name(self) -> str:  # type: ignore[override]
        """The words, as help shows them."""
        return "|".join(self.words)

    def read(self, text: str) -> str | None:
        return text if text in self.words else None

    def expected(self) -> str:
        return f"{', '.join(self.words[:-1])} or {self.words[-1]}"

    def accept(self, value: Any) -> str | None:
        return self.read(value) if isinstance(value, str) else None


class Numbered(Value):
    """One of LIBSVM's words; on the command line its number, its place in the list.

    Parameters
    ----------
    all_words : sequence of str
        At the places of their numbers.
    allowed : sequence of str, optional
        Those that may be chosen; by default all.
    """

    name = "N"
    type_expected = "a word"

    def __init__(self, all_words: Sequence[str], allowed: Sequence[str] | None = None) -> None:
        self._numbers = {word: str(number) for number, word in enumerate(all_words)}
        self._allowed = tuple(allowed or all_words)

    def has_type(self, value: Any) -> bool:
        return isinstance(value, str)

    def read(self, text: str) -> str | None:
        return next((word for word in self._allowed if self._numbers[word] == text), None)

    def expected(self) -> str:
        return f"{', '.join(self._allowed[:-1])} or {self._allowed[-1]}"

    def hint(self, text: str) -> str | None:
        numbers = [self._numbers[word] for word in self._allowed]
        return f"'{shown(text, 60)}' is not {', '.join(numbers[:-1])} or {numbers[-1]}"

    def accept(self, value: Any) -> str | None:
        return value if value in self._allowed else None

    def text(self, value: Any) -> str:
        return self._numbers[value]

    def reported(self, value: Any) -> Any:
        return int(self._numbers[value])


class Weights(Value):
    """A weight for each of some classes, a tuple of (label, weight); on the command line ``-w-1 2.5``.

    Attributes
    ----------
    label, weight : Value
        The allowed labels and weights.
    """

    name = "NUMBER"
    type_expected = "a mapping of labels to weights, or pairs of them"

    def __init__(self) -> None:
        self.label, self.weight = Whole(-MOST - 1), Real(0, above=True)

    def has_type(self, value: Any) -> bool:
        return isinstance(value, Mapping | Sequence) and not isinstance(value, str)

    def read(self, text: str) -> tuple[tuple[int, float], ...] | None:
        pairs = [word.partition(":") for word in text.split(",")]
        return self.accept([(self.label.read(label), self.weight.read(weight)) for label, _, weight in pairs])

    def expected(self) -> str:
        return f"weights by label, such as {{1: 5, -1: 2.5}}: {self.weight.expected()}"

    def accept(self, value: Any) -> tuple[tuple[int, float], ...] | None:
        pairs = list(value.items() if isinstance(value, Mapping) else value)
        if not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in pairs):
            return None
        found = [(self.label.accept(label), self.weight.accept(weight)) for label, weight in pairs]
        kept = tuple((label, weight) for label, weight in found if label is not None and weight is not None)
        return kept if len(kept) == len(pairs) else None

    def text(self, value: Any) -> str:
        return ",".join(f"{label}:{weight!r}" for label, weight in value)

    def command_words(self, flags: Sequence[str], value: Any) -> list[str]:
        return [word for label, weight in value for word in (f"{flags[0]}{label}", repr(weight))]


class Text(Value):
    """Any text."""

    name = "TEXT"
    type_expected = "text"

    def has_type(self, value: Any) -> bool:
        return isinstance(value, str)

    def read(self, text: str) -> str:
        return text

    def expected(self) -> str:
        return "text"

    def accept(self, value: Any) -> str | None:
        return value if isinstance(value, str) else None


class ScalingFile(Value):
    """The path of a file that a scaling is read from; in Python also the scaling itself."""

    name = "RANGES"
    type_expected = "a path, or a Scaling"

    def has_type(self, value: Any) -> bool:
        return isinstance(value, str | os.PathLike) or hasattr(value, "apply_labels")

    def read(self, text: str) -> str:
        return text

    def expected(self) -> str:
        return self.type_expected

    def accept(self, value: Any) -> Any:
        return os.fspath(value) if isinstance(value, os.PathLike) else value


class Names(Value):
    """One name or several, separated by commas; a tuple."""

    name = "NAME[,NAME...]"
    type_expected = "a sequence of names"

    def has_type(self, value: Any) -> bool:
        return isinstance(value, Sequence)

    def read(self, text: str) -> tuple[str, ...] | None:
        return self.accept(text.split(","))

    def expected(self) -> str:
        return "names that differ, separated by commas"

    def text(self, value: Any) -> str:
        return ",".join(value) if isinstance(value, tuple) else str(value)

    def accept(self, value: Any) -> tuple[str, ...] | None:
        names = (value,) if isinstance(value, str) else tuple(value)
        fine = names and all(isinstance(one, str) and one for one in names) and len({*names}) == len(names)
        return names if fine else None


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


class WholeOrAuto(Whole):
    """A whole number from `least` to `most`, or ``auto``."""

    name = "N|auto"
    type_expected = "a number or 'auto'"

    def has_type(self, value: Any) -> bool:
        return isinstance(value, str) or super().has_type(value)

    def read(self, text: str) -> Any:
        return text if text == "auto" else super().read(text)

    def expected(self) -> str:
        return f"{super().expected()}, or 'auto'"

    def accept(self, value: Any) -> Any:
        return value if isinstance(value, str) and value == "auto" else super().accept(value)


class Real(Value):
    """A finite number; `least` and `most` belong to the range unless it is open `above` or `below` them."""

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
        number = _float(value)
        if number is None or not self.least <= number <= self.most:
            return None
        beyond = (self.above and number == self.least) or (self.below and number == self.most)
        return None if beyond else number


class Share(Value):
    """``5%``: a share above 0 and below 1, or from 0 to 1 where the ends may be meant.

    Text without the sign is refused: 0.5 could be 0.5% or 50%. The share is exact until it is rounded once,
    as a share or (`percent`) as a percentage: it is then the double that ``k / n`` or ``100 * k / n`` gives
    for the same share of n rows, and a limit is met by what just reaches it. A Python value is a share
    (0.005), or with `percent` a percentage.
    """

    name = "SHARE%"

    def __init__(self, *, zero: bool = False, whole: bool = False, percent: bool = False) -> None:
        self.zero, self.whole, self.percent = zero, whole, percent

    def read(self, text: str) -> float | None:
        found = _SHARE.fullmatch(text)
        if found is None:
            return None
        share = Fraction(found[1]) / 100
        signed = found[2] or share == 0  # which is 0 either way
        if not signed or not self._within(share):
            return None
        return float(100 * share) if self.percent else float(share)

    def _within(self, share: float | Fraction) -> bool:
        return 0 <= share <= 1 and (share != 0 or self.zero) and (share != 1 or self.whole)

    def expected(self) -> str:
        low = "of at least 0%" if self.zero else "above 0%"
        high = "at most 100%" if self.whole else "below 100%"
        return f"a share {low} and {high}, such as 5%"

    def accept(self, value: Any) -> float | None:
        number = _float(value)
        if number is None or not self._within(number / 100 if self.percent else number):
            return None
        return number

    def text(self, value: Any) -> str:
        return f"{value if self.percent else 100 * value:.15g}%"

    def hint(self, text: str) -> str | None:
        found = _SHARE.fullmatch(text.strip(" \t\n"))
        if found is None or found[2] or len(found[1]) > 20 or not 0 < Fraction(found[1]) <= 100:
            return None
        number, whole = found[1], f"{float(100 * Fraction(found[1])):.15g}%"
        if Fraction(number) > 1:
            return f"'{number}' lacks the sign of a share; write {number}%"
        return f"'{number}' could mean {number}% or {whole}; write one of them"


class Multiple(Value):
    """``12x`` or ``12``, above 0."""

    name = "12x"

    def read(self, text: str) -> float | None:
        found = _MULTIPLE.fullmatch(text)
        return self.accept(read_decimal(found[1])) if found else None

    def expected(self) -> str:
        return "a multiple such as 12x"

    def accept(self, value: Any) -> float | None:
        number = _float(value)
        return number if number is not None and number > 0 else None

    def text(self, value: Any) -> str:
        return f"{repr(value).removesuffix('.0')}x"


class Bytes(Value):
    """``32k``, ``2M``, ``500MiB``, ``1G`` or a plain number; k is 1024."""

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


class Duration(Value):
    """``90s``, ``10m`` or ``2h``, in seconds."""

    name = "TIME"

    def read(self, text: str) -> float | None:
        found = _TIME.fullmatch(text)
        number = read_decimal(found[1]) if found else None
        if found is None or number is None:
            return None
        return self.accept(number * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]])

    def expected(self) -> str:
        return "a time such as 90s, 10m or 2h"

    def accept(self, value: Any) -> float | None:
        number = _float(value)
        return number if number is not None and 0 < number <= MOST else None


class Grid(Value):
    """One positive number or several: ``0.5``, ``2^-4``, ``0.01,0.1,1``; a tuple."""

    name = "G[,G...]"
    type_expected = "a number, or a sequence of numbers"

    def has_type(self, value: Any) -> bool:
        return super().has_type(value) or (isinstance(value, Sequence) and not isinstance(value, str))

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

    def text(self, value: Any) -> str:
        return ",".join(map(repr, value)) if isinstance(value, tuple) else repr(value)

    def accept(self, value: Any) -> tuple[float, ...] | None:
        numbers = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
        found = [Real(0, above=True).accept(number) for number in numbers]
        return None if not found or None in found else tuple(number for number in found if number is not None)


def read_decimal(text: str) -> float | None:
    """Return the finite float64 that decimal `text` spells; None where it is no decimal number, or where only
    0 or infinity is nearest to it.
    """
    if not _DECIMAL.fullmatch(text):
        return None
    number = float(text)
    vanished = number == 0 and any(digit in "123456789" for digit in re.split("[eE]", text)[0])
    return None if vanished or math.isinf(number) else number


def _float(value: Any) -> float | None:
    """Return a finite Python or NumPy number as a float; None for anything else."""
    if value is None or isinstance(value, bool | str | bytes):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
