"""Printing: every line on stdout and stderr, except data and models on stdout.

Text from outside, such as file names, is escaped so that it cannot control a terminal. A closed pipe does not
end a command: it still writes its files and returns the same exit status.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable

from svmfast.display import shown
from svmfast.errors import WriteError


def line(text: str, *, err: bool = False) -> None:
    """Print one line on stdout, or on stderr."""
    raw(shown(text) + "\n", err=err)


def lines(texts: Iterable[str], *, err: bool = False) -> None:
    """Print lines on stdout, or on stderr."""
    for text in texts:
        line(text, err=err)


def raw(text: str, *, err: bool = False) -> None:
    """Print text without escaping: JSON, help, a table whose cells are escaped already."""
    try:
        stream = sys.stderr if err else sys.stdout
        if stream is not None:
            stream.write(text)
            stream.flush()
    except OSError as error:
        # It is not an error if a message cannot be written to stderr. It is one if a result cannot be
        # written, unless the reader has closed the pipe.
        if not err and error.errno != errno.EPIPE:
            raise WriteError("-", error.strerror or str(error)) from error
        discard(2 if err else 1)


def discard(descriptor: int) -> None:
    """Redirect further output to the null device; Python would write it to the closed pipe at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


#: Remarks and warnings since the command began, printed or not, for the JSON report.
REMARKS: list[str] = []
WARNINGS: list[str] = []


def remark(text: str, quiet: bool = False) -> None:
    """Print one remark on stderr unless `quiet`."""
    REMARKS.append(text)
    if not quiet:
        line(f"svmfast: {text}", err=True)


def warning(text: str) -> None:
    """Print one warning on stderr, with -q too."""
    WARNINGS.append(text)
    line(f"svmfast: warning: {text}", err=True)
