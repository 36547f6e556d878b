"""Training through the library and through `svmfast train`, against LIBSVM's files and Python interface."""

import ctypes
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command import ran, svmfast
from golden import ROOT, manifest
from libsvm import svmutil
from program import PATIENCE, PROGRAM
from program import data as fixture

import svmfast as package
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.common.cross_validation import CrossValidation, best_of
from svmfast.methods.train.libsvm import Problem, libsvm_folds
from svmfast.methods.train.training import TrainOptions, cross_validate, train
from svmfast.rows import Rows
from svmfast.score import quality

# Older versions of LIBSVM's Python interface leave the data file open.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")

IRIS = fixture("iris.train")
# Each is trained in well under a second; the others differ only in size.
SMALL = "breast_c_|onehot_c|iris|wine|normal|single|first|labels|diabetes_(eps|nu)_(rbf|poly3)$"
QUICK = [
    (entry["file"], entry["command"])
    for entry in manifest()
    if entry["command"].startswith("svm-train") and re.search(SMALL, entry["file"])
]


def libsvm(data, options):
    """Train by LIBSVM's Python interface, with rand() at its start as in svm-train."""
    labels, rows = svmutil.svm_read_problem(str(data))
    ctypes.CDLL(None).srand(1)
    return svmutil.svm_train(labels, rows, f"{options} -q")


def libsvm_bytes(data, options, folder):
    svmutil.svm_save_model(str(folder / "theirs"), libsvm(data, options))
    return (folder / "theirs").read_bytes()


def trained(options, rows, folder):
    (folder / "data").write_text(rows)
    ran("train", "-q", *options.split(), "data", "ours", cwd=folder)
    return (folder / "ours").read_bytes()


def python(code, *words, **environment):
    environment = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", code, *words], env=environment, capture_output=True)


def test_more_folds_than_rows_leave_one_out_as_in_libsvm():
    one = [ran("train", "-q", "-v", folds, fixture("iris.train")).stdout for folds in ("100", "101")]
    grid = ran("train", "-q", "-c", "1,1", "-v", "101", fixture("iris.train"))
    assert one[0] == one[1] == grid.stdout[-len(one[0]) :]
    assert b"# folds (101) > # data (100). Will use # folds = # data instead (i.e., leave" in grid.stderr


@pytest.mark.parametrize(("file", "line"), QUICK)
def test_the_model_is_libsvms_byte_for_byte(file, line, tmp_path):
    options, data = line.removeprefix("svm-train ").removesuffix(file).rstrip().rsplit(" ", 1)
    done = svmfast("train", *shlex.split(options), ROOT / data, tmp_path / "ours")
    assert (done.returncode, done.stdout) == (0, b"")
    ours = (tmp_path / "ours").read_bytes()
    assert ours == libsvm_bytes(ROOT / data, options, tmp_path)
    if re.search("linear|poly[1-3]$", file.removesuffix(".model")):
        # Only sums and products: svm-train's file from another machine has the same bits.
        assert ours == (ROOT / file).read_bytes()


def test_output_is_svm_trains_and_equal_runs_give_identical_bytes(tmp_path):
    runs = [svmfast("train", "-b", "1", "-g", "0.5", IRIS, tmp_path / name) for name in ("first", "second")]
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    code = "import sys; from libsvm.svmutil import *;"
    theirs = python(code + "svm_train(*svm_read_problem(sys.argv[1]), '-b 1 -g 0.5')", IRIS)
    assert [(run.stdout, run.stderr) for run in runs] == [(theirs.stdout, b"")] * 2
    assert theirs.stdout.startswith(b"*\noptimization finished, #iter = ")


