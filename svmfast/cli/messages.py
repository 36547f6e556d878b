"""Printing: every line that the program writes on stdout and stderr, but for data and models on stdout.

Names of files, words of models and the like are shown so that they cannot act on a terminal. A reader that
has gone away ends no work: files are still written, and the exit status stays what it would have been.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

import click

from svmfast.display import count as count
from svmfast.display import rounded_up as rounded_up
from svmfast.display import shown


def line(text: str, *, err: bool = False) -> None:
    """Print one line on stdout, or on stderr."""
    raw(shown(text) + "\n", err=err)


def lines(texts: Iterable[str], *, err: bool = False) -> None:
    """Print lines on stdout, or on stderr."""
    for text in texts:
        line(text, err=err)


def raw(text: str, *, err: bool = False) -> None:
    """Print text in which nothing is to be escaped: JSON, help, a table whose cells are shown already."""
    try:
        click.echo(text, nl=False, err=err)
    except OSError as error:
        # Remarks that nobody can hear are no failure; results that cannot be written are, but for a reader
        # that has all it wanted.
        if not err and error.errno != errno.EPIPE:
            raise
        discard(2 if err else 1)


def discard(descriptor: int) -> None:
    """Let what is still printed there go nowhere; Python would write it into the closed pipe at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


#: What was remarked and warned of since the command began, printed or not; JSON reports have it.
REMARKS: list[str] = []
WARNINGS: list[str] = []


def remark(text: str, quiet: bool = False) -> None:
    """Print one remark on stderr unless `quiet`."""
    REMARKS.append(text)
    if not quiet:
        line(f"svmfast: {text}", err=True)


def remarks(texts: Iterable[str], quiet: bool = False) -> None:
    """Print remarks unless `quiet`."""
    for text in texts:
        remark(text, quiet)


def warning(text: str) -> None:
    """Print one warning on stderr, with -q too."""
    WARNINGS.append(text)
    line(f"svmfast: warning: {text}", err=True)
