"""`svmfast budget-train` as a program: files, lines, signals, refusals."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess

import numpy as np
import pytest
from program import PATIENCE, PROGRAM, cli_runner, data, svmfast

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
    report = stderr_of(done)
    for line in (
        r"^data        380 rows, 30 features, 2 classes, 1 decision function$",
        r"^problem     gamma 0\.05, lambda 0\.000263158$",
        r"^steps       3,800, [0-9.]+ % of them with a full budget$",
        r"^model       20 support vectors$",
        r"^written      breast\.train\.budget-train\.model, [0-9,]+ bytes, [0-9.]+ s$",
    ):
        assert re.search(line, report, re.M), line


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


def test_one_thread_and_two_write_the_same_bytes():
    for name, more in (("digits", ()), ("breast", ("-b", "1")), ("diabetes", ("-s", "3", "--bias"))):
        run = ("budget-train", "-c", "10", "-g", "0.02", "-B", "12", "-q", *more, data(f"{name}.train"), "-")
        one, two = (svmfast(*run, "-j", jobs).stdout for jobs in ("1", "2"))
        assert one.startswith(b"svm_type")
        assert one == two, name


@pytest.mark.parametrize("merge", ["lookup-wd", "lookup-h", "gss", "gss-precise", "remove", "project"])
def test_every_way_to_keep_the_budget_works(merge, tmp_path):
    model = tmp_path / "m"
    arguments = ["-c", "10", "-g", "0.05", "-B", "15", "--merge", merge, str(BREAST), str(model)]
    done = cli_runner().invoke(program, ["budget-train", *arguments], catch_exceptions=False)
    assert re.search(r"^steps  .* [1-9][0-9.]* % of them with a full budget$", done.stderr, re.M)
    assert accuracy(model) > 0.93


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-v", "3", "DATA"), "svmfast budget-train: No such option '-v'; see"),
        (("--checkpoint", "c", "DATA", "m"), "svmfast budget-train: No such option '--checkpoint'; see"),
        (("--verbose", "DATA", "m"), "svmfast budget-train: No such option '--verbose'; see"),
        (("-",), "svmfast: DATA is standard input, so the model needs a name; give --output"),
        (
            ("--validate", "-", "-", "m"),
            "svmfast: standard input can be read only once: '-' is for DATA, --validate",
        ),
        (("--json", "DATA", "-"), "svmfast: MODEL and --json cannot both go to standard output"),
        (("DATA", "DATA"), "svmfast: MODEL is DATA itself, 'DATA'; it would be lost"),
        (("--validate", "HALF", "DATA", "HALF"), "svmfast: MODEL is --validate itself, 'HALF'"),
        (("DATA", "LINK"), "svmfast: MODEL is DATA itself, 'LINK'; it would be lost"),
        (
            ("-c", "1", "--lambda", "1", "DATA", "m"),
            "svmfast: -c and --lambda both set the regularization; give one of them",
        ),
        (
            ("-c", "-1", "DATA", "m"),
            "svmfast budget-train: Invalid value for '-c': '-1' is not a finite decimal number above 0; see",
        ),
        (
            ("-w", "2", "DATA", "m"),
            "svmfast budget-train: '-w': the label belongs to the name, as in -w1 5 -w-1 2; "
            "or -w balanced; see 'svmfast budget-train --help'",
        ),
        (
            ("--memory", "10k", "DATA", "m"),
            "svmfast: 10,240 bytes of memory for training rows; at least 1,048,576 are needed",
        ),
        (
            ("-B", "100000", "--memory", "1M", "DATA", "m"),
            "svmfast: training 1 times 100,000 vectors with 30 features needs 24,001,920 bytes, "
            "the limit is 1,048,576; choose a smaller budget or allow more memory",
        ),
        (("missing", "m"), "missing: cannot be read: No such file or directory"),
        (("HALF", "m"), "HALF:3: class label is not an integer ('1.5'); "
         "expected integers for classes, or regression for real targets"),
    ],
)  # fmt: skip
def test_refusals(arguments, message, tmp_path):
    (tmp_path / "DATA").write_bytes(BREAST.read_bytes())
    (tmp_path / "LINK").symlink_to("DATA")
    (tmp_path / "HALF").write_text("1 1:1\n2 1:2\n1.5 1:3\n")
    before = sorted(p.name for p in tmp_path.iterdir())
    done = svmfast("budget-train", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert stderr_of(done).splitlines()[-1].startswith(message)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_an_unwritable_output_is_refused_before_training(tmp_path):
    done = svmfast("budget-train", "--passes", "100000000", BREAST, tmp_path / "no" / "m", timeout=20)
    assert done.returncode == 2
    assert "cannot be written" in stderr_of(done)
    assert list(tmp_path.iterdir()) == []
