"""Tables through the program: every command that reads data accepts them, and predict writes them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from command import svmfast
from every_command import RUNS, words
from program import data, metered, model
from pyarrow import csv, feather, parquet

import svmfast as package
from svmfast.errors import OptionError
from svmfast.formats.model_files import model_bytes

EXACT = model("photos_c_rbf")


def made(folder: Path, name: str) -> Path:
    """Write rows of the repository as Parquet."""
    rows = package.read_svmlight(data(name))
    dense = rows.rows.to_dense()
    columns = {f"x{j + 1}": values for j, values in enumerate(dense.T)}
    path = folder / f"{name}.parquet"
    parquet.write_table(pa.table({"label": rows.labels, **columns}), path)
    return path


@pytest.mark.parametrize("name", [name for name, run in RUNS.items() if {"TRAIN", "TEST"} & {*run}])
def test_every_command_that_reads_data(name: str, tmp_path: Path) -> None:
    """The same result as from LIBSVM's text; a model that is trained on a table also has its names."""
    results = []
    for form in ("text", "table"):
        folder = tmp_path / form
        folder.mkdir()
        paths = {"OUT": folder / "out", "SAVED": folder / "saved"}
        if form == "table":
            paths |= {"TRAIN": made(folder, "iris.train"), "TEST": made(folder, "iris.test")}
        done = svmfast(*words(name, paths))
        assert done.returncode in (0, 1), done.stderr
        results.append((done.returncode, result(folder / "out", names=form == "table")))
    if name.startswith(("predict", "compare", "bound-check", "linear", "train")):
        assert results[0] == results[1]
    assert results[0][0] == results[1][0]


def result(path: Path, *, names: bool) -> list[bytes] | None:
    """Return the content of a file; that of a model as its scaling and the bytes of its model."""
    if not path.is_file():
        return None
    text = path.read_bytes()
    if not text.startswith((b"svmfast-model", b"svm_type")):
        return [text]
    made = package.load_model(path)
    scaling = made.scaling
    if scaling is not None and names:
        scaling = replace(scaling, feature_names=None)
    kept = [] if scaling is None or scaling.is_identity else [scaling.digest().encode()]
    return [*kept, model_bytes(made.unscaled)]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    found = package.read_svmlight(data("photos.test"))
    names = {f"x{j + 1}": values for j, values in enumerate(found.rows.to_dense().T)}
    path = tmp_path / "rows.parquet"
    ids = pa.array([f"id {i}" for i in range(len(found))])
    columns = {"id": ids, "label": found.labels, **names, "part": ids.dictionary_encode()}
    parquet.write_table(pa.table(columns), path, row_group_size=300)
    return path


def test_predictions_as_a_table(rows: Path, tmp_path: Path) -> None:
    width = package.load_model(EXACT).n_features
    features = ",".join(f"x{j}" for j in range(1, width + 1))
    text = (
        svmfast("predict", "-q", "--decision-values", data("photos.test"), EXACT, "-")
        .stdout.decode()
        .split("\n")
    )
    for end in ("parquet", "arrow", "feather", "csv", "tsv", "csv.gz"):
        out = tmp_path / f"out.{end}"
        options = ("--features", features, "--keep", "id,part", "--decision-values")
        done = svmfast("predict", *options, rows, EXACT, out)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout == svmfast("predict", data("photos.test"), EXACT, tmp_path / "x").stdout
        if end == "parquet":
            found = parquet.read_table(out)
        elif end in ("arrow", "feather"):
            found = feather.read_table(out)
        else:
            found = csv.read_csv(out, parse_options=csv.ParseOptions(delimiter="\t" if end == "tsv" else ","))
        assert found.column_names == ["label", "1/-1", "id", "part"]
        lines = [
            f"{label} {value:.17g}"
            for label, value in zip(*(found[i].to_pylist() for i in (0, 1)), strict=True)
        ]
        assert lines == text[1:-1]
        assert found["id"].to_pylist() == [f"id {i}" for i in range(found.num_rows)]
        again = tmp_path / f"again.{end}"
        assert svmfast("predict", "-q", "-j", "1", *options, rows, EXACT, again).returncode == 0
        assert again.read_bytes() == out.read_bytes()


