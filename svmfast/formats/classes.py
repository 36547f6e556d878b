"""Names of classes in a column of labels: known ones of a model, or new ones of the rows it is trained on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.display import fault_of_name, listed, shown
from svmfast.errors import OptionError
from svmfast.rows import FloatArray, IntArray

#: With more distinct names, the column is unlikely to hold classes.
MAX_NAMES = 10_000


class ClassLabels:
    """The labels of a model for the names of its classes; `names` has the name of each label.

    Classes that were numbers in the training data have names such as '1.5': if all names are numbers, numbers
    are looked up, too. Any other number is taken as a label.
    """

    #: Whether a name may be blank.
    takes_blanks = True

    def __init__(self, names: Mapping[float, str]) -> None:
        self._labels = {name: label for label, name in names.items()}
        numbers = [number_of(name) for name in self._labels]
        self._numbers: dict[float | None, float] = {}
        if None not in numbers:
            self._numbers = dict(zip(numbers, names, strict=True))

    def of_numbers(self, values: FloatArray) -> FloatArray:
        """The labels of a numeric column."""
        if not self._numbers:
            return values
        distinct, places = np.unique(values, return_inverse=True)
        found = [self._numbers.get(value, value) for value in distinct.tolist()]
        return np.array(found, dtype=np.float64)[places]

    def _label(self, word: str) -> float | None:
        number = number_of(word)
        return self._labels.get(word, None if number is None else self._numbers.get(number, number))

    def of_words(self, words: Sequence[str], places: IntArray) -> tuple[FloatArray, int | None]:
        """The labels of rows ``words[places]``, and the first row whose word is no class, or None."""
        found = [self._label(word) for word in words]
        labels = np.array([np.nan if one is None else one for one in found], dtype=np.float64)
        unknown = np.array([one is None for one in found], dtype=np.bool_)[places]
        return labels[places], int(np.argmax(unknown)) if unknown.any() else None

    @property
    def refusal(self) -> tuple[str, str]:
        """What is wrong with a word that is no class, and what is expected."""
        return "not a class of the model", f"expected one of the model's classes, {listed([*self._labels])}"


class TrainingClasses:
    """Labels for the names of classes: 0, 1, 2, ... in the order of the sorted names.

    This is how scikit-learn numbers its ``classes_``. The last name may come with the last row, so the names
    get provisional numbers while rows are read, in the order in which they occur. Words that are numbers are
    labels themselves, as in LIBSVM's text. A column may have words of one sort only: a 'NA' or '?' among
    numbers is a missing value, not a class.
    """

    takes_blanks = False

    def __init__(self) -> None:
        self._found: dict[str, int] = {}
        self._numbers = False

    @property
    def names(self) -> tuple[str, ...] | None:
        """The sorted names: ``names[i]`` has label i; None if no names have been read."""
        return tuple(sorted(self._found)) or None

    def of_numbers(self, values: FloatArray) -> FloatArray | None:
        """The labels of numbers: the numbers, or None after names."""
        self._numbers = not self._found
        return values if self._numbers else None

    def of_words(self, words: list[str], places: NDArray[Any]) -> tuple[FloatArray, int | None]:
        """Provisional labels of rows ``words[places]``, and the first row with another sort of word, or None.

        An OptionError: there are more than :data:`MAX_NAMES` names.
        """
        if not words:
            return np.zeros(0), None
        values = [number_of(word) for word in words]
        is_number = np.array([one is not None for one in values], dtype=np.bool_)[places]
        numbers = self._numbers or (not self._found and bool(is_number[0]))
        odd = is_number != numbers
        if odd.any():
            self._numbers = numbers
            return np.zeros(0), int(np.argmax(odd))
        if numbers:
            self._numbers = True
            return np.array(values, dtype=np.float64)[places], None
        first = np.full(len(words), len(places))
        np.minimum.at(first, places, np.arange(len(places)))
        for which in np.argsort(first).tolist():
            fault = fault_of_name(words[which])
            if fault is not None:
                what = f"a class has {fault} ('{shown(words[which])}')"
                raise OptionError(f"{what}; expected printable text")
            self._found.setdefault(words[which], len(self._found))
        self._check_count()
        return np.array([self._found[word] for word in words], dtype=np.float64)[places], None

    def _check_count(self) -> None:
        if len(self._found) > MAX_NAMES:
            raise OptionError(
                f"the column of labels has more than {MAX_NAMES:,} distinct names; name another (`label`)"
            )

    def merge(self, other: TrainingClasses) -> bool:
        """Add the names of the rows that follow; return False if these have the other sort of words."""
        if (self._found and other._numbers) or (self._numbers and other._found):
            return False
        self._numbers |= other._numbers
        for name in other._found:
            self._found.setdefault(name, len(self._found))
        self._check_count()
        return True

    def final_of(self, other: TrainingClasses) -> FloatArray | None:
        """The label of each name that was merged from `other`, by its provisional number there."""
        known = [self._found[name] for name in other._found]
        return self.final(np.array(known, dtype=np.float64)) if known else None

    def of_objects(self, labels: Iterable[Any]) -> tuple[FloatArray, int | None]:
        """The same for labels in memory: strings or numbers."""
        words, places = np.unique([str(one) for one in labels], return_inverse=True)
        return self.of_words(words.tolist(), places)

    @property
    def sort(self) -> str:
        """What the words so far are: ``numbers`` or ``names``."""
        return "numbers" if self._numbers else "names"

    @property
    def refusal(self) -> tuple[str, str]:
        """What is wrong with a word of the other sort, and what is expected."""
        if self._numbers:
            return "not a number", "expected a number, as in the rows before, or only names"
        return "a number", "expected a name, as in the rows before, or only numbers"

    def final(self, labels: FloatArray) -> FloatArray:
        """The labels for provisional ones, after the last row."""
        if not self._found:
            return labels
        places = np.argsort(np.argsort(np.array([*self._found], dtype=object)))
        return places.astype(np.float64)[labels.astype(np.int64)]


def number_of(word: str) -> float | None:
    """The number that a word is, or None."""
    try:
        return float(word)
    except ValueError:
        return None
