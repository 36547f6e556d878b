"""`svmfast meka`: its model and report, tiny data, memory, threads."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command import svmfast
from meka_problems import settings
from program import PROGRAM, data

from svmfast.errors import MemoryLimitError
from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.meka.error import kernel_error
from svmfast.methods.meka.fit import fit
from svmfast.rows import Rows


def test_predictions_are_those_of_the_model_that_is_written(tmp_path: Path) -> None:
    words = ("meka", data("diabetes.train"), "-o", tmp_path / "m", "--task", "ridge", "--rank", "30")
    done = svmfast(*words, "--clusters", "2", "--lambda", "2^-2", "-g", "0.05", "--json")
    report = json.loads(done.stdout)
    assert report["regularization"] == 0.25
    assert report["multiply_adds"] > report["linear_multiply_adds"]
    done = svmfast("predict", data("diabetes.test"), tmp_path / "m", tmp_path / "out")
    assert done.stdout.startswith(b"Mean squared error")
    expected = load_model(tmp_path / "m").decision_values(read_svmlight(data("diabetes.test")).rows)
    assert np.array_equal(np.loadtxt(tmp_path / "out"), expected[:, 0])


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


@pytest.mark.parametrize("words", [["--task", "ridge"], ["--task", "svc", "-c", "2"]])
def test_the_same_bytes_for_any_number_of_threads(words: list[str], tmp_path: Path) -> None:
    """k-means, blocks and the solution, whatever number of threads BLAS and OpenMP would use by default."""
    words = ["meka", str(data("breast.train")), *words, "--rank", "30", "--clusters", "4", "-q"]
    # One thread of each library, as in all tests, and then more of them.
    assert svmfast(*words, "-o", tmp_path / "m1", "-j", "1").returncode == 0
    environment = {**os.environ, "OMP_NUM_THREADS": "5", "OPENBLAS_NUM_THREADS": "5"}
    subprocess.run([PROGRAM, *words, "-o", tmp_path / "m3", "-j", "3"], check=True, env=environment)
    assert (tmp_path / "m1").read_bytes() == (tmp_path / "m3").read_bytes()


@pytest.mark.parametrize("text", ["1\n2\n1\n", "1 1:1\n2 1:1\n1 1:1\n2 1:1\n", "2 3:1\n1 1:2\n"])
def test_tiny_data(text: str, tmp_path: Path) -> None:
    """No features, one point only, fewer rows than clusters."""
    file, model = tmp_path / "d", tmp_path / "m"
    file.write_text(text)
    for words in (["--task", "svc"], ["--task", "svc", "--block-only"], ["--task", "ridge"]):
        assert svmfast("meka", file, "-o", model, *words, "-q").returncode == 0
        assert np.isfinite(load_model(model).decision_values(read_svmlight(file).rows)).all()
    assert svmfast("meka", file, "--task", "error", "-q").returncode == 0
