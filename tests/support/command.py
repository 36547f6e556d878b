"""Run the commands in this process, which is quicker than the program and gives the same bytes."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import program
from forking import forking

from svmfast.cli import main, messages, plain


def svmfast(*args, stdin=b"", cwd=None, shortened=False):
    """Do what ``svmfast ARGS`` does; the caller checks the exit status.

    With Dask the program runs; ``frontier`` forks its commands (forking.py).
    """
    words = [os.fspath(word) for word in args]
    if "--dask" in words:
        return program.svmfast(*words, stdin=stdin, cwd=cwd, timeout=600)
    forks = forking(shortened=shortened) if words[:1] == ["frontier"] else contextlib.nullcontext()
    with forks, _streams(stdin) as printed, _inside(cwd or Path.cwd()), warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", main._OUT_OF_RANGE, RuntimeWarning)
        messages.REMARKS.clear()
        messages.WARNINGS.clear()
        status = plain.predict(words)
        if status is None:
            status = main.run(words)
        sys.stdout.flush()
        sys.stderr.flush()
    return subprocess.CompletedProcess(["svmfast", *words], status, *printed)


def ran(*args, status=0, **more):
    """Do the same; the exit status must be `status`."""
    done = svmfast(*args, **more)
    assert done.returncode == status, done.stderr
    return done


def report(*args, status=0):
    """Return the JSON report of a command."""
    return dict(json.loads(ran(*args, "--json", status=status).stdout))


@contextlib.contextmanager
def _inside(folder):
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _streams(stdin):
    """Replace the standard streams by a pipe and two files; afterwards the list has what was printed."""
    printed = []
    kept = [os.dup(number) for number in range(3)]
    python = sys.stdin, sys.stdout, sys.stderr
    reading, writing = os.pipe()

    def write():
        with contextlib.suppress(BrokenPipeError), os.fdopen(writing, "wb", buffering=0) as pipe:
            pipe.write(stdin)

    writer = threading.Thread(target=write)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        for number, end in enumerate((reading, out.fileno(), err.fileno())):
            os.dup2(end, number)
        os.close(reading)
        writer.start()
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False, errors="backslashreplace")
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False, errors="backslashreplace")
        try:
            yield printed
        finally:
            sys.stdin, sys.stdout, sys.stderr = python
            for number, old in enumerate(kept):
                os.dup2(old, number)
                os.close(old)
            writer.join()
            for file in (out, err):
                file.seek(0)
                printed.append(file.read())
