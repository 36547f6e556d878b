"""Rows without labels, on every command that needs none."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from every_command import INPUTS, RUNS, words
from meaning import FROZEN
from program import data, model, svmfast

from svmfast.cli.main import run

#: Runs of tests/support/every_command.py that need no labels.
FREE = [
    *(
        "approximate",
        "compress",
        "bound-check",
        "meka's error",
    ),
    *("dcpred from a model", "cascade", "predict", "info of data"),
]
NEEDED = {
    "meka": "labels are needed to train; only --task error takes rows without (--unlabelled)",
    "dcpred": "labels are needed for --task; rows without them (--unlabelled) need --from",
    "train": "labels are needed: --unlabelled is for one-class training (--svm-type)",
}


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


@pytest.mark.parametrize("name", ["linear", "budget-train"])
def test_commands_that_need_all_labels_say_so(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([*words(name, {}), "--unlabelled"]) == 2
    message = f"svmfast {name}: No such option '--unlabelled'"
    assert capfd.readouterr().err.startswith(message)


@pytest.mark.parametrize("name", NEEDED)
def test_training_needs_labels(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bare = without_labels(INPUTS["TRAIN"], tmp_path)
    assert run([*words(name, {"TRAIN": bare, "OUT": tmp_path / "out"}), "--unlabelled"]) == 2
    assert capfd.readouterr().err == f"svmfast: {NEEDED[name]}\n"
    assert run(words(name, {"TRAIN": bare, "OUT": tmp_path / "out"})) == 2
    assert "; rows without labels need --unlabelled\n" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


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


def test_scaled_rows_have_no_labels_either(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    rows = data("iris.train")
    bare = without_labels(rows, tmp_path)
    for words_ in ((rows,), (bare, "--unlabelled")):
        assert run(["scale", *map(str, words_), "-l", "0"]) == 0
    found = capfdbinary.readouterr().out.splitlines()
    half = len(found) // 2
    assert [line.partition(b" ")[2] for line in found[:half]] == found[half:]
    assert run(["scale", str(bare), "--unlabelled", "-y", "0", "1"]) == 2


@pytest.mark.parametrize("exact", ["iris_c_rbf_prob", "diabetes_eps_rbf"])
def test_compare_still_counts_what_differs(exact: str, tmp_path: Path) -> None:
    rows = data(f"{exact.split('_')[0]}.test")
    fast = tmp_path / "fast"
    assert svmfast("approximate", model(exact), "--order", "2", "-o", fast, "-q").returncode == 0
    lines = []
    for words_ in ((rows,), (without_labels(rows, tmp_path), "--unlabelled")):
        done = svmfast("compare", model(exact), fast, "--repeats", "1", "--json", "--data", *words_)
        lines.append(json.loads(done.stdout)["models"][1])
    assert lines[0].keys() == lines[1].keys()
    for key in ("labels_differing", "values_differing_percent", "mean_abs_error"):
        assert lines[0].get(key) == lines[1].get(key)
    for key in ("accuracy", "balanced_accuracy", "mse", "scc"):
        assert lines[1].get(key) is None


@pytest.mark.parametrize(
    ("row", "options", "status", "message"),
    [
        ("1 1 2 3 4", (), 0, ""),
        ("1 2 3 4", ("--unlabelled",), 0, ""),
        (
            "1 2 3 4",
            (),
            2,
            "3 values after the label; the model has 4 features; as many as features with --unlabelled",
        ),
        ("1 2 3", (), 2, "2 values after the label; the model has 4 features"),
        ("1 2 3", ("--unlabelled",), 2, "3 values in a row; the model has 4 features"),
        ("1 1 2 3 4 5", (), 0, "warning: rows: 5 values after the label, the model has 4 features"),
        (
            "1 1 2 3 4",
            ("--unlabelled",),
            0,
            "warning: rows: 5 values in a row, the model has 4 features; as many as features after a label, "
            "without --unlabelled",
        ),
    ],
)
def test_a_table_of_another_width_is_noticed(
    row: str,
    options: tuple[str, ...],
    status: int,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").write_text(f"{row}\n" * 3)
    exact = str(model("iris_c_rbf_prob"))
    runs = {
        "predict": ["predict", "-q", "rows", exact, "out"],
        "compare": ["compare", "-q", exact, exact, "--repeats", "1", "--data", "rows"],
        "bound-check": ["bound-check", "rows", "--model", exact],
    }
    if status:
        # Whatever converts a model with the help of rows: the first feature is no label.
        runs |= {
            "approximate": ["approximate", exact, "--order", "2", "--data", "rows", "-o", "out"],
            "compress": ["compress", exact, "--sv", "5", "--data", "rows", "-o", "out"],
            "cascade": [
                "cascade",
                "--force",
                str(FROZEN / "1.0/routed_pseudo_poly.model"),
                exact,
                "--data",
                "rows",
            ],
            "dcpred": ["dcpred", "rows", "-o", "out", "--from", exact],
        }
    for name, words_ in runs.items():
        got = run([*words_, "--dense", *options])
        assert (got == 2) == (status == 2), name
        captured = capfd.readouterr().err
        assert message in captured
        assert (tmp_path / "out").exists() == (status == 0)
        assert bool(captured) == bool(message)
