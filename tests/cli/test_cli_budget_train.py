"""`svmfast budget-train` as a program: files, lines, signals, refusals."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess

import numpy as np
import pytest
from command import svmfast
from program import PATIENCE, PROGRAM, cli_runner, data

from svmfast.cli.main import program
from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight, write_svmlight
from svmfast.rows import Rows

BREAST = data("breast.train")


def stderr_of(result):
    return result.stderr.decode()


def accuracy(model, name="breast"):
    test = read_svmlight(data(f"{name}.test"))
    made = load_model(model)
    return np.mean(made.head.predict(made.decision_values(test.rows)) == test.labels)


def test_trains_into_the_current_folder_and_reports(tmp_path):
    done = svmfast("budget-train", "-c", "10", "-g", "0.05", "-B", "20", BREAST, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    assert [path.name for path in tmp_path.iterdir()] == ["breast.train.budget-train.model"]
    assert accuracy(tmp_path / "breast.train.budget-train.model") > 0.95


def test_json_and_quiet(tmp_path):
    model = tmp_path / "m"
    done = svmfast(
        "budget-train", "-g", "0.05", "-B", "9", "--passes", "3", "--json",
        "--validate", data("breast.test"), BREAST, model,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["support_vectors"] == 9
    assert report["steps"] == 3 * 380
    assert report["bytes"] == model.stat().st_size
    assert 0 < report["merge_frequency"] < 1
    assert report["validation"]["accuracy"] == pytest.approx(100 * accuracy(model))
    done = svmfast("budget-train", "-q", BREAST, model)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_model_may_be_standard_output_and_data_a_compressed_pipe(tmp_path):
    arguments = ("budget-train", "-g", "0.05", "-B", "12", "-q")
    model = tmp_path / "m"
    svmfast(*arguments, BREAST, model)
    piped = svmfast(*arguments, "-", "-", stdin=gzip.compress(BREAST.read_bytes()))
    assert piped.stdout == model.read_bytes()
    assert svmfast(*arguments, "-j", "1", BREAST, "-").stdout == model.read_bytes()
    assert svmfast(*arguments, "--seed", "1", BREAST, "-").stdout != model.read_bytes()


def test_options_reach_the_model(tmp_path):
    def trained(*extra, gamma="0.05", rows=BREAST):
        model = tmp_path / "m"
        arguments = ["-g", gamma, "-B", "15", "-q", *extra, str(rows), str(model)]
        cli_runner().invoke(program, ["budget-train", *arguments], catch_exceptions=False)
        return model.read_bytes()

    plain = trained()
    for extra in (
        ("-c", "3"), ("--lambda", "0.1"), ("--passes", "4"), ("--bias",), ("--no-bias",),
        ("--keep", "last"), ("-w1", "4"), ("-b", "1"),
    ):  # fmt: skip
        assert trained(*extra) != plain, extra
    n = 380
    assert trained("-c", "2") == trained("--lambda", repr(1 / (n * 2.0)))
    assert b"probA" in trained("-b", "1")
    wide = trained("-s", "3", "-p", "5", "-b", "1", gamma="0", rows=data("diabetes.train"))
    assert wide.startswith(b"svm_type epsilon_svr\n")
    assert b"probA" in wide
    assert wide != trained("-s", "3", "-p", "1", "-b", "1", gamma="0", rows=data("diabetes.train"))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 8)).round(3)
    y = np.where((x**2).sum(axis=1) + rng.normal(0, 1, 20_000) > 7.5, 1, -1)
    path = tmp_path_factory.mktemp("large") / "large.txt"
    write_svmlight(path, Rows.from_dense(x), y)
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_ignored_by_the_parent_is_ignored(number, large, tmp_path):
    """As for a background job of a script, or under nohup."""
    rows = tmp_path / "rows"
    os.mkfifo(rows)
    process = subprocess.Popen(
        [PROGRAM, "budget-train", "-q", "-B", "9", rows, "m"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )
    with rows.open("wb") as pipe:  # once the program has opened it
        process.send_signal(number)
        pipe.write(BREAST.read_bytes())
    assert process.communicate(timeout=60 * PATIENCE)[1] == b""
    assert process.returncode == 0
    assert (tmp_path / "m").exists()


def test_streamed_data_gives_the_same_bytes_for_any_pieces(large, tmp_path):
    run = ("budget-train", "-c", "10", "-g", "0.1", "-B", "30", "--passes", "2", "--memory", "1M")
    done = svmfast(*run, large, tmp_path / "m")
    assert "working sets from a temporary file" in stderr_of(done)
    piped = svmfast(*run, "-q", "-j", "1", "-", "-", stdin=large.read_bytes())
    assert piped.stdout == (tmp_path / "m").read_bytes()
