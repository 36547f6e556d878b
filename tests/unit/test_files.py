"""No command overwrites a file that it reads; rows of the wrong kind, or without labels, are noticed."""

import os
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import pytest
from command import ran, svmfast
from every_command import INPUTS, RUNS, inputs, outputs, words
from program import PROGRAM, data, model

from svmfast.cli.main import run

READ = [name for name in RUNS if {"TRAIN", "TEST"} & {*RUNS[name]}]


def copies(name, folder):
    """Copy the inputs of a run into a folder; return them, and paths for its outputs."""
    found = {word: Path(shutil.copy(INPUTS[word], folder / word)) for word in inputs(name)}
    return {**found, "OUT": folder / "out", "SAVED": folder / "saved"}


@pytest.mark.parametrize("name", [name for name in RUNS if outputs(name)])
def test_no_output_is_an_input(name, tmp_path, capfd):
    paths = copies(name, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for output, word in product(outputs(name), inputs(name)):
        for place in (paths[word], f"{tmp_path}/./{word}"):
            assert run(words(name, {**paths, output: place})) == 2, (output, word)
            out, err = capfd.readouterr()
            assert (out, err[:9], err.count("\n")) == ("", "svmfast: ", 1)
            assert err.endswith(f" itself, '{place}'; it would be lost\n")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("kind", [os.rename, os.symlink, os.link])
def test_an_output_folder_must_not_contain_an_input(kind, tmp_path, capfd):
    """An input in frontier's output folder, or linked from there."""
    paths = copies("frontier", tmp_path)
    arguments = words("frontier", paths)
    place = paths["OUT"] / "models" / "report.html"
    place.parent.mkdir(parents=True)
    kind(paths["EXACT"], place)
    arguments[1] = os.fspath(place if kind is os.rename else paths["EXACT"])
    before = place.read_bytes()
    assert run(arguments) == 2
    assert capfd.readouterr().err == f"svmfast: EXACT is a file of --output, '{place}'; it could be lost\n"
    assert place.read_bytes() == before


def test_redirections_and_links_are_checked_too(tmp_path):
    rows = copies("train", tmp_path)["TRAIN"]
    before = rows.read_bytes()
    with rows.open("rb") as stdin, rows.open("ab") as stdout:
        done = [
            subprocess.run([PROGRAM, "train", "-", rows], stdin=stdin, capture_output=True),
            subprocess.run([PROGRAM, "train", rows, "-"], stdout=stdout, stderr=subprocess.PIPE),
        ]
    (rows.parent / "link").symlink_to("out")  # to a file that does not exist yet
    done.append(svmfast("scale", data("iris.test"), "-o", "out", "--save", "link", cwd=rows.parent))
    assert done.pop().stderr == b"svmfast: --save and --output are one file, 'link'\n"
    for one, name in zip(done, (rows, "-"), strict=True):
        told = f"svmfast: MODEL is DATA itself, '{name}'; it would be lost\n".encode()
        assert (one.returncode, one.stdout or b"", one.stderr) == (2, b"", told)
    assert rows.read_bytes() == before


@pytest.mark.parametrize("name", [name for name in RUNS if len(inputs(name)) > 1])
def test_standard_input_is_read_once(name, capfd):
    assert run(words(name, {**dict.fromkeys(inputs(name), "-"), "OUT": "x", "SAVED": "y"})) == 2
    told = (
        r" is read more than once; give a file, not '-'$|: standard input can be read only once: '-' is for "
    )
    assert re.search(told, capfd.readouterr().err)


@pytest.mark.parametrize("name", [name for name in READ if not name.startswith("info")])
def test_a_model_in_the_place_of_data_is_noticed(name, tmp_path, capfd):
    paths = copies(name, tmp_path)
    exact = shutil.copy(INPUTS["EXACT"], tmp_path / "model")
    paths[next(word for word in RUNS[name] if word in ("TRAIN", "TEST"))] = exact
    if name != "frontier":  # whose training data are read only by the commands that it starts
        assert run(words(name, paths)) == 2
        message = f"{exact}:1: a model, not data ('svm_type'); expected label index:value ..."
        assert capfd.readouterr().err.splitlines()[-1] == message
    first_model = next((word for word in RUNS[name] if word in ("EXACT", "FAST", "OUT")), None)
    if first_model is not None and not name.startswith("scale"):  # whose output is data
        old = paths[first_model] = shutil.copy(INPUTS["TRAIN"], tmp_path / "old")
        assert run(words(name, paths)) == 2
        assert old.read_bytes() == INPUTS["TRAIN"].read_bytes()


def without_labels(path, folder):
    place = folder / path.name
    place.write_bytes(re.sub(rb"^[^ \n]+ ?", b"", path.read_bytes(), flags=re.MULTILINE))
    return place


#: Runs that need no labels.
FREE = ["approximate", "compress", "bound-check", "meka's error", "dcpred from a model", "cascade", "predict"]


@pytest.mark.parametrize("name", [*FREE, "info of data"])
def test_the_result_is_that_of_rows_with_labels(name, tmp_path, capfd):
    bare = {word: without_labels(INPUTS[word], tmp_path) for word in ("TRAIN", "TEST")}
    made, printed = [], []
    quiet = ["-q"] if "OUT" in RUNS[name] else []
    for more, paths in ((quiet, {}), (["--unlabelled", *quiet], bare)):
        out = tmp_path / f"out{len(made)}"
        status = run([*words(name, {**paths, "OUT": out}), *more])
        assert status in (0, 1)
        printed.append((status, re.sub(r"[^ ]*/", "", capfd.readouterr().out)))
        # Labels serve compress to refit probabilities, and for nothing else.
        # A container tells the length of the text inside, and has a hash.
        left = rb'prob[AB].*|^svmfast-model.*|"bytes":\d+'
        made.append(re.sub(left, b"", out.read_bytes(), flags=re.M) if out.exists() else None)
    assert made[0] == made[1]
    assert name != "bound-check" or printed[0] == printed[1]
    ran("train", "-q", "-s", "2", bare["TRAIN"], "--unlabelled", tmp_path / "one")
    ran("train", "-q", "-s", "2", INPUTS["TRAIN"], tmp_path / "same")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "same").read_bytes()


