"""Tables: columns by name, every type that can be a feature, errors with file, column and row.

In one file, since each form of table has to give the same rows and errors.
"""

from __future__ import annotations

import gzip
import io
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from program import data, model
from pyarrow import csv, ipc, parquet

import svmfast
from svmfast.errors import (
    DataFormatError,
    EmptyDataError,
    InputError,
    MissingPackageError,
    OptionError,
    TableError,
    WrongTypeError,
)
from svmfast.formats.data import read_data, stream_data
from svmfast.formats.table_output import TableOutput
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.options import Reading
from svmfast.rows import Rows

ROWS = svmfast.read_svmlight(data("breast.test"))
WIDTH = 30
DENSE = ROWS.rows.to_dense(WIDTH)
NAMES = [f"f{number}" for number in range(1, WIDTH + 1)]
EXACT = model("breast_c_rbf")
UNLABELLED = Reading(unlabelled=True)


def table(**more: Any) -> pa.Table:
    columns = {"label": ROWS.labels.astype(np.int8), **dict(zip(NAMES, DENSE.T, strict=True))}
    return pa.table({**columns, **more})


def written(folder: Path, form: str, content: pa.Table) -> Path:
    path = folder / f"rows.{form}"
    if form == "parquet":
        parquet.write_table(content, path, row_group_size=50)
    elif form == "arrow":
        with ipc.new_file(path, content.schema) as file:
            file.write_table(content, 40)
    elif form == "arrows":
        with ipc.new_stream(path, content.schema) as file:
            file.write_table(content, 40)
    elif form == "csv.gz":
        with gzip.open(path, "wb") as packed:
            csv.write_csv(content, packed)
    else:
        csv.write_csv(content, path, csv.WriteOptions(delimiter="\t" if form == "tsv" else ","))
    return path


def identity(*names: str) -> Scaling:
    """A scaling that changes nothing but names the columns."""
    return Scaling(offset=np.zeros(len(names)), factor=np.ones(len(names)), feature_names=names)


def same(found: Rows, expected: Rows) -> bool:
    return (
        np.array_equal(found.indptr, expected.indptr)
        and np.array_equal(found.indices, expected.indices)
        and np.array_equal(found.values, expected.values)
    )


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows", "csv", "tsv", "csv.gz"])
def test_every_form_gives_the_rows(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, form, table())
    found = read_data(path, Reading())
    assert same(found.rows, Rows.from_dense(DENSE))
    assert np.array_equal(found.labels, ROWS.labels)
    assert found.columns == tuple(NAMES)
    content = path.read_bytes()
    if form not in ("tsv", "csv.gz"):  # known by its content too, where there is no name
        assert same(read_data(io.BytesIO(content), Reading()).rows, found.rows)
    with stream_data(path, Reading(), threads=2) as stream:
        blocks = list(stream)
    assert sum(map(len, blocks)) == stream.rows_read == len(ROWS)


def test_columns_are_found_by_name_whatever_their_order(tmp_path: Path) -> None:
    order = np.random.default_rng(0).permutation([*NAMES, "label", "city"])
    shuffled = table(city=["x"] * len(ROWS)).select(list(order))
    for form in ("parquet", "csv"):
        path = written(tmp_path, form, shuffled)
        for found in (
            read_data(path, Reading(features=tuple(NAMES))),
            read_data(path, Reading(scale=identity(*NAMES))),
        ):
            assert same(found.rows, Rows.from_dense(DENSE))


TYPES: dict[str, Any] = {
    "float32": pa.float32(),
    "float16": pa.float16(),
    "int8": pa.int8(),
    "uint64": pa.uint64(),
    "int32": pa.int32(),
    "bool": pa.bool_(),
    "decimal": pa.decimal128(9, 2),
    "dictionary": pa.dictionary(pa.int8(), pa.float64()),
}


@pytest.mark.parametrize("name", TYPES)
def test_numbers_of_any_type_are_features(tmp_path: Path, name: str) -> None:
    values: list[Any] = [0, 1, 1, 0, 1]
    if name == "decimal":
        values = [Decimal(value) for value in values]
    if name == "bool":
        values = [bool(value) for value in values]
    typed = pa.array(values, pa.float64()).dictionary_encode() if name == "dictionary" else None
    column = pa.array(values, TYPES[name]) if typed is None else typed.cast(TYPES[name])
    made = pa.table({"label": [1, 2, 1, 2, 1], "a": column, "b": [0.0, 0.5, 0.0, -2.5, 1.0]})
    found = read_data(written(tmp_path, "parquet", made), Reading())
    expected = np.array([[0, 0.0], [1, 0.5], [1, 0.0], [0, -2.5], [1, 1.0]])
    assert same(found.rows, Rows.from_dense(expected))


