"""Tables through the program: every command that reads data accepts them, and predict writes them."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from command import ran, report, svmfast
from every_command import RUNS, words
from program import data, metered, model
from table_files import columns_of, read, write

import svmfast as package
from svmfast.formats.model_files import model_bytes

EXACT, TEST, IRIS = model("photos_c_rbf"), data("photos.test"), model("iris_c_rbf_prob")


@pytest.mark.parametrize("name", [name for name, run in RUNS.items() if {"TRAIN", "TEST"} & {*run}])
def test_every_command_that_reads_data(name, tmp_path):
    """The same result as from LIBSVM's text; a model that is trained on a table also has its names."""
    results = []
    for form in ("text", "table"):
        paths = {"OUT": tmp_path / form, "SAVED": tmp_path / "saved"}
        if form == "table":
            for word, rows in (("TRAIN", "iris.train"), ("TEST", "iris.test")):
                paths[word] = write(tmp_path / f"{rows}.parquet", columns_of(rows))
        done = svmfast(*words(name, paths))
        assert done.returncode in (0, 1), done.stderr
        results.append((done.returncode, result(paths["OUT"], names=form == "table")))
    if name.startswith(("predict", "compare", "bound-check", "linear", "train")):
        assert results[0] == results[1]
    assert results[0][0] == results[1][0]


def result(path, *, names):
    """Return the content of a file; that of a model as its scaling and the bytes of its model."""
    if not path.is_file():
        return None
    text = path.read_bytes()
    if not text.startswith((b"svmfast-model", b"svm_type")):
        return [text]
    made = package.load_model(path)
    scaling = replace(made.scaling, feature_names=None) if made.scaling and names else made.scaling
    kept = [] if scaling is None or scaling.is_identity else [scaling.digest().encode()]
    return [*kept, model_bytes(made.unscaled)]


@pytest.mark.parametrize("end", ["parquet", "arrow", "feather", "csv", "tsv", "csv.gz"])
def test_predictions_as_a_table(end, tmp_path):
    columns = columns_of("photos.test")
    ids = [f"id {i}" for i in range(4000)]
    features = ",".join(f"x{j}" for j in range(1, package.load_model(EXACT).n_features + 1))
    more = {"id": ids, "part": pa.array(ids).dictionary_encode()}
    rows, out = (
        write(tmp_path / "rows.parquet", {**more, **columns}, row_group_size=300),
        tmp_path / f"out.{end}",
    )
    options = ("--features", features, "--keep", "id,part", "--decision-values")
    done = ran("predict", *options, rows, EXACT, out)
    assert (done.stdout, done.stderr) == (ran("predict", TEST, EXACT, tmp_path / "x").stdout, b"")
    found = read(out)
    assert found.column_names == ["label", "1/-1", "id", "part"]
    lines = [
        f"{label} {value:.17g}"
        for label, value in zip(found[0].to_pylist(), found[1].to_pylist(), strict=True)
    ]
    text = ran("predict", "-q", "--decision-values", TEST, EXACT, "-").stdout.decode()
    assert lines == text.split("\n")[1:-1]
    assert found["id"].to_pylist() == ids
    ran("predict", "-q", "-j", "1", *options, rows, EXACT, tmp_path / f"again.{end}")
    assert (tmp_path / f"again.{end}").read_bytes() == out.read_bytes()


def test_selected_columns(tmp_path):
    fast, out = tmp_path / "fast", tmp_path / "out.parquet"
    ran("approximate", "-q", model("breast_c_rbf"), "-o", fast)
    ran("predict", "-q", "--certify", "--no-fallback", data("breast.test"), fast, out)
    answer = package.predict(fast, data("breast.test"), certify=True, no_fallback=True)
    assert read(out).schema.types == [pa.int64(), pa.bool_(), pa.float64()]
    assert read(out).column_names == ["label", "certified", "error_bound"]
    assert np.array_equal(read(out)["error_bound"], answer.error_bounds)
    ran("predict", "-q", "-b", "1", data("iris.test"), IRIS, out)
    labels = [f"probability {x:g}" for x in package.load_model(IRIS).head.labels]
    assert read(out).column_names == ["label", *labels]
    ran("predict", "-q", data("diabetes.test"), model("diabetes_eps_rbf"), out)
    assert read(out).schema.types == [pa.float64()]


def test_a_wider_table(tmp_path):
    path = write(tmp_path / "iris.parquet", {**columns_of("iris.test"), "more": np.ones(50)})
    lines = ran("predict", path, IRIS, tmp_path / "out").stderr.decode().splitlines()
    assert [line for line in lines if "feature" in line and "order" not in line] == [
        f"svmfast: warning: {path}: 5 columns of features, the model has 4 features, and 'more' beyond them; "
        "name the features with --features, or the other columns with --label or --keep"
    ]
    assert report("predict", path, IRIS, tmp_path / "out")["rows_with_unknown_features"] == 50


@pytest.mark.nightly
def test_memory_does_not_grow_with_the_rows(tmp_path):
    rng, fast, peaks = np.random.default_rng(0), tmp_path / "fast", []
    ran("approximate", "-q", "--force", EXACT, "-o", fast, "--order", "2")
    for size in (200_000, 600_000):
        columns = {f"x{j}": rng.random(size).astype(np.float32) for j in range(15)}
        path = write(tmp_path / "rows.parquet", {"label": np.ones(size), **columns}, row_group_size=50_000)
        done, peak = metered(tmp_path, "predict", "-q", "--no-fallback", path, fast, tmp_path / "out.parquet")
        assert done.returncode == 0, done.stderr
        peaks.append(peak)
    assert peaks[1] < peaks[0] + 40  # the 400,000 rows more take 48 MB or more, if they are kept
