"""What docs/batch.md describes: rules and `svmfast --show-makefile`, run by make, and recipes for engines."""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from program import PATIENCE, PROGRAM, ROOT, data, model
from table_files import columns_of, read, write

import svmfast as package

PAGE = (ROOT / "docs" / "batch.md").read_text()
#: frontier's timing takes most of the pipeline's time.
SHORTENED = "from forking import forking; short = forking(shortened=True); short.__enter__(); "
SHORTENED += "from svmfast.__main__ import console; console()"
PROGRAMS = f"SVMFAST=PYTHONPATH={ROOT / 'tests/support'} {sys.executable} -c '{SHORTENED}'"
PIPELINE = ("-f", ROOT / "svmfast/cli/pipeline.mk", PROGRAMS, "OPTIONS=-c 0.1", "TRAIN=train", "TEST=test")


def make(cwd, *words, status=0):
    if shutil.which("make") is None or "SVMFAST_SANITIZED" in os.environ:
        pytest.skip("make is not installed, or does not pass the sanitizers itself")
    environment = {**os.environ, "PATH": os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])}
    more = {"env": environment, "capture_output": True, "text": True, "timeout": 120 * PATIENCE}
    done = subprocess.run(["make", *words], cwd=cwd, **more)
    assert done.returncode == status, done.stderr
    return done.stderr if status else done.stdout


def lines_of(name):
    return data(name).read_text().splitlines(keepends=True)


@pytest.mark.nightly
def test_files_are_predicted_once_and_refused_where_nothing_is_certified(tmp_path):
    lines = lines_of("photos.test")
    for name in ("train", "test"):
        shutil.copy(data(f"photos.{name}"), tmp_path / name)
    (tmp_path / "monday").write_text("".join(lines[:50]))
    (tmp_path / "tuesday").write_text("".join(lines[50:90]))
    make(tmp_path, *PIPELINE, "FILES=monday tuesday")
    for name, rows in (("monday", 50), ("tuesday", 40)):
        assert len((tmp_path / f"out/{name}.labels").read_text().splitlines()) == rows
    assert "Nothing to be done" in make(tmp_path, *PIPELINE, "FILES=monday tuesday")
    # A camera with a hundred times the gain: far from the rows on which the model was trained.
    (tmp_path / "broken").write_text("1 1:107 2:114 3:121 4:128\n" * 20)
    (tmp_path / "friday").write_text("".join(lines[90:99]))
    assert "broken.labels] Error 1" in make(tmp_path, "-k", *PIPELINE, "FILES=broken friday", status=2)
    assert not (tmp_path / "out/broken.labels").exists()
    assert len((tmp_path / "out/friday.labels").read_text().splitlines()) == 9
    # Other training rows make everything again.
    made, train = tmp_path / "out/frontier/recommended", tmp_path / "train"
    before = made.read_bytes()
    train.write_text("".join(train.read_text().splitlines(keepends=True)[200:]))
    make(tmp_path, *PIPELINE, "FILES=monday")
    assert made.read_bytes() != before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("FILES=a/monday b/monday",), "two of FILES have the same name"),
        (("OPTIONS=-s 3",), "say TOLERANCE=ERROR, how far a value of the regression may be"),
        ((f"MODEL={model('diabetes_eps_rbf')}",), "say TOLERANCE=ERROR, how far a value"),
    ],
)
def test_a_pipeline_that_is_refused(words, message, tmp_path):
    assert message in make(tmp_path, *PIPELINE, "FILES=monday", "-n", *words, status=2)


