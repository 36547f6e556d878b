"""`svmfast compress`: its options, reports, bytes and refusals."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pytest
from program import ROOT, cli_runner, data, model, svmfast
from read_fixtures import exact, rows

from svmfast.cli.main import program
from svmfast.display import rounded_up
from svmfast.errors import UnsupportedError
from svmfast.formats.detect import load_model, model_bytes
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.compressor import Compressor
from svmfast.methods.registry import method
from svmfast.models.cascade import CascadeModel


def run(*args: object) -> tuple[int, str, str]:
    result = cli_runner().invoke(program, ["compress", *map(str, args)], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.stdout, result.stderr


def test_command_and_report(tmp_path: Path) -> None:
    out = tmp_path / "small.model"
    arguments = [
        model("odd_c_rbf"),
        "-o",
        out,
        "--ratio",
        "10%",
        "--iterations",
        "60",
        "--start",
        "kmeans",
        "--json",
    ]
    done = svmfast("compress", *map(str, arguments), "--data", str(data("odd.train")), timeout=300)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["support_vectors"] == 23
    assert report["bytes"] == out.stat().st_size
    assert report["support_vectors_exact"] == 234
    assert 0 <= report["held_out"]["labels_differing_percent"] < 10
    assert b"95% confidence" in done.stderr


def test_bytes_do_not_depend_on_threads(tmp_path: Path) -> None:
    texts = set()
    for jobs in (1, 2, 5):
        out = tmp_path / f"{jobs}.model"
        arguments = ("--sv", "30", "--iterations", "40", "--data", data("digits.train"))
        assert run(model("digits_c_rbf_prob"), "-o", out, *arguments, "-j", jobs, "-q")[0] == 0
        texts.add(out.read_bytes())
    assert len(texts) == 1


def test_max_bytes(tmp_path: Path) -> None:
    out = tmp_path / "small.model"
    arguments = ("--max-bytes", "6k", "--iterations", "30", "--start", "kmeans", "--data", data("odd.train"))
    assert run(model("odd_c_rbf"), "-o", out, *arguments, "-q")[0] == 0
    assert 0.7 * 6144 < out.stat().st_size <= 6144


def test_max_diff(tmp_path: Path) -> None:
    out = tmp_path / "small.model"
    arguments = (
        "--max-diff",
        "2%",
        "--iterations",
        "60",
        "--start",
        "kmeans",
        "--data",
        data("photos.train"),
    )
    status, printed, said = run(model("photos_c_rbf"), "-o", out, *arguments, "--json")
    report = json.loads(printed)
    assert status == 0
    # The rows that chose the size met the limit; the others may exceed it, and then there is a warning.
    exceeds = report["held_out"]["labels_differing_percent"] > 2
    assert ("warning: on the held-out rows " in said) == exceeds
    assert report["held_out"]["labels_differing_percent"] < 4
    assert dict(report["sizes_tried"])[report["support_vectors"]] <= 0.02
    assert report["support_vectors"] < 60
    held = report["held_out"]["rows"]
    assert "% of the labels differ (95% confidence: " in said
    assert f"{held} held-out rows (data) on which nothing was chosen: " in said
    assert any("measured on only " in note for note in report["notes"])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "breast_c_rbf",
            ("--sv", 60),
            "the model, of 51 support vectors and 16,722 bytes, is already small enough",
        ),
        ("breast_c_rbf", ("--max-bytes", "1M"), "is already small enough"),
        ("onehot_c_rbf", ("--sv", 60), "the file would grow: 60 dense support vectors take"),
    ],
)
def test_a_model_that_would_not_be_better_is_refused(
    name: str, options: tuple[object, ...], message: str, tmp_path: Path
) -> None:
    out = tmp_path / "small.model"
    status, _, stderr = run(model(name), "-o", out, *options, "--iterations", "5", "--start", "kmeans")
    assert status == 1
    assert message in stderr
    assert not out.exists()


@pytest.mark.parametrize("start", ["kmeans", "auto"])
def test_zero_iterations_leave_the_vectors_unchanged(start: str) -> None:
    settings = CompressOptions(start=start, iterations=0)
    made, report = Compressor(exact("breast_c_rbf"), *rows("breast.train"), settings).compress(6)
    selected, _ = Compressor(
        exact("breast_c_rbf"), *rows("breast.train"), CompressOptions(start=report.start, select_only=True)
    ).compress(6)
    assert (report.iterations, report.evaluations) == (0, 0)
    assert model_bytes(made) == model_bytes(selected)


def test_a_printed_threshold_is_not_rounded_down() -> None:
    for value in (1.004, 9.994, 0.12345, 2.0, 999.9, 3e-7, 0.0):
        assert value <= float(rounded_up(value)) <= 1.015 * value


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "give the size by exactly one of --sv, --ratio, --max-diff and --max-bytes; got none"),
        (("--sv", "3", "--ratio", "5%"), "got --sv and --ratio"),
        (("--ratio", "5"), "'5' lacks a percent sign; write 5%"),
        (("--ratio", "a%"), "'a%' is not a share"),
        (("--max-bytes", "32q"), "'32q' is not a size"),
        (("--sv", "3", "--json", "-o", "-"), "cannot both go to standard output"),
        (("--sv", "3", "--data", "-", "--data", "-"), "standard input can be read only once"),
        (("--sv", "3", "--select-only", "--sparse-tolerance", "0.1"), "and --select-only moves none"),
    ],
)
def test_bad_options(args: tuple[str, ...], message: str, tmp_path: Path) -> None:
    quick = ("--iterations", "5", "--start", "kmeans")
    out = () if "-o" in args else ("-o", tmp_path / "x")
    done = svmfast("compress", model("breast_c_rbf"), *out, *quick, *args, timeout=300)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert not (tmp_path / "x").exists()


def test_an_impossible_size_is_a_negative_answer(tmp_path: Path) -> None:
    quick = ("--iterations", "5", "--start", "kmeans", "--max-bytes", "300")
    done = svmfast("compress", model("breast_c_rbf"), "-o", tmp_path / "x", *quick, timeout=300)
    assert done.returncode == 1
    assert "dense support vector takes" in done.stderr.decode()
    assert not (tmp_path / "x").exists()


def test_default_output() -> None:
    assert method("compress").default_output("a/b.model") == "b.compress.model"
    assert method("compress").default_output("a/b.model.xz") == "b.compress.model"
    assert method("compress").default_output("a/b.txt") == "b.compress.model"


def test_assumed_error_sends_uncertain_rows_to_the_exact_model(tmp_path: Path) -> None:
    small, out, exact_model = tmp_path / "small.model", tmp_path / "out", model("odd_c_rbf")
    arguments = ("--sv", "5", "--iterations", "30", "--start", "kmeans", "--data", data("odd.train"))
    assert run(exact_model, "-o", small, *arguments, "-q")[0] == 0
    test, _ = rows("odd.test")
    few, many = load_model(small), exact("odd_c_rbf")
    error = float(np.quantile(np.abs(few.decision_values(test) - many.decision_values(test)), 0.9))
    done = svmfast(
        "predict", data("odd.test"), small, out, "--exact", exact_model, "--assume-error", repr(error)
    )
    assert done.returncode == 0, done.stderr
    beyond = np.abs(few.decision_values(test)[:, 0]) > error
    assert 0 < beyond.sum() < len(test)
    message = f"{beyond.sum()} of 600 rows beyond an assumed error of {error:g} ("
    assert message in done.stderr.decode()
    assert "statistical, not proven" in done.stderr.decode()
    expected = np.where(
        beyond,
        few.head.predict(few.decision_values(test)),
        many.head.predict(many.decision_values(test)),
    )
    np.testing.assert_array_equal(np.loadtxt(out), expected)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--assume-error", "1"), "--assume-error decides which rows go to the --exact model"),
        (("--assume-error", "1", "--certify", "--exact", "breast_c_rbf"), "proves nothing"),
    ],
)
def test_assumed_errors_refused(args: tuple[str, ...], message: str, tmp_path: Path) -> None:
    named = [str(model(a)) if a == "breast_c_rbf" else a for a in args]
    done = svmfast("predict", data("breast.test"), model("breast_c_rbf"), tmp_path / "out", *named)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    with pytest.raises(UnsupportedError, match="does not distinguish rows in regression"):
        CascadeModel(exact("diabetes_eps_rbf"), exact("diabetes_eps_rbf"), 1.0)


def test_the_page_shows_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "bench"))
    frontier = importlib.import_module("frontier_compress")
    _, shown, _ = importlib.import_module("pages").tables_of(frontier.PAGE, "frontier")
    results = json.loads(frontier.RESULTS.read_text())
    assert shown == frontier.table(results)
    # For our models and the baselines svm-predict gives the same labels.
    assert {p["svm_predict_differs"] for r in results.values() for p in r["points"]} == {0}
