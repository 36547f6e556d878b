"""Training through the library and through `svmfast train`, against LIBSVM's files and Python interface.

Both are compared with the same files, so they are in one module, which is longer than 400 lines.
"""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from command import svmfast as program
from golden import ROOT, manifest
from libsvm import svmutil
from program import PATIENCE, cli_runner

import svmfast
from svmfast.cli import main
from svmfast.errors import OptionError, TrainingRowError
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.train.training import TrainOptions, cross_validate, train
from svmfast.rows import Rows

# Older versions of LIBSVM's Python interface leave the data file open.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")

DATA = ROOT / "data"
# Each is trained in well under a second; the others differ only in size.
QUICK = [
    (entry["file"], entry["command"])
    for entry in manifest()
    if entry["command"].startswith("svm-train")
    and re.search(
        "breast_c_|onehot_c|iris|wine|normal|single|first|labels|diabetes_(eps|nu)_(rbf|poly3)$",
        entry["file"],
    )
]


def run(*arguments: str | Path) -> Result:
    return cli_runner().invoke(main.program, ["train", *map(str, arguments)], catch_exceptions=False)


def by_libsvm(data: Path, options: str, model: Path) -> bytes:
    """The file that LIBSVM's Python interface trains and saves, with rand() at its start as in svm-train."""
    labels, rows = svmutil.svm_read_problem(str(data))
    ctypes.CDLL(None).srand(1)
    svmutil.svm_save_model(str(model), svmutil.svm_train(labels, rows, f"{options} -q"))
    return model.read_bytes()


@pytest.mark.parametrize(("file", "line"), QUICK)
def test_the_model_is_libsvms_byte_for_byte(file: str, line: str, tmp_path: Path) -> None:
    options, data = line.removeprefix("svm-train ").removesuffix(file).rstrip().rsplit(" ", 1)
    done = program("train", *shlex.split(options), ROOT / data, tmp_path / "ours")
    assert (done.returncode, done.stdout) == (0, b"")
    ours = (tmp_path / "ours").read_bytes()
    assert ours == by_libsvm(ROOT / data, options, tmp_path / "theirs")
    if re.search("linear|poly[1-3]$", file.removesuffix(".model")):
        # Only sums and products: svm-train's file from another machine has the same bits.
        assert ours == (ROOT / file).read_bytes()


def test_output_is_svm_trains_and_equal_runs_give_identical_bytes(tmp_path: Path) -> None:
    first = program("train", "-b", "1", "-g", "0.5", DATA / "iris.train", tmp_path / "first")
    second = program("train", "-b", "1", "-g", "0.5", DATA / "iris.train", tmp_path / "second")
    assert first.stdout == second.stdout
    assert first.stderr == second.stderr == b""
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    theirs = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from libsvm.svmutil import *;"
            "svm_train(*svm_read_problem(sys.argv[1]), '-b 1 -g 0.5')",
            DATA / "iris.train",
        ],
        capture_output=True,
        check=True,
    )
    assert first.stdout == theirs.stdout
    assert first.stdout.startswith(b"*\noptimization finished, #iter = ")


@pytest.mark.parametrize(
    ("options", "data"), [("-g 0.5 -b 0", "iris"), ("-s 3 -c 10", "diabetes"), ("-s 2 -n 0.2", "normal")]
)
def test_cross_validation_prints_libsvms_lines(
    options: str, data: str, capfd: pytest.CaptureFixture[str]
) -> None:
    labels, rows = svmutil.svm_read_problem(str(DATA / f"{data}.train"))
    ctypes.CDLL(None).srand(1)
    svmutil.svm_train(labels, rows, f"{options} -v 4 -q")
    theirs = capfd.readouterr().out
    done = run(*options.split(), "-v", "4", "-q", DATA / f"{data}.train")
    assert done.stdout == theirs
    assert theirs.startswith("Cross Validation ")


def test_openmp_threads_do_not_change_the_model() -> None:
    script = """
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.train.training import TrainOptions, cross_validate
import sys
data = read_svmlight(sys.argv[1])
options = TrainOptions(svm_type="epsilon_svr", C=10, gamma=0.1)
for _ in range(4):
    print(cross_validate(data.rows, data.labels, 5, options).tobytes().hex())
"""
    models = [
        subprocess.run(
            [sys.executable, "-c", script, DATA / "diabetes.train"],
            env={**os.environ, "OMP_NUM_THREADS": threads},
            capture_output=True,
            check=True,
        ).stdout.split()
        for threads in ("1", "2")
    ]
    # Without the limit, two threads give four different results.
    assert set(models[0]) == set(models[1])
    assert len(set(models[0])) == 1


