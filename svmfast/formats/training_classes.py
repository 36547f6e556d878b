"""Names of classes in the label column of a table that a model is trained on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.display import fault_of_name, shown
from svmfast.errors import OptionError
from svmfast.formats._arrow import pyarrow
from svmfast.formats._columns import number_of
from svmfast.rows import FloatArray

#: With more distinct names, the column is unlikely to hold classes.
MAX_NAMES = 10_000


class TrainingClasses:
    """Labels for the names of classes: 0, 1, 2, ... in the order of the sorted names.

    This is how scikit-learn numbers its ``classes_``. The last name may come with the last row, so the names
    get provisional numbers while rows are read, in the order in which they occur. Words that are numbers are
    labels themselves, as in LIBSVM's text. A column may have words of one sort only: a 'NA' or '?' among
    numbers is a missing value, not a class.

    Attributes
    ----------
    names : tuple of str or None
        The sorted names: ``names[i]`` has label i. None if no names have been read.
    """

    def __init__(self) -> None:
        self._found: dict[str, int] = {}
        self._numbers = False

    @property
    def names(self) -> tuple[str, ...] | None:
        """The sorted names."""
        return tuple(sorted(self._found)) or None

    def of_numbers(self, values: NDArray[Any]) -> FloatArray:
        """Return the labels of a numeric column, ``(n,)``: the numbers."""
        return values.astype(np.float64)

    def of_words(self, words: list[str], places: NDArray[Any]) -> tuple[FloatArray, int | None]:
        """Return provisional labels of rows ``words[places]``, and the first row with a word of another sort.

        Raises
        ------
        OptionError
            There are more than :data:`MAX_NAMES` names.
        """
        pa = pyarrow()
        from pyarrow import compute

        if not self._found:
            try:
                trimmed = compute.utf8_trim_whitespace(pa.array(words, pa.string()))
                values = np.asarray(compute.cast(trimmed, pa.float64()))
                self._numbers |= bool(len(places))
                return values[places], None
            except pa.ArrowInvalid:
                pass  # not numbers, or not all of them
        return self._labels(words, places)

    def of_objects(self, labels: Iterable[Any]) -> tuple[FloatArray, int | None]:
        """Return the same for labels in memory, ``(n,)``: strings or numbers."""
        words, places = np.unique([str(one) for one in labels], return_inverse=True)
        return self._labels(words.tolist(), places)

    def _labels(self, words: list[str], places: NDArray[Any]) -> tuple[FloatArray, int | None]:
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
        if len(self._found) > MAX_NAMES:
            raise OptionError(
                f"the column of labels has more than {MAX_NAMES:,} distinct names; name another (`label`)"
            )
        return np.array([self._found[word] for word in words], dtype=np.float64)[places], None

    @property
    def sort(self) -> str:
        """What the words so far are: ``numbers`` or ``names``."""
        return "numbers" if self._numbers else "names"

    def final(self, labels: FloatArray) -> FloatArray:
        """Return the labels for provisional ones, both ``(n,)``, after the last row."""
        if self.names is None:
            return labels
        order = {name: label for label, name in enumerate(self.names)}
        table = np.array([order[name] for name in self._found], dtype=np.float64)
        found: FloatArray = table[labels.astype(np.int64)]
        return found
