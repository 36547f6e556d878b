"""How features follow from the columns of a table: the numbers in them, and indicators of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from svmfast.caches import Cacheless, cached
from svmfast.models.sizes import expect
from svmfast.rows import IntArray


def numbered(width: int) -> tuple[str, ...]:
    """The names of columns without names."""
    return tuple(map(str, range(1, 1 + width)))


@dataclass(frozen=True)
class Feature:
    """The number in a column; with categories 1 in rows whose value is one of them, and 0 in others."""

    #: From 0.
    column: int
    #: The categories, '' for missing values. The feature is 0, and the column not read, if there are none.
    words: tuple[str, ...] | None = None
    #: Whether every value that no feature has as a category, a missing one too, counts as one.
    others: bool = False

    @property
    def is_indicator(self) -> bool:
        return self.words is not None or self.others


@dataclass(frozen=True)
class Encoding(Cacheless):
    """The features of a model, as a one-hot encoder makes them of the columns of a table or an array."""

    #: The names of the columns; 1, 2, ... if they have none.
    columns: tuple[str, ...]
    features: tuple[Feature, ...]
    #: Categories for which all features of the column are 0, as those that an encoder drops.
    ignored: tuple[Feature, ...] = ()
    #: Columns whose categories are numbers.
    numbers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for place in (*(one.column for one in (*self.features, *self.ignored)), *self.numbers):
            expect("column", 0 <= place < len(self.columns), f"{place}", "one of the columns")
        of_words = {*self.categories}.difference(self.numbers)
        mixed = any(one.column in of_words and not one.is_indicator for one in self.features)
        expect("features", not mixed, "a number and words of the same column", "either")

    @cached
    def categories(self) -> dict[int, dict[Any, int]]:
        """The feature, or -1, that a column's category sets: word, number, None if missing, '' if other."""
        found: dict[int, dict[Any, int]] = {}
        for place, one in (*enumerate(self.features), *((-1, one) for one in self.ignored)):
            known = found.setdefault(one.column, {}) if one.words or one.others else {}
            for word in one.words or ():
                category = None if not word else float(word) if one.column in self.numbers else word
                expect("words", category not in known, "a category twice", "each once", word)
                known[category] = place
            known |= {"": place} if one.others else {}
        return found

    def read_of(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of the names of columns of which a feature is made."""
        used = [one.column for one in self.features if not one.is_indicator]
        return tuple(names[at] for at in dict.fromkeys([*used, *self.categories]) if at < len(names))

    def taken_from(
        self, places: IntArray, columns: tuple[str, ...], filled: Sequence[str] | None = None
    ) -> Encoding:
        """The same features of those at `places` among other columns; `filled` replaces missing values."""

        def moved(one: Feature) -> Feature:
            column, words = int(places[one.column]), one.words
            if filled is not None and words is not None:
                words = tuple(word for word in words if word) + ("",) * (filled[column] in words)
            return replace(one, column=column, words=words)

        features, ignored = tuple(map(moved, self.features)), tuple(map(moved, self.ignored))
        return Encoding(columns, features, ignored, tuple(int(places[at]) for at in self.numbers))

    @cached
    def names(self) -> tuple[str, ...]:
        """A name for each feature: that of its column, and its category as in ``kind=a``."""
        found = list[str]()
        for place, one in enumerate(self.features, 1):
            words = [word or "missing" for word in one.words or ("others",)]
            name = self.columns[one.column]
            name += f"={'|'.join(words[:3])}{'|...' * (len(words) > 3)}" * bool(one.words or one.others)
            found.append(f"{name} ({place})" if name in found else name)
        return tuple(found)