def failing(folder: Path, form: str, reading: Reading = Reading(), **more: Any) -> InputError:  # noqa: B008
    path = written(folder, form, table(**more))
    with pytest.raises(InputError) as caught:
        read_data(path, reading)
    assert str(caught.value).startswith(str(path))
    return caught.value


def column(row: int, value: Any) -> list[Any]:
    values = DENSE[:, 1].tolist()
    values[row] = value
    return values


def test_a_null_is_named_by_column_and_row(tmp_path: Path) -> None:
    error = failing(tmp_path, "parquet", f2=column(60, None))
    assert isinstance(error, TableError)
    assert str(error).endswith(
        "rows.parquet: row 61, column 'f2': there is no value; expected a finite number"
    )
    error = failing(tmp_path, "csv", f2=column(60, None))
    assert isinstance(error, TableError)
    assert str(error).endswith("rows.csv:62: column 'f2': there is no value; expected a finite number")
    labels = [None, *ROWS.labels[1:].tolist()]
    assert "row 1, column 'label': there is no value" in str(failing(tmp_path, "arrow", label=labels))
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([0.5, None]))
    with pytest.raises(TableError, match="the data: row 2, column 'a': there is no value"):
        svmfast.predict(EXACT, pa.table({"a": encoded}))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_named_by_column_and_row(tmp_path: Path, value: float) -> None:
    error = failing(tmp_path, "parquet", f2=column(70, value))
    assert isinstance(error, DataFormatError)
    assert f"row 71, column 'f2': the value is not finite ('{value}')" in str(error)
    assert "rows.csv:72: column 'f2': the value is not finite" in str(
        failing(tmp_path, "csv", f2=column(70, value))
    )
    labels = ROWS.labels.copy()
    labels[3] = value
    assert "row 4, column 'label': the label is not finite" in str(failing(tmp_path, "parquet", label=labels))


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (["a"] * len(ROWS), "strings"),
        (pa.array(["a"] * len(ROWS)).dictionary_encode(), "strings"),
        (pa.array([0] * len(ROWS), pa.timestamp("s")), "values of type timestamp["),
        (pa.array([[1.0]] * len(ROWS)), "values of type list<"),
    ],
)
def test_a_column_of_something_else_is_no_feature(tmp_path: Path, values: Any, what: str) -> None:
    error = failing(tmp_path, "parquet", city=values)
    assert isinstance(error, TableError)
    assert f"rows.parquet: column 'city' holds {what}" in str(error)
    assert str(error).endswith("(`exclude`), or the columns of features (`features`)")


def test_text_in_csv_is_named_by_its_line(tmp_path: Path) -> None:
    error = failing(tmp_path, "csv", f2=[str(value) for value in column(9, "1,5")])
    assert isinstance(error, DataFormatError)
    wanted = "expected a finite number with a decimal point, not a comma"
    assert str(error).endswith(f"rows.csv:11: column 'f2': not a number ('1,5'); {wanted}")
    error = failing(tmp_path, "csv", f2=[str(value) for value in column(9, "1,5,7")])
    assert str(error).endswith("not a number ('1,5,7'); expected a finite number")


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_excluded_columns_are_no_features(tmp_path: Path, form: str) -> None:
    path = written(tmp_path, form, table(id=[f"m{row}" for row in range(len(DENSE))], day=DENSE[:, 0]))
    found = read_data(path, Reading(exclude=("id", "day")))
    assert found.columns == tuple(NAMES)
    assert same(found.rows, ROWS.rows)
    # A model that names its features leaves others out, whether they are there or not.
    assert read_data(path, Reading(exclude=("x",), scale=identity("f2"))).columns == ("f2",)
    for reading, what in (
        (Reading(exclude=("ID",)), "there is no column 'ID', which is one of `exclude`"),
        (Reading(exclude=("f1",), features=("f1",)), "column 'f1' is one of `exclude`, but also a feature"),
        (Reading(exclude=("f1",), scale=identity("f1")), "column 'f1' is one of `exclude`, but also a feat"),
    ):
        with pytest.raises(TableError, match=what):
            read_data(path, reading)
    with pytest.raises(OptionError, match="`exclude` names columns of a table"):
        read_data(data("breast.test"), Reading(exclude=("id",)))


