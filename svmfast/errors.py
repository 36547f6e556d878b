"""The exceptions of svmfast: one class for each kind of error, with its details as attributes.

Longer than 400 lines because it is a list: nearly every class is a name and one line of text.

Nothing is printed here. The command line turns an error into one line on stderr and the exit status
:attr:`SvmfastError.exit_code`.
"""

from __future__ import annotations

from typing import Any

from svmfast.display import shown

#: Maximum number of characters of a token in a message.
_TOKEN = 60


class SvmfastError(Exception):
    """Base of all errors that a user can cause and fix. Exit status 2.

    The message is always a single line, because names and tokens are escaped in it
    (:func:`svmfast.display.shown`). The attributes of subclasses hold them unescaped.
    """

    exit_code = 2

    def __init__(self, message: str = "") -> None:
        super().__init__(shown(message))

    def __reduce__(self) -> tuple[Any, ...]:
        # By default, an exception is unpickled by calling its class with the message, but subclasses take
        # other arguments. A worker process's error that cannot be unpickled would leave its pool waiting.
        return _restored, (type(self), self.args), self.__dict__


def _restored(kind: type[SvmfastError], args: tuple[Any, ...]) -> SvmfastError:
    """Return an unpickled error; its attributes are set afterwards."""
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
        Line number from 1, or None if the error concerns the whole file.
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
    """The file does not start like a model."""


class EmptyModelError(ModelFormatError):
    """The file holds no model at all."""


class UnknownModelKeyError(ModelFormatError):
    """A word was found instead of a key of the format."""


class RepeatedModelKeyError(ModelFormatError):
    """A key occurs twice in the file."""


class MissingModelKeyError(ModelFormatError):
    """A required key is missing."""


class ModelKeyOrderError(ModelFormatError):
    """A key comes before one that it depends on."""


class ModelValueError(ModelFormatError):
    """A value has the wrong type: it is not a number, not an integer, or not one of the known names."""


class ModelNotFiniteError(ModelFormatError):
    """nan, inf, or a number too large for float64."""


class ModelRangeError(ModelFormatError):
    """A value has the right type but is out of range."""


class ModelCountError(ModelFormatError):
    """There are more or fewer values than the model's sizes require."""


class ModelContradictionError(ModelFormatError):
    """Parts that are valid by themselves contradict each other."""


class ModelChecksumError(ModelFormatError):
    """The content does not match the file's checksum: it was changed after it was written.

    Attributes
    ----------
    computed : str
        The checksum of the present content.
    """

    computed = ""


class TruncatedModelError(ModelFormatError):
    """The file ends before the model does."""


class SurplusModelTextError(ModelFormatError):
    """The model ends before the file does."""


class ModelSizeError(ModelFormatError):
    """The file is too short for a declared size; raised before memory is allocated for it."""


class EmptySupportVectorError(ModelFormatError):
    """A blank line between support vectors."""


class MissingCoefficientError(ModelFormatError):
    """A support vector with fewer coefficients than classes minus one."""


class MissingColonError(ModelFormatError):
    """A feature of a support vector does not have the form ``index:value``."""


class SupportVectorIndexError(ModelFormatError):
    """A feature index is not an integer from 1 to 2147483647."""


class SupportVectorOrderError(ModelFormatError):
    """The feature indices of a support vector are not in ascending order."""


class SerialNumberError(ModelFormatError):
    """A support vector of the precomputed kernel is not ``0:serial-number``."""


class ModelVersionError(ModelFormatError):
    """The model file has a format version that this version of svmfast cannot read."""


class UnknownModelKindError(ModelFormatError):
    """The model file has a kind that this version of svmfast does not know."""


class ModelContentError(SvmfastError):
    """The parts of a model contradict each other; readers of files add the line.

    Parameters
    ----------
    field : str
        The name of the offending part in LIBSVM's file or the container.
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
    """An optional package is not installed; the message says how to install it.

    Parameters
    ----------
    what : str
        A clause that states what needs the package.
    package : str
    extra : str, optional
        The extra of svmfast that installs it.
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
    """Options are incompatible with each other, or a value is out of range."""


