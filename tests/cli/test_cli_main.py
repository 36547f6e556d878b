"""The program around the commands: help without NumPy, exit statuses, errors in one line."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from program import PROGRAM, data, model, svmfast

import svmfast as package
from svmfast.cli import main
from svmfast.errors import InputError, OptionError


def test_version_is_that_of_the_distribution() -> None:
    done = svmfast("--version")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == f"svmfast {importlib.metadata.version('svmfast')}\n"
    assert package.__version__ == importlib.metadata.version("svmfast")


def test_help_lists_every_command_with_its_summary() -> None:
    lines = svmfast("--help").stdout.decode().splitlines()
    for name, (_, summary) in main.commands().items():
        assert any(line.split() == [name, *summary.split()] for line in lines), name


@pytest.mark.parametrize("name", main.commands())
def test_textual_defaults_have_brackets_and_no_parentheses(name: str) -> None:
    printed = " ".join(svmfast(name, "--help").stdout.decode().split())
    assert "[default: (" not in printed
    if name == "dcpred":
        assert "[default: 1/number of features; in a conversion that of the model]" in printed
    if name == "approximate":
        assert "(default: NAME.approximate.model in the current folder, NAME from MODEL)." in printed


def test_remarks_begin_with_the_programs_name(tmp_path: Path) -> None:
    words = ("approximate", model("iris_c_rbf_prob"), "--order", "6", "-o", tmp_path / "out")
    errors = svmfast(*words).stderr.decode().splitlines()
    assert any(line.startswith("svmfast: the file grew from ") for line in errors)
    assert not any("warning:" in line for line in errors)
    rows = tmp_path / "rows"
    rows.write_text("1 1:1\n1 1:2\n1 1:3\n")
    errors = svmfast("train", "-g", "1", rows, tmp_path / "trained").stderr.decode().splitlines()
    assert f"svmfast: {rows}: all rows have label 1: the model will always predict that" in errors


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
    assert main.run(["train", "-h", rows]) == 2
    assert "Invalid value for '-h'" in capsys.readouterr().err
    assert main.run(["train", "-q", "-h", "0", rows, str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").exists()


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_import_no_numpy_and_no_command(argument: str) -> None:
    script = (
        f"import sys; from svmfast.cli.main import run; run([{argument!r}]);"
        "loaded = [m for m in sys.modules if m.split('.')[0] in ('numpy', 'scipy', 'rich', 'sklearn')"
        " or (m.startswith('svmfast.cli.')"
        " and m.split('.')[2] not in ('main', 'messages', 'parsing', 'signals'))];"
        "sys.exit(repr(loaded) if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_python_m_svmfast() -> None:
    done = subprocess.run([sys.executable, "-m", "svmfast", "--version"], capture_output=True)
    assert done.stdout == svmfast("--version").stdout


def test_no_command_is_a_usage_error_with_the_help_on_stderr() -> None:
    done = svmfast()
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == svmfast("--help").stdout


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["predikt"], "svmfast: No such command 'predikt'; see 'svmfast --help'"),
        (
            ["dcpred", "exact.model", "rows"],
            "svmfast dcpred: Got unexpected extra argument (rows); usage: svmfast dcpred [OPTIONS] DATA; "
            "see 'svmfast dcpred --help'",
        ),
        (["--frobnicate"], "svmfast: No such option '--frobnicate'; see 'svmfast --help'"),
        (["predict"], "svmfast predict: Missing argument 'DATA'; see 'svmfast predict --help'"),
        (
            ["predict", "--model", "m"],
            "svmfast predict: No such option '--model'; see 'svmfast predict --help'",
        ),
        (
            ["compare", "--candidate", "m"],
            "svmfast compare: No such option '--candidate'; see 'svmfast compare --help'",
        ),
        (
            ["train", "--gama", "1"],
            "svmfast train: No such option '--gama'; did you mean '--gamma'?; see 'svmfast train --help'",
        ),
        (
            ["compress", "--max", "1k"],
            "svmfast compress: No such option '--max'; did you mean '--max-diff' or '--max-bytes'?; see "
            "'svmfast compress --help'",
        ),
        (
            ["compress", "--ratoi", "5%"],
            "svmfast compress: No such option '--ratoi'; did you mean '--ratio'?; see "
            "'svmfast compress --help'",
        ),
        (["info", "--model"], "svmfast info: No such option '--model'; see 'svmfast info --help'"),
        (["info", "-x"], "svmfast info: No such option '-x'; see 'svmfast info --help'"),
    ],
)
def test_usage_errors_are_one_line(args: list[str], line: str) -> None:
    done = svmfast(*args)
    assert done.returncode == 2
    assert done.stderr.decode() == line + "\n"


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


@pytest.mark.parametrize("link", [os.link, os.symlink])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "DATA", "MODEL", "DATA"], "svmfast: OUTPUT is DATA itself, '{}'; it would be lost"),
        (["predict", "DATA", "MODEL", "MODEL"], "svmfast: OUTPUT is MODEL itself, '{}'; it would be lost"),
        (
            ["approximate", "MODEL", "-o", "MODEL"],
            "svmfast: --output is MODEL itself, '{}'; it would be lost",
        ),
        (["train", "-q", "DATA", "DATA"], "svmfast: MODEL is DATA itself, '{}'; it would be lost"),
    ],
)
def test_an_input_is_never_overwritten(
    tmp_path: Path, link: Callable[[Path, Path], None], words: list[str], message: str
) -> None:
    files = {"DATA": tmp_path / "d", "MODEL": tmp_path / "m"}
    shutil.copy(data("iris.test"), files["DATA"])
    shutil.copy(model("iris_c_poly3"), files["MODEL"])
    before = {name: path.read_bytes() for name, path in files.items()}
    other = tmp_path / "other"
    link(files[words[-1]], other)
    done = svmfast(*(files.get(word, word) for word in words[:-1]), other)
    assert (done.returncode, done.stderr.decode()) == (2, message.format(other) + "\n")
    assert {name: path.read_bytes() for name, path in files.items()} == before


def test_shell_completion() -> None:
    script = subprocess.run(
        [PROGRAM], env={"_SVMFAST_COMPLETE": "bash_source"}, capture_output=True, text=True
    ).stdout
    assert "_SVMFAST_COMPLETE=bash_complete" in script
    done = subprocess.run(
        [PROGRAM],
        env={"_SVMFAST_COMPLETE": "bash_complete", "COMP_WORDS": "svmfast pre", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "plain,predict\n"


@pytest.mark.parametrize("name", list(main.commands()))
def test_every_command_has_a_help_text(name: str) -> None:
    done = svmfast(name, "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert text.startswith(f"Usage: svmfast {name} ")
    assert "`" not in text
    command = main.program.get_command(click.Context(main.program), name)
    assert command is not None
    for param in command.params:
        if isinstance(param, click.Option):
            assert param.help, param.name
            assert any(option in text for option in param.opts), param.name


def test_data_and_model_names_are_shown_as_given() -> None:
    assert (
        svmfast("predict", data("iris.test"), model("missing"))
        .stderr.decode()
        .startswith(str(model("missing")))
    )


def test_prediction_starts_without_the_methods_declarations(tmp_path: Path) -> None:
    words = ["predict", "-q", "--decision-values", data("iris.test"), model("iris_c_rbf_prob")]
    words.append(tmp_path / "out")
    done = subprocess.run(
        [sys.executable, "-X", "importtime", PROGRAM, *words], capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "svmfast.commands.predictor" in imported
    assert not [name for name in imported if name.startswith("svmfast.methods")]
