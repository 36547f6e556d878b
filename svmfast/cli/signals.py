"""Signals that end the program: each raises KeyboardInterrupt, so that no temporary file is left behind."""

from __future__ import annotations

import signal
from typing import NoReturn

#: The exit status for a signal: 128 plus its number, as in a shell.
_asked_to_end: list[int] = []


def signals_to_end() -> list[signal.Signals]:
    """The signals that end the program, except those that its parent has set to be ignored.

    A shell's background job ignores interrupts, and a job under ``nohup`` ignores SIGHUP.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP"):  # not on Windows
        numbers.append(signal.SIGHUP)
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def install() -> None:
    """Make the signals raise KeyboardInterrupt at any point of the program."""
    for number in signals_to_end():
        signal.signal(number, _end)


def status_asked_for() -> int | None:
    """The exit status for the first signal; None if there was none."""
    return _asked_to_end[0] if _asked_to_end else None


def _end(number: int, _frame: object) -> NoReturn:
    _asked_to_end.append(128 + number)
    raise KeyboardInterrupt
