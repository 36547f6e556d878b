"""Run the program in forks of a process that has imported it, so that the imports take time only once.

What runs is the installed program from its entry point on, in its own process with its own pipes.
Only Python's start and the imports are left out: a quarter of a second for each of some thousand runs. Tests
of the start itself, of signals, memory and time run the executable (`PROGRAM`). In a fork, the commands that
``frontier`` starts are forks too.
"""

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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

#: Modules that few commands need and that take long to import.
_NOT_IMPORTED = ("svmfast.sklearn", "svmfast.dask", "svmfast.onnx", "svmfast.__main__")
#: Commands that import SciPy or scikit-learn. They are forked from a process that has imported both; its
#: forks take four times as long, because it has a thousand more mappings of files.
_WITH_SCIKIT_LEARN = {
    *("approximate", "cascade", "compare", "compress", "dcpred", "frontier", "import", "linear"),
    *("meka", "train"),
}
#: Variables that pytest sets for a test, and scikit-learn and Polars on import (for libraries not loaded
#: here). What runs reads none of them, so they may differ from those that the process that forks has.
_OF_OTHERS = {"PYTEST_CURRENT_TEST", "KMP_DUPLICATE_LIB_OK", "KMP_INIT_AT_FORK", "_RJEM_MALLOC_CONF"}
_LENGTH = 8  # bytes that hold the length of a request
#: What else commands and options import; the process that forks imports it when it is first needed.
_NEEDED = {"import": ("skops.io",), "--dask": ("dask", "distributed")}


class Forks:
    """A client of two processes that fork, which start with the first request and end with this process.

    Runs have its `environment`, by default that of this process.
    """

    def __init__(self, program, environment=os.environ):
        self.program = program
        self.lock = threading.Lock()
        self.environment = dict(environment)
        self.sockets = {}

    def usable(self):
        """Return whether a fork behaves like the executable, which reads the environment on import."""
        now, then = ({*given.items()} for given in (os.environ, self.environment))
        return {name for name, _ in now ^ then} <= _OF_OTHERS

    def run(
        self, arguments, stdin, folder, timeout, unread = (),
        *, shortened = False,
    ):  # fmt: skip
        """Run the program as `subprocess.run` does; the caller holds the lock.

        `shortened`: ``frontier`` times models for fractions of a second and draws nothing.
        """
        heavy = not _WITH_SCIKIT_LEARN.isdisjoint(arguments)
        server = self.sockets.get(heavy) or self._start(heavy=heavy)
        pipes = [os.pipe() for _ in range(3)]
        ends = [pipes[0][0], pipes[1][1], pipes[2][1]]
        read = []
        for name, (reading, _) in zip(("stdout", "stderr"), pipes[1:], strict=True):
            if name in unread:  # closed before the program starts
                os.close(reading)
            read.append(None if name in unread else reading)
        pid = _request(server, arguments, folder, ends, shortened=shortened)
        for end in ends:
            os.close(end)
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

    def _start(self, *, heavy):
        ours, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            words = [sys.executable, __file__, str(number), os.fspath(self.program), str(int(heavy))]
            null = subprocess.DEVNULL
            server = subprocess.Popen(words, pass_fds=[number], stdin=null, env=self.environment)
        self.sockets[heavy] = ours
        atexit.register(server.wait)
        atexit.register(ours.close)  # runs first, and ends the server
        return ours


class _Forked:
    """Stands in for `subprocess.Popen` where ``frontier`` starts a command: the command runs in a fork."""

    def __init__(self, helper, words, stderr, env):
        now, given = ({**found, "PYTHONPATH": ""} for found in (os.environ, env))
        assert now == given
        self._helper, self._status = helper, None
        arguments = words[words.index("-c") + 2 :]
        with open(os.devnull, "r+b") as null:
            ends = [null.fileno(), null.fileno(), stderr.fileno()]
            self.pid = _request(helper, arguments, str(Path.cwd()), ends)

    def poll(self, seconds=0):
        if self._status is None and select.select([self._helper], [], [], seconds)[0]:
            self._status = int.from_bytes(_exactly(self._helper, _LENGTH), "little", signed=True)
        return self._status

    def wait(self, timeout):
        status = self.poll(timeout)
        if status is None:
            raise subprocess.TimeoutExpired("svmfast", timeout)
        return status


