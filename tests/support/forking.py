"""Let ``frontier``, which runs in a test's process, start its commands in forks of one with all imports.

Only Python's start and the imports are left out: a second for each of some hundred commands.
"""

import atexit
import contextlib
import functools
import importlib
import json
import os
import pkgutil
import select
import socket
import subprocess
import sys
import traceback
from pathlib import Path
from types import SimpleNamespace

#: Modules that few commands need and that take long to import.
_NOT_IMPORTED = ("svmfast.dask", "svmfast.onnx", "svmfast.__main__")


class _Forked:
    """Stands in for `subprocess.Popen`."""

    def __init__(self, words, *, stderr, env, **_same):
        self._server, self._status = _server(), None
        request = json.dumps([words[words.index("-c") + 2 :], str(Path.cwd()), dict(env)])
        socket.send_fds(self._server, [f"{request}\n".encode()], [stderr.fileno()])
        self.pid = self._number()

    def _number(self):
        found = b""
        while not found.endswith(b"\n"):
            some = self._server.recv(1)
            assert some, "the process that forks has ended"
            found += some
        return int(found)

    def poll(self, seconds=0):
        if self._status is None and select.select([self._server], [], [], seconds)[0]:
            self._status = self._number()
        return self._status

    def wait(self, timeout):
        status = self.poll(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("svmfast", timeout)
        return status


@contextlib.contextmanager
def forking(*, shortened):
    """Let ``frontier`` fork its commands; `shortened`: and time models for fractions of a second."""
    import pytest

    from svmfast.frontiers import child, racing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": _Forked}))
        for name, value in {"MOST_TIMING": 0.2, "LEAST_TIMING": 0.2, "FEW_ROUNDS": 2}.items():
            if shortened:
                patch.setattr(racing, name, value)
        yield


@functools.cache
def _server():
    """Start the process that forks, which ends with this one; return the socket to it."""
    ours, theirs = socket.socketpair()
    null = subprocess.DEVNULL
    with theirs:
        words = [sys.executable, __file__, str(theirs.fileno())]
        server = subprocess.Popen(words, pass_fds=[theirs.fileno()], stdin=null, stdout=null)
    atexit.register(server.wait)
    atexit.register(ours.close)  # runs first, and ends the server
    return ours


def _modules(package, places):
    """Yield the names of a package's modules, without importing any."""
    for found in pkgutil.iter_modules(places):
        name = f"{package}.{found.name}"
        if not name.startswith(_NOT_IMPORTED):
            yield name
            if found.ispkg:
                yield from _modules(name, [os.path.join(place, found.name) for place in places])


def _serve(connection):
    """Import the program and run the requested commands in forks, one at a time."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program does before it imports NumPy
    import svmfast

    # Small problems use threads too, as in conftest.py.
    importlib.import_module("svmfast._core").set_least_threaded_work(0)
    for name in _modules("svmfast", svmfast.__path__):
        importlib.import_module(name)
    while True:
        request, ends, _, _ = socket.recv_fds(connection, 1 << 16, 1)
        if not request:
            return
        while not request.endswith(b"\n"):
            request += connection.recv(1 << 16)
        arguments, folder, environment = json.loads(request)
        os.environ.clear()
        os.environ.update(environment)
        child = os.fork()
        if not child:
            connection.close()
            _become(arguments, folder, ends[0])
        os.close(ends[0])
        connection.sendall(b"%d\n" % child)
        _, status = os.waitpid(child, 0)
        connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _become(arguments, folder, stderr):
    """Act as the program, from the first line of its executable on."""
    try:
        os.setsid()
        os.dup2(stderr, 2)
        os.close(stderr)
        # That of the process that forked knows whether its stream can seek.
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
        os.chdir(folder)
        sys.argv[:] = ["svmfast", *arguments]
        from svmfast.__main__ import console

        console()
    except BaseException:
        traceback.print_exc()
    os._exit(70)


if __name__ == "__main__":
    sys.path.pop(0)  # this file's folder
    with contextlib.suppress(KeyboardInterrupt):
        _serve(socket.socket(fileno=int(sys.argv[1])))
