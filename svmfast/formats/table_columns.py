"""The columns of a table: which ones are features, labels or kept; batches of a table as rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from svmfast.caches import cached
from svmfast.display import count, fault_of_name, listed
from svmfast.errors import DataFormatError, NotFiniteCellError, OptionError, TableError
from svmfast.formats._arrow import decoded, no_rows, numbers, pyarrow, words_of
from svmfast.formats.classes import ClassLabels, TrainingClasses
from svmfast.formats.dataset import Dataset, Notes
from svmfast.models.encoding import Encoding
from svmfast.options import Reading
from svmfast.rows import BoolArray, FloatArray, IntArray, Rows

#: The default name of the column of labels.
LABEL = "label"
#: Number of values of a table that are dense at a time.
_DENSE_VALUES = 1 << 16
#: Limit on the bytes of one column of strings in a block.
_STRING_BYTES = 1 << 24
#: In place of a feature's number, for a value that is no category.
_UNKNOWN = -2


class TableColumns:
    """The roles of a table's columns (label, feature, kept), and the conversion of batches to rows.

    `names` are those of a model's features, `keep` the columns to copy to the output, `left_out` columns that
    are not features, such as the index of pandas. `first_line` is the line number of the first row, for text.
    Unless `labels` are needed, their column is not read, and it may be missing if the features are named.
    `classes` makes labels for names of classes that no model names yet. Rows that lack a feature are refused,
    or with `nulls` marked (``Dataset.missing``).
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
        nulls: bool = False,
    ) -> None:
        self._path, self._first_line, self._nulls = path, first_line, nulls
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
        if self.label in self.features:
            what = f"column '{self.label}' is a feature and the label"
            expected = "name the column of labels by `label`; rows without labels need `unlabelled`"
            self._refuse_column(what, None, expected)
        self._absent, needed = reading.missing, self.features
        #: For each feature of the model its column, and the place of that if the feature is of a category.
        self._sources, self._coded = [*self.features], list[int | None]([None] * len(self.features))
        self._encoding: Encoding | None = getattr(reading.scale, "encoding", None)
        if self._encoding is not None:
            needed = self._encode(self._encoding)
        self._instead = reading.values_for_missing(len(self._sources))
        labelled = needed if self.label is None else (self.label, *needed)
        #: All columns that are needed.
        self.read = tuple(dict.fromkeys((*labelled, *self.keep)))
        why = "a feature of the model" if chosen is names else "one of `features`"
        self._check({*labelled}, excluded, why)
        #: Those of them that hold strings.
        self.words = tuple(name for name in self.read if _holds_strings(schema.field(name).type))
        self._classes: ClassLabels | TrainingClasses | None = classes
        if reading.class_names is not None:
            self._classes = ClassLabels(reading.class_names)
        more = chosen is not names and reading.features is None
        for name in labelled:
            if name in self.columns_of_words:  # those of a text are read as words
                if first_line is None and not (name in self.words or schema.field(name).type == "null"):
                    what = f"column '{name}' holds values of type {schema.field(name).type}"
                    self._refuse_column(what, None, "expected strings, as the model's categories of it")
            elif name != self.label or self._classes is None or name not in self.words:
                self._check_type(name, more)

    def _encode(self, encoding: Encoding) -> tuple[str, ...]:
        """Find the columns of encoded features; the others are not needed."""
        if len(self.features) != len(encoding.columns):
            what = f"{count(len(self.features), 'column')} of features"
            raise TableError(self._path, None, what, None, f"the model has {len(encoding.columns)}")
        self._sources = [self.features[one.column] for one in encoding.features]
        self._coded = [one.column if one.is_indicator else None for one in encoding.features]
        return encoding.read_of(self.features)

    @cached
    def columns_of_words(self) -> set[str]:
        """The columns whose categories are words."""
        found = self._encoding
        of_words = set() if found is None else {*found.categories}.difference(found.numbers)
        return {self.features[at] for at in of_words}

    def _others(self, left_out: Sequence[str], excluded: Sequence[str]) -> list[str]:
        """The columns that are features if none are named."""
        for name in excluded:
            if not self._number[name]:
                self._missing(f"there is no column '{name}', which is one of `exclude`")
        others = {self.label, *self.keep, *left_out}
        chosen = [name for name in self._schema.names if name not in others]
        if not chosen:
            self._missing("there is no column of features")
        return chosen

    def _check(self, used: set[str], excluded: Sequence[str], why: str) -> None:
        """Refuse columns that are missing, ambiguous, or of a name that cannot be printed."""
        for name in excluded:
            if name in used:
                self._missing(f"column '{name}' is one of `exclude`, but also a feature or the label")
        for name in self.read:
            if self._number[name] > 1:
                self._missing(f"several columns are called '{name}'")
        for name in self.read:
            if not self._number[name]:
                why = "to be kept" if name in self.keep else why
                self._missing(f"there is no column '{name}', which is {why}")
        for name in self.read:
            fault = fault_of_name(name)
            if fault is not None:
                self._refuse_column(f"a column has {fault}", name, "expected printable text")

    def _check_type(self, name: str, more: bool) -> None:
        """Refuse a column that does not hold numbers; `more`: its name was not given."""
        types, kind = pyarrow().types, self._schema.field(name).type
        value = kind.value_type if types.is_dictionary(kind) else kind
        # A column without any value may have the type of nulls.
        numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
        if not any(test(value) for test in numeric):
            what = f"column '{name}' holds {'strings' if name in self.words else f'values of type {value}'}"
            instead = "; name those that are no features (`exclude`), or the columns of features (`features`)"
            self._refuse_column(what, None, "expected numbers" + (instead if more else ""))

    def _missing(self, what: str, instead: str = "") -> NoReturn:
        names = self._schema.names
        known = f"the columns are {listed(names)}" if names else "there are no columns"
        self._refuse_column(what, None, f"{known}{instead}")

    def _refuse_column(self, what: str, token: str | None, expected: str) -> NoReturn:
        line = None if self._first_line is None else max(1, self._first_line - 1)
        raise TableError(self._path, line, what, token, expected)

    def most_rows(self, batch: Any) -> int:
        """Number of rows whose strings, without a dictionary, take at most :data:`_STRING_BYTES` a column."""
        from pyarrow import compute

        longest = 1
        for name in self.keep:
            column = _column(batch, name)
            if name in self.words and hasattr(column, "dictionary"):
                longest = max(longest, compute.max(compute.binary_length(column.dictionary)).as_py() or 0)
        return max(1, _STRING_BYTES // longest)

    def dataset(self, batch: Any, first_row: int) -> Dataset:
        """The rows of a record batch; an error names the column, and the row, counted from 1."""
        n = batch.num_rows
        missing = np.zeros(n, dtype=np.bool_) if self._nulls else None
        rows = self._rows(batch, first_row, missing)
        labels = np.full(n, np.nan)
        if self.label is not None:
            labels = self._labels(batch, self.label, first_row)
            for row in np.flatnonzero(~np.isfinite(labels))[:1].tolist():
                what, token = "the label is not finite", f"{labels[row]}"
                raise self._fault(DataFormatError, self.label, first_row + row, what, token)
        line = 0 if self._first_line is None else self._first_line + first_row
        kept = None
        if self.keep:
            # An Arrow file has one dictionary per column, but each batch may have its own.
            plain = [decoded(_column(batch, name)) for name in self.keep]
            kept = pyarrow().RecordBatch.from_arrays(plain, names=list(self.keep))
        return Dataset(rows, labels, self._path, line, Notes(), kept, self.features, missing)

    def nothing(self) -> Dataset:
        """The dataset of a table without rows."""
        kept = no_rows({name: self._schema.field(name).type for name in self.keep}) if self.keep else None
        rows = Rows.empty(len(self._sources))
        return Dataset(rows, np.zeros(0), self._path, 0, Notes(), kept=kept, columns=self.features)

    def _rows(self, batch: Any, first_row: int, missing: BoolArray | None) -> Rows:
        """The features, as zeros where they are missing; these rows are marked in `missing`."""
        known = {} if self._encoding is None else self._encoding.categories
        codes = {at: self._codes(batch, at, first_row, missing) for at in known}
        none = np.full(batch.num_rows, -1)
        arrays: list[NDArray[Any]] = [
            self._feature(batch, place, first_row, missing) if at is None else codes.get(at, none)
            for place, at in enumerate(self._coded)
        ]
        parts = [Rows.empty(len(arrays))]
        step = max(1, _DENSE_VALUES // len(arrays))
        for first in range(0, batch.num_rows, step):
            dense = np.empty((min(step, batch.num_rows - first), len(arrays)))
            for place, array in enumerate(arrays):
                some = array[first : first + step]
                dense[:, place] = some if self._coded[place] is None else some == place
            try:
                parts.append(Rows.from_dense(dense))
            except NotFiniteCellError as error:
                name, token = self._sources[error.column], f"{arrays[error.column][first + error.row]}"
                row = first_row + first + error.row
                raise self._fault(DataFormatError, name, row, "the value is not finite", token) from None
        return Rows.concatenate(parts)

    def _codes(self, batch: Any, column: int, first_row: int, missing: BoolArray | None) -> IntArray:
        """The feature that each row sets by its category in a column; -1 for none of them."""
        assert self._encoding is not None
        name, known = self.features[column], self._encoding.categories[column]
        if name in self.columns_of_words:
            values, at = words_of(_column(batch, name))
        else:
            numbers_, absent = _present(batch, name)
            distinct, at = np.unique(numbers_, return_inverse=True)  # as integers they are exact
            values, at = [*distinct.tolist(), None], np.where(absent, len(distinct), at)
        codes = np.array([known.get(value, known.get("", _UNKNOWN)) for value in values], dtype=np.int64)[at]
        absent = np.array([value is None for value in values], dtype=np.bool_)[at]
        absent &= (codes == _UNKNOWN) | (self._absent == "refuse")
        if missing is not None:
            missing |= absent
        codes[absent] = -1 if missing is not None or self._absent == "zero" else _UNKNOWN
        for row in np.flatnonzero(codes == _UNKNOWN)[:1].tolist():
            value = values[at[row]]
            what = "there is no value" if value is None else "not a category of the model"
            expected = f"expected one of {listed([f'{one}' for one in known if one not in (None, '')])}"
            token = None if value is None else f"{value}"
            raise self._fault(DataFormatError, name, first_row + row, what, token, expected)
        return codes

    def _labels(self, batch: Any, name: str, first_row: int) -> FloatArray:
        array = _column(batch, name)
        if self._classes is None or not _holds_strings(array.type):
            values = self._numbers(batch, name, first_row).astype(np.float64)
            labels = values if self._classes is None else self._classes.of_numbers(values)
            if labels is None:
                raise self._fault(DataFormatError, name, first_row, *self._refused(str(values[0])))
            return labels
        words, places = self._words(array, name, first_row, self._classes.takes_blanks)
        labels, bad = self._classes.of_words(words, places)
        if bad is not None:
            raise self._fault(DataFormatError, name, first_row + bad, *self._refused(words[places[bad]]))
        return labels

    def _refused(self, word: str) -> tuple[str, str, str]:
        """What is wrong with a label, the label, and what is expected."""
        assert self._classes is not None
        what, expected = self._classes.refusal
        return what, word, expected

    def _words(self, array: Any, name: str, first_row: int, takes_blanks: bool) -> tuple[list[str], IntArray]:
        """The distinct words of a column of strings, and the place of each row's word among them."""
        words, places = words_of(array)
        missing = [one is None or not (one.strip() or takes_blanks) for one in words]
        self._refuse_missing(np.array(missing, dtype=np.bool_)[places], name, first_row)
        return words, places

    def _refuse_missing(self, missing: Any, name: str, first_row: int) -> None:
        """Refuse the first row whose value is missing."""
        for row in np.flatnonzero(np.asarray(missing))[:1].tolist():
            raise self._fault(TableError, name, first_row + row, "there is no value", None)

    def _numbers(self, batch: Any, name: str, first_row: int) -> NDArray[Any]:
        array = decoded(_column(batch, name))
        if array.null_count:
            self._refuse_missing(array.is_null(), name, first_row)
        return numbers(array)

    def _feature(self, batch: Any, place: int, first_row: int, missing: BoolArray | None) -> NDArray[Any]:
        name, instead = self._sources[place], self._instead[place]
        if instead is None and missing is None:
            return self._numbers(batch, name, first_row)
        values, absent = _present(batch, name)
        if instead is None and missing is not None:
            missing |= absent
        return np.where(absent, instead or 0.0, values.astype(np.float64)) if absent.any() else values

    def means(self, batches: Iterable[Any]) -> FloatArray:
        """The mean of each feature over the values that are not missing; one without is an error."""
        if self._encoding is not None:
            raise OptionError("`missing`: a model with categories has no means")
        sums, counts = np.zeros(len(self.features)), np.zeros(len(self.features))
        for batch in batches:
            for place, name in enumerate(self.features):
                values, absent = _present(batch, name)
                found = values[~absent].astype(np.float64)
                sums[place] += found.sum()
                counts[place] += len(found)
        with np.errstate(invalid="ignore"):
            means = sums / counts
        for bad in np.flatnonzero(~np.isfinite(means))[:1]:
            what = f"column '{self.features[bad]}' has no mean of finite numbers"
            raise DataFormatError(self._path, None, what, None, "leave it out (`exclude`)")
        return means

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
    """The column of labels of a table with these columns; None if it has none.

    The column that a model remembers need not be in every table.
    """
    if reading.unlabelled:
        return None
    is_feature = LABEL in (reading.names or ())
    if reading.label is None and reading.label_column not in names and LABEL in names and not is_feature:
        return LABEL
    return reading.label_column or LABEL


def pandas_index(schema: Any) -> list[str]:
    """The columns that hold the index of a pandas DataFrame; they are not features.

    The metadata come from the file: parsing them may raise any error.
    """
    metadata = getattr(schema, "pandas_metadata", None) or {}
    found = metadata.get("index_columns", []) if isinstance(metadata, dict) else None
    if not isinstance(found, list):
        raise ValueError("the metadata of pandas do not list the columns of the index")
    return [name for name in found if isinstance(name, str)]


def _column(batch: Any, name: str) -> Any:
    return batch.column(batch.schema.get_field_index(name))


def _present(batch: Any, name: str) -> tuple[NDArray[Any], BoolArray]:
    """The numbers of a column, and which of them are missing."""
    array = decoded(_column(batch, name))
    values = numbers(array)
    absent = np.isnan(values)
    if array.null_count:
        absent = absent | array.is_null().to_numpy(zero_copy_only=False)
    return values, absent


def _holds_strings(kind: Any) -> bool:
    types = pyarrow().types
    value = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(value) or types.is_large_string(value) or str(value) == "string_view"