@pytest.mark.parametrize("words", [("True", "False"), ("true", "false"), ("TRUE", "FALSE")])
def test_true_and_false_in_csv_are_numbers_as_in_parquet(tmp_path: Path, words: tuple[str, str]) -> None:
    path, (yes, no) = tmp_path / "rows.csv", words
    path.write_text(f"label,a,b\n{no},{yes},2\n{yes},{no},3\n{yes},{yes},4\n")
    found = read_data(path, Reading())
    assert same(found.rows, Rows.from_dense([[1, 2], [0, 3], [1, 4]]))
    assert found.labels.tolist() == [0, 1, 1]
    path.write_text(f"label,a\n1,{yes}\n2,maybe\n")
    with pytest.raises(DataFormatError, match=r"rows.csv:3: column 'a': not a number \('maybe'\)"):
        read_data(path, Reading())


def test_the_remembered_column_of_labels_is_used_where_it_is(tmp_path: Path) -> None:
    scale = Scaling(np.zeros(1), np.ones(1), feature_names=("f1",), label_column="state")
    path = written(tmp_path, "csv", table(state=DENSE[:, 1]))
    assert np.array_equal(read_data(path, Reading(scale=scale)).labels, DENSE[:, 1])
    assert np.array_equal(read_data(path, Reading(scale=scale, label="label")).labels, ROWS.labels)
    assert np.isnan(read_data(path, Reading(scale=scale, unlabelled=True)).labels).all()
    assert np.array_equal(
        read_data(written(tmp_path, "csv", table()), Reading(scale=scale)).labels, ROWS.labels
    )
    with pytest.raises(TableError, match="there is no column 'state'"):
        read_data(written(tmp_path, "csv", table().drop_columns("label")), Reading(scale=scale))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, "parquet", table())
    for reading, words in (
        (Reading(label="y"), "there is no column 'y'; the columns are 'label', 'f1', "),
        (
            Reading(features=("f1", "g")),
            "there is no column 'g', which is one of `features`; the columns are",
        ),
    ):
        with pytest.raises(TableError) as caught:
            read_data(path, reading)
        assert words in str(caught.value)
    with pytest.raises(TableError, match="there is no column 'g', which is a feature of the model"):
        read_data(path, Reading(scale=identity("f1", "g")))
    twice = pa.Table.from_arrays([pa.array([1.0])] * 3, names=["label", "a", "a"])
    parquet.write_table(twice, path)
    with pytest.raises(TableError, match="several columns are called 'a'"):
        read_data(path, Reading())


