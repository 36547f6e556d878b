"""Run the program in forks of a process that has imported it, so that the imports take time only once.

What runs is the installed program from its entry point on, in a process of its own with pipes of its own.
Only Python's start and the imports are left out: a quarter of a second for each of some thousand runs. Tests
of the start itself, of signals, memory and time run the executable (`PROGRAM`).
"""

from __future__ import annotations

import array
import atexit
import contextlib
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Collection
from pathlib import Path
from typing import NoReturn

#: Modules that few commands need and that take long to import.
_NOT_IMPORTED = ("svmfast.sklearn", "svmfast.dask", "svmfast.onnx", "svmfast.__main__")
#: Variables that pytest sets for a test and scikit-learn on import (for Intel's OpenMP, which is not loaded
#: here). What runs reads none of them, so they may differ from those that the process that forks has.
_OF_OTHERS = {"PYTEST_CURRENT_TEST", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK"}
_LENGTH = 8  # bytes that hold the length of a request


class Forks:
    """A client of a process that forks, which starts with the first request and ends with this process."""

    def __init__(self, program: Path) -> None:
        self.program = program
        self.lock = threading.Lock()
        self.environment = dict(os.environ)
        self.socket: socket.socket | None = None

    def usable(self) -> bool:
        """Return whether a fork behaves like the executable, which reads the environment on import."""
        now, then = ({*given.items()} for given in (os.environ, self.environment))
        return {name for name, _ in now ^ then} <= _OF_OTHERS

    def run(
        self, arguments: list[str], stdin: bytes, folder: str, timeout: float, unread: Collection[str] = ()
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the program as `subprocess.run` does; the caller holds the lock."""
        server = self.socket or self._start()
        pipes = [os.pipe() for _ in range(3)]
        ends = [pipes[0][0], pipes[1][1], pipes[2][1]]
        read: list[int | None] = []
        for name, (reading, _) in zip(("stdout", "stderr"), pipes[1:], strict=True):
            if name in unread:  # closed before the program starts
                os.close(reading)
            read.append(None if name in unread else reading)
        request = json.dumps([arguments, folder]).encode()
        server.sendmsg(
            [len(request).to_bytes(_LENGTH, "little")],
            [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", ends))],
        )
        server.sendall(request)
        for end in ends:
            os.close(end)
        pid = int.from_bytes(_exactly(server, _LENGTH), "little")
        killer = threading.Timer(timeout, os.kill, (pid, signal.SIGKILL))
        killer.start()
        try:
            out, err = _exchange(pipes[0][1], *read, stdin)
            status = int.from_bytes(_exactly(server, _LENGTH), "little", signed=True)
        finally:
            late = not killer.is_alive()
            killer.cancel()
        command = [os.fspath(self.program), *arguments]
        if late:
            raise subprocess.TimeoutExpired(command, timeout, out, err)
        return subprocess.CompletedProcess(command, status, out, err)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            server = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), os.fspath(self.program)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        self.socket = ours
        atexit.register(server.wait)
        atexit.register(ours.close)  # runs first, and ends the server
        return ours


def _exactly(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        some = connection.recv(size - len(found))
        if not some:
            raise RuntimeError("the process that forks has ended")
        found += some
    return found


def _exchange(to: int, out: int | None, err: int | None, stdin: bytes) -> tuple[bytes | None, bytes | None]:
    """Write to one pipe and read the others until all are at their ends; None stands for one not read."""
    found: dict[int, list[bytes]] = {end: [] for end in (out, err) if end is not None}
    os.set_blocking(to, False)
    waiting = select.poll()
    for end in found:
        waiting.register(end, select.POLLIN)
    waiting.register(to, select.POLLOUT)
    left, opened = memoryview(stdin), {to, *found}
    while opened:
        for number, _ in waiting.poll():
            ended = False
            if number == to:
                try:
                    left = left[os.write(to, left[:65536]) :] if left else left
                    ended = not left
                except BrokenPipeError:
                    ended = True
            else:
                some = os.read(number, 1 << 16)
                found[number].append(some)
                ended = not some
            if ended:
                waiting.unregister(number)
                os.close(number)
                opened.remove(number)
    stdout, stderr = (None if end is None else b"".join(found[end]) for end in (out, err))
    return stdout, stderr


def _serve(connection: socket.socket, program: str) -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program does before it imports NumPy
    # As the first of them that is needed: a third of the time of a run that reads a table. Its parts are
    # left to the program, which has to import those that it uses.
    importlib.import_module("pyarrow")
    import svmfast

    for found in pkgutil.walk_packages(svmfast.__path__, "svmfast."):
        if not found.name.startswith(_NOT_IMPORTED):
            importlib.import_module(found.name)
    while True:
        head, ends, _, _ = socket.recv_fds(connection, _LENGTH, 3)
        if not head:
            return
        arguments, folder = json.loads(_exactly(connection, int.from_bytes(head, "little")))
        child = os.fork()
        if not child:
            connection.close()
            _become([program, *arguments], folder, ends)
        for end in ends:
            os.close(end)
        connection.sendall(child.to_bytes(_LENGTH, "little"))
        _, status = os.waitpid(child, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(_LENGTH, "little", signed=True))


def _become(command: list[str], folder: str, ends: list[int]) -> NoReturn:
    """Act as the program, from the first line of its executable on."""
    try:
        for number, end in enumerate(ends):
            os.dup2(end, number)
            os.close(end)
        # Those of the process that forked know that its streams can seek.
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
        os.chdir(folder)
        sys.argv[:] = command
        sys.path.pop(0)  # this file's folder
        from svmfast.__main__ import console

        console()
    except BaseException:
        traceback.print_exc()
    os._exit(70)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, RuntimeError):
        _serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
