"""svmfast-predict, and the same native call in `svmfast predict`: bytes and words are the command's."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from golden import manifest
from program import FIXTURES, PROGRAM, ROOT, data, model

from svmfast._core import predict_plain
from svmfast.cli import main, plain
from svmfast.formats.answers import _FOREIGN, _FORMS
from svmfast.formats.packing import ENDINGS

NATIVE = PROGRAM.with_name("svmfast-predict")
BAD = ROOT / "tests" / "robustness" / "bad"
PHOTOS = [str(FIXTURES / "data" / "photos.test"), str(FIXTURES / "models" / "photos_c_rbf.model")]
GOLDEN = {
    entry["file"]: shlex.split(entry["command"].removeprefix("svm-predict "))[:-1]
    for entry in manifest()
    if entry["command"].startswith("svm-predict ") and ">" not in entry["command"]
}
needs_program = pytest.mark.skipif(not NATIVE.exists(), reason="svmfast-predict is not installed")


def plain_call(*words: object) -> object:
    """What the native call returns; None if it leaves the job to the command."""
    try:
        return predict_plain([os.fsencode(str(word)) for word in words])
    except RuntimeError:
        return None


def run_native(
    *words: object, program: Path = NATIVE, cwd: Path = FIXTURES
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([program, *map(str, words)], cwd=cwd, capture_output=True, check=False)


@needs_program
@pytest.mark.parametrize("file", GOLDEN)
def test_bytes_and_messages_are_those_of_svm_predict(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Of the command, of the program svmfast-predict, and of the native call in the command."""
    monkeypatch.chdir(FIXTURES)
    arguments, out = GOLDEN[file], tmp_path / "out"
    status = main.run(["predict", *arguments, str(out)])
    lines = capfdbinary.readouterr()
    assert status == (2 if "precomputed" in file else 0)
    if status == 0:
        assert out.read_bytes() == Path(file).read_bytes()
        assert lines.out == Path(file).with_suffix(".stdout").read_bytes()
    done = run_native(*arguments, tmp_path / "native")
    assert (done.returncode, done.stdout) == (status, lines.out)
    assert status or (tmp_path / "native").read_bytes() == out.read_bytes()
    if plain.predict(["predict", *arguments, str(tmp_path / "plain")]) is not None:
        assert capfdbinary.readouterr() == lines
        assert (tmp_path / "plain").read_bytes() == out.read_bytes()


def test_most_golden_files_are_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIXTURES)
    plain_ones = [one for one in GOLDEN.values() if plain_call(*one, tmp_path / "out")]
    assert len(plain_ones) > 0.8 * len(GOLDEN) > 40


@pytest.mark.parametrize("folder", ["data", "models"])
def test_malformed_files_are_left_to_the_command(folder: str, tmp_path: Path) -> None:
    """What the command refuses is not plain; what it accepts with a remark may be."""
    for path in sorted((BAD / folder).iterdir()):
        words = [str(path), PHOTOS[1]] if folder == "data" else [PHOTOS[0], str(path)]
        found = plain_call("-q", *words, tmp_path / "out")
        if found is not None:
            assert main.run(["predict", "-q", *words, str(tmp_path / "same")]) == 0, path
            assert (tmp_path / "out").read_bytes() == (tmp_path / "same").read_bytes()
            (tmp_path / "out").unlink()
            (tmp_path / "same").unlink()
        assert not list(tmp_path.iterdir()), path


def test_only_progress_keeps_a_large_file_from_the_native_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
@pytest.mark.parametrize("words", [["--help"], ["-x"], [], [str(BAD / "data" / "decimal_comma"), PHOTOS[1]]])
def test_the_command_speaks(words: list[str]) -> None:
    expected = subprocess.run([PROGRAM, "predict", *words], capture_output=True, check=False)
    done = run_native(*words)
    assert (done.returncode, done.stdout, done.stderr) == (
        expected.returncode,
        expected.stdout,
        expected.stderr,
    )


@needs_program
def test_a_pipe_is_read_by_the_command() -> None:
    text = Path(PHOTOS[0]).read_bytes()
    expected = run_native("-q", *PHOTOS)
    done = subprocess.run([NATIVE, "-q", "-", PHOTOS[1]], input=text, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (expected.stdout, expected.stderr)


@needs_program
def test_a_link_named_svm_predict(tmp_path: Path) -> None:
    link = tmp_path / "svm-predict"
    link.symlink_to(NATIVE)
    assert run_native("-q", *PHOTOS, program=link).stdout == run_native("-q", *PHOTOS).stdout
    assert b"Usage" in run_native("--help", program=link).stdout


@needs_program
def test_a_signal_leaves_no_file(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.write_bytes(Path(PHOTOS[0]).read_bytes() * 300)
    with subprocess.Popen([NATIVE, "-j", "1", data, PHOTOS[1], tmp_path / "out"]) as running:
        while running.poll() is None and len(list(tmp_path.iterdir())) == 1:
            time.sleep(0.002)
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == [data]


def test_an_output_keeps_its_mode_and_a_link_its_place(tmp_path: Path) -> None:
    old, link = tmp_path / "old", tmp_path / "link"
    old.write_text("old")
    old.chmod(0o640)
    link.symlink_to(old)
    assert plain_call("-q", *PHOTOS, link) is None
    assert old.read_text() == "old"
    assert plain_call("-q", *PHOTOS, old) is not None
    assert old.stat().st_mode & 0o777 == 0o640


def test_an_input_is_not_overwritten(tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copy(PHOTOS[0], data)
    os.link(data, tmp_path / "same")
    assert plain_call(data, PHOTOS[1], tmp_path / "same") is None
    assert data.read_bytes() == Path(PHOTOS[0]).read_bytes()


def test_names_of_tables_and_compressed_outputs_are_not_plain(tmp_path: Path) -> None:
    for ending in {*_FORMS, *_FOREIGN, *ENDINGS}:
        assert plain_call(*PHOTOS, tmp_path / f"out{ending}") is None, ending
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [PHOTOS, ("-b", "1", str(data("iris.train")), str(model("iris_c_rbf_prob")))],
    ids=["labels", "probabilities"],
)
def test_the_plain_case_loads_neither_numpy_nor_click_nor_methods(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    """With a remark, too: that some rows' most probable label is not the label of the vote."""
    script = (
        "import sys; from svmfast.cli import plain; "
        f"assert plain.predict(['predict', *{words!r}, {str(tmp_path / 'out')!r}]) == 0; "
        "slow = ('numpy', 'click', 'svmfast.methods'); "
        "print([name for name in slow if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stderr.decode().splitlines()[-1] == "[]"
    assert (b"most probable label" in done.stderr) == (words is not PHOTOS)
