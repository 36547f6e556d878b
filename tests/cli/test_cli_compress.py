"""`svmfast compress`: its options, reports, bytes and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from program import cli_runner, data, model, svmfast
from read_fixtures import exact, rows

from svmfast.cli.main import program
from svmfast.formats.model_files import model_bytes
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.compressor import Compressor
from svmfast.methods.registry import method


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
    arguments = ("--max-bytes", "6k", "--iterations", "30", "--data", data("odd.train"))
    assert run(model("odd_c_rbf"), "-o", out, *arguments, "-q")[0] == 0
    assert 0.7 * 6144 < out.stat().st_size <= 6144


def test_max_diff(tmp_path: Path) -> None:
    out = tmp_path / "small.model"
    arguments = (
        "--max-diff",
        "2%",
        "--iterations",
        "60",
        "--data",
        data("photos.train"),
    )
    status, printed, said = run(model("photos_c_rbf"), "-o", out, *arguments, "--json")
    report = json.loads(printed)
    assert status == 0
    # The rows that chose the size met the limit; the others may exceed it, and then there is a warning.
    exceeds = report["held_out"]["labels_differing_percent"] > 2
    assert ("held-out rows do not show --max-diff" in said) == exceeds
    assert report["held_out"]["labels_differing_percent"] < 4
    assert dict(report["sizes_tried"])[report["support_vectors"]] <= 0.02
    assert report["support_vectors"] < 60
    held = report["held_out"]["rows"]
    assert "% of the labels differ (95% confidence: " in said
    assert f"held out     {held} rows (data) on which nothing was chosen" in said


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
    done = svmfast(
        "compress", model(name), "-o", out, *map(str, options), "--iterations", "5", "--start", "kmeans"
    )
    assert done.returncode == 1
    assert message in done.stderr.decode()
    assert not out.exists()


@pytest.mark.parametrize("start", ["kmeans", "lars"])
def test_zero_iterations_leave_the_vectors_unchanged(start: str) -> None:
    settings = CompressOptions(start=start, iterations=0)
    made, report = Compressor(exact("breast_c_rbf"), *rows("breast.train"), settings).compress(6)
    selected, _ = Compressor(
        exact("breast_c_rbf"), *rows("breast.train"), CompressOptions(start=report.start, select_only=True)
    ).compress(6)
    assert report.iterations == 0
    assert model_bytes(made) == model_bytes(selected)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "give the size by exactly one of --sv, --ratio, --max-diff and --max-bytes; got none"),
        (("--sv", "3", "--ratio", "5%"), "got --sv and --ratio"),
        (("--ratio", "5"), "'5' is not a share"),
        (("--ratio", "a%"), "'a%' is not a share"),
        (("--max-bytes", "32q"), "'32q' is not a size"),
        (("--sv", "3", "--json", "-o", "-"), "cannot both go to standard output"),
        (("--sv", "3", "--data", "-", "--data", "-"), "standard input can be read only once"),
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
    quick = ("--iterations", "5", "--max-bytes", "300")
    done = svmfast("compress", model("breast_c_rbf"), "-o", tmp_path / "x", *quick, timeout=300)
    assert done.returncode == 1
    assert "dense support vector takes" in done.stderr.decode()
    assert not (tmp_path / "x").exists()


def test_default_output() -> None:
    assert method("compress").default_output("a/b.model") == "b.compress.model"
    assert method("compress").default_output("a/b.model.xz") == "b.compress.model"
    assert method("compress").default_output("a/b.txt") == "b.compress.model"
