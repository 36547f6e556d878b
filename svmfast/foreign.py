"""The one error line for a file that another library cannot read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from svmfast.errors import InputError, SvmfastError

#: Maximum number of characters that are shown of another library's message.
_MOST = 200


@contextlib.contextmanager
def foreign(
    path: str,
    what: str,
    expected: str,
    kind: Callable[[str, None, str, None, str], SvmfastError] = InputError,
    *,
    also: tuple[type[SvmfastError], ...] = (),
) -> Iterator[None]:
    """Turn every exception that other libraries raise about a file's content into one error, made by `kind`.

    Errors of svmfast pass, except those of `also`. There is no list of exceptions, since none is complete: a
    damaged archive raises what the decompressor, NumPy's parser or Python's stack limit raise.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, SvmfastError) and not isinstance(error, also):
            raise
        why = reason(error)
        raise kind(path, None, f"{what} ({why})" if why else what, None, expected) from error


def reason(error: BaseException) -> str:
    """The first sentence of an exception's message, whose parts pyarrow gives in reverse order."""
    of_python = type(getattr(error, "obj", None)).__module__ == "builtins"  # of an attribute
    if (
        type(error) is TypeError
        or (type(error) is AttributeError and of_python)
        or " to unpack (" in str(error)
    ):
        return ""  # it says nothing about a file
    parts = error.args[::-1] if all(isinstance(one, str) for one in error.args) else [str(error)]
    text = " ".join(": ".join(parts).split()).split(". ")[0][:_MOST].rstrip(". ")
    return f"'{text}' is missing" if isinstance(error, KeyError) and text else text
