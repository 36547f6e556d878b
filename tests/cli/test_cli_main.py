"""The program around the commands: help without NumPy, exit statuses, errors in one line."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from command import svmfast
from program import PROGRAM, data, model

import svmfast as package
from svmfast.cli import main
from svmfast.errors import InputError, OptionError


def test_version_is_that_of_the_distribution() -> None:
    done = svmfast("--version")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == f"svmfast {importlib.metadata.version('svmfast')}\n"
    assert package.__version__ == importlib.metadata.version("svmfast")


@pytest.mark.parametrize("name", [None, *main.commands()])
def test_h_is_help_on_every_command(name: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    words = [] if name is None else [name]
    captured = []
    for option in ("--help", "-h"):
        assert main.run([*words, option]) == 0
        captured.append(capsys.readouterr())
    assert captured[0] == captured[1]
    assert captured[0].out.startswith("Usage: svmfast")


def test_h_of_train_is_svm_trains_option_if_it_has_a_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = str(data("iris.train"))
    assert main.run(["train", rows, "-h"]) == 0
    assert capsys.readouterr().out.startswith("Usage: svmfast train")
    assert main.run(["train", "-q", "-h", "0", rows, str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").exists()


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_import_no_numpy_and_no_command(argument: str) -> None:
    script = (
        f"import sys; from svmfast.cli.main import run; run([{argument!r}]);"
        "loaded = [m for m in sys.modules if m.split('.')[0] in ('numpy', 'scipy', 'rich', 'sklearn')"
        " or (m.startswith('svmfast.cli.')"
        " and m.split('.')[2] not in ('main', 'messages', 'parsing', 'references', 'signals'))];"
        "sys.exit(repr(loaded) if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_command_is_a_usage_error_with_the_help_on_stderr() -> None:
    done = svmfast()
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == svmfast("--help").stdout


@pytest.mark.parametrize(
    ("error", "line", "status"),
    [
        (InputError("a.txt", 3, "is wrong", "x", "y"), "a.txt:3: is wrong ('x'); y", 2),
        (OptionError("no"), "svmfast: no", 2),
        (FileNotFoundError(2, "No such file or directory", "a.txt"), "a.txt: No such file or directory", 2),
        (OSError(28, "No space left on device"), "svmfast: No space left on device", 2),
        (MemoryError("13 GiB"), "svmfast: out of memory (13 GiB)", 2),
        (click.ClickException("no"), "svmfast: no", 2),
        (
            ZeroDivisionError("one\ntwo"),
            "svmfast: internal error: ZeroDivisionError: one two; run again with --debug for the trace",
            3,
        ),
    ],
)
def test_every_error_is_one_line_with_its_status(error: Exception, line: str, status: int) -> None:
    assert main.describe(error) == (line, status)


def run_with_a_failing_command(body: str, *args: str) -> subprocess.CompletedProcess[str]:
    script = f"""
import sys, types, click
from svmfast.cli import main
@click.command()
def command():
    {body}
