"""Signals that end the work: as an interrupt does, so that no temporary file stays."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from typing import NoReturn

#: The exit status that a signal asked for: 128 and its number, as a shell has it.
_asked_to_end: list[int] = []


def signals_to_end() -> list[signal.Signals]:
    """The signals that ask the program to end, but for those that its parent has ignored.

    A shell's background job ignores interrupts, and a job under ``nohup`` the terminal's hanging up.
    """
    numbers = [signal.SIGINT, signal.SIGTERM]
    if hasattr(signal, "SIGHUP"):  # not on Windows
        numbers.append(signal.SIGHUP)
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def install() -> None:
    """Let the signals raise KeyboardInterrupt wherever the program is."""
    for number in signals_to_end():
        signal.signal(number, _end)
    sys.unraisablehook = _end_all_the_same


@contextlib.contextmanager
def ending_softly(remark: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Yield what tells whether a signal has come; it asks the work to end, a second one ends it at once.

    The exit status is that of the first.

    Parameters
    ----------
    remark : callable
        Called where the work has ended since it was asked to.
    """
    asked: list[int] = []

    def stop(number: int, _frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, stop) for number in signals_to_end()}
    try:
        yield lambda: bool(asked)
    except KeyboardInterrupt:
        if asked:
            remark()
            usual = before[signal.Signals(asked[0])]
            if callable(usual):
                usual(asked[0], None)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def status_asked_for() -> int | None:
    """The exit status that the first signal asked for; None if none came."""
    return _asked_to_end[0] if _asked_to_end else None


def _end(number: int, _frame: object) -> NoReturn:
    _asked_to_end.append(128 + number)
    raise KeyboardInterrupt


def _end_all_the_same(ignored: sys.UnraisableHookArgs) -> None:
    """Raise an interrupt again that came where Python drops exceptions, as in a destructor.

    Without that the work would go on to its end, status 0, as if nobody had asked it to stop.
    """
    if not issubclass(ignored.exc_type, KeyboardInterrupt) or not hasattr(signal, "setitimer"):
        sys.__unraisablehook__(ignored)
        return

    def again(_signal: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    # Not from here, where it would be dropped as well: a moment later, back in the program.
    signal.signal(signal.SIGALRM, again)
    signal.setitimer(signal.ITIMER_REAL, 0.001)
