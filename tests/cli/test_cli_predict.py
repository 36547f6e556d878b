"""`svmfast predict`: svm-predict's output, and the features that svm-predict lacks."""

from __future__ import annotations

import contextlib
import csv
import gzip
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from program import FIXTURES, data, model, started, svmfast

from svmfast.cli.main import run


def golden_runs() -> list[tuple[str, list[str]]]:
    """Return every run of svm-predict in the fixtures' manifest: its output's name and its arguments."""
    runs = []
    with (FIXTURES / "MANIFEST.tsv").open(newline="") as lines:
        for entry in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            program, *args = entry["command"].split(" ")
            if program == "svm-predict" and ">" not in args and "precomputed" not in entry["file"]:
                runs.append((entry["file"], args[:-1]))
    return runs


GOLDEN = golden_runs()


def test_the_manifest_lists_runs() -> None:
    assert len(GOLDEN) > 50


@pytest.mark.parametrize(("output", "args"), GOLDEN, ids=[output for output, _ in GOLDEN])
def test_output_and_messages_are_those_of_svm_predict(
    output: str,
    args: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.chdir(FIXTURES)
    assert run(["predict", *args, str(tmp_path / "out")]) == 0
    captured = capfdbinary.readouterr().out
    assert (tmp_path / "out").read_bytes() == (FIXTURES / output).read_bytes()
    assert captured == (FIXTURES / output).with_suffix(".stdout").read_bytes()


def test_arguments_options_and_streams_of_the_program(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = svmfast("predict", "-b", "1", data("breast.test"), model("breast_c_rbf_prob"), out)
    golden = FIXTURES / "golden" / "breast_c_rbf_prob.b1"
    assert done.returncode == 0
    assert done.stdout == golden.with_suffix(".b1.stdout").read_bytes()
    assert out.read_bytes() == golden.with_suffix(".b1.out").read_bytes()
    differing = int(done.stderr.split(b" of ")[0].removeprefix(b"svmfast: "))
    voted = (FIXTURES / "golden" / "breast_c_rbf_prob.out").read_text().split()
    probable = [line.split()[0] for line in out.read_text().splitlines()[1:]]
    assert differing == sum(map(str.__ne__, voted, probable))


def test_accuracy_goes_to_stderr_if_predictions_go_to_stdout() -> None:
    done = svmfast("predict", data("iris.test"), model("iris_c_linear"))
    assert done.stdout == (FIXTURES / "golden" / "iris_c_linear.out").read_bytes()
    assert done.stderr == (FIXTURES / "golden" / "iris_c_linear.stdout").read_bytes()
    assert svmfast("predict", "-q", data("iris.test"), model("iris_c_linear")).stderr == b""


def test_quiet_prints_nothing(tmp_path: Path) -> None:
    done = svmfast("predict", "-q", "-b", "1", data("iris.test"), model("iris_c_rbf_prob"), tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_standard_input_and_compressed_data(tmp_path: Path) -> None:
    text = data("breast.test").read_bytes()
    packed = tmp_path / "data"
    packed.write_bytes(gzip.compress(text))
    golden = (FIXTURES / "golden" / "breast_c_rbf.out").read_bytes()
    assert svmfast("predict", "-", model("breast_c_rbf"), stdin=text).stdout == golden
    assert svmfast("predict", packed, model("breast_c_rbf")).stdout == golden
    assert (
        svmfast("predict", data("breast.test"), "-", stdin=model("breast_c_rbf").read_bytes()).stdout
        == golden
    )


def test_any_number_of_threads_gives_the_same_bytes() -> None:
    one, three = (
        svmfast(
            "predict", "-j", n, "--decision-values", data("digits.test"), model("digits_c_rbf_prob")
        ).stdout
        for n in ("1", "3")
    )
    assert one == three
    assert len(one.splitlines()) == 301


def test_decision_values_decide_the_labels() -> None:
    done = svmfast("predict", "--decision-values", data("iris.test"), model("iris_c_linear"))
    header, *lines = done.stdout.decode().splitlines()
    label, *pairs = header.split()
    assert label == "label"
    assert len(pairs) == 3
    for line in lines:
        got, *values = line.split()
        votes = [
            pair.split("/")[0 if float(value) > 0 else 1] for pair, value in zip(pairs, values, strict=True)
        ]
        assert votes.count(got) == max(map(votes.count, votes))
    regression = svmfast("predict", "--decision-values", data("diabetes.test"), model("diabetes_eps_linear"))
    first, *values = regression.stdout.decode().splitlines()
    assert first == "label decision"
    assert all(line.split()[0] == line.split()[1] for line in values)


def test_unknown_features_are_counted_and_named() -> None:
    done = svmfast("predict", data("iris_extra.test"), model("iris_c_linear"))
    rows = data("iris_extra.test").read_text().splitlines()
    indices = [[int(pair.split(":")[0]) for pair in row.split()[1:]] for row in rows]
    beyond = sum(max(row) > 4 for row in indices)
    assert beyond > 0
    expected = (
        f"svmfast: {beyond} of 50 rows have features that the model does not have "
        f"(index up to {max(map(max, indices))}, the model has 4)"
    )
    assert expected in done.stderr.decode()


def test_input_is_answered_line_by_line_as_it_arrives() -> None:
    rows = data("iris.test").read_bytes().splitlines(keepends=True)
    golden = (FIXTURES / "golden" / "iris_c_linear.out").read_bytes().splitlines(keepends=True)
    with started("predict", "-q", "-", model("iris_c_linear")) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        # If a line were not answered before the next one is sent, this would hang until the time limit.
        for row, answer in zip(rows[:5], golden[:5], strict=True):
            process.stdin.write(row)
            process.stdin.flush()
            assert process.stdout.readline() == answer
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 0


def test_a_closed_pipe_ends_an_endless_input_with_0() -> None:
    row = data("iris.test").read_bytes().splitlines(keepends=True)[0]
    with started("predict", "-", model("iris_c_linear")) as process:
        assert process.stdout is not None
        assert process.stderr is not None

        def feed() -> None:
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError, ValueError):
                while True:
                    process.stdin.write(row * 1000)

        feeder = threading.Thread(target=feed)
        feeder.start()
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait() == 0
        assert process.stderr.read() == b""
        feeder.join()


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_predict_and_leaves_no_file(sent: signal.Signals, status: int, tmp_path: Path) -> None:
    with started("predict", "-q", "-", model("iris_c_linear"), tmp_path / "out") as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(data("iris.test").read_bytes())
        process.stdin.flush()
        while not list(tmp_path.iterdir()) and process.poll() is None:  # until the output is open
            time.sleep(0.01)
        process.send_signal(sent)
        assert process.wait() == status
        assert process.stderr.read() == b""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (b"1 1:0.5 2:x\n", "1: "),
        (b"1 1:0.5\n" * 3 + b"1 2:1 1:1\n", "4: "),
        (b"", " "),
    ],
)
def test_bad_data_is_one_line_and_keeps_the_old_output(tmp_path: Path, text: bytes, where: str) -> None:
    bad, out = tmp_path / "bad.txt", tmp_path / "out"
    bad.write_bytes(text)
    out.write_bytes(b"precious")
    done = svmfast("predict", bad, model("iris_c_linear"), out)
    assert done.returncode == 2
    lines = done.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"{bad}:{where}")
    assert done.stdout == b""
    assert out.read_bytes() == b"precious"
    assert sorted(tmp_path.iterdir()) == [bad, out]


