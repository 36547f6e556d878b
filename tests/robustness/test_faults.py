"""Faults of the environment: full disks, read-only folders, signals, odd files.

The old output is intact or the new one complete, nothing else is left, and the message is one line.
scripts/fuzz/faults does the same many times.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from every_command import RUNS, words
from killing import OLD, SIGNALS, Tally, jobs, kill_once, measure
from nightly import nightly_but
from program import PATIENCE, PROGRAM, data, listing, model, started, svmfast

from svmfast.cli.main import commands

PHOTOS = model("photos_c_rbf")


#: The quick run of every command that writes a file, with one output.
RUN_OF = {name: name for name in commands() if "OUT" in RUNS[name] and name != "frontier"}
RUN_OF |= {"approximate": "approximate, scaled", "scale": "scale, restored"}
NAMES = sorted(RUN_OF)
#: One atomic writer serves all: a command that predicts, one that trains and one that converts.
ALWAYS = ("predict", "budget-train", "approximate")


def writer(name, out):
    return [*words(RUN_OF[name], {"OUT": out}), "-q"]


def errors(printed):
    """Return what was printed without warnings, which --quiet leaves."""
    lines = printed.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"svmfast: warning: "))


def assert_untouched(folder, *others):
    """The old output is as it was, and no temporary file is left."""
    assert listing(folder) == {"out", *others}
    assert (folder / "out").read_bytes() == OLD


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("name", nightly_but(ALWAYS, NAMES))
def test_a_full_disk_is_one_line_and_status_2(name):
    done = svmfast(*writer(name, "/dev/full"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert errors(done.stderr) == b"svmfast: /dev/full: cannot be written: No space left on device\n"


@pytest.mark.parametrize("name", nightly_but(ALWAYS, NAMES))
def test_a_folder_that_may_not_be_written(name, tmp_path):
    """As a user other than root, for whom permissions do not apply."""
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "out").write_bytes(OLD)
    folder.chmod(0o555)
    before = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    if before and shutil.which("setpriv") is None:
        pytest.skip("root without setpriv")
    if subprocess.run([*before, PROGRAM, "--version"], cwd="/", capture_output=True).returncode:
        pytest.skip("the program is where other users may not read")
    for parent in [tmp_path, *tmp_path.parents[:3]] if before else []:
        parent.chmod(0o755)
    command = [*before, PROGRAM, *writer(name, str(folder / "out"))]
    done = subprocess.run(command, cwd="/", capture_output=True)
    folder.chmod(0o755)
    assert (done.returncode, done.stdout) == (2, b"")
    assert errors(done.stderr) == f"svmfast: {folder}/out: cannot be written: Permission denied\n".encode()
    assert_untouched(folder)


def test_killed_at_random_moments(tmp_path):
    """predict, once by each signal; scripts/fuzz/faults: four commands, 200 times."""
    kills = int(os.environ.get("SVMFAST_KILLS", len(SIGNALS)))
    chance, tally = random.Random(int(os.environ.get("SVMFAST_SEED", 7))), Tally()
    work = [job for name, job in jobs(tmp_path).items() if name == "predict" or kills > len(SIGNALS)]
    for job in work:
        measure(job, tmp_path)
    for i in range(kills):
        kill_once(work[i % len(work)], tmp_path, SIGNALS[i // len(work) % len(SIGNALS)], chance, tally)
    print(f"\n{tally.runs} kills, {len(tally.faults)} wrong; left: {dict(tally.left)}")
    assert (tally.faults, tally.runs) == ([], kills)


STATUS = [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]


@pytest.mark.parametrize(("number", "status"), STATUS)
def test_a_signal_while_input_is_awaited_leaves_nothing(number, status, tmp_path):
    out = tmp_path / "out"
    out.write_bytes(OLD)
    with started("predict", "-q", "-", PHOTOS, out) as process:
        process.stdin.write(data("photos.test").read_bytes())
        process.stdin.flush()
        until = time.monotonic() + 30 * PATIENCE
        while len(listing(tmp_path)) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        assert len(listing(tmp_path)) == 2
        process.send_signal(number)
        assert process.wait(30 * PATIENCE) == status
        assert process.stderr.read() == b""
    assert_untouched(tmp_path)


#: Compiled code that turns a signal into an error, as our own core does.
STOPPED = """
import os, sys, time
def stopped():
    try:
        os.kill(os.getpid(), {number})
        time.sleep(30)
    except BaseException:
        raise ImportError("initialization failed") from None
