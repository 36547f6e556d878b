"""`svmfast budget-train` as a program: files, lines, interrupts, continuation, refusals."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import time

import numpy as np
import pytest
from program import PATIENCE, PROGRAM, cli_runner, data, started, svmfast

from svmfast.cli.main import program
from svmfast.errors import CheckpointError, FileAccessError
from svmfast.formats.checkpoint import CheckpointFile
from svmfast.formats.detect import load_model
from svmfast.formats.svmlight import read_svmlight, write_svmlight
from svmfast.methods.budget.training import difference
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
        r"^steps       3,800 in 10 passes, [0-9,]+ per second and core; .* budget of 20$",
        r"^lookup-wd   [0-9,]+ times, [0-9.]+ % of the steps; total weight degradation [0-9.e+]+$",
        r"^refit       objective .* in \d+ Newton steps, [0-9.]+ s; (not )?returned",
        r"^compared    on 380 training rows: iterate [0-9.]+, returned [0-9.]+ % wrong$",
        r"^model       20 support vectors$",
        r"^written      breast\.train\.budget-train\.model, [0-9,]+ bytes, [0-9.]+ s$",
    ):
        assert re.search(line, report, re.M), line


def test_json_quiet_and_verbose(tmp_path):
    model = tmp_path / "m"
    done = svmfast(
        "budget-train", "-g", "0.05", "-B", "9", "--passes", "3", "--verbose", "--json",
        "--validate", data("breast.test"), BREAST, model,
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert report["support_vectors"] == 9
    assert report["steps"] == 3 * 380
    assert report["bytes"] == model.stat().st_size
    assert report["merge_frequency"] == report["maintained"] / report["steps"]
    assert report["validation"]["accuracy"] == pytest.approx(100 * accuracy(model))
    passes = re.findall(
        r"^pass (\d)/3, [0-9,]+ steps/s, budget 9/9, [0-9.]+% of steps merge, "
        r"accuracy [0-9.]+%, balanced accuracy [0-9.]+%, ROC AUC [0-9.]+$",
        stderr_of(done),
        re.M,
    )
    assert passes == ["1", "2", "3"]
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


def test_cross_validation_prints_the_lines_of_svm_train(tmp_path):
    done = svmfast("budget-train", "-v", "5", "-g", "0.05", BREAST, cwd=tmp_path)
    found = re.fullmatch(
        rb"Cross Validation Accuracy = ([0-9.]+)%\nbalanced accuracy [0-9.]+%; recall .*\n", done.stdout
    )
    assert found
    assert float(found[1]) > 94
    assert list(tmp_path.iterdir()) == []
    done = svmfast("budget-train", "-s", "3", "-v", "3", data("diabetes.train"))
    assert re.fullmatch(
        rb"Cross Validation Mean squared error = [0-9.e+]+\n"
        rb"Cross Validation Squared correlation coefficient = [0-9.e-]+\n",
        done.stdout,
    )


@pytest.mark.parametrize("merge", ["lookup-wd", "lookup-h", "gss", "gss-precise", "remove", "project"])
def test_every_way_to_keep_the_budget_works(merge, tmp_path):
    model = tmp_path / "m"
    arguments = ["-c", "10", "-g", "0.05", "-B", "15", "--merge", merge, str(BREAST), str(model)]
    done = cli_runner().invoke(program, ["budget-train", *arguments], catch_exceptions=False)
    assert re.search(rf"^{merge} +[1-9][0-9,]* times", done.stderr, re.M)
    assert accuracy(model) > 0.93


def test_options_reach_the_model(tmp_path):
    def trained(*extra, gamma="0.05", rows=BREAST):
        model = tmp_path / "m"
        arguments = ["-g", gamma, "-B", "15", "-q", *extra, str(rows), str(model)]
        cli_runner().invoke(program, ["budget-train", *arguments], catch_exceptions=False)
        return model.read_bytes()

    plain = trained()
    for extra in (
        ("-c", "3"), ("--lambda", "0.1"), ("--passes", "4"), ("--bias",), ("--no-bias",), ("--keep", "best"),
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


@pytest.mark.parametrize(
    ("stop", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_interrupt_writes_the_checkpoint_and_resume_ends_at_the_same_bytes(stop, status, large, tmp_path):
    run = ("budget-train", "-c", "10", "-g", "0.1", "-B", "300", "--passes", "12", "-q", "--keep", "best")
    whole = svmfast(*run, large, "-").stdout
    model, state = tmp_path / "m", tmp_path / "state"
    safe = (*run, "--checkpoint", state, "--checkpoint-every", "30000")
    with started(*safe, large, model) as process:
        deadline = time.monotonic() + 30 * PATIENCE
        while not state.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(stop)
        _, stderr = process.communicate(timeout=60 * PATIENCE)
    assert process.returncode == status, stderr
    assert f"interrupted; the state is in {state}, continue with --resume" in stderr.decode()
    assert not model.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["state"]
    done = svmfast(*safe, "--resume", large, model)
    assert done.returncode == 0, stderr_of(done)
    assert model.read_bytes() == whole


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_ignored_by_the_parent_is_ignored(number, large, tmp_path):
    """As for a background job of a script, or under nohup."""
    run = (PROGRAM, "budget-train", "-c", "10", "-g", "0.1", "-B", "100", "--passes", "20", "-q")
    process = subprocess.Popen(
        [*run, "--checkpoint", "state", "--checkpoint-every", "30000", large, "m"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    )
    deadline = time.monotonic() + 30 * PATIENCE
    while not (tmp_path / "state").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None
    process.send_signal(number)
    assert process.communicate(timeout=60 * PATIENCE)[1] == b""
    assert process.returncode == 0
    assert (tmp_path / "m").exists()


def test_resume_starts_without_a_checkpoint_and_reports_one(tmp_path):
    run = ("budget-train", "-g", "0.05", "-B", "9", "--checkpoint", "state", "--resume", BREAST, "m")
    first = svmfast(*run, cwd=tmp_path)
    assert "going on" not in stderr_of(first)
    model = (tmp_path / "m").read_bytes()
    again = svmfast(*run, cwd=tmp_path)
    assert "svmfast: state: continuing after 3,800 rows" in stderr_of(again)
    assert (tmp_path / "m").read_bytes() == model


def test_streamed_data_gives_the_same_bytes_for_any_pieces(large, tmp_path):
    run = ("budget-train", "-c", "10", "-g", "0.1", "-B", "30", "--passes", "2", "--memory", "1M")
    done = svmfast(*run, large, tmp_path / "m")
    assert "working sets from a temporary file" in stderr_of(done)
    piped = svmfast(*run, "-q", "-j", "1", "-", "-", stdin=large.read_bytes())
    assert piped.stdout == (tmp_path / "m").read_bytes()
    state = ("--checkpoint", tmp_path / "s", "--checkpoint-every", "7000")
    assert svmfast(*run, "-q", *state, large, "-").stdout == piped.stdout
    refused = svmfast("budget-train", "-v", "3", "--memory", "1M", large)
    assert stderr_of(refused) == (
        "svmfast: cross validation needs all rows in memory; allow more with --memory\n"
    )


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    without_gamma = ("budget-train", "--checkpoint", "s", "--resume", "-q")
    run = (*without_gamma, "-g", "0.05")
    assert svmfast(*run, BREAST, "m", cwd=tmp_path).returncode == 0
    kept = (tmp_path / "m").read_bytes()
    for words, what in (
        (("-B", "50"), "--budget 100, this run has --budget 50"),
        (("-s", "3"), "--svm-type c_svc, this run has --svm-type epsilon_svr"),
        (("-c", "2"), "-c 1, this run has -c 2"),
        (("--lambda", "0.01"), "no --lambda, this run has --lambda 0.01"),
        (("-g", "0.5"), "--gamma 0.05, this run has --gamma 0.5"),
        (("-w1", "3", "-w-1", "0.5"), "no -w, this run has -w 1: 3, -1: 0.5"),
        (("-b", "1"), "no -b 1, this run has -b 1"),
        (("--no-bias",), "the default --bias, this run has no --bias"),
        (("--merge", "gss"), "--merge lookup-wd, this run has --merge gss"),
        (("--keep", "last"), "--keep refit, this run has --keep last"),
        (("--seed", "7"), "--seed 0, this run has --seed 7"),
        (("--validate", BREAST), "no --validate"),
    ):
        same = without_gamma if words[0] == "-g" else run
        other = svmfast(*same, *words, BREAST, "m", cwd=tmp_path)
        assert other.returncode == 2
        assert stderr_of(other).startswith(f"s: the checkpoint was written with {what}"), stderr_of(other)
        assert stderr_of(other).endswith("; without --resume the run starts over\n")
    other = svmfast(*run, data("iris.train"), "m", cwd=tmp_path)
    assert other.returncode == 2
    assert stderr_of(other) == (
        "s: the checkpoint was written with other training data; without --resume the run starts over\n"
    )
    assert difference("data", "9 rows, 4e5f, 1 working sets", "9 rows, 4e5f, 3 working sets") == (
        "another `memory`: 1 working sets, this run has 3 working sets"
    )
    again = ("budget-train", "-q", "--checkpoint", "v", "--resume", "--validate")
    assert svmfast(*again, BREAST, BREAST, "n", cwd=tmp_path).returncode == 0
    other = svmfast(*again, data("breast.test"), BREAST, "n", cwd=tmp_path)
    assert stderr_of(other).startswith("v: the checkpoint was written with other rows for --validate; ")
    other = svmfast(*again[:-1], BREAST, "n", cwd=tmp_path)
    assert stderr_of(other).startswith("v: the checkpoint was written with --validate; ")
    (tmp_path / "s").write_bytes((tmp_path / "s").read_bytes()[:-100])
    damaged = svmfast(*run, BREAST, "m", cwd=tmp_path)
    assert (damaged.returncode, stderr_of(damaged)) == (
        2, "s: not a complete checkpoint (BadZipFile: File is not a zip file); expected a file that "
        "--checkpoint wrote\n",
    )  # fmt: skip
    assert (tmp_path / "m").read_bytes() == kept


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-v", "3", "DATA", "m"), "svmfast: cross validation (--folds) writes no model; name no output"),
        (
            ("-v", "3", "--validate", "x", "DATA"),
            "svmfast: cross validation (--folds) only prints a score; leave out --validate and --checkpoint",
        ),
        (("-",), "svmfast: DATA is standard input, so the model needs a name; give --output"),
        (
            ("--validate", "-", "-", "m"),
            "svmfast: standard input can be read only once: '-' is for DATA, --validate",
        ),
        (("--json", "DATA", "-"), "svmfast: MODEL and --json cannot both go to standard output"),
        (("--resume", "DATA", "m"), "svmfast: --resume needs --checkpoint, the file to continue from"),
        (("DATA", "DATA"), "svmfast: MODEL is DATA itself, 'DATA'; it would be lost"),
        (("--validate", "HALF", "DATA", "HALF"), "svmfast: MODEL is --validate itself, 'HALF'"),
        (("--checkpoint", "HALF", "DATA", "HALF"), "svmfast: --checkpoint is MODEL itself, 'HALF'"),
        (("--checkpoint", "LINK", "DATA", "m"), "svmfast: --checkpoint is DATA itself, 'LINK'"),
        (
            ("--checkpoint", "HALF", "--validate", "HALF", "DATA", "m"),
            "svmfast: --checkpoint is --validate itself, 'HALF'; it would be lost",
        ),
        (
            ("--checkpoint", "-", "DATA", "m"),
            "svmfast: --checkpoint needs a file: every checkpoint replaces the whole file",
        ),
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
            ("-v", "3", "-B", "100000", "--memory", "1M", "DATA"),
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
    for places in (
        (BREAST, tmp_path / "no" / "m"),
        ("--checkpoint", tmp_path / "no" / "c", BREAST, tmp_path / "m"),
    ):
        done = svmfast("budget-train", "--passes", "100000000", *places, timeout=20)
        assert done.returncode == 2
        assert "cannot be written" in stderr_of(done)
        assert list(tmp_path.iterdir()) == []


def test_checkpoint_files_keep_every_bit_and_detect_damage(tmp_path):
    path = tmp_path / "c"
    arrays = {"x": np.array([0.1, -0.0, np.inf, np.nan]), "empty": np.zeros((0, 3))}
    CheckpointFile(str(path)).write({"a": 1, "b": 0.1 + 0.2}, arrays)
    meta, back = CheckpointFile(str(path)).read()
    assert meta == {"a": 1, "b": 0.1 + 0.2}
    for name, array in arrays.items():
        assert back[name].tobytes() == array.tobytes()
        assert back[name].shape == array.shape
    whole = path.read_bytes()
    for broken in (b"", b"not a zip", whole[: len(whole) // 2], whole[:-30]):
        path.write_bytes(broken)
        with pytest.raises(CheckpointError, match="not a complete checkpoint"):
            CheckpointFile(str(path)).read()
    with path.open("wb") as file:
        np.savez(file, x=np.zeros(3))
    with pytest.raises(CheckpointError, match="not a complete checkpoint"):
        CheckpointFile(str(path)).read()
    with pytest.raises(FileAccessError, match="Is a directory"):
        CheckpointFile(str(tmp_path)).read()
