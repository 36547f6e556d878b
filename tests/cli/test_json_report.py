"""Every command's JSON report conforms to the schema of the declared figures, and to docs/command-line.md."""

import json
import os
import shutil

import pytest
from command import ran, svmfast
from every_command import COMMAND_OF, INPUTS, RUNS, outputs, words
from json_schema import faults
from meaning import FROZEN
from program import ROOT, data, model

from svmfast import __version__
from svmfast.cli.main import commands
from svmfast.cli.report_schema import schema

SCHEMA = schema()
EXACT, REGRESSION, DIABETES = model("iris_c_rbf_prob"), model("diabetes_eps_rbf"), data("diabetes.test")
PLACES = {"ROWS": INPUTS["TRAIN"], "EXACT": EXACT, "OURS": INPUTS["FAST"], "D": DIABETES, "R": REGRESSION}
PLACES |= {
    "POLYNOMIAL": FROZEN / "1.0/polynomial_one_class.model",
    "SCALED": FROZEN / "1.0/scaled_polynomial.model",
}
#: Runs with keys that the quick runs lack: scores, other models, other data.
MORE = (
    "train -v 3 ROWS",
    "train -v 3 -s 3 D",
    "bound-check ROWS",
    "info OURS",
    "info POLYNOMIAL",
    "info SCALED",
    "predict D R OUT",
    "compare R R --repeats 1 --data D",
    "approximate EXACT -o OUT --certificate none",
)


def check(text, command):
    found = json.loads(text)
    assert faults(SCHEMA, found) == []
    assert found["command"] == command
    assert found["version"] == __version__
    assert found["seconds"] > 0
    return found


@pytest.mark.parametrize("name", RUNS)
def test_the_report_of_every_command(name, tmp_path):
    paths = {"OUT": tmp_path / "out", "SAVED": tmp_path / "saved"}
    done = svmfast(*words(name, paths), "--json")
    assert done.returncode in (0, 1), done.stderr
    found = check(done.stdout, COMMAND_OF[name])
    written = {os.fspath(paths[word]) for word in outputs(name)}
    assert written == {one["path"] for one in found["outputs"].values()}
    for one in found["outputs"].values():
        size = os.stat(one["path"]).st_size
        assert one["bytes"] == (None if os.path.isdir(one["path"]) else size)
    if "bytes" in found and written:
        assert found["bytes"] == found["outputs"]["model"]["bytes"]
    if COMMAND_OF[name] == "frontier":
        check((tmp_path / "out" / "report.json").read_bytes(), "frontier")


@pytest.mark.parametrize("line", MORE)
def test_other_reports(line, tmp_path):
    done = svmfast(*({**PLACES, "OUT": tmp_path / "out"}.get(word, word) for word in line.split()), "--json")
    check(done.stdout, line.split()[0])


def test_file_names_are_unchanged(tmp_path):
    rows = tmp_path / ("a\x1b[31m\n\u202e" + os.fsdecode(b"\xff"))
    shutil.copy(PLACES["ROWS"], rows)
    done = ran("info", rows, "--json")
    assert done.stdout.isascii()
    assert check(done.stdout, "info")["inputs"]["file"] == os.fspath(rows)


@pytest.mark.parametrize("exact", [EXACT, model("iris_c_linear")])
def test_a_refusal_before_any_result_is_reported_too(exact, tmp_path):
    done = ran("approximate", exact, "-o", tmp_path / "out", "--max-bytes", "10", "--json", status=1)
    found, lines = check(done.stdout, "approximate"), done.stderr.decode().splitlines()
    assert (found["outputs"], found["bytes"]) == ({"model": None}, None)
    assert lines == [f"svmfast: {found['refusal']}; nothing was written", f"svmfast: {found['advice']}"]
    assert found["notes"] == [line.removeprefix("svmfast: ") for line in lines]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_warnings_and_remarks_are_in_the_report_with_quiet_too(quiet, tmp_path):
    done = ran("approximate", EXACT, "--order", "6", "-o", tmp_path / "out", "--json", *quiet)
    notes = check(done.stdout, "approximate")["notes"]
    assert any(note.startswith("the file grew from ") for note in notes)
    assert (b"the file grew" in done.stderr) == (not quiet)


def test_the_schema_detects_faults():
    found = json.loads(ran("info", PLACES["ROWS"], "--json").stdout)
    for key, value in (("rows", "many"), ("svmfast_report", 2), ("surprise", 1), ("accuracy", 1.0)):
        assert faults(SCHEMA, {**found, key: value}), key
    for lacking in ("svmfast_report", "warnings", "features"):
        assert faults(SCHEMA, {key: value for key, value in found.items() if key != lacking}), lacking


def test_every_key_is_described():
    assert {rule["if"]["properties"]["command"]["const"] for rule in SCHEMA["allOf"]} == set(commands())
    for part in (SCHEMA, *(rule["then"] for rule in SCHEMA["allOf"])):
        for key, rule in part["properties"].items():
            assert rule["description"].endswith("."), key
    page = (ROOT / "docs" / "command-line.md").read_text()
    assert [key for key in SCHEMA["required"] if f"`{key}`" not in page] == []
