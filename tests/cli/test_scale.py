"""Rows whose scale differs from the model's vectors cause a warning; rows like its training rows do not."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from command import svmfast
from program import FIXTURES, data, model

from svmfast.evaluation.scale_check import ScaleCheck
from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight, write_svmlight
from svmfast.rows import Rows

OWN = [
    (path.stem, name)
    for path in sorted((FIXTURES / "models").glob("*.model"))
    for name in (f"{path.stem.split('_')[0]}.test", f"{path.stem.split('_')[0]}.train")
    if data(name).exists() and "precomputed" not in path.read_text()[:200]
]


def scaled(path: Path, factor: float, place: Path) -> Path:
    read = read_svmlight(path)
    rows = Rows(read.rows.indptr, read.rows.indices, read.rows.values * factor, read.rows.n_columns)
    write_svmlight(place, rows, read.labels)
    return place


def test_no_warning_on_the_fixtures() -> None:
    assert len(OWN) > 20
    for exact, name in OWN:
        check = ScaleCheck(load_model(model(exact)))
        check.add(read_svmlight(data(name)).rows)
        assert check.verdict() is None, (exact, name)


@pytest.mark.parametrize("factor", [100.0, 0.0])
def test_no_warning_for_few_rows_or_zeros(factor: float) -> None:
    read = read_svmlight(data("breast.test"))
    check = ScaleCheck(load_model(model("breast_c_rbf")))
    check.add(Rows(read.rows.indptr, read.rows.indices, read.rows.values * factor, read.rows.n_columns)[:9])
    assert check.verdict() is None


def test_the_answer_does_not_depend_on_the_blocks() -> None:
    rows = Rows.from_dense(np.random.default_rng(0).normal(size=(3000, 9)) * 100)
    verdicts = set()
    for size in (1, 7, 1000, 3000):
        check = ScaleCheck(load_model(model("breast_c_rbf")))
        for start in range(0, 3000, size):
            check.add(rows[start : start + size])
        verdicts.add(check.verdict())
    (message,) = verdicts
    assert message is not None
    assert re.search(r"of the first 1,000 rows is \S+, the largest of the model's vectors", message)


def test_the_warning_for_scaled_rows_does_not_suggest_a_range_file(tmp_path: Path) -> None:
    ranges = tmp_path / "ranges"
    assert svmfast("scale", "-l", "90", "-u", "100", "-s", ranges, data("breast.test")).returncode == 0
    done = svmfast("predict", "-q", "--scale", ranges, data("breast.test"), model("breast_c_rbf"), os.devnull)
    (line,) = done.stderr.decode().splitlines()
    assert "the rows and the model are on different scales" in line
    assert "--scale" not in line


def test_every_command_warns_once_and_answers_the_same(tmp_path: Path) -> None:
    exact = model("breast_c_rbf")
    raw = scaled(data("breast.test"), 50.0, tmp_path / "raw")
    other = scaled(data("breast.train"), 50.0, tmp_path / "other")
    fast, out = tmp_path / "fast", tmp_path / "out"
    assert svmfast("approximate", exact, "-o", fast, "-q").returncode == 0
    small = ("--iterations", "2", "--start", "kmeans")
    runs = {
        "predict": ("predict", "-q", raw, exact, out),
        "predict, approximated": ("predict", "-q", raw, fast, tmp_path / "out2"),
        "compare": ("compare", "-q", exact, fast, "--data", raw, "--repeats", "1"),
        "bound-check": ("bound-check", "-q", raw, "--model", exact),
        "compress": ("compress", "-q", exact, "--sv", "4", "--data", raw, "-o", tmp_path / "c", *small),
        "approximate": ("approximate", "-q", exact, "--data", raw, "-o", tmp_path / "a"),
        "dcpred": ("dcpred", "-q", raw, "-o", tmp_path / "d", "--from", exact, "--iterations", "0"),
        # Its candidates are separate commands, each of which would warn.
        "frontier": ("frontier", "-q", exact, "--data", raw, "--methods", "linear", "-o", tmp_path / "f"),
        "frontier, both": (
            *("frontier", "-q", exact, "--data", raw, "--test", other, "--methods", "linear"),
            *("-o", tmp_path / "g"),
        ),
    }
    for name, words in runs.items():
        done = svmfast(*words)
        warned = [line for line in done.stderr.decode().splitlines() if "on different scales" in line]
        assert len(warned) == 1, (name, done.stderr)
        assert warned[0].startswith("svmfast: warning: ")
        assert warned[0].endswith("; raw rows need the range file of the training data (--scale)")
        assert b"on different scales" not in done.stdout
    assert out.read_bytes() == svmfast("predict", "-q", raw, exact).stdout
