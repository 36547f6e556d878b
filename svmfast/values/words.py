"""Option values that are words: switches, choices, class weights and names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from svmfast.values.base import MOST, Value, Worded
from svmfast.values.numbers import Real, Whole

#: The word for class weights that are inversely proportional to the number of rows of a class.
BALANCED = "balanced"


class Switch(Value):
    """True or False; on the command line a flag without a value."""

    type_expected = "True or False"

    def has_type(self, value: Any) -> bool:
        return isinstance(value, bool)

    def read(self, text: str) -> bool | None:
        return {"True": True, "False": False}.get(text)

    def accept(self, value: Any) -> bool | None:
        return value if isinstance(value, bool) else None

    def command_words(self, flags: Sequence[str], value: Any) -> list[str]:
        yes, _, no = flags[-1].partition("/")
        if value:
            return [yes]
        return [no] if no else []


class OnOff(Switch):
    """True or False; on the command line ``1`` or ``0``, as in LIBSVM's programs."""

    name = "0|1"

    def read(self, text: str) -> bool | None:
        return {"0": False, "1": True}.get(text)

    def expected(self) -> str:
        return "0 or 1"

    def text(self, value: Any) -> str:
        return str(int(value))

    def command_words(self, flags: Sequence[str], value: Any) -> list[str]:
        return [flags[0], self.text(value)]


class Listed(Worded):
    """A kind of value of which all words are known."""

    type_expected = "a word"

    def __init__(self, *words: str) -> None:
        self.words = words

    def read(self, text: str) -> str | None:
        return text if text in self.words else None

    def expected(self) -> str:
        return f"{', '.join(self.words[:-1])} or {self.words[-1]}"


class Choice(Listed):
    """One of a few words."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """The words, as help shows them."""
        return "|".join(self.words)


class Numbered(Listed):
    """One of a list of LIBSVM's words, or of those `allowed`; on the command line, its number, from 0."""

    name = "N"

    def __init__(self, all_words: Sequence[str], allowed: Sequence[str] | None = None) -> None:
        super().__init__(*(allowed or all_words))
        self._numbers = {word: str(number) for number, word in enumerate(all_words)}

    def read(self, text: str) -> str | None:
        return next((word for word in self.words if self._numbers[word] == text), None)

    def expected(self) -> str:
        each = [f"{self._numbers[word]} ({word})" for word in self.words]
        return f"{', '.join(each[:-1])} or {each[-1]}"

    def accept(self, value: Any) -> str | None:
        return value if value in self.words else None

    def text(self, value: Any) -> str:
        return self._numbers[value]


class Weights(Value):
    """Weights of classes, a tuple of (label, weight), or ``balanced``; on the command line ``-w-1 2.5``."""

    name = "NUMBER"
    type_expected = "a mapping of labels to weights, pairs of them, or 'balanced'"

    def __init__(self) -> None:
        self.label, self.weight = Whole(-MOST - 1), Real(0, above=True)

    def has_type(self, value: Any) -> bool:
        return isinstance(value, Mapping | Sequence)

    def read(self, text: str) -> Any:
        if text == BALANCED:
            return BALANCED
        pairs = [word.rpartition(":") for word in text.split(",")]
        return self.accept([(self.label.read(label), self.weight.read(weight)) for label, _, weight in pairs])

    def expected(self) -> str:
        return f"weights by label, such as {{1: 5, -1: 2.5}}, or 'balanced': {self.weight.expected()}"

    def accept(self, value: Any) -> Any:
        if isinstance(value, str):
            return value if value == BALANCED else None
        pairs = list(value.items() if isinstance(value, Mapping) else value)
        if not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in pairs):
            return None
        found = tuple((self.label.accept(label), self.weight.accept(weight)) for label, weight in pairs)
        return None if any(None in pair for pair in found) else found

    def text(self, value: Any) -> str:
        return value if isinstance(value, str) else ",".join(f"{label}:{weight!r}" for label, weight in value)

    def command_words(self, flags: Sequence[str], value: Any) -> list[str]:
        if isinstance(value, str):
            return [flags[0], value]
        return [word for label, weight in value for word in (f"{flags[0]}{label}", repr(weight))]


class Text(Worded):
    """Any text; `path`: also an object that stands for a path."""

    name = "TEXT"
    type_expected = "text"

    def __init__(self, *, path: bool = False) -> None:
        self.path = path

    def has_type(self, value: Any) -> bool:
        return isinstance(value, str) or (self.path and isinstance(value, os.PathLike))

    def accept(self, value: Any) -> Any:
        return os.fspath(value) if isinstance(value, os.PathLike) else self.read(value)


class Names(Value):
    """A tuple of one or more names, separated by commas."""

    name = "NAME[,NAME...]"
    type_expected = "a sequence of names"

    def has_type(self, value: Any) -> bool:
        return isinstance(value, Sequence)

    def of_text(self, text: str) -> tuple[str, ...] | None:
        return self.read(text.strip(" \t\n"))  # of any length

    def read(self, text: str) -> tuple[str, ...] | None:
        return self.accept(text.split(","))

    def expected(self) -> str:
        return "distinct names, separated by commas"

    def text(self, value: Any) -> str:
        return ",".join(value) if isinstance(value, tuple) else str(value)

    def accept(self, value: Any) -> tuple[str, ...] | None:
        names = (value,) if isinstance(value, str) else tuple(value)
        valid = names and all(isinstance(one, str) and one for one in names) and len({*names}) == len(names)
        return names if valid else None
