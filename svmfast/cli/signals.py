"""Signals that end the program: each raises KeyboardInterrupt, so that no temporary file is left behind."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

#: The exit status for a signal: 128 plus its number, as in a shell.
_asked_to_end: list[int] = []


def signals_to_end() -> list[signal.Signals]:
    """The signals that end the program, except those that its parent has set to be ignored.

    A shell's background job ignores interrupts, and a job under ``nohup`` ignores SIGHUP.
    """
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def install() -> None:
    """Make the signals raise KeyboardInterrupt at any point of the program."""
    for number in signals_to_end():
        signal.signal(number, _end)
    sys.unraisablehook = _end_all_the_same


def status_asked_for() -> int | None:
    """The exit status for the first signal; None if there was none."""
    return _asked_to_end[0] if _asked_to_end else None


def _end(number: int, _frame: object) -> NoReturn:
    _asked_to_end.append(128 + number)
    raise KeyboardInterrupt


def _end_all_the_same(ignored: sys.UnraisableHookArgs) -> None:
    """Raise an interrupt again if it occurred where Python drops exceptions, such as in a destructor.

    Otherwise the program would ignore the interrupt and end with status 0.
    """
    if not issubclass(ignored.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
        return

    def again(_signal: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    # An exception raised here would be dropped as well; a timer raises it shortly afterwards in the program.
    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
