"""The program around the commands: help without NumPy, exit statuses, errors in one line, completion."""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from command import ran
from estimators import SVM
from program import PROGRAM, ROOT, data, model

import svmfast as package
from svmfast.cli import main
from svmfast.cli.main import commands, program
from svmfast.cli.manual import manual_page
from svmfast.cli.report_schema import schema
from svmfast.errors import InputError, OptionError

IRIS, LINEAR, PROBABILITIES = data("iris.test"), model("iris_c_linear"), model("iris_c_rbf_prob")


def test_version_is_that_of_the_distribution():
    done = ran("--version")
    assert done.stdout.decode() == f"svmfast {importlib.metadata.version('svmfast')}\n"
    assert package.__version__ == importlib.metadata.version("svmfast")


@pytest.mark.parametrize("words", [[], *([name] for name in main.commands())])
def test_h_is_help_on_every_command(words):
    shown = ran(*words, "--help").stdout
    assert shown == ran(*words, "-h").stdout
    assert shown.startswith(b"Usage: svmfast")


def test_h_of_train_is_svm_trains_option_if_it_has_a_value(tmp_path):
    ran("train", "-q", "-h", "0", data("iris.train"), "out", cwd=tmp_path)
    assert (tmp_path / "out").exists()
    assert ran("train", data("iris.train"), "-h").stdout.startswith(b"Usage: svmfast train")


SLOW = ("numpy", "scipy", "rich", "sklearn", "svmfast.cli.command", "svmfast.cli.front", "svmfast.cli.flags")


@pytest.mark.parametrize(
    ("words", "slow"),
    [
        (["--help"], SLOW),
        (["predict", "-b", "1", IRIS, PROBABILITIES, os.devnull], ("numpy", "click", "svmfast.methods")),
        (["--version"], SLOW),
        (["predict", "-q", "--decision-values", IRIS, PROBABILITIES, os.devnull], ("svmfast.methods",)),
    ],
)
def test_modules_that_are_slow_to_import_are_not(words, slow):
    command = [sys.executable, "-X", "importtime", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "svmfast.cli" in imported
    assert not [name for name in imported if any(f"{name}.".startswith(f"{one}.") for one in slow)]


def test_no_command_is_a_usage_error_with_the_help_on_stderr():
    done = ran(status=2)
    assert (done.stdout, done.stderr) == (b"", ran("--help").stdout)


TRACE = "run again with --debug for the trace"


@pytest.mark.parametrize(
    ("error", "line", "status"),
    [
        (InputError("a.txt", 3, "is wrong", "x", "y"), "a.txt:3: is wrong ('x'); y", 2),
        (OptionError("no"), "svmfast: no", 2),
        (FileNotFoundError(2, "No such file or directory", "a.txt"), "a.txt: No such file or directory", 2),
        (OSError(28, "No space left on device"), "svmfast: No space left on device", 2),
        (MemoryError("13 GiB"), "svmfast: out of memory (13 GiB)", 2),
        (click.ClickException("no"), "svmfast: no", 2),
        (ZeroDivisionError("1\n2"), f"svmfast: internal error: ZeroDivisionError: 1 2; {TRACE}", 3),
    ],
)
def test_every_error_is_one_line_with_its_status(error, line, status):
    assert main.describe(error) == (line, status)


def run_with_a_failing_command(body, *args):
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


@pytest.mark.parametrize("words", [["fail"], ["fail", "--debug"], ["--debug", "fail"]])
def test_an_internal_error_has_status_3_and_a_trace_with_debug(words):
    done = run_with_a_failing_command("1 / 0", *words)
    assert done.returncode == 3
    line = "svmfast: internal error: ZeroDivisionError: division by zero"
    if "--debug" in words:
        assert "Traceback" in done.stderr
        assert "in command" in done.stderr
        assert done.stderr.endswith(f"{line}\n")
    else:
        assert done.stderr == f"{line}; {TRACE}\n"


#: Python drops exceptions that are raised in a destructor.
DESTROYED = """import signal, time
    class Late:
        def __del__(self):
            signal.raise_signal(signal.{})
            time.sleep(0)
    Late()
    time.sleep(20)
    raise SystemError('still here')"""


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("return None", 0),
        ("return 1", 1),
        ("click.get_current_context().exit(1)", 1),
        ("raise KeyboardInterrupt", 130),
        ("raise BrokenPipeError", 0),
        ("sys.stdout.write('x')", 0),
        (DESTROYED.format("SIGINT"), 130),
        (DESTROYED.format("SIGTERM"), 143),
    ],
)
def test_the_exit_status_is_the_commands(body, status):
    done = run_with_a_failing_command(body, "fail")
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.parametrize("stream", [1, 2])
def test_closed_standard_output_is_an_error_but_closed_standard_error_is_not(stream, tmp_path):
    """The file is complete in both cases: no message reaches it."""
    command = ["sh", "-c", f'"$@" {stream}>&-', "sh", PROGRAM, "predict", IRIS, LINEAR, tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == (2 if stream == 1 else 0)
    assert stream == 2 or done.stderr.endswith("Bad file descriptor\n")
    assert done.stderr.count("\n") == (stream == 1)
    assert (tmp_path / "out").read_bytes() == ran("predict", "-q", IRIS, LINEAR).stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_cannot_be_flushed_is_an_error():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, b"svmfast: No space left on device\n")


