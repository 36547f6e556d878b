"""Let ``frontier``, which runs in a test's process, start its commands in forks of one with all imports.

Only Python's start and the imports are left out: a second for each of some hundred commands.
"""

import contextlib
import functools
import multiprocessing
import os
import subprocess
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace

import svmfast
from svmfast import _core

_FORKS = multiprocessing.get_context("forkserver")
#: Modules that few commands need and that take long to import.
_NOT_IMPORTED = ("svmfast.dask", "svmfast.sklearn.onnx", ".__main__", ".__init__")


class _Forked(_FORKS.Process):
    """Stands in for `subprocess.Popen`."""

    def __init__(self, words, *, stderr, env, **_same):
        # As a connection, because the child gets the file of one.
        given = words[words.index("-c") + 2 :], dict(env), Connection(os.dup(stderr.fileno()))
        super().__init__(target=_become, args=given)
        self.start()

    def poll(self):
        return self.exitcode

    def wait(self, timeout):
        self.join(timeout)
        if self.exitcode is None:
            raise subprocess.TimeoutExpired("svmfast", timeout)
        return self.exitcode


@contextlib.contextmanager
def forking(*, shortened):
    """Let ``frontier`` fork its commands; `shortened`: and time models for fractions of a second."""
    import pytest

    from svmfast.frontiers import child, racing

    _name_what_forks_import()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENBLAS_NUM_THREADS", "1")  # as the program does before it imports NumPy
        patch.setattr(child, "subprocess", SimpleNamespace(**{**vars(subprocess), "Popen": _Forked}))
        for name, value in {"MOST_TIMING": 0.2, "LEAST_TIMING": 0.2, "FEW_ROUNDS": 2}.items():
            if shortened:
                patch.setattr(racing, name, value)
        yield


@functools.cache
def _name_what_forks_import():
    home = Path(svmfast.__file__).parent.parent
    found = (".".join(one.relative_to(home).with_suffix("").parts) for one in home.glob("svmfast/**/*.py"))
    _FORKS.set_forkserver_preload([name for name in found if not name.endswith(_NOT_IMPORTED)])


def _become(arguments, environment, stderr):
    """Act as the program, from the first line of its executable on."""
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(stderr.fileno(), 2)
        stderr.close()
        # That of the process that forked knows whether its stream can seek.
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
        os.environ.clear()
        os.environ.update(environment)
        # Small problems use threads too, as in conftest.py.
        _core.set_least_threaded_work(0)
        sys.argv[:] = ["svmfast", *arguments]
        from svmfast.__main__ import console

        console()
    except BaseException:
        traceback.print_exc()
    os._exit(70)
