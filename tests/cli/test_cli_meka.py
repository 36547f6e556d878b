"""`svmfast meka`: its options, reports, memory and refusals."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from meka_problems import data, settings
from program import PROGRAM, svmfast

from svmfast.cli.main import run
from svmfast.errors import MemoryLimitError
from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.meka.error import kernel_error
from svmfast.methods.meka.fit import fit
from svmfast.models.routed import RoutedModel
from svmfast.rows import Rows

FIXTURES = Path(__file__).parents[2] / "fixtures"


def call(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = run([str(w) for w in ("meka", *words)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_command_ridge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train_file, model = FIXTURES / "data" / "diabetes.train", tmp_path / "m"
    words = [
        train_file,
        "-o",
        model,
        "--task",
        "ridge",
        "--rank",
        30,
        "--clusters",
        2,
        "--lambda",
        "2^-2",
        "-g",
        0.05,
    ]
    status, out, err = call(capsys, *words, "--json")
    assert status == 0
    report = json.loads(out)
    assert report["regularization"] == 0.25
    assert report["multiply_adds"] > report["linear_multiply_adds"]
    made = load_model(model)
    assert isinstance(made, RoutedModel)
    text = model.read_bytes()
    status, out, err = call(capsys, *words, "-q", "-j", 1)
    assert (status, out, err) == (0, "", "")
    assert model.read_bytes() == text
    assert run(["predict", str(FIXTURES / "data" / "diabetes.test"), str(model), str(tmp_path / "out")]) == 0
    assert "Mean squared error" in capsys.readouterr().out
    test = data("diabetes.test")[0]
    assert np.array_equal(np.loadtxt(tmp_path / "out"), made.decision_values(test)[:, 0])


def test_command_scores_only(capsys: pytest.CaptureFixture[str]) -> None:
    file = FIXTURES / "data" / "iris.train"
    status, out, _ = call(
        capsys, file, "--task", "svc", "-v", 5, "-c", "1,10", "-g", "0.1,1", "--rank", 10, "-q"
    )
    lines = out.splitlines()
    assert status == 0
    assert len(lines) == 5
    assert lines[-1].startswith("Cross Validation Accuracy = 9")
    status, out, _ = call(capsys, file, "--task", "ridge", "-v", 5, "--rank", 10, "--json", "-q")
    assert json.loads(out)["best"]["score"] < 0.4


def test_command_error(capsys: pytest.CaptureFixture[str]) -> None:
    file = FIXTURES / "data" / "digits.train"
    words = [file, "--task", "error", "--rank", 20, "--clusters", 4, "-g", 0.02]
    status, out, _ = call(capsys, *words, "--json", "-q")
    assert status == 0
    assert {"relative_error", "build_seconds", "kernel_bytes"} <= set(json.loads(out))
    status, out, _ = call(capsys, *words, "--laplacian", "--sample", 200, "--strategy", "eigen")
    assert status == 0
    assert out.startswith("laplacian kernel, gamma 0.02; 500 rows, compared on 200; 4 clusters")
    status, out, _ = call(capsys, file, "--task", "error", "--block-only", "-q")
    assert out.splitlines()[1].split() == ["rank", "relative", "error", "seconds", "MiB"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give --task (ridge, svc or error)"),
        (["-o", "m", "--task", "error"], "--task error makes no model; leave out --output"),
        (["--task", "error", "-v", "3"], "--task error has nothing to cross-validate; leave out --folds"),
        (["-o", "m", "--task", "ridge", "-c", "1"], "-c is for --task svc; ridge has --lambda"),
        (
            ["-o", "m", "--task", "svc", "--lambda", "1"],
            "--lambda is for ridge; --task svc does not use it",
        ),
        (["-o", "-", "--task", "svc", "--json"], "--output and --json cannot both go to standard output"),
    ],
)
def test_incompatible_options_are_refused(
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(capsys, FIXTURES / "data" / "iris.train", *words) == (2, "", f"svmfast: {message}\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", ["0", "-1", "nan", "1e999", "x", "1_0"])
def test_an_invalid_gamma(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = call(capsys, FIXTURES / "data" / "iris.train", "--task", "error", "-g", value)
    assert status == 2
    assert f"'{value}' is not positive numbers such as 0.5, 2^-4 or 0.01,0.1,1" in err


def test_the_memory_limit_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, model = FIXTURES / "data" / "iris.train", tmp_path / "m"
    status, _, err = call(capsys, file, "-o", model, "--task", "svc", "--memory", "1.5K")
    assert status == 2
    assert "bytes, the limit is 1,536; raise --memory" in err
    assert not model.exists()
    status, _, err = call(capsys, file, "-o", model, "--task", "svc", "--memory", "much")
    assert "'much' is not a size such as 32k, 2M, 1G or a number of bytes" in err


def test_memory_is_checked_again_for_the_actual_cluster_sizes() -> None:
    """999 rows in one corner, one far away: the limit suffices for two equal clusters, but not for these."""
    x = np.random.default_rng(0).normal(size=(1000, 2))
    x[0] = 1e3
    rows = Rows.from_dense(x)
    for task in ("ridge", "error"):
        wanted = settings(clusters=2, rank=100, strategy="size", sample=1000, task=task)
        targets = (x[:, 0],) if task == "ridge" else ()
        work = fit if task == "ridge" else kernel_error
        needed = []
        for memory in (1000, None):
            with pytest.raises(MemoryLimitError, match="raise `memory`") as refused:
                work(rows, *targets, replace(wanted, memory=memory or needed[0]))
            needed.append(refused.value.needed)
        assert needed[1] > needed[0]


@pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory of their own")
@pytest.mark.parametrize("words", [["--task", "error"], ["-o", "MODEL", "--task", "svc"]])
def test_the_least_memory_that_is_accepted_is_not_exceeded(words: list[str], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    file, few = tmp_path / "d", tmp_path / "few"
    x = rng.normal(size=(60_000, 8))
    lines = [
        f"{1 if r[0] > 0 else 2} " + " ".join(f"{j}:{v:.4f}" for j, v in enumerate(r, 1)) + "\n" for r in x
    ]
    file.write_text("".join(lines))
    few.write_text("".join(lines[:50]))
    words = [str(tmp_path / "m") if word == "MODEL" else word for word in words]
    size = ["--rank", "60", "--clusters", "6", "--sample", "3000", "-j", "2", "-q"]
    # A child starts with its parent's peak. This process is large by now, so a small one starts the child.
    small = (
        "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode; "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(code)"
    )

    def run_on(path: Path, memory: int) -> tuple[int, str, int]:
        program = [sys.executable, "-m", "svmfast", "meka", str(path), *words, *size, "--memory", str(memory)]
        done = subprocess.run([sys.executable, "-c", small, *program], capture_output=True, text=True)
        return done.returncode, done.stderr, int(done.stderr.split()[-1]) * 1024

    _, _, start = run_on(few, 2**31)
    memory, status = 20_000_000, 2
    while status == 2:
        status, told, peak = run_on(file, memory)
        if status == 2:
            memory = int(re.findall(r"needs ([0-9,]+) bytes", told)[-1].replace(",", ""))
    assert status == 0, told
    assert 0.3 * memory < peak - start <= memory


@pytest.mark.parametrize("words", [["--task", "ridge"], ["--task", "svc", "-c", "2"]])
def test_the_same_bytes_for_any_number_of_threads(words: list[str], tmp_path: Path) -> None:
    """k-means, blocks and the solution, whatever number of threads BLAS and OpenMP would use by default."""
    words = ["meka", str(FIXTURES / "data" / "breast.train"), *words, "--rank", "30", "--clusters", "4", "-q"]
    # One thread of each library, as in all tests, and then more of them.
    assert svmfast(*words, "-o", tmp_path / "m1", "-j", "1").returncode == 0
    for jobs, libraries in (("2", "2"), ("3", "5")):
        environment = {**os.environ, "OMP_NUM_THREADS": libraries, "OPENBLAS_NUM_THREADS": libraries}
        subprocess.run(
            [PROGRAM, *words, "-o", tmp_path / f"m{jobs}", "-j", jobs], check=True, env=environment
        )
    made = [(tmp_path / f"m{jobs}").read_bytes() for jobs in (1, 2, 3)]
    assert made[0] == made[1] == made[2]


def test_a_label_that_is_no_class_names_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "d"
    file.write_text("1 1:1\n2 1:2\n1.5 1:3\n")
    status, _, err = call(capsys, file, "-o", tmp_path / "m", "--task", "svc", "-q")
    assert status == 2
    assert err == (
        f"{file}:3: class label is not an integer ('1.5'); "
        "expected integers for classes, or regression for real targets\n"
    )
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("text", ["1\n2\n1\n", "1 1:1\n2 1:1\n1 1:1\n2 1:1\n", "2 3:1\n1 1:2\n"])
def test_tiny_data(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No features, one point only, fewer rows than clusters."""
    file, model = tmp_path / "d", tmp_path / "m"
    file.write_text(text)
    for words in (["--task", "svc"], ["--task", "svc", "--block-only"], ["--task", "ridge"]):
        assert call(capsys, file, "-o", model, *words, "-q")[0] == 0
        assert np.isfinite(load_model(model).decision_values(read_svmlight(file).rows)).all()
    assert call(capsys, file, "--task", "error", "-q")[0] == 0


def test_data_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "d"
    file.write_text("1 1:1\n2 1:2\n")
    status, _, err = call(capsys, file, "-o", file, "--task", "svc")
    assert (status, err) == (2, f"svmfast: --output is DATA itself, '{file}'; it would be lost\n")
