"""Features of categories: by name in every kind of table, and what is said about values that are none."""

import numpy as np
import pandas as pd
import pytest
from model_examples import CATEGORIES, ENCODING
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from table_files import write

import svmfast
from svmfast.errors import InputError, OptionError, SvmfastError
from svmfast.formats.data import read_data, stream_data
from svmfast.options import Reading

#: A number, words, and numbers that are categories: 0.5 and -3, others and a missing value count as these.
ROWS = {
    "d": [0.5, -3.0, 7.0, None],
    "c": ["x", "\u00e9", "z", None],
    "a b": [2.0, 1.5, 0.0, 3.0],
    "e": ["?"] * 4,
}
ENCODED = [[2, 1, 1, 0], [1.5, 0, 1, 1], [0, 0, 1, 0], [3, 1, 1, 0]]
READING = Reading(scale=CATEGORIES.only_names(), unlabelled=True)


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_table_of_any_kind_has_the_features(ending, tmp_path):
    assert ENCODING.names == ("a b", "c=x|missing", "d=0.5|-3", "c=\u00e9")
    path = write(tmp_path / f"rows.{ending}", ROWS)
    np.testing.assert_array_equal(read_data(path, READING).rows.to_dense(), ENCODED)


@pytest.mark.parametrize(
    ("row", "reading", "message"),
    [
        ("1,,1", {"missing": "refuse"}, "2: column 'c': there is no value; expected one of 'x', 'é', 'z'"),
        ("1,x,", {"missing": "refuse"}, "2: column 'd': there is no value; expected one of '0.5', '-3.0'"),
        ("1,x,w", {}, "2: column 'd': not a number ('w')"),
        ("1,x,1", {"features": ("a b", "c")}, " 2 columns of features; the model has 3"),
        ("1,x,1", {"missing": "mean"}, "the model has no means"),
    ],
)
def test_what_is_no_category_is_refused(row, reading, message, tmp_path):
    (tmp_path / "rows.csv").write_text(f"a b,c,d\n{row}\n")
    with pytest.raises((InputError, OptionError)) as caught:
        read_data(tmp_path / "rows.csv", Reading(scale=CATEGORIES, unlabelled=True, **reading))
    assert message in str(caught.value)


def test_arrays_have_the_columns_and_sparse_rows_the_features(tmp_path):
    kinds = np.array(["a", "b", "c"])[np.arange(60) % 3]
    X = pd.DataFrame({"x": np.linspace(-1, 1, 60), "id": "no number", "kind": kinds})
    y = (X.x > 0).to_numpy() ^ (kinds == "b")
    columns = ColumnTransformer([("x", StandardScaler(), ["x"]), ("kind", OneHotEncoder(), ["kind"])])
    pipeline = make_pipeline(columns, SVC(C=100)).fit(X, y)
    model = svmfast.from_sklearn(pipeline)
    svmfast.save_model(model, tmp_path / "model")
    expected = pipeline.predict(X)
    sparse = svmfast.as_rows(np.column_stack([X.x, kinds == "a", kinds == "b", kinds == "c"]))
    for data in (X, X[["kind", "x"]], X.to_numpy(object), X.astype({"kind": "category"}), sparse):
        np.testing.assert_array_equal(svmfast.predict(tmp_path / "model", data).names, expected)
    assert svmfast.predict(model, X.to_numpy(object)[7].tolist()).names == expected[7]
    X.to_csv(tmp_path / "x.csv", index=False)
    kept = [*X.columns]  # the pipeline drops id, whose words are no numbers
    with stream_data(tmp_path / "x.csv", Reading(unlabelled=True, scale=model.scaling), keep=kept) as stream:
        assert next(iter(stream)).kept.to_pydict() == X.to_dict("list")
    text = svmfast.export(model, to="c").data.decode()
    for number, name in enumerate(["X", "KIND_A", "KIND_B", "KIND_C"]):
        assert f"_X_{name} {number}\n" in text
    with pytest.raises(
        SvmfastError, match=r"row 2, column 'kind': not a .* \('d'\); expected one of 'a', 'b', 'c'"
    ):
        svmfast.predict(model, X.assign(kind=["a", "d"] * 30))
    with pytest.raises(SvmfastError, match="2 columns; expected 3, the number of the model's columns"):
        svmfast.predict(model, [[1.0, "a"]])
