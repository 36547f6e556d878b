"""Faults of the environment: full disks, read-only folders, signals, odd files.

The old output is intact or the new one complete, nothing else is left, and the message is one line.
scripts/fuzz/faults does the same many times.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from every_command import RUNS, words
from killing import OLD, SIGNALS, Tally, jobs, kill_once, measure
from nightly import nightly_but
from program import PATIENCE, PROGRAM, data, model, started, svmfast

from svmfast.cli.main import commands

PHOTOS = model("photos_c_rbf")
FULL = b"svmfast: %b: cannot be written: No space left on device\n"


def listing(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


#: The quick run of every command that writes a file, with one output.
RUN_OF = {name: name for name in commands() if "OUT" in RUNS[name] and name != "frontier"}
RUN_OF |= {"approximate": "approximate, scaled", "scale": "scale, restored"}
NAMES = sorted(RUN_OF)
#: One atomic writer serves all: a command that predicts, one that trains and one that converts.
ALWAYS = ("predict", "budget-train", "approximate")


def writer(name: str, out: str) -> list[str]:
    return [*words(RUN_OF[name], {"OUT": out}), "-q"]


def errors(printed: bytes) -> bytes:
    """Return what was printed without warnings, which --quiet leaves."""
    lines = printed.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith(b"svmfast: warning: "))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("name", nightly_but(ALWAYS, NAMES))
def test_a_full_disk_is_one_line_and_status_2(name: str) -> None:
    done = svmfast(*writer(name, "/dev/full"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert errors(done.stderr) == FULL % b"/dev/full"


@pytest.mark.parametrize("name", nightly_but(ALWAYS, NAMES))
def test_a_folder_that_may_not_be_written(name: str, tmp_path: Path) -> None:
    """As a user other than root, for whom permissions do not apply."""
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "out").write_bytes(OLD)
    folder.chmod(0o555)
    before = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if os.geteuid() != 0:
        before = []
    elif shutil.which("setpriv") is None:
        pytest.skip("root without setpriv")
    elif subprocess.run([*before, PROGRAM, "--version"], cwd="/", capture_output=True).returncode:
        pytest.skip("the program is where other users may not read")
    elif subprocess.run([*before, "ls", folder], capture_output=True).returncode:
        for parent in tmp_path.parents[:3]:
            parent.chmod(0o755)
        tmp_path.chmod(0o755)
    command = [*before, PROGRAM, *writer(name, str(folder / "out"))]
    done = subprocess.run(command, cwd="/", capture_output=True)
    folder.chmod(0o755)
    assert (done.returncode, done.stdout) == (2, b"")
    assert errors(done.stderr) == f"svmfast: {folder}/out: cannot be written: Permission denied\n".encode()
    assert listing(folder) == {"out"}
    assert (folder / "out").read_bytes() == OLD


def test_a_small_disk_that_fills(tmp_path: Path) -> None:
    """Only half of the output fits: the old file stays, and no temporary file."""
    if (
        os.geteuid()
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", tmp_path], capture_output=True
        ).returncode
    ):
        pytest.skip("may not mount a small disk")
    try:
        (tmp_path / "out").write_bytes(OLD)
        rows = data("photos.test").read_bytes() * 12
        done = svmfast("predict", "-q", "--decision-values", "-", PHOTOS, tmp_path / "out", stdin=rows)
        assert (done.returncode, done.stdout) == (2, b"")
        assert (
            done.stderr == f"svmfast: {tmp_path}/out: cannot be written: No space left on device\n".encode()
        )
        assert listing(tmp_path) == {"out"}
        assert (tmp_path / "out").read_bytes() == OLD
    finally:
        subprocess.run(["umount", tmp_path], check=True)


def test_killed_at_random_moments(tmp_path: Path) -> None:
    """Once by each signal; scripts/fuzz/faults: four commands, 200 times."""
    chance, tally = random.Random(7), Tally()
    job = jobs(tmp_path)["predict"]
    measure(job, tmp_path)
    for number in SIGNALS:
        kill_once(job, tmp_path, number, chance, tally)
    assert (tally.faults, tally.runs) == ([], 4)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_a_signal_while_input_is_awaited_leaves_nothing(
    number: signal.Signals, status: int, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.write_bytes(OLD)
    with started("predict", "-q", "-", PHOTOS, out) as process:
        assert process.stdin is not None
        process.stdin.write(data("photos.test").read_bytes())
        process.stdin.flush()
        until = time.monotonic() + 30 * PATIENCE
        while len(listing(tmp_path)) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        assert len(listing(tmp_path)) == 2
        process.send_signal(number)
        assert process.wait(30 * PATIENCE) == status
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert listing(tmp_path) == {"out"}
    assert out.read_bytes() == OLD


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_a_signal_that_compiled_code_turns_into_an_error(number: signal.Signals, status: int) -> None:
    # As NumPy's or our own core does if the signal arrives while it is being loaded.
    code = f"""
import os, time
from svmfast.cli import main

def invoke(context):
    try:
        os.kill(os.getpid(), {int(number)})
        time.sleep(30)
    except BaseException:
        raise ImportError("initialization failed") from None

main.program.invoke = invoke
main.console()
"""
    done = subprocess.run([sys.executable, "-c", code, "info"], capture_output=True, timeout=60 * PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


@pytest.mark.parametrize("place", ["svmfast._core", "svmfast.cli.main"])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_while_a_module_is_loaded(place: str, number: signal.Signals, status: int) -> None:
    code = f"""
