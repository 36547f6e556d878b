"""No command overwrites a file that it reads, or another of its outputs, by whatever path."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from every_command import COMMAND_OF, INPUTS, RUNS, inputs, outputs, words
from program import PROGRAM, svmfast

from svmfast.cli.main import commands, run
from svmfast.commands import command as declared
from svmfast.values import Text
from svmfast.values.files import File

#: Other names of a file.
NAMES: dict[str, Callable[[Path], Path]] = {
    "the same name": lambda path: path,
    "another path": lambda path: Path(f"{path.parent}/./{path.name}"),
    "a symbolic link": lambda path: _link(os.symlink, path),
    "a hard link": lambda path: _link(os.link, path),
}

#: Options whose values are words, not files.
WORDS = {"dask", "features", "keep", "label", "methods", "prefix", "relative_to", "suffix", "time_limit"}


def _link(make: Callable[[Path, Path], None], path: Path) -> Path:
    link = path.with_name(f"{path.name}.link")
    if not link.exists():
        make(path, link)
    return link


def copies(name: str, folder: Path) -> dict[str, Path]:
    """Copy the inputs of a run into a folder."""
    paths = {word: folder / word for word in inputs(name)}
    for word, path in paths.items():
        shutil.copy(INPUTS[word], path)
    return paths


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("name", [name for name in RUNS if outputs(name)])
def test_no_output_is_an_input(
    name: str, kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = copies(name, tmp_path)
    before = {path: path.read_bytes() for path in given.values()}
    for output in outputs(name):
        for word, path in given.items():
            paths = {"OUT": tmp_path / "out", "SAVED": tmp_path / "saved", **given}
            paths[output] = NAMES[kind](path)
            assert run(words(name, paths)) == 2, (output, word)
            out, err = capfd.readouterr()
            assert out == ""
            assert err.startswith("svmfast: ")
            assert f" itself, '{paths[output]}'; it would be lost\n" in err
            assert err.count("\n") == 1
    assert {path: path.read_bytes() for path in given.values()} == before
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "saved").exists()


def test_dcpred_does_not_overwrite_the_exact_model(tmp_path: Path) -> None:
    given = copies("dcpred from a model", tmp_path)
    done = svmfast("dcpred", given["TRAIN"], "-o", given["EXACT"], "--from", given["EXACT"])
    line = f"svmfast: --output is --from itself, '{given['EXACT']}'; it would be lost\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", line)
    assert given["EXACT"].read_bytes() == INPUTS["EXACT"].read_bytes()


@pytest.mark.parametrize("name", [name for name in RUNS if len(outputs(name)) > 1])
def test_no_two_outputs_are_one_file(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, link = tmp_path / "out", tmp_path / "link"
    os.symlink(out, link)
    other_called = next(one for one in ("--save", "--ranges") if one in RUNS[name])
    for other in (out, link):
        assert run(words(name, {"OUT": out, "SAVED": other})) == 2
        line = f"svmfast: {other_called} and --output are one file, '{other}'\n"
        assert line in capfd.readouterr().err
        assert not out.exists()
    out.write_bytes(b"old")
    for other in (out, link):
        assert run(words(name, {"OUT": out, "SAVED": other})) == 2
        line = f"svmfast: {other_called} is --output itself, '{other}'; it would be lost\n"
        assert line in capfd.readouterr().err
        assert out.read_bytes() == b"old"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output folder of frontier's quick run."""
    out = tmp_path_factory.mktemp("frontier") / "out"
    assert svmfast(*words("frontier", {"OUT": out}), shortened=True).returncode in (0, 1)
    return out


