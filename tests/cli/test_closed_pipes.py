"""A reader that closes its pipe early: files are still written, and the exit status is the same."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from every_command import COMMAND_OF, INPUTS, RUNS, inputs, outputs, words
from program import PROGRAM, data, model, nobody, svmfast

from svmfast.formats.model_files import load_model


def run(arguments: Sequence[str | Path], *, stderr: bool = False) -> subprocess.CompletedProcess[bytes]:
    """Run svmfast with a closed pipe as stdout and, if requested, as stderr."""
    return svmfast(*arguments, unread=("stdout", "stderr") if stderr else ("stdout",))


@pytest.mark.parametrize("name", [name for name in RUNS if outputs(name)])
def test_files_are_written_if_nobody_reads_the_printed_text(name: str, tmp_path: Path) -> None:
    out, saved = tmp_path / "out", tmp_path / "saved"
    arguments = words(name, {"OUT": out, "SAVED": saved})
    assert run(arguments, stderr=True).returncode == (1 if name == "frontier" else 0)
    if name == "frontier":
        assert (out / "report.json").stat().st_size
    elif COMMAND_OF[name] in ("predict", "scale"):
        assert out.read_bytes().count(b"\n") == INPUTS[inputs(name)[0]].read_bytes().count(b"\n")
    elif name.startswith("export") and "libsvm" not in RUNS[name]:
        assert out.read_bytes().endswith(b"#endif\n")
    else:
        load_model(out)
    assert saved.exists() == ("SAVED" in outputs(name))


@pytest.mark.parametrize("more", [[], ["-b", "1"]])
def test_predict_prints_before_it_writes(more: list[str], tmp_path: Path) -> None:
    """For a model with probabilities svm-predict's first line comes before the file exists."""
    names = ("iris", "diabetes_eps") if more else ("iris",)
    for name in names:
        rows, exact = data(f"{name.split('_')[0]}.test"), model(f"{name}_c_rbf_prob".replace("eps_c", "eps"))
        out = tmp_path / name
        assert run(["predict", *more, rows, exact, out]).returncode == 0
        assert out.read_bytes() == svmfast("predict", "-q", *more, rows, exact).stdout


def test_the_exit_status_of_a_verdict_is_kept() -> None:
    assert run(["bound-check", data("iris.train"), "--model", model("iris_c_rbf_prob")]).returncode == 1
    assert run(["info", model("iris_c_rbf_prob")]).returncode == 0
    done = run(["info", "missing"], stderr=True)
    assert done.returncode == 2


def test_a_closed_stdout_ends_a_command_that_only_prints() -> None:
    for arguments in (
        ["predict", "-q", data("iris.test"), model("iris_c_rbf_prob")],
        ["train", "-q", data("iris.train"), "-"],
        ["linear", "-q", data("iris.train"), "-o", "/dev/stdout"],
    ):
        done = run(arguments)
        assert (done.returncode, done.stderr) == (0, b"")


def test_another_pipe_that_nobody_reads_is_an_error() -> None:
    """Only standard output may be cut short; in another pipe the output would be missing."""
    with nobody() as pipe:
        place = f"/dev/fd/{pipe.fileno()}"
        done = subprocess.run(
            [PROGRAM, "predict", "-q", data("iris.test"), model("iris_c_rbf_prob"), place],
            pass_fds=[pipe.fileno()],
            capture_output=True,
        )
    line = f"svmfast: {place}: cannot be written: Broken pipe\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", line)
