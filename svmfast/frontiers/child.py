"""Runs one svmfast command as a separate process, with a time limit."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence

from svmfast.import_path import without_current_folder
from svmfast.methods.method import NOTHING_WRITTEN

#: Seconds between asking a command to end and killing it, and between two checks of a running command.
GRACE, TICK = 5.0, 0.25


class OutOfTime(Exception):
    """A candidate exceeded its share of the time."""


class Failed(Exception):
    """A command ended with a nonzero status; the message is its last line, or its refusal without advice.

    `negative`: it answered no (status 1), as it would again. Other ends, status 2 too, can have a cause that
    passes, such as a full disk.
    """

    def __init__(self, message: str, *, negative: bool = False) -> None:
        super().__init__(message)
        self.negative = negative


def child_command(arguments: Sequence[str]) -> list[str]:
    """The command line that runs ``svmfast ARGUMENTS`` with this Python and its import path.

    It finds the same svmfast and dependencies, however they were installed, and nothing in the current
    folder, where ``-m`` would look first.
    """
    path = ascii(without_current_folder(sys.path))
    code = f"import sys;sys.path[:] = {path};from svmfast.__main__ import console;console()"
    given = {"-I": "isolated", "-E": "ignore_environment", "-s": "no_user_site"}
    flags = [flag for flag, name in given.items() if getattr(sys.flags, name)]
    return [sys.executable, *flags, "-c", code, *arguments]


def make(arguments: Sequence[str], seconds: float, tick: Callable[[], None] = lambda: None) -> float:
    """Run ``svmfast ARGUMENTS``; return the seconds it took, or raise OutOfTime or Failed.

    The process is terminated after `seconds`; `tick` is called repeatedly until then.
    """
    begin = time.perf_counter()
    env = dict(os.environ)
    if entries := without_current_folder(env.pop("PYTHONPATH", "").split(os.pathsep)):
        env["PYTHONPATH"] = os.pathsep.join(entries)
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            child_command(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
            env=env,
        )
        try:
            status = _wait(process, seconds, tick)
        finally:
            _end(process)
        stderr.seek(0)
        lines = stderr.read().decode("utf-8", "replace").strip().splitlines()
    if status:
        refusals = [line.removesuffix(NOTHING_WRITTEN) for line in lines if line.endswith(NOTHING_WRITTEN)]
        words = f"ended with status {status}" if status > 0 else f"was killed by signal {-status}"
        reason = (refusals or lines or [""])[-1].removeprefix("svmfast: ")
        raise Failed(reason or words, negative=status == 1)
    return time.perf_counter() - begin


def _wait(process: subprocess.Popen[bytes], seconds: float, tick: Callable[[], None]) -> int:
    begin = time.monotonic()
    while True:
        left = seconds - (time.monotonic() - begin)
        tick()
        try:
            return process.wait(timeout=min(TICK, max(0.0, left)))
        except subprocess.TimeoutExpired:
            if left <= TICK:
                raise OutOfTime from None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Terminate a running command with SIGTERM, so that it removes its temporary files, then with SIGKILL."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=GRACE)