@pytest.mark.parametrize(
    ("options", "name"), [("-g 0.5 -b 0", "iris"), ("-s 3 -c 10", "diabetes"), ("-s 2 -n 0.2", "normal")]
)
def test_cross_validation_prints_libsvms_lines(options, name, capfd):
    libsvm(fixture(f"{name}.train"), f"{options} -v 4")
    theirs = capfd.readouterr().out
    assert theirs.startswith("Cross Validation ")
    done = svmfast("train", *options.split(), "-v", "4", "-q", fixture(f"{name}.train"))
    assert done.stdout.decode() == theirs


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("iris", {"C": (0.5, 8), "gamma": (0.5, 2)}),
        ("breast", {"C": (0.5, 8)}),  # the first label is -1, which LIBSVM moves to second place
        ("diabetes", {"svm_type": "epsilon_svr", "gamma": (0.1, 1)}),
        ("normal", {"svm_type": "one_class", "gamma": (0.1, 1)}),
        ("iris", {"C": (0.5, 8), "probability": True}),
    ],
)
def test_every_pair_of_a_grid_has_the_score_of_libsvms_own_cross_validation(name, options):
    rows = read_svmlight(fixture(f"{name}.train"))
    found = {j: package.train(rows, folds=4, threads=j, **options) for j in (1, 3)}
    assert found[1].figures() == found[3].figures()
    for one in (scores := found[1].report).cross_validation:
        pair = TrainOptions(**{**options, "C": one.regularization, "gamma": one.gamma})
        predicted = cross_validate(rows.rows, rows.labels, 4, pair)
        regression = pair.svm_type == "epsilon_svr"
        assert one.quality == quality(predicted, rows.labels, regression=regression)
    sign = -1 if scores.cross_validation[0].quality.accuracy is None else 1
    assert sign * scores.best.score == max(sign * one.score for one in scores.cross_validation)


def test_the_best_pair_is_trained_with_the_range_of_the_rows(tmp_path):
    words = ("--scale-to", "0", "1", "-q")
    grid = svmfast("train", "-v", "3", "-c", "2^-3,2^3", fixture("wine.train"), tmp_path / "model", *words)
    assert (grid.returncode, grid.stdout) == (0, b"")
    svmfast("scale", "-l", "0", "-u", "1", "-s", "ranges", fixture("wine.train"), cwd=tmp_path)
    svmfast("train", "-q", "-c", "8", "--scale", "ranges", fixture("wine.train"), "same", cwd=tmp_path)
    assert (tmp_path / "model").read_bytes() == (tmp_path / "same").read_bytes()


def test_a_fold_does_not_see_the_range_of_its_own_rows():
    data = read_svmlight(fixture("wine.train"))
    x, y, right = data.rows.to_dense(), data.labels, 0
    for inside, outside in libsvm_folds(y, 3, stratified=True):
        low, high = x[inside].min(axis=0), x[inside].max(axis=0)
        scaled = Rows.from_dense((x - low) / (high - low))
        model = train(scaled.take(inside), y[inside], TrainOptions(gamma=2.0))
        right += int(np.sum(model.labels(scaled.take(outside)) == y[outside]))
    report = package.train(data, folds=3, gamma=2.0, scale_to=(0, 1)).report
    assert report.best.quality.accuracy == 100 * right / len(y)


def test_the_best_pair():
    target = np.array([1.0] * 9 + [2.0])
    many, balanced = target.copy(), target.copy()
    many[9], balanced[:2] = 1, 2  # 9 of 10 rows, and 8 of 10 with the row of the rare class
    scores = [
        CrossValidation(quality(found, target, regression=False), gamma, cost)
        for found, gamma, cost in ((balanced, 1, 1), (many, 3, 4), (many, 3, 2), (many, 1, 2))
    ]
    # Of equals the smallest C, then gamma; with weights a row counts by its class.
    assert best_of(scores, ()) == scores[3]
    assert best_of(scores, ((2, 5.0),)) == scores[0]
    errors = [CrossValidation(quality(target + x, target, regression=True), 1, 1) for x in (0.2, 0.1)]
    assert best_of(errors, ()) == errors[1]


def test_a_grid_is_chosen_by_weighted_accuracy():
    rows, grid = package.read_svmlight(fixture("wine.train")), {"C": (1, 30), "gamma": (0.02, 0.5)}
    found = package.train(rows, folds=4, weights={2: 3.0}, **grid).report
    plain = best_of(found.cross_validation, ())
    assert found.best == best_of(found.cross_validation, ((2, 3.0),)) != plain


def test_openmp_threads_do_not_change_cross_validation():
    code = """
import sys
from svmfast import read_svmlight
from svmfast.methods.train.training import TrainOptions, cross_validate
data, options = read_svmlight(sys.argv[1]), TrainOptions(svm_type="epsilon_svr", C=10, gamma=0.1)
print(*(cross_validate(data.rows, data.labels, 5, options).tobytes().hex() for _ in range(4)))
"""
    # Without the limit, two threads give four different results.
    runs = [python(code, fixture("diabetes.train"), OMP_NUM_THREADS=n).stdout.split() for n in ("1", "2")]
    assert ([len(run) for run in runs], len({*runs[0], *runs[1]})) == ([4, 4], 1)


