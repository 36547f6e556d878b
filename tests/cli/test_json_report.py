"""What every command prints: JSON as its schema says; files are written if nobody reads the printed text."""

import json
import os
import shutil
import subprocess

import pytest
from command import ran, svmfast
from every_command import COMMAND_OF, INPUTS, RUNS, inputs, outputs, words
from json_schema import faults
from meaning import FROZEN
from program import PROGRAM, ROOT, data, lines_of, model, nobody
from program import svmfast as program

from svmfast import __version__
from svmfast.cli.main import commands
from svmfast.cli.report_schema import schema
from svmfast.formats.model_files import load_model

SCHEMA = schema()
EXACT, REGRESSION, DIABETES = model("iris_c_rbf_prob"), model("diabetes_eps_rbf"), data("diabetes.test")
PLACES = {"ROWS": INPUTS["TRAIN"], "EXACT": EXACT, "OURS": INPUTS["FAST"], "D": DIABETES, "R": REGRESSION}
PLACES |= {
    "POLYNOMIAL": FROZEN / "1.0/polynomial_one_class.model",
    "SCALED": FROZEN / "1.0/scaled_polynomial.model",
}
#: Runs with keys that the quick runs lack: scores, other models, other data.
MORE = lines_of("keys")


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


def test_every_key_is_described():
    assert {rule["if"]["properties"]["command"]["const"] for rule in SCHEMA["allOf"]} == set(commands())
    for part in (SCHEMA, *(rule["then"] for rule in SCHEMA["allOf"])):
        for key, rule in part["properties"].items():
            assert rule["description"].endswith("."), key
    page = (ROOT / "docs" / "command-line.md").read_text()
    assert [key for key in SCHEMA["required"] if f"`{key}`" not in page] == []


# --- a reader that closes its pipe early

TEST = data("iris.test")


def run(*arguments, unread=("stdout",)):
    """Run svmfast with a closed pipe as stdout, or as other streams; return the status and stderr."""
    done = program(*arguments, unread=unread)
    return done.returncode, done.stderr


@pytest.mark.parametrize("name", [name for name in RUNS if outputs(name)])
def test_files_are_written_if_nobody_reads_the_printed_text(name, tmp_path):
    out, saved = tmp_path / "out", tmp_path / "saved"
    status, _ = run(*words(name, {"OUT": out, "SAVED": saved}), unread=("stdout", "stderr"))
    assert status == (1 if name == "frontier" else 0)
    if name == "frontier":
        assert (out / "report.json").stat().st_size
    elif COMMAND_OF[name] in ("predict", "scale"):
        assert out.read_bytes().count(b"\n") == INPUTS[inputs(name)[0]].read_bytes().count(b"\n")
    elif name.startswith("export") and "libsvm" not in RUNS[name]:
        assert out.read_bytes().endswith(b"#endif\n")
    else:
        load_model(out)
    assert saved.exists() == ("SAVED" in outputs(name))


@pytest.mark.parametrize(("more", "name"), [("", "iris_c"), ("-b 1", "iris_c"), ("-b 1", "diabetes_eps")])
def test_predict_prints_before_it_writes(more, name, tmp_path):
    """For a model with probabilities svm-predict's first line comes before the file exists."""
    rows, exact = data(f"{name.split('_')[0]}.test"), model(f"{name}_rbf_prob")
    assert run("predict", *more.split(), rows, exact, tmp_path / "out")[0] == 0
    assert (tmp_path / "out").read_bytes() == program("predict", "-q", *more.split(), rows, exact).stdout


def test_the_exit_status_is_kept_and_a_command_that_only_prints_ends():
    assert run("bound-check", data("iris.train"), "--model", EXACT)[0] == 1
    assert run("info", EXACT)[0] == 0
    assert run("info", "missing", unread=("stdout", "stderr"))[0] == 2
    assert run("predict", "-q", TEST, EXACT) == (0, b"")
    assert run("train", "-q", TEST, "-") == (0, b"")
    assert run("linear", "-q", TEST, "-o", "/dev/stdout") == (0, b"")


def test_another_pipe_that_nobody_reads_is_an_error():
    """Only standard output may be cut short; in another pipe the output would be missing."""
    with nobody() as pipe:
        place = f"/dev/fd/{pipe.fileno()}"
        command = [PROGRAM, "predict", "-q", TEST, EXACT, place]
        done = subprocess.run(command, pass_fds=[pipe.fileno()], capture_output=True)
    line = f"svmfast: {place}: cannot be written: Broken pipe\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", line)
