"""Runs one svmfast command as a separate process, with a time limit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence

from svmfast.import_path import without_current_folder

#: Exit statuses of a negative answer and of refused input.
REFUSALS = (1, 2)
#: Seconds between asking a command to end and killing it.
GRACE = 5.0
#: Seconds between two checks of a running command.
TICK = 0.25


class OutOfTime(Exception):
    """A candidate exceeded its share of the time."""


class Failed(Exception):
    """A candidate's command ended with another status than 0; the text is its last line on stderr.

    Attributes
    ----------
    final : bool
        The command ended with a negative answer, or refused its input, and would do so again. False if it was
        killed or failed.
    negative : bool
        The command finished, and its result is a negative answer about the model.
    """

    def __init__(self, message: str, *, final: bool, negative: bool = False) -> None:
        super().__init__(message)
        self.final, self.negative = final, negative


def child_command(arguments: Sequence[str]) -> list[str]:
    """Return the command line that runs ``svmfast ARGUMENTS`` with this Python.

    The child gets this program's import path: it finds svmfast and all that it needs where this program found
    them, however it was installed, and nothing in the current folder (``-m`` would look there first).
    """
    path = ascii(without_current_folder(sys.path))
    code = f"import sys;sys.path[:] = {path};from svmfast.__main__ import console;console()"
    flags = [
        option
        for option, given in (
            ("-I", sys.flags.isolated),
            ("-E", sys.flags.ignore_environment),
            ("-s", sys.flags.no_user_site),
        )
        if given
    ]
    return [sys.executable, *flags, "-c", code, *arguments]


def _environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without entries of PYTHONPATH that mean the current folder."""
    found = dict(given)
    entries = without_current_folder(found.pop("PYTHONPATH", "").split(os.pathsep))
    if entries:
        found["PYTHONPATH"] = os.pathsep.join(entries)
    return found


def make(
    arguments: Sequence[str],
    seconds: float,
    environment: Mapping[str, str] | None = None,
    tick: Callable[[float], None] = lambda share: None,
) -> float:
    """Run ``svmfast ARGUMENTS`` as in a shell; return the seconds it took.

    Parameters
    ----------
    arguments : sequence of str
    seconds : float
        Time limit, after which the process is ended.
    environment : mapping of str to str, optional
        This program's by default.
    tick : callable
        Called repeatedly with the share of `seconds` that has passed.

    Raises
    ------
    OutOfTime, Failed
    """
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            child_command(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
            env=_environment(os.environ if environment is None else environment),
        )
        try:
            status = _wait(process, seconds, tick)
        finally:
            _end(process)
        stderr.seek(0)
        lines = stderr.read().decode("utf-8", "replace").strip().splitlines()
    if status:
        words = f"ended with status {status}" if status > 0 else f"was killed by signal {-status}"
        said_last = lines[-1].removeprefix("svmfast: ") if lines else words
        raise Failed(said_last, final=status in REFUSALS, negative=status == 1)
    return time.perf_counter() - begin


def _wait(process: subprocess.Popen[bytes], seconds: float, tick: Callable[[float], None]) -> int:
    begin = time.monotonic()
    while True:
        left = seconds - (time.monotonic() - begin)
        tick(1 - left / seconds if left > 0 else 1.0)
        try:
            return process.wait(timeout=min(TICK, max(0.0, left)))
        except subprocess.TimeoutExpired:
            if left <= TICK:
                raise OutOfTime from None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a running command: by SIGTERM, so that it can remove its temporary files, then by SIGKILL."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=GRACE)
