"""``svmfast frontier`` on a folder with damaged records: the candidates are made again."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import svmfast
from program import data, model

from svmfast.cli.main import run
from svmfast.frontiers.folder import MadeRecord, RunFolder
from svmfast.frontiers.plan import CandidateCommand

ARGUMENTS = [
    *(str(model("breast_c_rbf")), "--data", str(data("breast.train")), "--test", str(data("breast.test"))),
    *("--methods", "linear", "-q", "--time-limit", "10", "-o"),
]
LINEAR = CandidateCommand("linear", "linear", 0, ("linear", "{train}", "-o", "{out}"))


def sealed(folder: RunFolder, candidate: CandidateCommand, record: dict[str, Any]) -> bytes:
    """Forge a record: its seal is a hash that anybody can compute."""
    content = {name: value for name, value in record.items() if name != "seal"}
    return json.dumps({**content, "seal": folder._seal(candidate, content)}).encode()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("frontier") / "dir"
    assert svmfast("frontier", *ARGUMENTS, folder, shortened=True).returncode in (0, 1)
    return folder


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> RunFolder:
    """A copy of the folder, opened as its run opens it."""
    shutil.copytree(finished, tmp_path / "dir")
    identity = json.loads((tmp_path / "dir" / "inputs.json").read_text())
    del identity["layout"]
    return RunFolder(tmp_path / "dir", identity)


def place(folder: RunFolder) -> Path:
    return folder.path / "records" / "linear.json"


OTHER = replace(LINEAR, arguments=("info",))


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
def test_a_record_of_something_else_is_made_again(damage: Any, copied: RunFolder) -> None:
    whole = json.loads(place(copied).read_text())
    assert copied.record(LINEAR) == MadeRecord(whole["sha256"], whole["build_seconds"])
    place(copied).write_bytes(damage(whole, copied))
    assert copied.record(LINEAR) is None


def _failure(record: dict[str, Any]) -> dict[str, Any]:
    known = {name: value for name, value in record.items() if name not in ("sha256", "build_seconds")}
    return {**known, "reason": "because"}


def test_a_forged_reason_is_shown_as_text(copied: RunFolder, capfd: pytest.CaptureFixture[str]) -> None:
    record = json.loads(place(copied).read_text())
    place(copied).write_bytes(
        sealed(copied, LINEAR, {**_failure(record), "reason": "\x1b[2J\nINJECTED \udcff"})
    )
    words = [word for word in ARGUMENTS if word != "-q"]
    assert run(["frontier", *words, str(copied.path)]) == 1
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
def test_a_damaged_record_is_made_again(what: str, copied: RunFolder) -> None:
    place(copied).write_bytes(DAMAGE[what])
    assert copied.record(LINEAR) is None


@pytest.mark.parametrize("what", DAMAGE)
def test_a_folder_with_damaged_inputs_is_not_of_this_run(
    what: str, copied: RunFolder, capfd: pytest.CaptureFixture[str]
) -> None:
    (copied.path / "inputs.json").write_bytes(DAMAGE[what])
    assert run(["frontier", *ARGUMENTS, str(copied.path)]) == 2
    captured = capfd.readouterr().err
    assert captured.startswith(f"svmfast: {copied.path} holds a run with other inputs or options (layout, ")
    assert captured.count("\n") == 1


def test_a_pipe_in_place_of_a_file_does_not_hang(
    copied: RunFolder, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("records/linear.json", "models/linear", "inputs.json"):
        (copied.path / name).unlink()
        os.mkfifo(copied.path / name)
    assert run(["frontier", *ARGUMENTS, str(copied.path)]) == 2
    assert copied.record(LINEAR) is None
    (copied.path / "inputs.json").unlink()


def test_a_model_with_other_labels_is_bad_input(copied: RunFolder, capfd: pytest.CaptureFixture[str]) -> None:
    """A model forged together with its record."""
    for name in ("iris_c_linear", "diabetes_eps_rbf"):
        content = model(name).read_bytes()
        (copied.path / "models" / "linear").write_bytes(content)
        record = json.loads(place(copied).read_text())
        forged = {**record, "sha256": hashlib.sha256(content).hexdigest()}
        place(copied).write_bytes(sealed(copied, LINEAR, forged))
        assert run(["frontier", *ARGUMENTS, str(copied.path)]) == 2
        captured = capfd.readouterr().err
        assert captured.startswith(f"svmfast: {copied.path}/models/linear ")
        assert captured.count("\n") == 1


@pytest.mark.parametrize("name", ["model", "train", "test", "seed", "reading", "version", "layout"])
def test_another_run_is_refused(name: str, copied: RunFolder, capfd: pytest.CaptureFixture[str]) -> None:
    known = json.loads((copied.path / "inputs.json").read_text())
    (copied.path / "inputs.json").write_text(json.dumps({**known, name: "\x1b[2J"}))
    assert run(["frontier", *ARGUMENTS, str(copied.path)]) == 2
    what = f"holds a run with other inputs or options ({name})"
    rest = "give another --output, or --overwrite to start over in this one"
    assert capfd.readouterr().err == f"svmfast: {copied.path} {what}; {rest}\n"
