"""`--scale`: rows are scaled when they are read, and models that are written contain the scaling.

The oracle is svm-scale's own output (fixtures/golden): a command on raw rows with the range file must do what
it does on rows that svm-scale has scaled.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from command import svmfast
from every_command import RUNS, outputs
from program import FIXTURES, data

import svmfast as package
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.formats.ranges import read_ranges
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.registry import methods
from svmfast.models.scaled import ScaledModel

RANGES = data("iris.ranges")
RAW = {"TRAIN": data("iris.train"), "TEST": data("iris.test")}
SCALED = {
    "TRAIN": FIXTURES / "golden" / "iris_train.scaled",
    "TEST": FIXTURES / "golden" / "iris_test_restored.scaled",
}


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LIBSVM model of scaled rows."""
    place = tmp_path_factory.mktemp("scaled") / "exact"
    assert svmfast("train", "-q", "-b", "1", "-c", "4", SCALED["TRAIN"], place).returncode == 0
    return place


@pytest.fixture(scope="module")
def fast(exact: Path) -> Path:
    """An approximation of it that takes raw rows."""
    place = exact.with_name("fast")
    words = ("approximate", exact, "--scale", RANGES, "--data", RAW["TRAIN"], "--order", "4", "-o", place)
    assert svmfast(*words).returncode == 0
    return place


@pytest.fixture(scope="module")
def near(exact: Path) -> Path:
    """An approximation of scaled rows: few of its labels differ, so its cascade is written."""
    place = exact.with_name("near")
    assert svmfast("approximate", exact, "--order", "2", "-o", place).returncode == 0
    return place


OF_METHODS = [name for name, words in RUNS.items() if words[0] in {one.name for one in methods()}]


@pytest.mark.parametrize("name", [name for name in OF_METHODS if "OUT" in RUNS[name]])
def test_every_method_makes_the_model_of_scaled_rows(
    name: str, exact: Path, near: Path, tmp_path: Path
) -> None:
    made = {}
    for kind, rows, more in (("raw", RAW, ["--scale", os.fspath(RANGES)]), ("scaled", SCALED, [])):
        paths: dict[str, Any] = {**rows, "EXACT": exact, "FAST": near}
        paths |= {word: tmp_path / f"{kind}.{word}" for word in outputs(name)}
        run = [word for word in RUNS[name] if word not in ("--scale", "RANGES")]
        words = [os.fspath(paths.get(word, word)) for word in run]
        done = svmfast(*words, *more, "-j", "1")
        assert done.returncode == 0, done.stderr
        made[kind] = load_model(paths["OUT"])
    carrying, plain = made["raw"], made["scaled"]
    assert isinstance(carrying, ScaledModel)
    assert carrying.scaling.same_map(read_ranges(RANGES))
    assert without_data(model_bytes(carrying.model)) == without_data(model_bytes(plain))


def without_data(text: bytes) -> list[bytes]:
    """Return the lines that do not mention files."""
    return [line for line in text.splitlines() if not line.startswith((b"data ", b"checksum "))]