def test_selected_columns(tmp_path: Path) -> None:
    fast = tmp_path / "fast"
    assert svmfast("approximate", "-q", model("breast_c_rbf"), "-o", fast).returncode == 0
    out = tmp_path / "out.parquet"
    done = svmfast("predict", "-q", "--certify", "--no-fallback", data("breast.test"), fast, out)
    assert done.returncode == 0
    found = parquet.read_table(out)
    answer = package.predict(fast, data("breast.test"), certify=True, no_fallback=True)
    assert found.schema.types == [pa.int64(), pa.bool_(), pa.float64()]
    assert found.column_names == ["label", "certified", "error_bound"]
    assert np.array_equal(found["error_bound"], answer.error_bounds)
    done = svmfast("predict", "-q", "-b", "1", data("iris.test"), model("iris_c_rbf_prob"), out)
    found = parquet.read_table(out)
    assert found.column_names == [
        "label",
        *(f"probability {x:g}" for x in package.load_model(model("iris_c_rbf_prob")).head.labels),
    ]
    done = svmfast("predict", "-q", data("diabetes.test"), model("diabetes_eps_rbf"), out)
    assert parquet.read_table(out).schema.types == [pa.float64()]


def test_a_wider_table(tmp_path: Path) -> None:
    path = made(tmp_path, "iris.test")
    exact = model("iris_c_rbf_prob")
    parquet.write_table(parquet.read_table(path).append_column("more", pa.array([1.0] * 50)), path)
    done = svmfast("predict", path, exact, tmp_path / "out")
    assert done.returncode == 0
    lines = [line for line in done.stderr.decode().splitlines() if "feature" in line and "order" not in line]
    assert lines == [
        f"svmfast: warning: {path}: 5 columns of features, the model has 4 features, and 'more' beyond them; "
        "name the features with --features, or the other columns with --label or --keep"
    ]
    report = json.loads(svmfast("predict", "--json", path, exact, tmp_path / "out").stdout)
    assert report["rows_with_unknown_features"] == 50


@pytest.mark.nightly
def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    peaks = []
    width = package.load_model(EXACT).n_features
    for rows_ in (200_000, 600_000):
        columns = {f"x{j}": rng.random(rows_).astype(np.float32) for j in range(1, width + 1)}
        path = tmp_path / "rows.parquet"
        parquet.write_table(pa.table({"label": np.ones(rows_), **columns}), path, row_group_size=50_000)
        fast = tmp_path / "fast"
        svmfast("approximate", "-q", "--force", EXACT, "-o", fast, "--order", "2")
        done, peak = metered(tmp_path, "predict", "-q", "--no-fallback", path, fast, tmp_path / "out.parquet")
        assert done.returncode == 0, done.stderr
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 40  # the 400,000 rows more take 48 MB or more, if they are kept


@pytest.mark.parametrize("name", ["p.jsonl", "p.JSON", "p.xlsx", "p.json.gz", "p.parquet.gz", "p.npy"])
def test_no_text_under_the_name_of_another_format(name: str, tmp_path: Path) -> None:
    predictor = package.Predictor(model("iris_c_linear"))
    with pytest.raises(
        OptionError, match=rf"^predictions are not written as {name[1:].lower()} \('.*{name}'"
    ):
        predictor.predict_file(data("iris.test"), tmp_path / name)
    with pytest.raises(OptionError, match=r"expected \.parquet, \.arrow"):
        package.predict_files(model("iris_c_linear"), [data("iris.test")], tmp_path, suffix=name[1:])
    assert not list(tmp_path.iterdir())