@pytest.mark.parametrize("name", ["wine", "digits", "iris"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_pairs_trained_in_parallel_are_libsvms_model_byte_for_byte(name, kernel):
    data = read_svmlight(fixture(f"{name}.train"))
    # Labels out of order, and a pair of classes with the same rows.
    rows = Rows.concatenate([data.rows, data.rows[:6]])
    labels = np.concatenate([data.labels, np.full(6, data.labels.max() + 2)])
    cut = TrainOptions(kernel=kernel, gamma=0.02, truncate_labels=True)
    # Truncated, two classes are left, whose order LIBSVM reverses.
    two = np.where(labels == labels[0], -1.0, 1.0)
    for given, whole, options in (
        (labels, labels, TrainOptions(kernel=kernel, C=5.0)),
        (labels, labels, TrainOptions(kernel=kernel, C=0.3, gamma=0.02)),
        (labels + 0.4, labels, cut),
        (two * np.where(labels % 2, 1.0, 1.4), two, cut),
    ):
        one = libsvm_model_bytes(train(rows, whole, options))
        assert libsvm_model_bytes(train(rows, given, options, threads=3)) == one


@pytest.mark.parametrize("words", ["OUT", "-o OUT", "--output OUT -q", "OUT -q -j 2", "-"])
def test_the_output_is_the_last_argument_or_an_option(words, tmp_path):
    done = svmfast("train", IRIS, *words.split(), cwd=tmp_path)
    made = done.stdout if words == "-" else (tmp_path / "OUT").read_bytes()
    assert made == libsvm_bytes(IRIS, "", tmp_path)
    assert (b"optimization finished" in (done.stderr if words == "-" else done.stdout)) == ("-q" not in words)


def test_a_single_class_is_reported(tmp_path):
    done = svmfast("train", fixture("single.train"), tmp_path / "model")
    assert done.stdout.startswith(b"WARNING: training data in only one class. See README for details.\n")
    assert done.stderr.endswith(b"single.train: all rows have label 7: the model will always predict that\n")


def test_explicit_zeros_are_kept_as_svm_train_keeps_them(tmp_path):
    assert trained("-t 0", "1 1:0 2:1\n-1 1:1 2:0\n", tmp_path).endswith(b"SV\n1 1:0 2:1 \n-1 1:1 2:0 \n")


def test_compat_truncates_labels_as_svm_train_does(tmp_path):
    model = trained("--compat", "1 1:1\n1.5 1:2\n-2.5 1:4\n", tmp_path)
    assert model == libsvm_bytes(tmp_path / "data", "", tmp_path)
    assert b"\nlabel 1 -2\n" in model


def test_log_receives_the_solvers_messages_and_its_errors_come_back():
    data, pieces = read_svmlight(IRIS), []
    train(data.rows, data.labels, log=pieces.append)
    assert re.search(r"\*\noptimization finished, #iter = \d+\nnu = ", "".join(pieces))

    def refuse(message):
        raise ZeroDivisionError(message)

    with pytest.raises(ZeroDivisionError):
        train(data.rows, data.labels, log=refuse)


def test_interrupt_ends_training_at_once_and_leaves_nothing(tmp_path):
    rows = np.random.default_rng(1).normal(size=(2000, 3))
    (tmp_path / "noise").write_text("".join(f"{y:.3f} 1:{a:.3f} 2:{b:.3f}\n" for y, a, b in rows))
    # A huge C on noise takes hours of iterations. The solver's first dot shows that it runs.
    words = ("train", "-s", "3", "-c", "1e9", "-e", "1e-9", "noise", "model")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    training = subprocess.Popen([PROGRAM, *words], cwd=tmp_path, **pipes)
    assert training.stdout.read(1) in (b".", b"*")
    start = time.monotonic()
    training.send_signal(signal.SIGINT)
    _, errors = training.communicate(timeout=20 * PATIENCE)
    assert time.monotonic() - start < 10 * PATIENCE
    assert (training.returncode, errors) == (130, b"")
    assert [path.name for path in tmp_path.iterdir()] == ["noise"]


def test_a_second_problem_does_not_make_the_first_one_print(capfd):
    """LIBSVM has one print function for all threads; making a problem must not reset it to stdout."""
    rows, labels = Rows.from_dense(np.random.default_rng(0).normal(size=(60, 3))), np.repeat([1.0, -1.0], 30)
    options = {"svm_type": 0, "kernel_type": 2, "gamma": 1.0, "C": 1.0, "eps": 0.001, "cache_size": 10}
    first, _second = [Problem(rows, labels, {**options, "shrinking": 1}) for _ in range(2)]
    first._api.libsvm.svm_train(first._problem, first._parameter)  # as in a thread that is at work
    assert capfd.readouterr() == ("", "")