@pytest.mark.parametrize("name", ["wine", "digits", "iris"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_pairs_trained_in_parallel_are_libsvms_model_byte_for_byte(name: str, kernel: str) -> None:
    data = read_svmlight(DATA / f"{name}.train")
    # Labels out of order, and a pair of classes with the same rows.
    rows = Rows.concatenate([data.rows, data.rows[:6]])
    labels = np.concatenate([data.labels, np.full(6, data.labels.max() + 2)])
    for options in (TrainOptions(kernel=kernel, C=5.0), TrainOptions(kernel=kernel, C=0.3, gamma=0.02)):
        one = libsvm_model_bytes(train(rows, labels, options))
        assert libsvm_model_bytes(train(rows, labels, options, threads=3)) == one
    cut = TrainOptions(kernel=kernel, gamma=0.02, truncate_labels=True)
    result = train(rows, labels + 0.4, cut, threads=2)
    assert libsvm_model_bytes(result) == libsvm_model_bytes(train(rows, labels, cut))
    # Truncated, two classes are left, whose order LIBSVM reverses.
    two = np.where(labels == labels[0], -1.0, 1.0)
    result = train(rows, two * np.where(labels % 2, 1.0, 1.4), cut, threads=2)
    assert libsvm_model_bytes(result) == libsvm_model_bytes(train(rows, two, cut))


@pytest.mark.parametrize(
    "words", [("OUT",), ("-o", "OUT"), ("--output", "OUT", "-q"), ("OUT", "-q", "-j", "2")]
)
def test_the_output_is_the_last_argument_or_an_option(words: tuple[str, ...], tmp_path: Path) -> None:
    place = str(tmp_path / "model")
    assert run(DATA / "iris.train", *(place if word == "OUT" else word for word in words)).exit_code == 0
    assert (tmp_path / "model").read_bytes() == by_libsvm(DATA / "iris.train", "", tmp_path / "theirs")


def test_a_model_on_stdout_is_the_only_output_there(tmp_path: Path) -> None:
    run("-q", DATA / "iris.train", tmp_path / "model")
    done = program("train", "-", "-", stdin=(DATA / "iris.train").read_bytes())
    assert done.stdout == (tmp_path / "model").read_bytes()
    assert b"optimization finished" in done.stderr


def test_explicit_zeros_are_kept_as_svm_train_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("1 1:0 2:1\n-1 1:1 2:0\n")
    run("-q", "-t", "0", tmp_path / "data", tmp_path / "model")
    assert (tmp_path / "model").read_text().endswith("SV\n1 1:0 2:1 \n-1 1:1 2:0 \n")


def test_a_single_class_is_reported(tmp_path: Path) -> None:
    done = run(DATA / "single.train", tmp_path / "model")
    assert done.stdout.startswith("WARNING: training data in only one class. See README for details.\n")
    assert done.stderr.endswith("single.train: all rows have label 7: the model will always predict that\n")


def test_precomputed_kernel_equals_the_kernel_it_holds() -> None:
    data = read_svmlight(DATA / "iris.train")
    dense = data.rows.to_dense()
    gram = np.column_stack([np.arange(1, len(dense) + 1), dense @ dense.T])
    linear = train(dense, data.labels, TrainOptions(kernel="linear"))
    precomputed = train(gram, data.labels, TrainOptions(kernel="precomputed"))
    np.testing.assert_allclose(precomputed.rho, linear.rho, rtol=0, atol=1e-9)
    serial = precomputed.sv.values.astype(int) - 1
    np.testing.assert_array_equal(dense[serial], linear.sv.to_dense())


def test_log_receives_the_solvers_messages_and_its_errors_come_back() -> None:
    data = read_svmlight(DATA / "iris.train")
    pieces: list[str] = []
    train(data.rows, data.labels, log=pieces.append)
    assert re.search(r"\*\noptimization finished, #iter = \d+\nnu = ", "".join(pieces))

    def refuse(message: str) -> None:
        raise ZeroDivisionError(message)

    with pytest.raises(ZeroDivisionError):
        train(data.rows, data.labels, log=refuse)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0.0}, "`C` is 0.0; expected a finite decimal number above 0"),
        ({"nu": 1.5}, "`nu` is 1.5; expected a finite decimal number above 0 and of at most 1"),
        (
            {"weights": ((3, -1.0),)},
            "`weights` is ((3, -1.0),); expected weights by label, such as {1: 5, -1: 2.5}, or "
            "'balanced': a finite decimal "
            "number above 0",
        ),
        ({"weights": {3.5: 1.0}}, "`weights` is {3.5: 1.0}; expected weights by label, such as {1: 5, "),
        (
            {"svm_type": "nu_svc", "weights": {1: 2.0}},
            "`weights` have no effect on nu_svc; they are for c_svc",
        ),
        (
            {"kernel": "rbg"},
            "`kernel` is 'rbg'; expected 0 (linear), 1 (polynomial), 2 (rbf), 3 (sigmoid) or",
        ),
        ({"svm_type": 3}, "`svm_type` is an int; expected a word"),
    ],
)
def test_options_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=f"^{re.escape(message)}"):
        svmfast.train([[1.0], [2.0]], [1, 2], **options)


def test_infeasible_nu_is_libsvms_refusal() -> None:
    rows = Rows.from_dense([[1.0], [2.0], [3.0], [4.0]])
    with pytest.raises(OptionError, match=r"^LIBSVM refuses: specified nu is infeasible$"):
        train(rows, [1, 1, 1, 2], TrainOptions(svm_type="nu_svc", nu=0.9))