def test_tables_without_names_and_labels(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("1,0.5,0\n2,0,1\n")
    found = read_data(path, Reading(label="1"))
    assert same(found.rows, Rows.from_dense([[0.5, 0], [0, 1]]))
    assert found.labels.tolist() == [1, 2]
    assert found.first_line == 1
    rows = read_data(path, UNLABELLED).rows
    assert same(rows, Rows.from_dense([[1, 0.5, 0], [2, 0, 1]]))
    with pytest.raises(
        TableError, match=r"rows.csv:1: there is no column 'label'; the columns are '1', '2', '3'"
    ):
        read_data(path, Reading())
    assert same(read_data(path, Reading(dense=True)).rows, found.rows)  # LIBSVM's reader, as asked


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_csv_is_known_by_its_line_of_names(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("\ufefflabel,a,b\r\n1,0.5,0\r\n2,0,1\r\n".replace(",", separator))
    if separator == ";":
        path = path.rename(tmp_path / "rows.csv")
    else:
        path.write_text(path.read_text().removeprefix("\ufeff"))
    found = read_data(path, Reading())
    assert found.columns == ("a", "b")
    assert same(found.rows, Rows.from_dense([[0.5, 0], [0, 1]]))


def test_damaged_tables_are_one_line(tmp_path: Path) -> None:
    path = written(tmp_path, "parquet", table())
    content = path.read_bytes()
    for end in (8, 500, len(content) - 5):
        path.write_bytes(content[:end])
        with pytest.raises(TableError) as caught:
            read_data(path, Reading())
        assert "\n" not in str(caught.value)
        assert ".;" not in str(caught.value)
    path.write_bytes(content[:500])
    with pytest.raises(TableError) as caught:
        read_data(path, Reading())
    assert str(caught.value) == (
        f"{path}: damaged, or of an unknown format (ArrowInvalid: Parquet magic bytes not found in footer); "
        "expected a whole Parquet, Arrow or CSV file"
    )
    path = tmp_path / "rows.csv"
    path.write_text("label,a,b\n1,2,3\n1,2\n")
    with pytest.raises(DataFormatError, match=r"rows.csv:3: 2 fields; expected 3, one per column"):
        read_data(path, Reading())
    for text in ("", "label,a\n"):
        path.write_text(text)
        with pytest.raises(EmptyDataError, match="there are no rows"):
            read_data(path, Reading())


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_groups_of_long_words_do_not_depend_on_the_blocks(form: str) -> None:
    """A group ends early, at the same row, wherever the input's blocks end."""
    words = pa.table({"w": ["x" * (1 << 18 + i % 3) for i in range(150)]})
    found = []
    for size in (1, 7, 150):
        out = io.BytesIO()
        written = TableOutput(out, form)
        for begin in range(0, 150, size):
            written.write({}, size, words.slice(begin, size).to_batches()[0])
        written.finish()
        found.append(out.getvalue())
    assert found[0] == found[1] == found[2]
    if form == "parquet":
        assert parquet.ParquetFile(io.BytesIO(found[0])).num_row_groups == 3
        assert parquet.read_table(io.BytesIO(found[0])).equals(words)


def test_libsvms_text_has_no_columns() -> None:
    with pytest.raises(OptionError, match="`label` names columns of a table"):
        read_data(data("breast.test"), Reading(label="y"))


def test_without_pyarrow_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "csv", table())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPackageError, match=r"^tables .*are read and written by pyarrow, which"):
        read_data(path, Reading())


# --- objects


def frames() -> dict[str, Any]:
    import duckdb
    import pandas
    import polars

    plain = table().drop_columns(["label"])
    frame = plain.to_pandas()
    relation = duckdb.connect().from_arrow(plain)
    indexed = frame.set_index(pandas.Index([f"row {i}" for i in range(len(frame))], name="id"))
    return {
        "pandas": frame,
        "pandas with an index": indexed,
        "polars": polars.from_arrow(plain),
        "pyarrow": plain,
        "reader": plain.to_reader(20),
        "batch": plain.combine_chunks().to_batches()[0],
        "DuckDB": relation,
    }


@pytest.mark.parametrize(
    "name", ["pandas", "pandas with an index", "polars", "pyarrow", "reader", "batch", "DuckDB"]
)
def test_objects_of_other_packages(name: str) -> None:
    expected = svmfast.predict(EXACT, DENSE)
    found = svmfast.predict(EXACT, frames()[name])
    assert np.array_equal(found.predicted, expected.predicted)
    assert np.array_equal(found.decisions, expected.decisions)


def test_a_series_is_refused_in_one_line() -> None:
    given = frames()
    predictor = svmfast.Predictor(EXACT)
    for one in (given["pandas"]["f1"], given["polars"]["f1"], given["pandas"].iloc[0]):
        with pytest.raises(WrongTypeError, match=r"^the data is a Series; expected an array of numbers, "):
            predictor.answer(one)
    for column in (given["pyarrow"]["f1"], given["pyarrow"]["f1"].combine_chunks()):
        with pytest.raises(WrongTypeError, match=r"; expected a table of named columns \("):
            predictor.answer(column)


def test_a_models_names_choose_the_columns() -> None:
    import pandas

    exact = svmfast.load_model(EXACT)
    named = ScaledModel(exact, identity(*NAMES))
    expected = svmfast.predict(exact, DENSE).predicted
    order = np.random.default_rng(1).permutation([*NAMES, "extra"])
    frame = pandas.DataFrame(DENSE, columns=NAMES).assign(extra="text")[list(order)]
    assert np.array_equal(svmfast.predict(named, frame).predicted, expected)
    with pytest.raises(
        TableError, match="the data: there is no column 'f7', which is a feature of the model"
    ):
        svmfast.predict(named, frame.drop(columns="f7"))
    frame.loc[4, "f7"] = np.nan
    # pandas hands nan over as a null.
    with pytest.raises((TableError, DataFormatError), match="the data: row 5, column 'f7': "):
        svmfast.predict(named, frame)