"""
STOPPED += """
from svmfast.cli import main
main.program.invoke = lambda context: stopped()
main.console()
"""


#: The signal comes while one of our modules is looked for, in code that makes an error of it.
LOADING = """
import os, sys
from svmfast.cli import plain
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "{place}":
            try:
                os.kill(os.getpid(), {number})
            except BaseException:
                raise ImportError("initialization failed") from None
for name in [name for name in sys.modules if name.startswith("svmfast._core")]:
    del sys.modules[name]
sys.meta_path.insert(0, Finder())
sys.argv = ["svmfast", "predict", "rows", "model", "out"]
plain.console()
"""


TURNED = [(STOPPED, "", *one) for one in STATUS]
TURNED += [(LOADING, place, *one) for place in ("svmfast._core", "svmfast.cli.main") for one in STATUS[:2]]


@pytest.mark.parametrize(("code", "place", "number", "status"), TURNED)
def test_a_signal_that_becomes_an_error(code, place, number, status):
    words = [sys.executable, "-c", code.format(place=place, number=int(number)), "info"]
    done = subprocess.run(words, capture_output=True, timeout=60 * PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


@contextmanager
def fed(place, *pieces):
    """A named pipe into which the pieces are written, with a pause before all but the first."""
    os.mkfifo(place)

    def feed():
        with place.open("wb", buffering=0) as pipe:
            for number, piece in enumerate(pieces):
                time.sleep(0.1 * (number > 0))
                pipe.write(piece)

    # A daemon, since it waits forever for a program that does not open the pipe.
    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    yield place
    feeder.join(60)


def test_a_named_pipe_as_input_and_model(tmp_path):
    expected = svmfast("predict", "-q", data("photos.test"), PHOTOS).stdout
    text = data("photos.test").read_bytes()
    with fed(tmp_path / "rows", text) as rows, fed(tmp_path / "model", PHOTOS.read_bytes()) as given:
        done = svmfast("predict", "-q", rows, given)
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", expected)


@pytest.mark.parametrize("change", ["grow", "shrink", "tear"])
def test_a_file_that_changes_while_it_is_read(change, tmp_path):
    """A prediction for every complete line that was read; a partial line is an error."""
    text = data("photos.test").read_bytes()
    rows, out, per = tmp_path / "rows", tmp_path / "out", text.count(b"\n")
    rows.write_bytes(text * 40)
    out.write_bytes(OLD)
    torn = text.index(b":", len(text) // 2) + len(text) * 7 + 1  # right after a colon
    with started("predict", "-q", rows, PHOTOS, out) as process:
        time.sleep(0.05)
        if change == "grow":
            with rows.open("ab") as file:
                file.write(text * 4)
        else:
            os.truncate(rows, len(text) * 7 if change == "shrink" else torn)
        status = process.wait(60 * PATIENCE)
        message = process.stderr.read().decode()
    if status == 0:
        assert out.read_bytes().count(b"\n") in {40 * per, 44 * per, 7 * per}
    else:
        assert (status, out.read_bytes()) == (2, OLD)
        assert message.startswith(f"{rows}:")
        assert message.count("\n") == 1


@pytest.mark.parametrize("name", ["approximate", "linear"])
def test_a_file_that_ends_while_it_is_read(name, tmp_path):
    """Half of the file arrives, then a pause, then the end: refused, although its length was not known."""
    (tmp_path / "out").write_bytes(OLD)
    source = data("iris.train") if name == "linear" else model("iris_c_rbf_prob")
    text = source.read_bytes()
    cut = text.rindex(b":", 0, 2 * len(text) // 3) + 1  # right after a colon
    with fed(tmp_path / "pipe", text[: cut // 2], text[cut // 2 : cut]) as place:
        given = [str(place) if word == str(source) else word for word in writer(name, str(tmp_path / "out"))]
        done = svmfast(*given)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(f"{place}:{text[:cut].count(bytes([10])) + 1}: ".encode())
    assert done.stderr.count(b"\n") == 1
    assert_untouched(tmp_path, "pipe")


def test_two_processes_that_write_the_same_output(tmp_path):
    runs, answers = [[*writer("budget-train", "out"), "--seed", seed] for seed in "12"], set()
    for one in runs:
        assert svmfast(*one, cwd=tmp_path).returncode == 0
        answers.add((tmp_path / "out").read_bytes())
    assert len(answers) == 2
    running = [subprocess.Popen([PROGRAM, *one], cwd=tmp_path) for one in runs]
    assert [process.wait(60 * PATIENCE) for process in running] == [0, 0]
    assert (tmp_path / "out").read_bytes() in answers
    assert listing(tmp_path) == {"out"}
