"""Every way svmfast can refuse: one class per way to fail, each carrying its fields.

Longer than 400 lines because it is a list: nearly every class is a name and one line of text.

Nothing is printed here; the command line turns an error into one line on stderr and the exit status
:attr:`SvmfastError.exit_code`.
"""

from __future__ import annotations

from typing import Any

from svmfast.display import shown

#: Most characters of a token in a message.
_TOKEN = 60


class SvmfastError(Exception):
    """Base of all errors that a user can cause and fix. Exit status 2.

    Its text is one line whatever names and tokens it holds (:func:`svmfast.display.shown`); the fields of
    the subclasses keep them as they are.
    """

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(shown(message))

    def __reduce__(self) -> tuple[Any, ...]:
        # Not by its arguments, of which only the message is known: the subclasses take others. An error that
        # cannot come back from a worker process would leave its pool waiting.
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: type[SvmfastError], args: tuple[Any, ...]) -> SvmfastError:
    """Return an unpickled error; its fields follow."""
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class InputError(SvmfastError):
    """A file is not what it should be: ``path:line: what ('token'); expected``.

    Parameters
    ----------
    path : str
        The file as the user named it (``-`` for standard input).
    line : int or None
        Line number from 1, or None when the fault belongs to the whole file.
    what : str
        What is wrong.
    token : str or None
        The offending text; the message shows the start of a long one.
    expected : str
        The expected value, or what to do.
    """

    def __init__(
        self, path: str, line: int | None, what: str, token: str | None = None, expected: str = ""
    ) -> None:
        self.path, self.line, self.what, self.token, self.expected = path, line, what, token, expected
        where = path if line is None else f"{path}:{line}"
        tail = f"; {expected}" if expected else ""
        super().__init__(f"{where}: {what}{_quoted(token)}{tail}")


class DataFormatError(InputError):
    """LIBSVM data text breaks a rule of the format."""


class ModelFormatError(InputError):
    """A model file breaks a rule of its format."""


class NotAModelError(ModelFormatError):
    """The file is something else than a model, by its first word."""


class EmptyModelError(ModelFormatError):
    """The file holds no model at all."""


class UnknownModelKeyError(ModelFormatError):
    """A word was found instead of a key of the format."""


class RepeatedModelKeyError(ModelFormatError):
    """A key occurs twice in the file."""


class MissingModelKeyError(ModelFormatError):
    """A key without which the model cannot be used is not there."""


class ModelKeyOrderError(ModelFormatError):
    """A key comes before one that it depends on."""


class ModelValueError(ModelFormatError):
    """A value is not of its type: not a number, not an integer, not one of the known names."""


class ModelNotFiniteError(ModelFormatError):
    """nan, inf, or a number too large for float64."""


class ModelRangeError(ModelFormatError):
    """A value of the right type that no model can have."""


class ModelCountError(ModelFormatError):
    """More or fewer values than the model's sizes call for."""


class ModelContradictionError(ModelFormatError):
    """Parts that are right by themselves contradict each other."""


class ModelChecksumError(ModelFormatError):
    """The content does not match the file's checksum: it was changed after it was written.

    Attributes
    ----------
    computed : str
        The checksum of the content as it is.
    """

    computed = ""


class TruncatedModelError(ModelFormatError):
    """The file ends before the model does."""


class SurplusModelTextError(ModelFormatError):
    """The model ends before the file does."""


class ModelSizeError(ModelFormatError):
    """A declared size that the file cannot hold; found before any memory is taken for it."""


class EmptySupportVectorError(ModelFormatError):
    """A blank line between support vectors."""


class MissingCoefficientError(ModelFormatError):
    """A support vector with fewer coefficients than classes minus one."""


class MissingColonError(ModelFormatError):
    """A feature of a support vector without ``index:value`` form."""


class SupportVectorIndexError(ModelFormatError):
    """A feature index that is no integer from 1 to 2147483647."""


class SupportVectorOrderError(ModelFormatError):
    """Feature indices that do not ascend."""