@pytest.mark.parametrize(
    ("rows", "labels", "kernel", "message"),
    [
        ([[1.0], [2.0]], [1, 1.5], "rbf", "row 2: class label is not an integer ('1.5'); "
         "expected integers for classes, or regression for real targets"),
        ([[1.0], [2.0]], [3e9, 1], "rbf", "row 1: class label out of range ('3000000000'); "
         "expected an integer from -2147483648 to 2147483647, LIBSVM's labels"),
        ([[1.0], [2.0]], [1, np.nan], "rbf", "row 2: the label is not finite ('nan'); "
         "expected a finite number"),
        ([[1.0, 2.0], [4.0, 2.0]], [1, 2], "precomputed", "row 2: serial number out of range ('4'); "
         "expected an integer from 1 to 1"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_trained_on(
    rows: list[Any], labels: list[float], kernel: str, message: str
) -> None:
    with pytest.raises(TrainingRowError, match=f"^{re.escape(message)}$"):
        train(rows, labels, TrainOptions(kernel=kernel))


def test_nan_among_the_values_names_the_row() -> None:
    rows = Rows(np.array([0, 1, 1, 3]), np.array([0, 0, 1], np.int32), np.array([1, 2, np.inf]), 2)
    with pytest.raises(TrainingRowError, match=r"^row 3: the value is not finite \('inf'\)"):
        train(rows, [1, 2, 1])


def test_precomputed_rows_need_every_value() -> None:
    rows = Rows(np.array([0, 3, 5]), np.array([0, 1, 2, 0, 2], np.int32), np.array([1.0, 5, 4, 2, 6]), 3)
    with pytest.raises(
        TrainingRowError, match=r"^row 2: a precomputed row with 2 of 3 columns; expected the serial"
    ):
        train(rows, [1, 2], TrainOptions(kernel="precomputed"))


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(OptionError, match=r"^2 rows and labels of shape \(3,\); expected one label per row$"):
        train([[1.0], [2.0]], [1, 2, 3])
    with pytest.raises(OptionError, match=r"^no rows to train on$"):
        train(Rows.empty(), [])
    with pytest.raises(OptionError, match=r"^`folds` is 1; cross validation needs at least 2$"):
        cross_validate([[1.0], [2.0]], [1, 2], 1)


def test_weights_with_negative_labels_and_values_that_look_like_options(tmp_path: Path) -> None:
    options = "-t 3 -g 0.1 -r -1 -w-1 2 -w1 0.5"
    done = run("-q", *options.split(), DATA / "breast.train", tmp_path / "ours")
    assert done.exit_code == 0
    assert (tmp_path / "ours").read_bytes() == by_libsvm(DATA / "breast.train", options, tmp_path / "theirs")


def test_compat_truncates_labels_as_svm_train_does(tmp_path: Path) -> None:
    (tmp_path / "half").write_text("1 1:1\n1.5 1:2\n-2.5 1:4\n")
    run("-q", "--compat", tmp_path / "half", tmp_path / "ours")
    assert (tmp_path / "ours").read_bytes() == by_libsvm(tmp_path / "half", "", tmp_path / "theirs")
    assert b"\nlabel 1 -2\n" in (tmp_path / "ours").read_bytes()


def test_interrupt_ends_training_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    lines = [f"{rng.normal():.3f} 1:{rng.normal():.3f} 2:{rng.normal():.3f}" for _ in range(2000)]
    (tmp_path / "noise").write_text("\n".join(lines) + "\n")
    # A huge C on noise takes hours of iterations. The solver's first dot shows that it runs.
    training = subprocess.Popen(
        [sys.executable, "-m", "svmfast", "train", "-s", "3", "-c", "1e9", "-e", "1e-9", "noise", "model"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert training.stdout is not None
    assert training.stdout.read(1) in (b".", b"*")
    start = time.monotonic()
    training.send_signal(signal.SIGINT)
    _, errors = training.communicate(timeout=20 * PATIENCE)
    assert time.monotonic() - start < 10 * PATIENCE
    assert (training.returncode, errors) == (130, b"")
    assert [path.name for path in tmp_path.iterdir()] == ["noise"]


def test_a_second_problem_does_not_make_the_first_one_print() -> None:
    """LIBSVM has one print function for all threads; making a problem must not reset it to stdout."""
    code = """
import numpy as np
from svmfast.rows import Rows
from svmfast.threads import map_in_threads
from svmfast.methods.train import libsvm
rows, labels = Rows.from_dense(np.random.default_rng(0).normal(size=(60, 3))), np.repeat([1.0, -1.0], 30)
parameters = dict(svm_type=0, kernel_type=2, gamma=1.0, C=1.0, eps=0.001, cache_size=10, shrinking=1)
first = libsvm.Problem(rows, labels, parameters)
first.train()
second = libsvm.Problem(rows, labels, parameters)
first._api.libsvm.svm_train(first._problem, first._parameter)  # as in a thread that is at work
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
