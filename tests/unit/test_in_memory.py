"""Objects in place of files: fitted estimators as models, tables in memory with `reading=` as data."""

import json
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from nightly import nightly_but
from program import cells_of
from pyarrow import dataset
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmfast
from svmfast.formats.model_files import model_bytes
from svmfast.options import Reading

RNG = np.random.default_rng(5)
X = RNG.normal(size=(300, 4))
TRUTH = np.where((X**2).sum(axis=1) > 3.5, "out", "in")
FRAME = pandas.DataFrame(X, columns=[*"abcd"])
FRAME.insert(1, "day", "monday")
FRAME.insert(4, "kind", TRUTH)
READING = Reading(label="kind", exclude=("day",))
WORDS = {"label": "kind", "exclude": ("day",)}
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)
ESTIMATOR = make_pipeline(StandardScaler(), SVC(C=2, gamma=0.3)).fit(FRAME[[*"abcd"]], TRUTH)
EXACT = svmfast.from_sklearn(ESTIMATOR)
SMALL = svmfast.compress(EXACT, sv=40).model
#: How rows are given, from the path of a Parquet file of them.
KINDS = {
    "pandas": lambda path: FRAME,
    "polars": lambda path: polars.from_arrow(TABLE),
    "query": lambda path: polars.scan_parquet(path).filter(polars.col("a") < 9),
    "arrow": lambda path: TABLE,
    "batch": lambda path: TABLE.combine_chunks().to_batches()[0],
    "reader": lambda path: TABLE.to_reader(150),
    "dataset": lambda path: dataset.dataset(path),
    "scanner": lambda path: dataset.dataset(path).scanner(batch_size=99),
}


#: What a function makes of rows, by its name.
CALLS = dict(cells_of(Path(__file__).with_name("in_memory.tsv")))


def made(name, rows):
    found = eval(CALLS[name], globals() | {"rows": rows})
    return model_bytes(found.model) if isinstance(found, svmfast.Result) else found


@pytest.fixture(scope="module")
def rows_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    FRAME.to_parquet(path)
    return path


@pytest.mark.parametrize("name", CALLS)
def test_rows_in_memory_are_those_of_a_file(name, rows_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = made(name, rows_file)
    for kind in KINDS if name in ("predict", "linear", "scale") else ("query", "dataset"):
        assert made(name, KINDS[kind](rows_file)) == expected, kind


def made_by_frontier(folder, exact, data, **options):
    options |= {"methods": "linear", "output": folder, "time_limit": 10}
    found = svmfast.frontier(exact, data, **options)
    return found, {one.name: one.read_bytes() for one in (folder / "models").iterdir()}


@pytest.mark.parametrize("kind", nightly_but(["query"], KINDS))
def test_frontier_takes_objects(kind, rows_file, tmp_path):
    svmfast.save_model(ESTIMATOR, tmp_path / "exact.model")
    _, expected = made_by_frontier(tmp_path / "files", tmp_path / "exact.model", rows_file, **WORDS)
    folder = tmp_path / "objects"
    for _ in range(2):  # the second run continues the first one
        found, models = made_by_frontier(folder, ESTIMATOR, KINDS[kind](rows_file), **WORDS)
    assert models == expected
    assert len(list((folder / "given").iterdir())) == 2
    report = json.loads((folder / "report.json").read_text())
    assert Path(report["exact"]).read_bytes() == (tmp_path / "exact.model").read_bytes()
    pairs = [(X[:150], TRUTH[:150]), (FRAME[[*"abcd"]][150:], TRUTH[150:])]
    found, _ = made_by_frontier(tmp_path / "pairs", EXACT, pairs[0], test=pairs[1])
    assert found.report.origin.trained_rows == found.report.origin.choosing_rows * 2 == 150


def test_a_query_and_a_dataset_read_only_the_columns_that_are_used(tmp_path):
    wide = FRAME.assign(broken=[[1]] * 300)
    wide.to_parquet(tmp_path / "wide.parquet")
    named = Reading(label="kind", features=tuple("abcd"))
    for given in (polars.from_pandas(wide).lazy(), dataset.dataset(tmp_path / "wide.parquet")):
        found = svmfast.predict(EXACT, given, reading=named)
        assert np.array_equal(found.names, ESTIMATOR.predict(FRAME[[*"abcd"]]))
