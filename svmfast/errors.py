"""The exceptions of svmfast, with their details as attributes.

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
    """An unpickled error; its attributes are set afterwards."""
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class InputError(SvmfastError):
    """A file is not what it should be: ``path:line: what ('token'); expected``.

    `path` is as the user named it (``-`` for standard input); `line`, from 1, is None if the error concerns
    the whole file; the message shows the start of a long `token`.
    """

    def __init__(
        self, path: str, line: int | None, what: str, token: str | None = None, expected: str = ""
    ) -> None:
        self.path, self.line, self.what, self.token, self.expected = path, line, what, token, expected
        where = path if line is None else f"{path}:{line}"
        tail = f"; {expected}" if expected else ""
        super().__init__(f"{where}: {what}{_quoted(token)}{tail}")


class DataFormatError(InputError):
    """Data break a rule of their format."""


class ModelFormatError(InputError):
    """A model file breaks a rule of its format, or ends before or after the model."""


class ModelContentError(SvmfastError):
    """The parts of a model contradict each other; readers of files add the line.

    `field` is the name of the offending part in LIBSVM's file or the container, `token` the offending text.
    """

    def __init__(self, field: str, what: str, expected: str, token: str | None = None) -> None:
        self.field, self.what, self.expected, self.token = field, what, expected, token
        super().__init__(f"{field}: {what}{_quoted(token)}; expected {expected}")


class FileAccessError(InputError):
    """A file cannot be opened or read."""


class WriteError(SvmfastError):
    """The output `path`, as the user named it (``-`` for standard output), cannot be written."""

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

    `what` is a clause that states what needs the package, `extra` the extra of svmfast that installs it;
    `instead` says what to do if it is not an extra.
    """

    def __init__(self, what: str, package: str, extra: str = "", instead: str = "") -> None:
        self.package, self.extra = package, extra
        instead = instead or f"pip install 'svmfast[{extra}]'"
        super().__init__(f"{what} by {package}, which is not installed", instead)


class OptionError(SvmfastError):
    """Options are incompatible with each other, or a value is out of range."""


class ArrayWidthError(OptionError, ValueError):
    """An array has fewer columns than the model has features."""

    def __init__(self, width: int, expected: str) -> None:
        super().__init__(f"the data have {width} columns; expected {expected}")


class NotFiniteCellError(OptionError):
    """A value of an array is not finite; its row and column count from 0, and in the message from 1."""

    def __init__(self, of: str, value: float, row: int, column: int) -> None:
        self.of, self.value, self.row, self.column = of, value, row, column
        where = f"row {row + 1:,}, column {column + 1:,}"
        super().__init__(f"{of} holds {value} in {where}; every value must be finite")


class NotFiniteError(SvmfastError):
    """A result is not finite; the message names the computation and its numbers."""


class WrongTypeError(OptionError, TypeError):
    """An argument has the wrong type; the message names the accepted types."""

    def __init__(self, name: str, value: object, accepted: str) -> None:
        kind = type(value).__name__
        super().__init__(f"{name} is {'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}; expected {accepted}")


class NothingFitsError(UnsupportedError):
    """A negative answer: no model of this kind is as small or as fast as required."""

    exit_code = 1


class NegativeAnswerError(SvmfastError):
    """A negative answer: no model meets the requirements, or the exact model is the better choice.

    `result` is the report on the plans that were tried, if there is one.
    """

    exit_code = 1

    def __init__(self, reason: str, result: object = None) -> None:
        self.result = result
        super().__init__(reason)


class TrainingRowError(SvmfastError):
    """A row, numbered from 1, cannot be used for training; the command line names the line of the file."""

    def __init__(self, row: int, what: str, token: str | None, expected: str) -> None:
        self.row, self.what, self.token, self.expected = row, what, token, expected
        super().__init__(f"row {row}: {what}{_quoted(token)}; expected {expected}")


class SingleClassError(SvmfastError):
    """All training rows of a classifier have the same label."""

    expected = "expected rows of two or more classes"

    def __init__(self, label: float) -> None:
        self.what = f"all rows have label {label:g}"
        super().__init__(f"{self.what}; {self.expected}")


class MemoryLimitError(SvmfastError):
    """A computation would need more memory than the limit; the message has both numbers of bytes."""

    def __init__(self, what: str, needed: int, limit: int, instead: str) -> None:
        self.what, self.needed, self.limit, self.instead = what, needed, limit, instead
        super().__init__(f"{what} needs {needed:,} bytes, the limit is {limit:,}; {instead}")


def _quoted(token: str | None) -> str:
    return "" if token is None else f" ('{shown(token, _TOKEN)}')"


class EmptyDataError(DataFormatError):
    """There are no rows."""


class TableError(InputError):
    """A table is damaged, or its columns are not those that are needed."""