class ArrayWidthError(OptionError, ValueError):
    """The number of an array's columns differs from the number of the model's features."""

    def __init__(self, width: int, expected: str) -> None:
        super().__init__(f"the data have {width} columns; expected {expected}")


class NotFiniteCellError(OptionError):
    """A value of an array is not finite; its row and column count from 0, and in the message from 1."""

    def __init__(self, of: str, value: float, row: int, column: int, name: str | None = None) -> None:
        self.of, self.value, self.row, self.column = of, value, row, column
        called = "" if name is None else f" ('{shown(name)}')"
        where = f"row {row + 1:,}, column {column + 1:,}{called}"
        super().__init__(f"{of} holds {value} in {where}; every value must be finite")


class NotFiniteError(SvmfastError):
    """A result is not finite; the message names the computation and its numbers."""


class WrongTypeError(OptionError, TypeError):
    """An argument has the wrong type; the message names the accepted types.

    Parameters
    ----------
    name : str
        The name of the argument.
    value : object
        The value that was given.
    accepted : str
        The accepted types.
    """

    def __init__(self, name: str, value: object, accepted: str) -> None:
        kind = type(value).__name__
        super().__init__(f"{name} is {'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}; expected {accepted}")


class NothingFitsError(UnsupportedError):
    """A negative answer: no model of this kind is as small or as fast as required."""

    exit_code = 1


class NegativeAnswerError(SvmfastError):
    """A negative answer: no model meets the requirements, or the exact model is the better choice.

    Attributes
    ----------
    result : Result or None
        The report on the plans that were tried.
    """

    exit_code = 1

    def __init__(self, reason: str, result: object = None) -> None:
        self.result = result
        super().__init__(reason)


class TrainingRowError(SvmfastError):
    """A row cannot be used for training; the command line converts its number into a line of the file.

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
    """All training rows of a classifier have the same label.

    Parameters
    ----------
    label : float
    """

    expected = "expected rows of two or more classes"

    def __init__(self, label: float) -> None:
        self.what = f"all rows have label {label:g}"
        super().__init__(f"{self.what}; {self.expected}")


class MemoryLimitError(SvmfastError):
    """A computation would need more memory than the limit; the message has both numbers.

    Parameters
    ----------
    what : str
        What needs the memory.
    needed, limit : int
        Bytes.
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
    """There are no rows."""


class ModelAsDataError(DataFormatError):
    """The first word of the file is that of a model."""


class BlankLineError(DataFormatError):
    """A line is blank: it does not even have a label."""


class MissingLabelError(DataFormatError):
    """A row starts with an entry instead of a label."""


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
    """The index is 0, but indices count from 1."""


class IndexTooLargeError(DataFormatError):
    """The index does not fit 32 bits."""


class UnsortedIndexError(DataFormatError):
    """The indices of a row are not in ascending order."""


class DuplicateIndexError(DataFormatError):
    """An index occurs twice in a row."""


class MissingValueError(DataFormatError):
    """There is nothing after the colon."""


class BadValueError(DataFormatError):
    """The value is not a number."""


class NonFiniteError(DataFormatError):
    """A label or value is nan or infinite."""


class NumberOverflowError(DataFormatError):
    """A label or value is out of the range of float64."""


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
    """A row of a precomputed kernel is not 0:serial, 1:value, 2:value, ... without gaps."""


class RowWidthError(DataFormatError):
    """The rows do not have the same number of values, although they must."""


class TableError(InputError):
    """A table is invalid."""


class MissingColumnError(TableError):
    """A required column of a table is missing, or several columns have the same name."""


class ColumnNameError(TableError):
    """The name of a column of a table has characters that no name may have."""


class ColumnOrderError(TableError):
    """The columns of a table, or their order, differ from the first table's, and no names decide."""


class ColumnTypeError(TableError):
    """A column of a table that must be numeric is not."""


class NullCellError(TableError):
    """A cell of a table that must hold a number is empty."""


class DamagedTableError(TableError):
    """A Parquet, Arrow or CSV file cannot be read."""


class EmptyFieldError(DataFormatError):
    """A field between two separators of a dense row is empty."""


class MixedSeparatorsError(DataFormatError):
    """A dense row uses both commas and blanks."""


class SparseLookingError(DataFormatError):
    """A row has the form ``index:value``, but dense rows are expected."""
