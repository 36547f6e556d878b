"""A reader that closes its pipe early: files are still written, and the exit status is the same."""

import subprocess

import pytest
from every_command import COMMAND_OF, INPUTS, RUNS, inputs, outputs, words
from program import PROGRAM, data, model, nobody, svmfast

from svmfast.formats.model_files import load_model

IRIS, EXACT = data("iris.test"), model("iris_c_rbf_prob")


def run(*arguments, unread=("stdout",)):
    """Run svmfast with a closed pipe as stdout, or as other streams; return the status and stderr."""
    done = svmfast(*arguments, unread=unread)
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
    assert (tmp_path / "out").read_bytes() == svmfast("predict", "-q", *more.split(), rows, exact).stdout


def test_the_exit_status_is_kept_and_a_command_that_only_prints_ends():
    assert run("bound-check", data("iris.train"), "--model", EXACT)[0] == 1
    assert run("info", EXACT)[0] == 0
    assert run("info", "missing", unread=("stdout", "stderr"))[0] == 2
    assert run("predict", "-q", IRIS, EXACT) == (0, b"")
    assert run("train", "-q", IRIS, "-") == (0, b"")
    assert run("linear", "-q", IRIS, "-o", "/dev/stdout") == (0, b"")


def test_another_pipe_that_nobody_reads_is_an_error():
    """Only standard output may be cut short; in another pipe the output would be missing."""
    with nobody() as pipe:
        place = f"/dev/fd/{pipe.fileno()}"
        command = [PROGRAM, "predict", "-q", IRIS, EXACT, place]
        done = subprocess.run(command, pass_fds=[pipe.fileno()], capture_output=True)
    line = f"svmfast: {place}: cannot be written: Broken pipe\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", line)