@pytest.mark.parametrize("more", [(), ("-b", "1"), ("--decision-values",), ("--certify",), ("--bound",)])
def test_predictions_are_those_of_scaled_rows(
    more: tuple[str, ...], exact: Path, fast: Path, tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.write_bytes(model_bytes(load_model(fast).unscaled))
    expected = svmfast("predict", SCALED["TEST"], inner, *more)
    found = svmfast("predict", RAW["TEST"], fast, *more)
    assert (found.returncode, found.stdout, found.stderr) == (0, expected.stdout, expected.stderr)
    if more in ((), ("-b", "1")):
        expected = svmfast("predict", SCALED["TEST"], exact, *more)
        found = svmfast("predict", "--scale", RANGES, RAW["TEST"], exact, *more)
        assert (found.stdout, found.stderr) == (expected.stdout, expected.stderr)


def test_the_exact_model_may_have_the_scaling_or_not(exact: Path, fast: Path, tmp_path: Path) -> None:
    carrying = tmp_path / "carrying"
    package.save_model(ScaledModel(load_model(exact), read_ranges(RANGES)), carrying)
    expected = svmfast("predict", SCALED["TEST"], exact)
    for behind in (exact, carrying):
        found = svmfast("predict", RAW["TEST"], fast, "--exact", behind)
        assert (found.returncode, found.stdout) == (0, expected.stdout)
        compared = svmfast("compare", behind, fast, "--data", RAW["TEST"], "--repeats", "1", "--json")
        row = json.loads(compared.stdout)["models"][1]
        assert row["labels_differing"] == 0
    assert svmfast("predict", RAW["TEST"], carrying).stdout == expected.stdout
    # Converted from it, a model names the LIBSVM model inside.
    again = tmp_path / "again"
    done = svmfast("approximate", carrying, "--data", RAW["TRAIN"], "--order", "4", "-o", again)
    assert done.returncode == 0
    assert again.read_bytes() == fast.read_bytes()


def test_bound_check_sees_scaled_rows(fast: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.write_bytes(model_bytes(load_model(fast).unscaled))
    ours = json.loads(svmfast("bound-check", RAW["TEST"], "--model", fast, "--json").stdout)
    theirs = json.loads(svmfast("bound-check", SCALED["TEST"], "--model", inner, "--json").stdout)
    for key in ("certified", "inside", "own", "rows"):
        assert ours[key] == theirs[key]
    ours, theirs = (
        json.loads(svmfast("bound-check", *words, "--gamma", "0.5", "--json").stdout)
        for words in ((RAW["TEST"], "--scale", RANGES), (SCALED["TEST"],))
    )
    assert ours["centered"] == theirs["centered"]
    assert ours["inputs"]["ranges"] == os.fspath(RANGES)
    shown = svmfast("info", fast).stdout.decode()
    assert "\nscaling\n  columns                   4\n  lower                     -1\n" in shown


def test_many_files_are_scaled_too(fast: Path, exact: Path, tmp_path: Path) -> None:
    done = svmfast("predict", "--out-dir", tmp_path, fast, RAW["TEST"])
    expected = svmfast("predict", "-q", SCALED["TEST"], exact).stdout
    assert (done.returncode, (tmp_path / "iris.test.out").read_bytes()) == (0, expected)
    done = svmfast("predict", "--out-dir", tmp_path / "2", "--scale", RANGES, exact, RAW["TEST"])
    assert (done.returncode, (tmp_path / "2" / "iris.test.out").read_bytes()) == (0, expected)


def test_labels_are_scaled_where_the_range_file_has_limits_for_them(tmp_path: Path) -> None:
    scaled = FIXTURES / "golden" / "diabetes_train.scaled"
    words = ("train", "-q", "-s", "3", "-c", "10")
    assert svmfast(*words, scaled, tmp_path / "plain").returncode == 0
    ranges = data("diabetes.ranges")
    done = svmfast(*words, data("diabetes.train"), tmp_path / "carrying", "--scale", ranges)
    assert done.returncode == 0
    test = FIXTURES / "golden" / "diabetes_test_restored.scaled"
    expected = svmfast("predict", test, tmp_path / "plain", tmp_path / "a")
    found = svmfast("predict", data("diabetes.test"), tmp_path / "carrying", tmp_path / "b")
    assert (found.stdout, found.stderr) == (expected.stdout, expected.stderr)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.nightly
def test_frontier_makes_models_that_take_raw_rows(exact: Path, tmp_path: Path) -> None:
    carrying = tmp_path / "carrying"
    package.save_model(ScaledModel(load_model(exact), read_ranges(RANGES)), carrying)
    for number, (path, more) in enumerate(((exact, ("--scale", RANGES)), (carrying, ()))):
        out = tmp_path / f"out{number}"
        words = ("frontier", path, "--data", RAW["TRAIN"], "--test", RAW["TEST"], "-o", out, *more)
        done = svmfast(
            *words,
            "--time-limit",
            "60",
            "--methods",
            "linear,approximate,cascade",
            "--max-diff",
            "20%",
            "--max-operations",  # beyond it lies the exact model, so that no speed is required
            "12",
            shortened=True,
        )
        assert done.returncode == 0, done.stderr
        report = json.loads((out / "report.json").read_text())
        made = [one for one in report["models"] if one["command"]]
        assert made
        assert all("--scale" in one["command"] for one in made)
        loaded = load_model(out / "recommended")
        assert loaded.scaling is not None
        again = svmfast("predict", RAW["TEST"], out / "recommended")
        assert again.returncode == 0
        assert b"on different scales" not in done.stderr + again.stderr
        # The parts that the candidates' commands read contain raw rows.
        part = read_svmlight(out / "choose.part")
        raw = read_svmlight(RAW["TEST"])
        kept = {tuple(row) for row in raw.rows.to_dense().tolist()}
        assert {tuple(row) for row in part.rows.to_dense(4).tolist()} <= kept