failing = types.ModuleType("failing"); failing.command = command
sys.modules["failing"] = failing
main.LazyGroup.get_command = lambda *_: failing.command
main.command = lambda name: command
command.params.append(main.debug_option())
sys.argv = ["svmfast", *{args!r}]
main.console()
"""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


def test_an_internal_error_has_status_3_and_a_trace_with_debug() -> None:
    done = run_with_a_failing_command("1 / 0", "fail")
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    for args in (("fail", "--debug"), ("--debug", "fail")):
        done = run_with_a_failing_command("1 / 0", *args)
        assert done.returncode == 3
        assert "Traceback" in done.stderr
        assert "in command" in done.stderr
        assert done.stderr.endswith("svmfast: internal error: ZeroDivisionError: division by zero\n")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("return None", 0),
        ("return 1", 1),
        ("click.get_current_context().exit(1)", 1),
        ("raise KeyboardInterrupt", 130),
        ("raise BrokenPipeError", 0),
        ("sys.stdout.write('x')", 0),
    ],
)
def test_the_exit_status_is_the_commands(body: str, status: int) -> None:
    done = run_with_a_failing_command(body, "fail")
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize(("number", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_in_a_destructor_still_ends_the_program(number: str, status: int) -> None:
    """Python drops exceptions that are raised there."""
    body = (
        "import signal, time\n"
        "    class Late:\n"
        "        def __del__(self):\n"
        f"            signal.raise_signal(signal.{number})\n"
        "            time.sleep(0)\n"
        "    Late()\n"
        "    time.sleep(20)\n"
        "    raise SystemError('still here')"
    )
    done = run_with_a_failing_command(body, "fail")
    assert (done.returncode, done.stderr) == (status, "")


def test_output_that_cannot_be_flushed_is_an_error() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, b"svmfast: No space left on device\n")


@pytest.mark.parametrize("output", ["-", "out"])
def test_closed_standard_output_is_an_error_and_reaches_no_file(tmp_path: Path, output: str) -> None:
    target = tmp_path / output
    arguments = [data("iris.test"), model("iris_c_linear"), "-" if output == "-" else target]
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", PROGRAM, "predict", *arguments], stderr=subprocess.PIPE, text=True
    )
    assert done.returncode == 2
    assert done.stderr.endswith("Bad file descriptor\n")
    assert done.stderr.count("\n") == 1
    if output != "-":
        assert target.read_bytes() == svmfast("predict", "-q", *arguments[:2]).stdout


def test_closed_standard_error_is_not_an_error() -> None:
    arguments = ["predict", data("iris.test"), model("iris_c_linear")]
    done = subprocess.run(["sh", "-c", '"$@" 2>&-', "sh", PROGRAM, *arguments], stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (0, svmfast(*arguments).stdout)


def test_names_of_any_bytes_are_printed_in_any_locale(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff\xe9.txt"
    with open(name, "wb") as file:
        file.write(data("iris.test").read_bytes())
    # As in a locale such as de_DE.UTF-8.
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run([PROGRAM, "bound-check", name], env=strict, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"data        " + os.fsencode(tmp_path) + rb"/\xff\xe9.txt: ")


def test_prediction_starts_without_the_methods_declarations(tmp_path: Path) -> None:
    words = ["predict", "-q", "--decision-values", data("iris.test"), model("iris_c_rbf_prob")]
    words.append(tmp_path / "out")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", PROGRAM, *words], capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "svmfast.commands.predictor" in imported
    assert not [name for name in imported if name.startswith("svmfast.methods")]


#: Limits that no model of the kind can meet, and a size that makes nothing smaller.
NEGATIVE = (
    "approximate EXACT --max-bytes 10",
    "compress EXACT --max-bytes 10 --data TRAIN",
    "compress EXACT --sv 1",
    "compress EXACT --sv 1000",
    "dcpred TRAIN --from EXACT --max-operations 0.01",
    "dcpred TRAIN --task svc --max-operations 0.01",
)


@pytest.mark.parametrize("line", NEGATIVE)
def test_a_negative_answer_has_status_1_and_no_file(line: str, tmp_path: Path) -> None:
    places = {"EXACT": model("iris_c_rbf_prob"), "TRAIN": data("iris.train")}
    done = svmfast(*(places.get(word, word) for word in line.split()), "-o", tmp_path / "out")
    assert done.returncode == 1, done.stderr
    assert not list(tmp_path.iterdir())


def test_the_last_value_counts(tmp_path: Path) -> None:
    """As in LIBSVM's programs, for an option that is given twice."""

    def content(*words: object) -> bytes:
        done = svmfast(*map(str, words), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return (tmp_path / "out").read_bytes()

    rows = data("iris.train")
    once = content("train", "-q", "-c", "10", "-g", "0.5", rows, "out")
    assert content("train", "-q", "-c", "1", "-g", "9", "-c", "10", "-g", "0.5", rows, "out") == once
    assert content("train", "-q", "-c", "1", "-g", "0.5", rows, "out") != once
    test, exact = data("iris.test"), model("iris_c_rbf_prob")
    once = content("predict", "-b", "1", test, exact, "out")
    assert content("predict", "-b", "0", "-b", "1", test, exact, "out") == once
    once = content("scale", "-l", "0", rows, "-o", "out")
    assert content("scale", "-l", "-1", "-l", "0", rows, "-o", "out") == once