@pytest.mark.parametrize("kind", NAMES)
def test_an_output_folder_must_not_contain_an_input(
    kind: str, results: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """An input in frontier's output folder, or linked from there."""
    out = Path(shutil.copytree(results, tmp_path / "out"))
    given = copies("frontier", tmp_path)
    arguments = words("frontier", {**given, "OUT": out})
    place = out / "report.html"
    place.unlink()
    if kind in ("the same name", "another path"):
        os.rename(given["EXACT"], place)
        arguments[1] = os.fspath(NAMES[kind](place))
    else:
        (os.symlink if kind == "a symbolic link" else os.link)(given["EXACT"], place)
    before = place.read_bytes()
    assert run(arguments) == 2
    message = f"svmfast: EXACT is a file of --output, '{place}'; it could be lost\n"
    assert capfd.readouterr().err == message
    assert place.read_bytes() == before


def test_redirections_are_checked_too(tmp_path: Path) -> None:
    rows = copies("train", tmp_path)["TRAIN"]
    before = rows.read_bytes()
    with rows.open("rb") as stdin:
        done = subprocess.run([PROGRAM, "train", "-", rows], stdin=stdin, capture_output=True)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == f"svmfast: MODEL is DATA itself, '{rows}'; it would be lost\n".encode()
    with rows.open("ab") as stdout:
        done = subprocess.run([PROGRAM, "train", rows, "-"], stdout=stdout, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == b"svmfast: MODEL is DATA itself, '-'; it would be lost\n"
    assert rows.read_bytes() == before


@pytest.mark.parametrize("name", [name for name in RUNS if len(inputs(name)) > 1])
def test_standard_input_is_read_once(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(words(name, {**dict.fromkeys(inputs(name), "-"), "OUT": "x", "SAVED": "y"})) == 2
    message = capfd.readouterr().err
    first = (
        "is read more than once; give a file, not '-'\n",
        "standard input can be read only once: '-' is for ",
    )
    assert any(text in message for text in first)


def test_every_command_has_a_quick_run() -> None:
    assert set(commands()) <= set(RUNS), "RUNS in tests/support/every_command.py"
    assert all(COMMAND_OF[name] == name for name in commands())


@pytest.mark.parametrize("name", commands())
def test_every_path_is_declared_as_read_or_written(name: str) -> None:
    command = declared(name)
    assert command is not None
    used = {word for run_name in RUNS if COMMAND_OF[run_name] == name for word in RUNS[run_name]}
    for param in command.params:
        if isinstance(param.value, Text):
            assert param.name in WORDS, f"{param.name}: a file or a word?"
        elif param.name in ("out_dir", "files_from"):
            pass  # tests/cli/test_predict_many.py: a bad input among many does not end the run
        elif isinstance(param.value, File) and param.flags:
            assert used & set(param.flags), f"no run in every_command.py has {param.flags}"


@pytest.mark.parametrize(
    "name", [name for name, run in RUNS.items() if {"TRAIN", "TEST"} & {*run} and not name.startswith("info")]
)
def test_a_model_in_the_place_of_data_is_noticed(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given: dict[str, Path] = copies(name, tmp_path)
    shutil.copy(INPUTS["EXACT"], tmp_path / "model")
    first_data = next(word for word in RUNS[name] if word in ("TRAIN", "TEST"))
    paths = {"OUT": tmp_path / "out", "SAVED": tmp_path / "saved", **given}
    paths[first_data] = tmp_path / "model"
    if name != "frontier":  # whose training data are read only by the commands that it starts
        assert run(words(name, paths)) == 2
        message = f"{tmp_path}/model:1: a model, not data ('svm_type'); expected label index:value ..."
        assert capfd.readouterr().err.splitlines()[-1] == message
    first_model = next((word for word in RUNS[name] if word in ("EXACT", "FAST", "OUT")), None)
    if first_model is not None and not name.startswith("scale"):  # whose output is data
        paths[first_model] = tmp_path / "old"
        shutil.copy(INPUTS["TRAIN"], paths[first_model])
        assert run(words(name, paths)) == 2
        assert paths[first_model].read_bytes() == INPUTS["TRAIN"].read_bytes()


def test_a_fast_and_an_exact_model_are_distinguished(capfd: pytest.CaptureFixture[str]) -> None:
    fast, exact = str(INPUTS["FAST"]), str(INPUTS["EXACT"])
    assert run(["cascade", exact, fast, "--data", str(INPUTS["TRAIN"]), "-o", "-"]) == 2
    assert capfd.readouterr().err == (f"svmfast: {fast} is a routed model; give the LIBSVM model\n")


def test_files_of_another_kind_are_refused_by_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, rows, exact = tmp_path / "out", str(INPUTS["TRAIN"]), str(INPUTS["EXACT"])
    out.write_text("older predictions")
    for arguments, message in (
        ([exact, exact, str(out)], f"{exact}:1: a model, not data"),
        ([rows, rows, str(out)], f"{rows}:1: not a model"),
        (["/dev/null", rows], f"{rows}:1: not a model"),
    ):
        assert run(["predict", *arguments]) == 2
        assert capfd.readouterr().err.startswith(message)