import os, sys
from svmfast.cli import plain

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "{place}":
            try:
                os.kill(os.getpid(), {int(number)})
            except BaseException:
                raise ImportError("initialization failed") from None

for name in [name for name in sys.modules if name.startswith("svmfast._core")]:
    del sys.modules[name]
sys.meta_path.insert(0, Finder())
sys.argv = ["svmfast", "predict", "rows", "model", "out"]
plain.console()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60 * PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


@pytest.mark.parametrize(
    "words",
    [["predict", "ODD", PHOTOS, "out"], ["train", "ODD", "out"], ["approximate", "ODD", "-o", "out"]],
    ids=lambda words: words[0],
)
def test_a_socket_as_input(words: list[str | Path], tmp_path: Path) -> None:
    """tests/refusals.tsv has directories."""
    place = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        try:
            server.bind(str(place))
        except OSError:
            pytest.skip("the path is too long for a socket")
        done = svmfast(*(place if word == "ODD" else word for word in words), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"{place}: cannot be read: No such device or address\n"
    assert listing(tmp_path) == {"socket"}


def test_a_named_pipe_as_input_and_model(tmp_path: Path) -> None:
    expected = svmfast("predict", "-q", data("photos.test"), PHOTOS).stdout
    for name in ("rows", "model"):
        os.mkfifo(tmp_path / name)
    sources = {"rows": data("photos.test"), "model": PHOTOS}
    threads = [
        threading.Thread(target=lambda n=name, s=source: (tmp_path / n).write_bytes(s.read_bytes()))
        for name, source in sources.items()
    ]
    for thread in threads:
        thread.start()
    done = svmfast("predict", "-q", tmp_path / "rows", tmp_path / "model")
    for thread in threads:
        thread.join()
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", expected)


def test_a_file_that_grows_or_shrinks_while_it_is_read(tmp_path: Path) -> None:
    """A prediction for every complete line that was read; a partial line is an error."""
    text = data("photos.test").read_bytes()
    rows = tmp_path / "rows"
    for change in ("grow", "shrink", "tear"):
        rows.write_bytes(text * 40)
        size = len(text) * 40
        torn = text.index(b":", len(text) // 2) + len(text) * 7 + 1  # right after a colon
        out = tmp_path / "out"
        out.write_bytes(OLD)
        with started("predict", "-q", rows, PHOTOS, out) as process:
            time.sleep(0.05)
            if change == "grow":
                with rows.open("ab") as file:
                    file.write(text * 4)
            else:
                os.truncate(rows, len(text) * 7 if change == "shrink" else torn)
            status = process.wait(60 * PATIENCE)
            assert process.stderr is not None
            message = process.stderr.read().decode()
        lines = out.read_bytes().count(b"\n")
        per = text.count(b"\n")
        if status == 0:
            assert lines in {40 * per, 44 * per, 7 * per}, (change, size)
        else:
            assert (status, out.read_bytes()) == (2, OLD)
            assert message.startswith(f"{rows}:")
            assert message.count("\n") == 1


@pytest.mark.parametrize("name", ["approximate", "budget-train"])
def test_a_file_that_ends_while_it_is_read(name: str, tmp_path: Path) -> None:
    """Half of the file arrives, then a pause, then the end: refused, although its length was not known."""
    place, out = tmp_path / "pipe", tmp_path / "out"
    os.mkfifo(place)
    out.write_bytes(OLD)
    source = data("iris.train") if name == "budget-train" else model("iris_c_rbf_prob")
    text = source.read_bytes()
    cut = text.rindex(b":", 0, 2 * len(text) // 3) + 1  # right after a colon

    def feed() -> None:
        with place.open("wb") as pipe:
            pipe.write(text[: cut // 2])
            pipe.flush()
            time.sleep(0.1)
            pipe.write(text[cut // 2 : cut])

    feeder = threading.Thread(target=feed)
    feeder.start()
    words = [str(place) if word == str(source) else word for word in writer(name, str(out))]
    done = svmfast(*words)
    feeder.join()
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(f"{place}:{text[:cut].count(bytes([10])) + 1}: ".encode())
    assert done.stderr.count(b"\n") == 1
    assert listing(tmp_path) == {"pipe", "out"}
    assert out.read_bytes() == OLD


def test_two_trainings_that_write_the_same_model(tmp_path: Path) -> None:
    out, answers = tmp_path / "out", set()
    runs = [[*writer("budget-train", str(out)), "--seed", seed] for seed in ("1", "2")]
    for one in runs:
        assert svmfast(*one).returncode == 0
        answers.add(out.read_bytes())
    assert len(answers) == 2
    running = [subprocess.Popen([PROGRAM, *one]) for one in runs]
    assert [process.wait(60 * PATIENCE) for process in running] == [0, 0]
    assert out.read_bytes() in answers
    assert listing(tmp_path) == {"out"}


def test_two_processes_that_write_the_same_output(tmp_path: Path) -> None:
    out = tmp_path / "out"
    answers = {
        svmfast("predict", "-q", data("photos.test"), PHOTOS).stdout,
        svmfast("predict", "-q", "--decision-values", data("photos.test"), PHOTOS).stdout,
    }
    words = [PROGRAM, "predict", "-q", data("photos.test"), PHOTOS, out]
    running = [subprocess.Popen(command) for command in (words, [*words, "--decision-values"])]
    assert [process.wait(60 * PATIENCE) for process in running] == [0, 0]
    assert out.read_bytes() in answers
    assert listing(tmp_path) == {"out"}
