"""``svmfast frontier`` on a folder with damaged records: the candidates are made again."""

import hashlib
import json
import os
import shutil
from dataclasses import replace

import pytest
from frontier_runs import BREAST, TEST, frontier
from program import model

from svmfast.cli.main import run
from svmfast.frontiers.folder import MadeRecord, RunFolder
from svmfast.frontiers.plan import CandidateCommand

WORDS = (*BREAST, *TEST, "--methods", "linear", "--time-limit", "10")
LINEAR = CandidateCommand("linear", "linear", 0, ("linear", "{train}", "-o", "{out}"))
OTHER = replace(LINEAR, arguments=("info",))


def sealed(folder, candidate, record):
    """Forge a record: its seal is a hash that anybody can compute."""
    content = {name: value for name, value in record.items() if name != "seal"}
    return json.dumps({**content, "seal": folder._seal(candidate, content)}).encode()


def again(folder, *more):
    """Run frontier in this process on the folder."""
    return run(["frontier", *map(str, WORDS), *more, "-o", str(folder.path)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frontier")
    assert frontier(folder, *WORDS, "-q").returncode in (0, 1)
    return folder / "dir"


@pytest.fixture
def copied(finished, tmp_path):
    """A copy of a finished run's folder, opened as its run opens it."""
    shutil.copytree(finished, tmp_path / "dir")
    identity = json.loads((tmp_path / "dir" / "inputs.json").read_text())
    del identity["layout"]
    return RunFolder(tmp_path / "dir", identity)


@pytest.fixture
def place(copied):
    return copied.path / "records" / "linear.json"


@pytest.mark.parametrize(
    "damage",
    [
        lambda record, folder: b"{}",
        lambda record, folder: json.dumps({**record, "build_seconds": 1.5}).encode(),
        lambda record, folder: json.dumps({**record, "seal": 7}).encode(),
        lambda record, folder: sealed(RunFolder(folder.path, {"seed": 7}), LINEAR, record),
        lambda record, folder: sealed(folder, OTHER, record),
        lambda record, folder: sealed(folder, LINEAR, {**record, "sha256": "0" * 64}),
    ],
    ids=["empty", "another figure", "no seal", "another run", "another command", "another model"],
)
def test_a_record_of_something_else_is_made_again(damage, copied, place):
    whole = json.loads(place.read_text())
    assert copied.record(LINEAR) == MadeRecord(whole["sha256"], whole["build_seconds"])
    place.write_bytes(damage(whole, copied))
    assert copied.record(LINEAR) is None


def test_a_forged_reason_is_shown_as_text(copied, place, capfd):
    place.write_bytes(sealed(copied, LINEAR, {"reason": "\x1b[2J\nINJECTED \udcff"}))
    assert again(copied) == 1
    assert "\nlinear: \\x1b[2J\\nINJECTED \\xff\n" in capfd.readouterr().out
    assert "\x1b" not in (copied.path / "report.html").read_text()


DAMAGE = {
    "no JSON": b"x",
    "a list": b"[]",
    "a number": b"7",
    "too deep": b"[" * 200_000,
    "nan": b'{"a": NaN}',
    "too long": b"{" + b" " * (1 << 21) + b"}",
    "a long number": b"1" * 5000,
}


@pytest.mark.parametrize("what", DAMAGE)
def test_a_damaged_file_says_nothing(what, copied, place, capfd):
    """A candidate with such a record is made again; a folder with such inputs is of another run."""
    place.write_bytes(DAMAGE[what])
    assert copied.record(LINEAR) is None
    (copied.path / "inputs.json").write_bytes(DAMAGE[what])
    assert again(copied, "-q") == 2
    captured = capfd.readouterr().err
    assert captured.startswith(f"svmfast: {copied.path} holds a run with other inputs or options (layout, ")
    assert captured.count("\n") == 1


def test_a_pipe_in_place_of_a_file_does_not_hang(copied):
    for name in ("records/linear.json", "models/linear", "inputs.json"):
        (copied.path / name).unlink()
        os.mkfifo(copied.path / name)
    assert again(copied, "-q") == 2
    assert copied.record(LINEAR) is None
    (copied.path / "inputs.json").unlink()


@pytest.mark.parametrize("name", ["iris_c_linear", "diabetes_eps_rbf"])
def test_a_model_with_other_labels_is_bad_input(name, copied, place, capfd):
    """A model forged together with its record."""
    content = model(name).read_bytes()
    (copied.path / "models" / "linear").write_bytes(content)
    forged = {**json.loads(place.read_text()), "sha256": hashlib.sha256(content).hexdigest()}
    place.write_bytes(sealed(copied, LINEAR, forged))
    assert again(copied, "-q") == 2
    captured = capfd.readouterr().err
    assert captured.startswith(f"svmfast: {copied.path}/models/linear ")
    assert captured.count("\n") == 1


@pytest.mark.parametrize("name", ["model", "train", "test", "seed", "reading", "version", "layout"])
def test_another_run_is_refused(name, copied, capfd):
    known = json.loads((copied.path / "inputs.json").read_text())
    (copied.path / "inputs.json").write_text(json.dumps({**known, name: "\x1b[2J"}))
    assert again(copied, "-q") == 2
    what = f"holds a run with other inputs or options ({name}); give another --output, or --overwrite"
    assert capfd.readouterr().err == f"svmfast: {copied.path} {what} to start over in this one\n"