def test_names_of_any_bytes_are_printed_in_any_locale(tmp_path):
    name = os.fsencode(tmp_path) + b"/\xff\xe9\xc3\xbc.txt"
    os.symlink(IRIS, name)
    # Stricter than any locale.
    strict = {**os.environ, "PYTHONIOENCODING": "ascii:strict"}
    done = subprocess.run([PROGRAM, "bound-check", name], env=strict, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"data        " + os.fsencode(tmp_path) + rb"/\xff\xe9\xfc.txt: ")


@pytest.mark.parametrize(
    ("command", "words", "before"),
    [
        ("train ROWS out -q", "-c 10 -g 0.5", "-c 1 -g 9"),
        ("predict TEST EXACT out", "-b 1", "-b 0"),
        ("scale ROWS -o out", "-l 0", "-l -1"),
    ],
)
def test_the_last_value_counts(command, words, before, tmp_path):
    """As in LIBSVM's programs, for an option that is given twice."""
    places = {"EXACT": PROBABILITIES, "TEST": IRIS, "ROWS": data("iris.train")}

    def content(*options):
        ran(*(places.get(word, word) for word in command.split()), *options, cwd=tmp_path)
        return (tmp_path / "out").read_bytes()

    once = content(*words.split())
    assert content(*before.split(), *words.split()) == once
    assert content(*before.split()) != once


@pytest.mark.parametrize("name", [None, *commands()])
def test_every_command_has_a_manual_page(name):
    """It names no file that an installation lacks."""
    text = manual_page(program, name)
    assert all(f".SH {part}" in text for part in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"))
    assert not re.search(r"\b(docs|scripts|tests|fixtures)/|\.md\b", text.replace("\\", ""))
    assert name != "predict" or "\\-\\-out\\-dir" in text


def test_what_the_program_prints_about_itself(monkeypatch):
    def printed(*words):
        return ran(*words).stdout.decode()

    assert printed("--man", "predict") == manual_page(program, "predict") != printed("--man")
    assert json.loads(printed("--show-schema")) == schema()
    assert printed("--show-makefile") == (ROOT / "svmfast/cli/pipeline.mk").read_text()
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "complete --no-files --command svmfast" in printed("--show-completion")
    assert "compdef" in printed("--show-completion", "zsh")


@pytest.mark.parametrize(
    ("typed", "found"), [("svmfast appr", "approximate"), ("svmfast predict --tol", "--tolerance")]
)
def test_bash_completes(typed, found):
    """As in docs/command-line.md: the function that bash calls fills COMPREPLY."""
    last = len(typed.split()) - 1
    script = 'complete() { :; }; compopt() { :; }; eval "$(svmfast --show-completion bash)"; '
    script += f"COMP_WORDS=({typed}); COMP_CWORD={last}; _svmfast_completion svmfast; "
    script += 'printf "%s\\n" "${COMPREPLY[@]}"'
    known = {"PATH": f"{PROGRAM.parent}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=known)
    assert done.stdout.split() == [found], done.stderr


@pytest.mark.parametrize(
    ("module", "words", "line"),
    [
        ("distributed", "predict --out-dir out --dask local:1 MODEL ROWS", "pip install 'svmfast[dask]'"),
        ("libsvm", "train ROWS out", "pip install 'svmfast[train]' (needs a C++ compiler)"),
        (
            "onnx",
            "export MODEL --to onnx -o out",
            "onnx, which is not installed; pip install 'svmfast[onnx]'",
        ),
        ("pyarrow", "info TABLE", "are read and written by pyarrow, which is not installed; pip install"),
        ("sklearn", "dcpred --task svc ROWS -o out", "pip install scikit-learn"),
        ("skops", "import ESTIMATOR -o out", "skops, which is not installed; pip install 'svmfast[sklearn]'"),
    ],
)
def test_missing_dependencies_are_one_line(module, words, line, tmp_path):
    places = {"ROWS": data("iris.train"), "ESTIMATOR": SVM, "MODEL": LINEAR, "TABLE": tmp_path / "rows.csv"}
    places["TABLE"].write_text("label,a\n1,2\n")
    words = [places.get(word, word) for word in words.split()]
    script = (
        "import sys; sys.modules[sys.argv.pop(1)] = None; from svmfast.cli.main import console; console()"
    )
    command = [sys.executable, "-c", script, module, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1
