"""The columns of a table: which ones are features, labels or kept; batches of a table as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from svmfast._core import table_rows
from svmfast.display import fault_of_name, listed
from svmfast.errors import DataFormatError, TableError
from svmfast.formats._arrow import decoded, numbers, pyarrow
from svmfast.formats._dataset import Dataset, Notes
from svmfast.options import Reading
from svmfast.rows import Rows

if TYPE_CHECKING:
    from svmfast.formats.training_classes import TrainingClasses

#: The default name of the column of labels.
LABEL = "label"
#: Limit on the bytes of one column of strings in a block.
_STRING_BYTES = 1 << 24


class Columns:
    """The roles of a table's columns (label, feature, kept), and the conversion of batches to rows.

    `names` are those of a model's features, `keep` the columns to copy to the output, `left_out` columns that
    are not features, such as the index of pandas. `first_line` is the line number of the first row, for text.
    Unless `labels` are needed, their column is not read, and it may be missing if the features are named.
    `classes` makes labels for names of classes that no model names yet.
    """

    def __init__(
        self,
        schema: Any,
        path: str,
        reading: Reading,
        names: Sequence[str] | None = None,
        keep: Sequence[str] = (),
        *,
        first_line: int | None = None,
        left_out: Sequence[str] = (),
        labels: bool = True,
        classes: TrainingClasses | None = None,
    ) -> None:
        self._path, self._first_line = path, first_line
        self._schema, self.keep = schema, tuple(keep)
        #: Number of columns of each name.
        self._number = Counter(schema.names)
        self.label = label_of(schema.names, reading)
        chosen, excluded = reading.features or names, reading.exclude or ()
        absent = self.label is not None and self._number[self.label] != 1
        if self.label is not None and not labels and (not absent or (chosen and reading.label is None)):
            left_out = (*left_out, self.label)
            self.label, absent = None, False
        if absent:
            instead = (
                "; name the column of labels by `label`; rows without labels need `unlabelled`, if the "
                "command has it"
            )
            self._missing(f"there is no column '{self.label}'", instead)
        if chosen is None:
            chosen = self._others((*left_out, *excluded), excluded)
        self.features = tuple(chosen)
        self._instead = reading.values_for_missing(len(self.features))
        self._check(excluded, "a feature of the model" if chosen is names else "one of `features`")
        self._classes: ClassLabels | TrainingClasses | None = classes
        if reading.class_names is not None:
            self._classes = ClassLabels(reading.class_names)
        for name in self.numbers:
            kind = schema.field(name).type
            if name == self.label and self._classes is not None and _holds_strings(kind):
                continue
            _check_type(path, self._head, name, kind, more=chosen is not names and reading.features is None)

    def _others(self, left_out: Sequence[str], excluded: Sequence[str]) -> list[str]:
        """Return the columns that are features if none are named."""
        for name in excluded:
            if not self._number[name]:
                self._missing(f"there is no column '{name}', which is one of `exclude`")
        others = {self.label, *self.keep, *left_out}
        chosen = [name for name in self._schema.names if name not in others]
        if not chosen:
            self._missing("there is no column of features")
        return chosen

    def _check(self, excluded: Sequence[str], why: str) -> None:
        """Refuse columns that are missing, ambiguous, or of a name that cannot be printed."""
        used = set(self.numbers)
        for name in excluded:
            if name in used:
                self._missing(f"column '{name}' is one of `exclude`, but also a feature or the label")
        for name in self.read:
            if self._number[name] > 1:
                self._missing(f"several columns are called '{name}'")
        for name in (*self.features, *self.keep):
            if not self._number[name]:
                why = "to be kept" if name in self.keep else why
                self._missing(f"there is no column '{name}', which is {why}")
        for name in self.read:
            fault = fault_of_name(name)
            if fault is not None:
                what = f"a column has {fault}"
                raise TableError(self._path, self._head, what, name, "expected printable text")

    def _missing(self, what: str, instead: str = "") -> NoReturn:
        names = f"the columns are {listed(self._schema.names)}{instead}"
        raise TableError(self._path, self._head, what, None, names)

    @property
    def _head(self) -> int | None:
        return None if self._first_line is None else max(1, self._first_line - 1)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that must be numbers."""
        return self.features if self.label is None else (self.label, *self.features)

    @property
    def read(self) -> tuple[str, ...]:
        """All columns that are needed, without repetitions."""
        return tuple(dict.fromkeys((*self.numbers, *self.keep)))

    @property
    def words(self) -> tuple[str, ...]:
        """The columns of strings among those that are needed."""
        return tuple(name for name in self.read if _holds_strings(self._schema.field(name).type))

    def most_rows(self, batch: Any) -> int:
        """Number of rows whose strings, without a dictionary, take at most :data:`_STRING_BYTES` a column."""
        from pyarrow import compute

        longest = 1
        for name in self.keep:
            column = batch.column(self._index(batch, name))
            if _holds_strings(column.type) and hasattr(column, "dictionary"):
                longest = max(longest, compute.max(compute.binary_length(column.dictionary)).as_py() or 0)
        return max(1, _STRING_BYTES // longest)

    def dataset(self, batch: Any, first_row: int) -> Dataset:
        """Return the rows of a record batch.

        Raises
        ------
        TableError, DataFormatError
            The message names the column and the row, counted from 1.
        """
        n = batch.num_rows
        arrays = [self._feature(batch, place, first_row) for place in range(len(self.features))]
        found = table_rows(arrays, n)
        if len(found) == 2:
            row, column = found
            name, token = self.features[column], f"{arrays[column][row]}"
            raise self._fault(DataFormatError, name, first_row + row, "the value is not finite", token)
        rows = Rows.trusted(*found, len(self.features))
        labels = np.full(n, np.nan)
        if self.label is not None:
            labels = self._labels(batch, self.label, first_row)
            bad = np.flatnonzero(~np.isfinite(labels))
            if len(bad):
                row, token = int(bad[0]), f"{labels[bad[0]]}"
                raise self._fault(
                    DataFormatError, self.label, first_row + row, "the label is not finite", token
                )
        line = 0 if self._first_line is None else self._first_line + first_row
        kept = self._kept(batch) if self.keep else None
        return Dataset(rows, labels, self._path, line, Notes(), kept=kept, columns=self.features)

    def _labels(self, batch: Any, name: str, first_row: int) -> NDArray[np.float64]:
        array = batch.column(self._index(batch, name))
        if self._classes is None or not _holds_strings(array.type):
            numbers = self._numbers(batch, name, first_row).astype(np.float64)
            return numbers if self._classes is None else self._classes.of_numbers(numbers)
        words, places = self._words(array, name, first_row)
        labels, bad = self._classes.of_words(words, places)
        if bad is None:
            return labels
        what = "not a class of the model"
        if isinstance(self._classes, ClassLabels):
            expected = f"expected one of the model's classes, {listed(self._classes.names)}"
        elif self._classes.sort == "numbers":
            what, expected = "not a number", "expected a number, as in the rows before, or only names"
        else:
            what, expected = "a number", "expected a name, as in the rows before, or only numbers"
        raise self._fault(DataFormatError, name, first_row + bad, what, words[places[bad]], expected)

    def _filled(self, array: Any, name: str, first_row: int) -> Any:
        """Return a column, decoded if it has a dictionary; refuse it if a value is missing."""
        array = decoded(array)
        if array.null_count:
            self._refuse(array.is_null(), name, first_row)
        return array

    def _words(self, array: Any, name: str, first_row: int) -> tuple[list[str], NDArray[np.int64]]:
        """Return the distinct words of a column of strings, and the place of each row's word among them."""
        if not pyarrow().types.is_dictionary(array.type):
            array = self._filled(array, name, first_row).dictionary_encode()
        self._refuse(array.is_null(), name, first_row)
        used, places = np.unique(np.asarray(array.indices), return_inverse=True)
        words = array.dictionary.take(used).to_pylist()
        classes_are_known = isinstance(self._classes, ClassLabels)
        missing = [one is None or not (one.strip() or classes_are_known) for one in words]
        self._refuse(np.array(missing, dtype=np.bool_)[places], name, first_row)
        return words, places

    def _refuse(self, missing: Any, name: str, first_row: int) -> None:
        """Raise TableError if a row is missing; `missing` are (n,) bool."""
        rows = np.flatnonzero(np.asarray(missing))
        if len(rows):
            raise self._fault(TableError, name, first_row + int(rows[0]), "there is no value", None)

    def _numbers(self, batch: Any, name: str, first_row: int) -> NDArray[Any]:
        return numbers(self._filled(batch.column(self._index(batch, name)), name, first_row))

    def _feature(self, batch: Any, place: int, first_row: int) -> NDArray[Any]:
        name, instead = self.features[place], self._instead[place]
        if instead is None:
            return self._numbers(batch, name, first_row)
        values, absent = self._present(batch, name)
        return np.where(absent, instead, values.astype(np.float64)) if absent.any() else values

    def _present(self, batch: Any, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the numbers of a column, and which of them are missing, both ``(n,)``."""
        array = decoded(batch.column(self._index(batch, name)))
        values = numbers(array)
        absent = np.isnan(values)
        if array.null_count:
            absent = absent | array.is_null().to_numpy(zero_copy_only=False)
        return values, absent

    def means(self, batches: Iterable[Any]) -> NDArray[np.float64]:
        """Return the mean of each feature over the values that are not missing.

        Raises
        ------
        DataFormatError
            A feature has no finite mean: it has no value, or very large ones.
        """
        sums, counts = np.zeros(len(self.features)), np.zeros(len(self.features))
        for batch in batches:
            for place, name in enumerate(self.features):
                values, absent = self._present(batch, name)
                found = values[~absent].astype(np.float64)
                sums[place] += found.sum()
                counts[place] += len(found)
        with np.errstate(invalid="ignore"):
            means = sums / counts
        bad = np.flatnonzero(~np.isfinite(means))
        if len(bad):
            what = f"column '{self.features[bad[0]]}' has no mean of finite numbers"
            raise DataFormatError(self._path, None, what, None, "leave it out (`exclude`)")
        return means

    def _kept(self, batch: Any) -> Any:
        # An Arrow file has one dictionary per column, but each batch may have its own.
        plain = [decoded(batch.column(self._index(batch, name))) for name in self.keep]
        return pyarrow().RecordBatch.from_arrays(plain, names=list(self.keep))

    def _index(self, batch: Any, name: str) -> int:
        return int(batch.schema.get_field_index(name))

    def _fault(
        self,
        kind: Any,
        column: str,
        row: int,
        what: str,
        token: str | None,
        expected: str = "expected a finite number",
    ) -> Exception:
        line = None if self._first_line is None else self._first_line + row
        where = f"column '{column}'" if line is not None else f"row {row + 1:,}, column '{column}'"
        error: Exception = kind(self._path, line, f"{where}: {what}", token, expected)
        return error


def label_of(names: Sequence[str], reading: Reading) -> str | None:
    """Return the column of labels of a table with these columns; None if it has none.

    The column that a model remembers need not be in every table.
    """
    if reading.unlabelled:
        return None
    if reading.label is None and reading.label_column not in names and LABEL in names:
        return LABEL
    return reading.label_column or LABEL


def pandas_index(schema: Any) -> list[str]:
    """Return the columns that hold the index of a pandas DataFrame; they are not features.

    The metadata come from the file: parsing them may raise any error.
    """
    metadata = getattr(schema, "pandas_metadata", None) or {}
    found = metadata.get("index_columns", []) if isinstance(metadata, dict) else None
    if not isinstance(found, list):
        raise ValueError("the metadata of pandas do not list the columns of the index")
    return [name for name in found if isinstance(name, str)]


class ClassLabels:
    """Converts class names to labels, for a model whose classes have names.

    Parameters
    ----------
    names : mapping of float to str
        The name of each label.
    """

    def __init__(self, names: Mapping[float, str]) -> None:
        self.names = list(names.values())
        self._labels = {name: label for label, name in names.items()}
        # Classes that were numbers in the training data have names such as '1.5'.
        numbers = [number_of(name) for name in self.names]
        self._numbers: dict[float | None, float] | None = None
        if None not in numbers:
            self._numbers = dict(zip(numbers, names, strict=True))

    def of_numbers(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the labels of a numeric column, ``(n,)``.

        If the class names are numbers, these are looked up; otherwise the numbers are the labels.
        """
        if self._numbers is None:
            return values
        distinct, places = np.unique(values, return_inverse=True)
        found = [self._numbers.get(value, value) for value in distinct.tolist()]
        return np.array(found, dtype=np.float64)[places]

    def _label(self, word: str) -> float | None:
        number = number_of(word)
        known = (self._numbers or {}).get(number, number) if number is not None else None
        return self._labels.get(word, known)

    def of_words(
        self, words: Sequence[str], places: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], int | None]:
        """Return the labels of rows ``words[places]``, and the first row whose word is no class, or None.

        A number that is not a class name is taken as a label.
        """
        found = [self._label(word) for word in words]
        labels = np.array([np.nan if one is None else one for one in found], dtype=np.float64)
        unknown = np.array([one is None for one in found], dtype=np.bool_)[places]
        return labels[places], int(np.argmax(unknown)) if unknown.any() else None


def number_of(word: str) -> float | None:
    """Return the number that a word is, or None."""
    try:
        return float(word)
    except ValueError:
        return None


def _holds_strings(kind: Any) -> bool:
    types = pyarrow().types
    value = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(value) or types.is_large_string(value) or str(value) == "string_view"


def _check_type(path: str, line: int | None, name: str, kind: Any, *, more: bool) -> None:
    types = pyarrow().types
    value = kind.value_type if types.is_dictionary(kind) else kind
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    if any(test(value) for test in numeric):
        return
    what = f"column '{name}' holds {'strings' if _holds_strings(kind) else f'values of type {value}'}"
    instead = "; name those that are no features (`exclude`), or the columns of features (`features`)"
    instead = instead if more else ""
    raise TableError(path, line, what, None, f"expected numbers{instead}")
