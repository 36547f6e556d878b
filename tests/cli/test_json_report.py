"""Every command's JSON report conforms to the schema of the declared figures, and to docs/command-line.md."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command import svmfast
from every_command import COMMAND_OF, INPUTS, RUNS, outputs, words
from json_schema import faults
from program import PROGRAM, ROOT, data, model

from svmfast.cli.main import commands, run
from svmfast.cli.report_schema import schema

SCHEMA: dict[str, Any] = schema()
PAGE = (ROOT / "docs" / "command-line.md").read_text()

IRIS, EXACT = str(data("iris.train")), str(model("iris_c_rbf_prob"))
#: Runs with keys that the quick runs lack: scores, other models, other data.
MORE: dict[str, list[str]] = {
    "train -v": ["train", "-v", "3", IRIS],
    "train -v, regression": ["train", "-v", "3", "-s", "3", str(data("diabetes.train"))],
    "bound-check of data": ["bound-check", IRIS],
    "info of a model of ours": ["info", str(INPUTS["FAST"])],
    "info of a polynomial": ["info", str(ROOT / "fixtures/frozen/1.0/polynomial_one_class.model")],
    "info of a scaled model": ["info", str(ROOT / "fixtures/frozen/1.0/scaled_polynomial.model")],
    "predict, regression": ["predict", str(data("diabetes.test")), str(model("diabetes_eps_rbf")), "OUT"],
    "compare, regression": [
        *("compare", str(model("diabetes_eps_rbf")), str(model("diabetes_eps_linear")), "--repeats", "1"),
        *("--data", str(data("diabetes.test"))),
    ],
    "approximate, without a certificate": ["approximate", EXACT, "-o", "OUT", "--certificate", "none"],
}


def check(text: str | bytes, command: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(text)
    assert faults(SCHEMA, report) == []
    assert report["command"] == command
    assert report["version"] == importlib.metadata.version("svmfast")
    assert report["seconds"] > 0
    return report


@pytest.mark.parametrize("name", RUNS)
def test_the_report_of_every_command(name: str, tmp_path: Path) -> None:
    paths = {"OUT": tmp_path / "out", "SAVED": tmp_path / "saved"}
    done = svmfast(*words(name, paths), "--json")
    assert done.returncode in (0, 1), done.stderr
    report = check(done.stdout, COMMAND_OF[name])
    written = {paths[word]: report["outputs"] for word in outputs(name)}
    for path in written:
        found = [one for one in report["outputs"].values() if one["path"] == os.fspath(path)]
        assert [one["bytes"] for one in found] == [path.stat().st_size if path.is_file() else None]
    if "bytes" in report and written:
        assert report["bytes"] == report["outputs"]["model"]["bytes"]
    if COMMAND_OF[name] == "frontier":
        check((tmp_path / "out" / "report.json").read_bytes(), "frontier")


@pytest.mark.parametrize("name", MORE)
def test_other_reports(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = [str(tmp_path / "out") if word == "OUT" else word for word in MORE[name]]
    assert run([*arguments, "--json"]) in (0, 1)
    check(capfd.readouterr().out, arguments[0])


def test_file_names_are_unchanged(tmp_path: Path) -> None:
    rows = tmp_path / ("a\x1b[31m\n\u202e" + os.fsdecode(b"\xff"))
    shutil.copy(IRIS, rows)
    done = svmfast("info", rows, "--json")
    assert done.stdout.isascii()
    assert check(done.stdout, "info")["inputs"]["file"] == os.fspath(rows)


def test_a_refusal_before_any_result_is_reported_too(tmp_path: Path) -> None:
    for small in (EXACT, str(model("iris_c_linear"))):
        done = svmfast("approximate", small, "-o", tmp_path / "out", "--max-bytes", "10", "--json")
        report = check(done.stdout, "approximate")
        assert (done.returncode, report["outputs"], report["bytes"]) == (1, {"model": None}, None)
        reason, advice = done.stderr.decode().splitlines()
        assert reason == f"svmfast: {report['refusal']}; nothing was written"
        assert advice == f"svmfast: {report['advice']}"
        assert report["notes"] == [line.removeprefix("svmfast: ") for line in (reason, advice)]


def test_warnings_and_remarks_are_in_the_report_with_quiet_too(tmp_path: Path) -> None:
    loud = ["approximate", EXACT, "--order", "6", "-o", tmp_path / "out", "--json"]
    for arguments in (loud, [*loud, "-q"]):
        done = svmfast(*arguments)
        notes = check(done.stdout, "approximate")["notes"]
        assert any(note.startswith("the file grew from ") for note in notes)
        assert (b"the file grew" in done.stderr) == ("-q" not in arguments)


def test_the_schema_detects_faults() -> None:
    text = subprocess.run([PROGRAM, "info", IRIS, "--json"], capture_output=True, check=True).stdout
    for key, value in (("rows", "many"), ("svmfast_report", 2), ("surprise", 1), ("accuracy", 1.0)):
        assert faults(SCHEMA, {**json.loads(text), key: value}), key
    for key in ("svmfast_report", "warnings", "features"):
        report = json.loads(text)
        del report[key]
        assert faults(SCHEMA, report), key


def test_every_key_is_described() -> None:
    assert {rule["if"]["properties"]["command"]["const"] for rule in SCHEMA["allOf"]} == set(commands())
    for part in (SCHEMA, *(rule["then"] for rule in SCHEMA["allOf"])):
        for key, rule in part["properties"].items():
            assert rule["description"].endswith("."), key
    for key in SCHEMA["required"]:
        assert f"`{key}`" in PAGE, key