def test_a_bad_model_keeps_the_old_output(tmp_path: Path) -> None:
    bad, out = tmp_path / "bad.model", tmp_path / "out"
    bad.write_bytes(model("iris_c_linear").read_bytes()[:300])
    out.write_bytes(b"precious")
    done = svmfast("predict", data("iris.test"), bad, out)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"{bad}:")
    assert out.read_bytes() == b"precious"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("-b", "1", data("iris.test"), model("iris_c_linear")), "does not support probability estimates"),
        (("-b", "2", data("iris.test"), model("iris_c_linear")), "'2' is not 0 or 1"),
        ((data("precomputed.test"), model("iris_precomputed")), "precomputed"),
        ((data("iris.test"),), "Missing argument 'MODEL'"),
        (("-", "-"), "standard input can be read only once: '-' is for DATA, MODEL"),
        ((data("iris.test"), "missing.model"), "missing.model"),
        (("missing.txt", model("iris_c_linear")), "missing.txt: cannot be read: No such file"),
        (("--bound", data("iris.test"), model("iris_c_linear")), "no validity bound"),
        (("-j", "0", data("iris.test"), model("iris_c_linear")), "jobs"),
        ((data("iris.test"), model("iris_c_linear"), "/nonexistent/out"), "/nonexistent/out"),
    ],
)
def test_misuse_is_one_line_and_exit_2(args: tuple[str | Path, ...], message: str) -> None:
    done = svmfast("predict", *args)
    assert done.returncode == 2
    assert len(done.stderr.decode().splitlines()) == 1
    assert message in done.stderr.decode()
    assert done.stdout == b""


def test_a_remark_on_the_most_probable_label_only_if_it_matters() -> None:
    remark = b"the most probable label (-b 1) is not the label of the vote"
    for name, rows in (("iris", b""), ("breast", b"8 of 189 rows: ")):
        done = svmfast("predict", "-b", "1", data(f"{name}.test"), model(f"{name}_c_rbf_prob"), os.devnull)
        assert done.returncode == 0
        assert (rows + remark in done.stderr) if rows else (remark not in done.stderr)


def test_a_full_device_is_an_error() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    done = svmfast("predict", data("iris.test"), model("iris_c_linear"), "/dev/full")
    assert done.returncode == 2
    assert b"/dev/full" in done.stderr


def test_predict_imports_only_what_it_needs() -> None:
    script = (
        "import sys; import numpy; given = set(sys.modules);"  # NumPy 1 brings json
        "from svmfast.cli.main import run;"
        f"status = run(['predict', {str(data('iris.test'))!r}, {str(model('iris_c_linear'))!r}]);"
        "bad = {'scipy', 'sklearn', 'rich', 'libsvm', 'json', 'csv', 'lzma', 'bz2'};"
        "bad &= set(sys.modules) - given;"
        "sys.exit(repr(bad) if bad else status)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True)
    assert (done.returncode, done.stderr.splitlines()[1:]) == (0, [])
