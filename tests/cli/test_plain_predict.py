"""svmfast-predict, and the same native call in `svmfast predict`: bytes and words are the command's."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from golden import predictions
from program import FIXTURES, PROGRAM, ROOT

from svmfast._core import predict_plain
from svmfast.cli import main, plain
from svmfast.formats.answers import _FOREIGN, _FORMS
from svmfast.formats.packing import ENDINGS

NATIVE = PROGRAM.with_name("svmfast-predict")
BAD = ROOT / "tests" / "robustness" / "bad"
ROWS = FIXTURES / "data" / "photos.test"
PHOTOS = [str(ROWS), str(FIXTURES / "models" / "photos_c_rbf.model")]
GOLDEN = predictions()
needs_program = pytest.mark.skipif(not NATIVE.exists(), reason="svmfast-predict is not installed")


def plain_call(*words):
    """What the native call returns; None if it leaves the job to the command."""
    try:
        return predict_plain([os.fsencode(str(word)) for word in words])
    except RuntimeError:
        return None


def run_native(*words, program=NATIVE, **more):
    return subprocess.run([program, *map(str, words)], cwd=FIXTURES, capture_output=True, **more)


@needs_program
@pytest.mark.parametrize("file", GOLDEN)
def test_bytes_and_messages_are_those_of_the_command(file, tmp_path, monkeypatch, capfdbinary):
    """Of the program svmfast-predict, and of the native call in the command."""
    monkeypatch.chdir(FIXTURES)
    arguments, out = GOLDEN[file], tmp_path / "out"
    status = main.run(["predict", *arguments, str(out)])
    lines = capfdbinary.readouterr()
    done = run_native(*arguments, tmp_path / "native")
    assert (done.returncode, done.stdout) == (status, lines.out)
    assert status == (2 if "precomputed" in file else 0)
    assert status or (tmp_path / "native").read_bytes() == out.read_bytes()
    if plain.predict(["predict", *arguments, str(tmp_path / "plain")]) is not None:
        assert capfdbinary.readouterr() == lines
        assert (tmp_path / "plain").read_bytes() == out.read_bytes()


@pytest.mark.parametrize("folder", ["data", "models"])
def test_malformed_files_are_left_to_the_command(folder, tmp_path):
    """What the command refuses is not plain; what it accepts with a remark may be."""
    for path in sorted((BAD / folder).iterdir()):
        words = [str(path), PHOTOS[1]] if folder == "data" else [PHOTOS[0], str(path)]
        if plain_call("-q", *words, tmp_path / "out") is not None:
            assert main.run(["predict", "-q", *words, str(tmp_path / "same")]) == 0, path
            assert (tmp_path / "out").read_bytes() == (tmp_path / "same").read_bytes()
            (tmp_path / "out").unlink()
            (tmp_path / "same").unlink()
        assert not list(tmp_path.iterdir()), path


def test_jobs_that_are_left_to_the_command_change_no_file(tmp_path):
    """An output through a link, or that is an input; names of tables and of packed files."""
    rows, old = tmp_path / "rows", tmp_path / "old"
    old.write_text("old")
    shutil.copy(ROWS, rows)
    (tmp_path / "link").symlink_to(old)
    os.link(rows, tmp_path / "same")
    for out in ("link", "same", *(f"out{ending}" for ending in (*_FORMS, *_FOREIGN, *ENDINGS))):
        assert plain_call(rows, PHOTOS[1], tmp_path / out) is None, out
    assert {path.name for path in tmp_path.iterdir()} == {"rows", "old", "link", "same"}
    assert (old.read_text(), rows.read_bytes()) == ("old", ROWS.read_bytes())
    old.chmod(0o640)
    assert plain_call("-q", *PHOTOS, old) is not None
    assert old.stat().st_mode & 0o777 == 0o640


def test_only_progress_keeps_a_large_file_from_the_native_call(tmp_path, monkeypatch):
    monkeypatch.setattr(plain, "MOST_UNSEEN", 1)
    words, out = ["predict", *PHOTOS], tmp_path / "out"
    monkeypatch.setattr(os, "isatty", lambda _: True)
    assert plain.predict([*words, str(out)]) is None
    assert not list(tmp_path.iterdir())
    assert plain.predict([*words, str(out), "-q"]) == 0
    monkeypatch.setattr(os, "isatty", lambda _: False)
    assert plain.predict([*words, str(tmp_path / "same")]) == 0
    assert out.read_bytes() == (tmp_path / "same").read_bytes()


@needs_program
@pytest.mark.parametrize(
    "words", [["--help"], [], ["/dev/null", PHOTOS[1]], [str(BAD / "data" / "decimal_comma"), PHOTOS[1]]]
)
def test_the_command_speaks(words):
    done, expected = run_native(*words), run_native("predict", *words, program=PROGRAM)
    assert vars(done) == {**vars(expected), "args": done.args}


@needs_program
def test_a_pipe_and_a_link_named_svm_predict(tmp_path):
    expected, link = run_native("-q", *PHOTOS), tmp_path / "svm-predict"
    piped = run_native("-q", "-", PHOTOS[1], input=ROWS.read_bytes(), check=True)
    assert (piped.stdout, piped.stderr) == (expected.stdout, expected.stderr)
    link.symlink_to(NATIVE)
    assert run_native("-q", *PHOTOS, program=link).stdout == expected.stdout
    assert b"Usage" in run_native("--help", program=link).stdout


@needs_program
def test_a_signal_leaves_no_file(tmp_path):
    rows = tmp_path / "rows"
    rows.write_bytes(ROWS.read_bytes() * 300)
    with subprocess.Popen([NATIVE, rows, PHOTOS[1], tmp_path / "out"]) as running:
        while running.poll() is None and len(list(tmp_path.iterdir())) == 1:
            time.sleep(0.002)
        # OMP_NUM_THREADS is 1.
        for _ in range(100 * Path("/proc/self/task").exists()):
            assert len(os.listdir(f"/proc/{running.pid}/task")) == 1
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == [rows]