@pytest.mark.nightly
def test_values_of_a_regression_are_within_the_tolerance(tmp_path):
    (tmp_path / "monday").write_text("".join(lines_of("diabetes.test")[:50]))
    # A regression is only confirmed by 500 rows or more.
    train, rng = package.read_svmlight(data("diabetes.train")), np.random.default_rng(0)
    drawn = rng.integers(0, len(train), 1200)
    near = train.rows.to_dense()[drawn]
    rows = package.as_rows(near + 0.01 * rng.normal(size=near.shape))
    package.write_svmlight(tmp_path / "many", rows, train.labels[drawn])
    # As svm-train trained fixtures/models/diabetes_eps_rbf.model.
    words = (*PIPELINE, "TOLERANCE=0.05", "CERTIFIED=1%", "OPTIONS=-s 3 -c 100 -g 0.02 -p 5", "TEST=many")
    words = (*words, f"TRAIN={data('diabetes.train')}")
    make(tmp_path, *words, "FILES=monday")
    report = json.loads((tmp_path / "out/frontier/report.json").read_text())
    assert report["limits"]["max_diff_percent"] == 3
    assert report["recommended"]["name"] == "approximate-2"
    exact = package.predict(tmp_path / "out/exact.model", tmp_path / "monday").predicted
    found = np.array((tmp_path / "out/monday.values").read_text().split(), float)
    assert 0 < np.abs(found - exact).max() <= 0.05
    # Rows far from those of the training: no value is proven, and the file is refused.
    (tmp_path / "far").write_text("100 " + " ".join(f"{i}:{90 + i}" for i in range(1, 11)) + "\n")
    assert "far.values] Error 1" in make(tmp_path, *words, "FILES=far", status=2)
    assert not (tmp_path / "out/far.values").exists()


#: Data, the limit on the page, one that the models exceed, the share of vectors, and words of the report.
GATES = {
    "values": ("diabetes", "3%", "0.0001%", "10%", "values differ"),
    "labels": ("breast", "0.5%", "0.0001%", "3%", "labels differ"),
}


@pytest.mark.nightly
@pytest.mark.parametrize("what", GATES)
def test_the_report_of_a_gate_outlives_its_failure(what, tmp_path):
    """No prediction if the models differ too much, and the next run compares again."""
    name, limit, tight, share, words = GATES[what]
    blocks = re.findall(r"^```make\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    (rules,) = (one for one in blocks if f"monday.{what}:" in one)
    assert rules.count(limit) == rules.count("--ratio 10%") == 1
    for place in ("train", "test"):
        shutil.copy(data(f"{name}.{place}"), tmp_path / f"{place}.txt")
    (tmp_path / "monday").write_text("".join(lines_of(f"{name}.test")[:10]))
    out, report = tmp_path / f"monday.{what}", tmp_path / "fast.report"
    for allowed, status in ((tight, 2), (tight, 2), ("100%", 0)):
        report.unlink(missing_ok=True)
        changed = rules.replace(limit, allowed).replace("--ratio 10%", f"--ratio {share}")
        (tmp_path / "Makefile").write_text(changed)
        assert (f"more than {tight}" in make(tmp_path, status=status)) == (status == 2)
        assert words in report.read_text()
        assert out.exists() == (tmp_path / "fast.passed").exists() == (status == 0)
    assert len(out.read_text().split()) == 10


RECIPES = {text.split("\n")[0][2:]: text for text in re.findall(r"(?ms)^```python\n(# .*?)^```", PAGE)}


@pytest.mark.nightly
@pytest.mark.parametrize("engine", RECIPES)
def test_the_recipe_gives_svmfasts_labels(engine, tmp_path):
    pytest.importorskip(engine)
    rows, out, exact = tmp_path / "rows.parquet", tmp_path / "out.parquet", model("photos_c_rbf")
    write(rows, columns_of("photos.test"))
    places = f"MODEL, INPUT, OUTPUT = {str(exact)!r}, {str(rows)!r}, {str(out)!r}\n"
    (tmp_path / "recipe.py").write_text(places + RECIPES[engine])
    subprocess.run([sys.executable, tmp_path / "recipe.py"], check=True, timeout=300)
    expected = package.predict(exact, package.read_svmlight(data("photos.test")).rows).predicted
    assert np.array_equal(read(out)["label"].to_numpy(), expected)