@pytest.mark.parametrize("exact", ["iris_c_rbf_prob", "diabetes_eps_rbf"])
def test_predict_prints_no_score(exact, tmp_path):
    rows, out = data(f"{exact.split('_')[0]}.test"), tmp_path / "out"
    done = ran("predict", without_labels(rows, tmp_path), model(exact), out, "--unlabelled")
    assert not re.search(b"ccuracy|rror", done.stdout)
    count = len(rows.read_bytes().splitlines())
    assert f"svmfast: {count} rows predicted; without labels there is no score" in done.stderr.decode()
    assert out.read_bytes() == svmfast("predict", "-q", rows, model(exact)).stdout


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ("1 1 2 3 4", "", ""),
        ("1 2 3 4", " --unlabelled", ""),
        ("1 1 2 3 4 5", "", "warning: rows: 5 values after the label, the model has 4 features"),
        ("1 1 2 3 4", " --unlabelled", "4 features; as many as features after a label, without"),
    ],
)
def test_a_wider_table_is_noticed(row, options, message, tmp_path, capfd):
    """A narrower one is refused: tests/refusals.tsv."""
    rows, out, exact = tmp_path / "rows", tmp_path / "out", model("iris_c_rbf_prob")
    rows.write_text(f"{row}\n" * 3)
    for one in (
        f"predict -q {rows} {exact} {out}",
        f"compare -q {exact} {exact} --repeats 1 --data {rows}",
        f"bound-check {rows} --model {exact}",
    ):
        assert run(f"{one} --dense{options}".split()) != 2, one
        told = capfd.readouterr().err.replace(f"{rows}", "rows")
        assert message in told
        assert (out.exists(), bool(told)) == (True, bool(message))