def _fork_commands(helper):
    """Let this process, which runs ``frontier``, fork its commands: not itself, since it has threads."""
    from svmfast.frontiers import child

    def start(words, *, stderr, env, **_same):
        return _Forked(helper, words, stderr, env)

    child.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": start})


def shorten(program=""):
    """Let ``frontier`` time models briefly; if this process is `program`, let it fork its commands too."""
    if program:
        _import_program(heavy=True)
        _fork_commands(_helper(program, ())[1])
    from svmfast.frontiers import racing

    racing.MOST_TIMING = racing.LEAST_TIMING = 0.2
    racing.FEW_ROUNDS = 2


def _request(server, arguments, folder, ends, *, shortened=False):
    """Ask for a run with these standard streams; return its process's number."""
    request = json.dumps([arguments, folder, shortened]).encode()
    socket.send_fds(server, [len(request).to_bytes(_LENGTH, "little")], ends)
    server.sendall(request)
    return int.from_bytes(_exactly(server, _LENGTH), "little")


def _exactly(connection, size):
    found = b""
    while len(found) < size:
        some = connection.recv(size - len(found))
        if not some:
            raise RuntimeError("the process that forks has ended")
        found += some
    return found


def _exchange(to, out, err, stdin):
    """Write to one pipe and read the others until all are at their ends; None stands for one not read."""

    def write():
        with contextlib.suppress(BrokenPipeError), os.fdopen(to, "wb", buffering=0) as pipe:
            left = memoryview(stdin)
            while left:
                left = left[pipe.write(left) :]

    def read(end):
        if end is None:
            return None
        with os.fdopen(end, "rb") as pipe:
            return pipe.read()

    with ThreadPoolExecutor(3) as pool:
        pool.submit(write)
        return list(pool.map(read, (out, err)))


def _modules(package, places):
    """Yield the names of a package's modules, without importing any."""
    for found in pkgutil.iter_modules(places):
        name = f"{package}.{found.name}"
        if not name.startswith(_NOT_IMPORTED):
            yield name
            if found.ispkg:
                yield from _modules(name, [os.path.join(place, found.name) for place in places])


def _import_program(*, heavy):
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the program does before it imports NumPy
    # As the first of them that is needed: a third of the time of a run that reads a table. Its parts are
    # left to the program, which has to import those that it uses.
    importlib.import_module("pyarrow")
    import svmfast

    # Small problems use threads too, as in conftest.py.
    importlib.import_module("svmfast._core").set_least_threaded_work(0)
    for name in _modules("svmfast", svmfast.__path__):
        importlib.import_module(name)
    if heavy:
        importlib.import_module("svmfast.sklearn")


def _fork(connection, program, *, commands=False):
    """Run the requested commands, one at a time; `commands`: those of ``frontier``, in their own sessions."""
    while True:
        head, ends, _, _ = socket.recv_fds(connection, _LENGTH, 3)
        if not head:
            return
        arguments, folder, shortened = json.loads(_exactly(connection, int.from_bytes(head, "little")))
        for name in (name for word in _NEEDED.keys() & {*arguments} for name in _NEEDED[word]):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        helper, ours = 0, None
        if arguments[:1] == ["frontier"]:
            helper, ours = _helper(program, [connection.fileno(), *ends])
        child = os.fork()
        if not child:
            connection.close()
            if commands:
                os.setsid()
            if ours is not None:
                _fork_commands(ours)
            if shortened:
                shorten()
            _become([program, *arguments], folder, ends)
        for end in ends:
            os.close(end)
        if ours is not None:
            ours.close()
        connection.sendall(child.to_bytes(_LENGTH, "little"))
        _, status = os.waitpid(child, 0)
        if helper:
            os.waitpid(helper, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(_LENGTH, "little", signed=True))


def _helper(program, unused):
    """Fork a process that forks the commands of one ``frontier``; return its number and the socket to it.

    It closes the `unused` files.
    """
    ours, theirs = socket.socketpair()
    helper = os.fork()
    if helper:
        theirs.close()
        return helper, ours
    ours.close()
    for end in unused:
        os.close(end)
    try:
        _fork(theirs, program, commands=True)
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def _become(command, folder, ends):
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
        _import_program(heavy=sys.argv[3] == "1")
        _fork(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
