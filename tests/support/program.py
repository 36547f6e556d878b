"""Run the installed `svmfast` program."""

import os
import pty
import signal
import subprocess
import sys
import sysconfig
import threading
import tracemalloc
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
PROGRAM = Path(sysconfig.get_path("scripts")) / "svmfast"

#: The factor of time limits under sanitizers, which slow down the core and every start of a program.
PATIENCE = 10 if "SVMFAST_SANITIZED" in os.environ else 1


def heed_signals():
    """Restore the default handling of SIGINT and SIGHUP in this process and its children.

    In the background of a script, or under nohup, they are ignored, and children inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def svmfast(*args, stdin=b"", cwd=None, timeout=60, unread=()):
    """Run ``svmfast ARGS``; the caller checks the exit status.

    Those of ``stdout`` and ``stderr`` that are in `unread` are pipes without a reader, from the start.
    """
    with nobody() as pipe:
        streams = {name: pipe if name in unread else subprocess.PIPE for name in ("stdout", "stderr")}
        words, most = [PROGRAM, *map(os.fspath, args)], timeout * PATIENCE
        return subprocess.run(words, input=stdin, cwd=cwd, timeout=most, **streams)


@contextmanager
def nobody():
    """A pipe without a reader."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        yield pipe


#: Runs a command and writes its peak memory in KB. This is a separate small process, since a child's peak
#: begins with that of the process it was forked from.
METER = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:])
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(status if status >= 0 else 128 - status)
"""


def metered(folder, *args, stdin=None):
    """Run ``svmfast ARGS`` in a separate folder; return its result and its peak memory in MB."""
    place = folder / "peak"
    words = [sys.executable, "-S", "-E", "-c", METER, place, PROGRAM, *map(os.fspath, args)]
    given = subprocess.DEVNULL if stdin is None else stdin
    done = subprocess.run(words, stdin=given, capture_output=True, timeout=60 * PATIENCE)
    return done, int(place.read_text()) / 1024


def traced(work):
    """Return what a function returns, and the most bytes that Python had allocated meanwhile."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def data(name):
    return FIXTURES / "data" / name


def model(name):
    return FIXTURES / "models" / f"{name}.model"


def listing(folder):
    return {path.name for path in folder.iterdir()}


def cells_of(path):
    """The cells of every line of a file."""
    return [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


def lines_of(table):
    """The command lines of a table in tests/commands.tsv, by their names, or by themselves."""
    rows = cells_of(ROOT / "tests" / "commands.tsv")
    return {name or line: line for of, name, line in rows if of == table}


def words_of(line):
    """The words of a command line, in which data/ and models/ are the fixtures'."""
    return [str(FIXTURES / one) if one.startswith(("data/", "models/")) else one for one in line.split()]


@contextmanager
def started(*args):
    """Start ``svmfast ARGS`` with three pipes; it is killed after a while, and at the end of the block."""
    words, pipe = [PROGRAM, *map(os.fspath, args)], subprocess.PIPE
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe)
    watchdog = threading.Timer(60 * PATIENCE, process.kill)
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            assert stream is not None
            with suppress(BrokenPipeError):
                stream.close()


def on_a_terminal(*words, cwd=None, columns=150):
    """Run the program on a terminal of its own; return all that it writes there."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["COLUMNS"] = str(columns)
        os.chdir(cwd or os.curdir)
        os.execv(PROGRAM, ["svmfast", *map(str, words)])
    shown = b""
    with suppress(OSError):  # how Linux reports that the other side has closed
        while piece := os.read(terminal, 65536):
            shown += piece
    os.close(terminal)
    assert os.waitpid(pid, 0)[1] == 0, shown
    return shown
