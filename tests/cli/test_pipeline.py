"""The batch pipeline of `svmfast --show-makefile`, run by make."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from program import PATIENCE, PROGRAM, ROOT, data, model

import svmfast as package

pytestmark = [
    pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed"),
    pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="make itself does not pass the sanitizers"),
]

#: frontier's timing and figure, which no test here needs, take most of the pipeline's time.
SHORTENED = f"{sys.executable} {ROOT / 'tests/support/shortened.py'}"


def make(cwd: Path, *words: str, train: Path | None = None) -> subprocess.CompletedProcess[str]:
    settings = [
        f"SVMFAST={SHORTENED}",
        f"TRAIN={train or data('photos.train')}",
        f"TEST={data('photos.test')}",
        "OPTIONS=-c 0.1",
    ]
    command = ["make", "-f", str(ROOT / "svmfast/cli/pipeline.mk"), *settings, *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120 * PATIENCE)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the pipeline has predicted two files, with its training rows."""
    folder = tmp_path_factory.mktemp("pipeline")
    lines = data("photos.test").read_text().splitlines()
    for name, part in (("monday", lines[:50]), ("tuesday", lines[50:90])):
        (folder / name).write_text("\n".join(part) + "\n")
    shutil.copy(data("photos.train"), folder / "train")
    done = make(folder, "FILES=monday tuesday", train=Path("train"))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished folder, with the times of its files."""
    return Path(shutil.copytree(finished, tmp_path / "copied"))


@pytest.mark.nightly
def test_files_are_predicted_once_and_refused_where_nothing_is_certified(copied: Path) -> None:
    train = Path("train")
    lines = data("photos.test").read_text().splitlines()
    assert len((copied / "out/monday.labels").read_text().splitlines()) == 50
    assert len((copied / "out/tuesday.labels").read_text().splitlines()) == 40
    assert "Nothing to be done" in make(copied, "FILES=monday tuesday", train=train).stdout

    # A camera with a hundred times the gain: far from the rows on which the model was trained.
    far = [
        " ".join([words[0], *(f"{i}:{100 + 7 * k}" for i, k in enumerate(range(1, 5), 1))])
        for words in (line.split() for line in lines[:20])
    ]
    (copied / "broken").write_text("\n".join(far) + "\n")
    (copied / "friday").write_text("\n".join(lines[90:99]) + "\n")
    done = make(copied, "-k", "FILES=broken friday", train=train)
    assert done.returncode == 2
    assert "broken.labels] Error 1" in done.stderr
    assert not (copied / "out/broken.labels").exists()
    assert len((copied / "out/friday.labels").read_text().splitlines()) == 9


@pytest.mark.nightly
def test_other_training_rows_make_everything_again(copied: Path) -> None:
    made, train = copied / "out/frontier/recommended", copied / "train"
    before = made.read_bytes()
    train.write_text("".join(train.read_text().splitlines(keepends=True)[200:]))
    done = make(copied, "FILES=monday", train=Path("train"))
    assert done.returncode == 0, done.stderr
    assert made.read_bytes() != before


def test_two_files_with_the_same_name_are_refused(tmp_path: Path) -> None:
    done = make(tmp_path, "FILES=a/monday b/monday")
    assert done.returncode == 2
    assert "two of FILES have the same name" in done.stderr


#: A regression: diabetes, as svm-train trained fixtures/models/diabetes_eps_rbf.model.
REGRESSION = (
    f"TRAIN={data('diabetes.train')}",
    f"TEST={data('diabetes.test')}",
    "OPTIONS=-s 3 -c 100 -g 0.02 -p 5",
)


def values(path: Path) -> np.ndarray:
    return np.array(path.read_text().split(), float)


def part_of_diabetes(place: Path, rows: int) -> Path:
    place.write_text("".join(data("diabetes.test").read_text().splitlines(keepends=True)[:rows]))
    return place


@pytest.mark.nightly
def test_values_of_a_regression_are_within_the_tolerance(tmp_path: Path) -> None:
    part_of_diabetes(tmp_path / "monday", 50)
    # A regression is only confirmed by 500 rows or more.
    train, rng = package.read_svmlight(data("diabetes.train")), np.random.default_rng(0)
    drawn = rng.integers(0, len(train), 1200)
    near = train.rows.to_dense()[drawn]
    rows = package.as_rows(near + 0.01 * rng.normal(size=near.shape))
    package.write_svmlight(tmp_path / "many", rows, train.labels[drawn])
    regression = (*REGRESSION, "TEST=many")
    done = make(tmp_path, "FILES=monday", "TOLERANCE=0.05", "CERTIFIED=1%", *regression)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out/frontier/report.json").read_text())
    assert report["limits"]["max_diff_percent"] == 3
    assert report["recommended"]["name"] == "approximate-2"
    exact = [PROGRAM, "predict", "-q", "monday", "out/exact.model", "exact.values"]
    subprocess.run(exact, cwd=tmp_path, check=True)
    ours, theirs = values(tmp_path / "out/monday.values"), values(tmp_path / "exact.values")
    assert 0 < np.abs(ours - theirs).max() <= 0.05
    assert "Nothing to be done" in make(tmp_path, "FILES=monday", "TOLERANCE=0.05", *regression).stdout
    # Rows far from those of the training: no value is proven, and the file is refused.
    (tmp_path / "far").write_text("100 " + " ".join(f"{i}:{90 + i}" for i in range(1, 11)) + "\n")
    done = make(tmp_path, "FILES=far", "TOLERANCE=0.05", "CERTIFIED=1%", *regression)
    assert done.returncode == 2
    assert "far.values] Error 1" in done.stderr
    assert not (tmp_path / "out/far.values").exists()


@pytest.mark.parametrize("given", [REGRESSION, (f"MODEL={model('diabetes_eps_rbf')}",)])
def test_a_regression_needs_a_tolerance(given: tuple[str, ...], tmp_path: Path) -> None:
    done = make(tmp_path, "FILES=monday", "-n", *given)
    assert done.returncode == 2
    assert (
        "say TOLERANCE=ERROR, how far a value of the regression may be from the exact model's" in done.stderr
    )


def rules_of_the_page() -> list[str]:
    page = (ROOT / "docs" / "batch.md").read_text()
    return re.findall(r"^```make\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


#: Data, the limit on the page, a limit that the models exceed, the share of vectors, and words of the report.
GATES = {
    "values": ("diabetes", "3%", "0.0001%", "10%", "values differ"),
    "labels": ("breast", "0.5%", "0.0001%", "3%", "labels differ"),
}


@pytest.mark.nightly
@pytest.mark.parametrize("what", GATES)
def test_the_report_of_a_gate_outlives_its_failure(what: str, tmp_path: Path) -> None:
    """docs/batch.md: no prediction if the models differ too much, and the next run compares again."""
    name, limit, tight, share, words = GATES[what]
    (rules,) = (one for one in rules_of_the_page() if f"monday.{what}:" in one)
    assert rules.count(limit) == rules.count("--ratio 10%") == 1
    shutil.copy(data(f"{name}.train"), tmp_path / "train.txt")
    lines = data(f"{name}.test").read_text().splitlines(keepends=True)
    (tmp_path / "test.txt").write_text("".join(lines))
    (tmp_path / "monday").write_text("".join(lines[:10]))
    path = os.pathsep.join([str(Path(PROGRAM).parent), os.environ["PATH"]])
    out, report = tmp_path / f"monday.{what}", tmp_path / "fast.report"
    for allowed, status in ((tight, 2), (tight, 2), ("100%", 0)):
        report.unlink(missing_ok=True)
        changed = rules.replace(limit, allowed).replace("--ratio 10%", f"--ratio {share}")
        (tmp_path / "Makefile").write_text(changed)
        done = subprocess.run(
            ["make"],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=120 * PATIENCE,
        )
        assert done.returncode == status, done.stderr
        assert (f"more than {tight}" in done.stderr) == (status == 2)
        assert words in report.read_text()
        assert out.exists() == (tmp_path / "fast.passed").exists() == (status == 0)
    assert len(out.read_text().split()) == 10