class SerialNumberError(ModelFormatError):
    """A support vector of the precomputed kernel that is not ``0:serial-number``."""


class ModelVersionError(ModelFormatError):
    """A model file of a format version that this svmfast does not read."""


class UnknownModelKindError(ModelFormatError):
    """A model file of a kind that this svmfast does not know."""


class ModelContentError(SvmfastError):
    """The parts of a model contradict each other; readers turn this into a line of the file.

    Parameters
    ----------
    field : str
        LIBSVM's or the container's name of the offending part.
    what, expected : str
    token : str or None
        The offending text.
    """

    def __init__(self, field: str, what: str, expected: str, token: str | None = None) -> None:
        self.field, self.what, self.expected, self.token = field, what, expected, token
        super().__init__(f"{field}: {what}{_quoted(token)}; expected {expected}")


class FileAccessError(InputError):
    """A file cannot be opened or read."""


class CheckpointError(InputError):
    """A checkpoint file is damaged, or was written by another run."""


class FrontierRecordError(InputError):
    """A file in the folder of ``svmfast frontier`` was not written by svmfast."""


class CompressedDataError(InputError):
    """A compressed file is damaged or cut short."""


class UnsupportedCompressionError(InputError):
    """The file is compressed in a format that the standard library cannot read."""


class WriteError(SvmfastError):
    """An output cannot be written.

    Parameters
    ----------
    path : str
        The output as the user named it (``-`` for standard output).
    reason : str
        The system's message.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: cannot be written: {reason}")


class UnsupportedError(SvmfastError):
    """The request cannot be met for this model or data; the message says what would work."""

    def __init__(self, what: str, instead: str = "") -> None:
        self.what, self.instead = what, instead
        super().__init__(f"{what}; {instead}" if instead else what)


class MissingPackageError(UnsupportedError):
    """A package that is not installed with svmfast itself is missing; says how to install it.

    Parameters
    ----------
    what : str
        A clause that states what needs it.
    package : str
    extra : str, optional
        The extra of svmfast that brings it.
    instead : str, optional
        What to do if it is not an extra.
    """

    def __init__(self, what: str, package: str, extra: str = "", instead: str = "") -> None:
        self.package, self.extra = package, extra
        instead = instead or f"pip install 'svmfast[{extra}]'"
        super().__init__(f"{what} by {package}, which is not installed", instead)


class ClusterError(SvmfastError):
    """A cluster cannot be reached, or the connection was lost; the message says what to do."""


class OptionError(SvmfastError):
    """Options that do not fit together, or a value out of range."""


class NotFiniteError(SvmfastError):
    """A computation left the range of floating point; the message names it and its numbers."""


class WrongTypeError(OptionError, TypeError):
    """An argument has the wrong type; the message names the accepted types.

    Parameters
    ----------
    name : str
        What the argument is.
    value : object
        What was given.
    accepted : str
    """

    def __init__(self, name: str, value: object, accepted: str) -> None:
        kind = type(value).__name__
        super().__init__(f"{name} is {'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}; expected {accepted}")


class NothingFitsError(UnsupportedError):
    """A negative answer: no model of this kind is as small, or as cheap, as required."""

    exit_code = 1


class NegativeAnswerError(SvmfastError):
    """A negative answer: no model meets the requirements, or the exact model is the better choice.

    Attributes
    ----------
    result : Result or None
        The report of the plans tried.
    """

    exit_code = 1

    def __init__(self, reason: str, result: object = None) -> None:
        self.result = result
        super().__init__(reason)


class TrainingRowError(SvmfastError):
    """A row cannot be trained on; the command line turns its number into a line of the file.

    Parameters
    ----------
    row : int
        Row number from 1.
    what, token, expected
        As in :class:`InputError`.
    """

    def __init__(self, row: int, what: str, token: str | None, expected: str) -> None:
        self.row, self.what, self.token, self.expected = row, what, token, expected
        super().__init__(f"row {row}: {what}{_quoted(token)}; expected {expected}")


class SingleClassError(SvmfastError):
    """All rows to train a classifier on have the same label.

    Parameters
    ----------
    label : float
    """

    expected = "expected rows of two or more classes"

    def __init__(self, label: float) -> None:
        self.what = f"all rows have label {label:g}"
        super().__init__(f"{self.what}; {self.expected}")


class MemoryLimitError(SvmfastError):
    """The work would need more memory than the limit; names both numbers.

    Parameters
    ----------
    needed, limit : int
        Bytes.
    what : str
        The object that needs the memory.
    instead : str
        What to do.
    """

    def __init__(self, what: str, needed: int, limit: int, instead: str) -> None:
        self.what, self.needed, self.limit, self.instead = what, needed, limit, instead
        super().__init__(f"{what} needs {needed:,} bytes, the limit is {limit:,}; {instead}")


def _quoted(token: str | None) -> str:
    return "" if token is None else f" ('{shown(token, _TOKEN)}')"


# --- LIBSVM data text: one class per rule


class EmptyDataError(DataFormatError):
    """There is not a single row."""


class ModelAsDataError(DataFormatError):
    """The file is a model, by its first word."""


class BlankLineError(DataFormatError):
    """A line holds nothing, not even a label."""


class MissingLabelError(DataFormatError):
    """A row starts with its first entry."""


class BadLabelError(DataFormatError):
    """The label is not a number."""


class EntryColonError(DataFormatError):
    """A token is not ``index:value``."""


class DenseLookingError(DataFormatError):
    """No token of the row has a colon: the file is probably dense."""


class CommaSeparatedError(DataFormatError):
    """The fields are separated by commas or semicolons."""


class MissingIndexError(DataFormatError):
    """There is nothing before the colon."""


class BadIndexError(DataFormatError):
    """The index is not an integer."""


class NegativeIndexError(DataFormatError):
    """The index is below zero."""


class ZeroIndexError(DataFormatError):
    """The index is 0 where indices count from 1."""


class IndexTooLargeError(DataFormatError):
    """The index does not fit 32 bits."""


class UnsortedIndexError(DataFormatError):
    """The indices of a row do not ascend."""


class DuplicateIndexError(DataFormatError):
    """An index occurs twice in a row."""


class MissingValueError(DataFormatError):
    """There is nothing after the colon."""


class BadValueError(DataFormatError):
    """The value is not a number."""


class NonFiniteError(DataFormatError):
    """A label or value is nan or infinite."""


class NumberOverflowError(DataFormatError):
    """A label or value is beyond float64."""


class HexadecimalError(DataFormatError):
    """A number is written in hexadecimal."""


class DecimalCommaError(DataFormatError):
    """A number is written with a decimal comma."""


class QidError(DataFormatError):
    """A ``qid:`` token is malformed or out of place."""


class CarriageReturnError(DataFormatError):
    """A carriage return does not belong to a line end."""


class NulByteError(DataFormatError):
    """A token holds a NUL byte."""


class EncodingError(DataFormatError):
    """The text is neither ASCII nor UTF-8."""


class LineTooLongError(DataFormatError):
    """A line is longer than the limit."""


class PrecomputedRowError(DataFormatError):
    """A row of a precomputed kernel does not run 0:serial, 1:value, 2:value, ... without gaps."""


class RowWidthError(DataFormatError):
    """Rows that must have the same number of values do not."""


class TableError(InputError):
    """A table is invalid."""


class MissingColumnError(TableError):
    """A table has no such column, or several of one name."""


class ColumnOrderError(TableError):
    """The columns of a table are not those of the first one, or in another order, and nothing names them."""


class ColumnTypeError(TableError):
    """A column of a table that must be numbers holds something else."""


class NullCellError(TableError):
    """A cell of a table that must hold a number is empty."""


class DamagedTableError(TableError):
    """A Parquet, Arrow or CSV file cannot be read."""


class EmptyFieldError(DataFormatError):
    """A field between two separators of a dense row is empty."""


class MixedSeparatorsError(DataFormatError):
    """A dense row uses both commas and blanks."""


class SparseLookingError(DataFormatError):
    """``index:value`` where dense rows were announced."""
