"""No command overwrites a file that it reads; rows of the wrong kind, or without labels, are noticed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from command import svmfast
from every_command import COMMAND_OF, INPUTS, RUNS, inputs, outputs, words
from meaning import FROZEN
from program import PROGRAM, data, model

from svmfast.cli import main
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


@pytest.mark.parametrize(
    ("name", "kind"),
    [*((name, "the same name") for name in RUNS if outputs(name)), *(("predict", kind) for kind in NAMES)],
)
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


#: Runs of tests/support/every_command.py that need no labels.
FREE = [
    *("approximate", "compress", "bound-check", "meka's error"),
    *("dcpred from a model", "cascade", "predict", "info of data"),
]


def without_labels(path: Path, folder: Path) -> Path:
    place = folder / path.name
    place.write_bytes(re.sub(rb"^[^ \\n]+ ?", b"", path.read_bytes(), flags=re.MULTILINE))
    return place


@pytest.mark.parametrize("name", FREE)
def test_the_result_is_that_of_rows_with_labels(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    bare = {word: without_labels(INPUTS[word], tmp_path) for word in ("TRAIN", "TEST")}
    made, outputs = [], []
    for more, paths in (([], {}), (["--unlabelled"], bare)):
        out = tmp_path / f"out{len(made)}"
        status = run([*words(name, {**paths, "OUT": out}), *more, *(["-q"] if "OUT" in RUNS[name] else [])])
        assert status in (0, 1)
        outputs.append((status, re.sub(r"[^ ]*/", "", capfd.readouterr().out)))
        # Labels serve compress to refit probabilities, and for nothing else.
        # A container tells the length of the text inside, and has a hash.
        left = rb'prob[AB].*|^svmfast-model.*|"bytes":\d+'
        made.append(re.sub(left, b"", out.read_bytes(), flags=re.M) if out.exists() else None)
    assert made[0] == made[1]
    if name == "bound-check":
        assert outputs[0] == outputs[1]


def test_one_class_training_needs_none(tmp_path: Path) -> None:
    bare = without_labels(data("iris.train"), tmp_path)
    for name, words_ in (("with", (data("iris.train"),)), ("without", (bare, "--unlabelled"))):
        assert svmfast("train", "-q", "-s", "2", *words_, tmp_path / name).returncode == 0
    assert (tmp_path / "with").read_bytes() == (tmp_path / "without").read_bytes()
    done = svmfast("train", "-s", "2", "-v", "3", bare, "--unlabelled")
    assert (done.returncode, b"needs labels" in done.stderr) == (2, True)


@pytest.mark.parametrize("exact", ["iris_c_rbf_prob", "diabetes_eps_rbf"])
def test_predict_prints_no_score(exact: str, tmp_path: Path) -> None:
    rows = data(f"{exact.split('_')[0]}.test")
    bare = without_labels(rows, tmp_path)
    out = tmp_path / "out"
    done = svmfast("predict", bare, model(exact), out, "--unlabelled")
    assert done.returncode == 0
    assert b"ccuracy" not in done.stdout + done.stderr
    assert b"rror" not in done.stdout
    count = len(rows.read_bytes().splitlines())
    assert f"svmfast: {count} rows predicted; without labels there is no score" in done.stderr.decode()
    assert out.read_bytes() == svmfast("predict", "-q", rows, model(exact)).stdout


@pytest.mark.parametrize(
    ("row", "options", "status", "message"),
    [
        ("1 1 2 3 4", (), 0, ""),
        ("1 2 3 4", ("--unlabelled",), 0, ""),
        ("1 2 3 4", (), 2, "3 values after the label; the model has 4 features; as many as features with"),
        ("1 2 3", ("--unlabelled",), 2, "3 values in a row; the model has 4 features"),
        ("1 1 2 3 4 5", (), 0, "warning: rows: 5 values after the label, the model has 4 features"),
        ("1 1 2 3 4", ("--unlabelled",), 0, "4 features; as many as features after a label, without"),
    ],
)
def test_a_table_of_another_width_is_noticed(
    row: str, options: tuple[str, ...], status: int, message: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").write_text(f"{row}\n" * 3)
    exact, fast = str(model("iris_c_rbf_prob")), str(FROZEN / "1.0/routed_pseudo_poly.model")
    runs = [
        ["predict", "-q", "rows", exact, "out"],
        ["compare", "-q", exact, exact, "--repeats", "1", "--data", "rows"],
        ["bound-check", "rows", "--model", exact],
    ]
    if status:
        # Whatever converts a model with the help of rows: the first feature is no label.
        runs += [
            ["approximate", exact, "--order", "2", "--data", "rows", "-o", "out"],
            ["compress", exact, "--sv", "5", "--data", "rows", "-o", "out"],
            ["cascade", "--force", fast, exact, "--data", "rows"],
            ["dcpred", "rows", "-o", "out", "--from", exact],
        ]
    for words_ in runs:
        got = run([*words_, "--dense", *options])
        assert (got == 2) == (status == 2), words_
        captured = capfd.readouterr().err
        assert message in captured
        assert (tmp_path / "out").exists() == (status == 0)
        assert bool(captured) == bool(message)


#: Rows that are refused, by what is wrong with them: the file's name and its text.
BAD = {
    "a table without labels": ("rows.csv", "a,b,c,d\n" + "0.1,0.2,0.3,0.4\n" * 9),
    "text without labels": ("rows", "1:0.1 2:0.2 3:0.3 4:0.4\n" * 9),
    "dense rows": ("rows", "1 0.1 0.2 0.3 0.4\n" * 9),
    "a table with words": ("rows.csv", "label,a,b,c,d\n" + "1,0.1,x,0.3,0.4\n" * 9),
    "names as labels": ("rows", "cat 1:0.1 2:0.2\n" * 9),
}
READ = [name for name in RUNS if {"TRAIN", "TEST"} & set(RUNS[name])]


@pytest.mark.parametrize("wrong", BAD)
def test_a_message_names_only_options_of_its_command(
    wrong: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name, text = BAD[wrong]
    rows, others = tmp_path / name, tmp_path / f"other-{name}"
    rows.write_text(text)
    others.write_text(text + text.splitlines()[-1] + "\n")
    refused = 0
    for one in READ:
        places = {"TRAIN": rows, "TEST": others, "OUT": tmp_path / "out", "SAVED": tmp_path / "saved"}
        refused += main.run(words(one, places)) == 2
        # Other commands' options follow their names: "(svmfast predict --unlabelled)".
        said = re.sub(r"svmfast [a-z-]+ [^;)]*", "", capfd.readouterr().err.removeprefix("svmfast"))
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", said))
        command = declared(COMMAND_OF[one])
        assert command is not None
        known = {flag for one in command.params for flags in one.flags for flag in flags.split("/")}
        assert named <= known, (one, said)
    assert refused >= len(READ) - 5
