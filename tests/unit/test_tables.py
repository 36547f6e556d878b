"""Tables: columns by name, every type that can be a feature, errors with file, column and row."""

import gzip
import io
import json
import os
from decimal import Decimal

import duckdb
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from program import data, model
from pyarrow import csv, ipc, parquet

import svmfast
from svmfast.errors import DataFormatError, TableError
from svmfast.formats.data import read_data, stream_data
from svmfast.formats.table_output import TableOutput
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.options import Reading
from svmfast.rows import Rows

ROWS = svmfast.read_svmlight(data("breast.test"))
DENSE = ROWS.rows.to_dense(30)
NAMES = [f"f{number}" for number in range(1, 31)]
EXACT = model("breast_c_rbf")


def table(**more):
    columns = {"label": ROWS.labels.astype(np.int8), **dict(zip(NAMES, DENSE.T, strict=True))}
    return pa.table({**columns, **more})


def written(folder, form, content):
    path = folder / f"rows.{form}"
    if isinstance(content, str):
        path.write_text(content)
    elif form.startswith("jsonl"):
        text = "".join(json.dumps(row) + "\n" for row in content.to_pylist()).encode()
        path.write_bytes(gzip.compress(text) if form == "jsonl.gz" else text)
    elif form == "parquet":
        parquet.write_table(content, path, row_group_size=50)
    elif form in ("arrow", "arrows"):
        with (ipc.new_file if form == "arrow" else ipc.new_stream)(path, content.schema) as file:
            file.write_table(content, 40)
    else:
        with gzip.open(path, "wb") if form == "csv.gz" else path.open("wb") as file:
            csv.write_csv(content, file, csv.WriteOptions(delimiter="\t" if form == "tsv" else ","))
    return path


def identity(*names, **more):
    return Scaling(offset=np.zeros(len(names)), factor=np.ones(len(names)), feature_names=names, **more)


def same(found, dense):
    expected = Rows.from_dense(dense)
    arrays = ((one.indptr, one.indices, one.values) for one in (found, expected))
    return all(map(np.array_equal, *arrays))


@pytest.mark.parametrize("form", ["parquet", "arrow", "arrows", "csv", "tsv", "csv.gz", "jsonl", "jsonl.gz"])
def test_every_form_gives_the_rows(tmp_path, form):
    path = written(tmp_path, form, table())
    found = read_data(path, Reading())
    assert same(found.rows, DENSE)
    assert np.array_equal(found.labels, ROWS.labels)
    assert found.columns == tuple(NAMES)
    if form not in ("tsv", "csv.gz"):  # known by its content too, where there is no name
        assert same(read_data(io.BytesIO(path.read_bytes()), Reading()).rows, DENSE)
    with stream_data(path, Reading(), threads=2) as stream:
        assert sum(map(len, stream)) == stream.rows_read == len(ROWS)


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow", "jsonl"])
def test_columns_are_found_by_name_whatever_their_order(tmp_path, form):
    order = np.random.default_rng(0).permutation([*NAMES, "label", "city", "day"])
    shuffled = table(city=["x"] * len(ROWS), day=DENSE[:, 0]).select(list(order))
    path = written(tmp_path, form, shuffled)
    for how in ({"features": tuple(NAMES)}, {"scale": identity(*NAMES)}):
        assert same(read_data(path, Reading(**how)).rows, DENSE)
    left = [name for name in order if name in NAMES]
    found = read_data(path, Reading(exclude=("city", "day")))
    assert found.columns == tuple(left)
    assert same(found.rows, DENSE[:, [NAMES.index(name) for name in left]])
    # A model that names its features leaves others out, whether they are there or not.
    assert read_data(path, Reading(exclude=("x",), scale=identity("f2"))).columns == ("f2",)


def test_json_lines_have_integers_of_any_size_and_columns_of_several_types_that_are_not_read(tmp_path):
    whole = [2**63, -(2**63), 2**64 - 1, 10**30, 3]
    rows = [{"label": 1, "a": whole[i % 5], "id": 2**63 + i, "c": [i, "x", None][i % 3]} for i in range(1200)]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for how in ({"features": ("a",)}, {"exclude": ("id", "c")}):
        assert read_data(path, Reading(**how)).rows.to_dense()[:, 0].tolist() == [
            float(one["a"]) for one in rows
        ]
    with stream_data(path, Reading(features=("a",)), keep=["id"]) as stream:
        kept = [value for block in stream for value in block.kept["id"].to_pylist()]
    assert kept == [row["id"] for row in rows]
    path.write_text(path.read_text() + '{"label": 1, "a": 2, "b": 3}')
    with pytest.raises(DataFormatError, match=r"row 1,201 has another key \('b'\)"):
        read_data(path, Reading(exclude=("id", "c")))


def test_a_table_that_becomes_shorter_is_refused(tmp_path):
    path, columns = tmp_path / "rows.parquet", np.random.default_rng(0).normal(size=(3, 300_000))
    parquet.write_table(pa.table([*columns], [*"abc"]), path, row_group_size=5000)
    with stream_data(path, Reading(unlabelled=True)) as stream:
        next(stream)
        os.truncate(path, 0)
        with pytest.raises(TableError, match=r"ends after|damaged"):
            stream.read_whole()


FIVE = np.array([0.0, 1, 1, 0, 1])


@pytest.mark.parametrize(
    "column",
    [
        *(pa.array(FIVE).cast(kind) for kind in ("float32", "int8", "uint64", "int32", "bool")),
        pa.array(FIVE.astype(np.float16)),
        pa.array([Decimal(value) for value in FIVE], pa.decimal128(9, 2)),
        pa.array(FIVE).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_numbers_of_any_type_are_features(tmp_path, column):
    made = pa.table({"label": [1, 2, 1, 2, 1], "a": column, "b": [0.0, 0.5, 0.0, -2.5, 1.0]})
    expected = np.column_stack([FIVE, made["b"]])
    assert same(read_data(written(tmp_path, "parquet", made), Reading()).rows, expected)


def changed(row, value, name="f2"):
    values = table()[name].to_pylist()
    values[row] = value
    return table(**{name: [*map(str, values)] if isinstance(value, str) else values})


N = len(ROWS)
UNNAMED = "1,0.5,0\n2,0,1\n"
STATE = identity("f1", label_column="state")
OTHERS = "name those that are no features (`exclude`), or the columns of features (`features`)"
DAMAGED = "damaged, or of an unknown format (Parquet magic bytes not found in footer)"


@pytest.mark.parametrize(
    ("content", "message", "scale"),
    [
        (changed(60, None), ": row 61, column 'f2': there is no value; expected a finite number", None),
        (changed(60, None), ":62: column 'f2': there is no value; expected a finite number", None),
        (changed(0, None, "label"), ": row 1, column 'label': there is no value; ...", None),
        (changed(70, np.nan), ": row 71, column 'f2': the value is not finite ('nan'); ...", None),
        (changed(3, np.nan, "label"), ": row 4, column 'label': the label is not finite ...", None),
        (changed(9, "1,5"), ":11: column 'f2': not a number ('1,5'); ...", None),
        (table(x=["a"] * N), f": column 'x' holds strings; expected numbers; {OTHERS}", None),
        (table(x=pa.array(["a"] * N).dictionary_encode()), ": column 'x' holds strings...", None),
        (table(x=[[1.0]] * N), ": column 'x' holds values of type list<...", None),
        (table(), ": there is no column 'g', which is a feature of the model; ...", identity("f1", "g")),
        (table().drop_columns("label"), ": there is no column 'state'; ...", STATE),
        ("PAR1" + "x" * 500, f": {DAMAGED}; expected a whole Parquet, Arrow or CSV file", None),
    ],
)
def test_a_table_is_refused(content, message, scale, tmp_path):
    path = written(tmp_path, "csv" if message[1].isdigit() else "parquet", content)
    kind = DataFormatError if " not " in message.partition("(")[0] else TableError
    with pytest.raises(kind) as caught:
        read_data(path, Reading(scale=scale))
    told = str(caught.value).removeprefix(str(path))
    assert told == message or (message.endswith("...") and told.startswith(message[:-3]))


@pytest.mark.parametrize(
    ("name", "text", "how", "rows", "labels"),
    [
        ("csv", UNNAMED, {"label": "1"}, [[0.5, 0], [0, 1]], [1, 2]),
        ("csv", UNNAMED, {"dense": True}, [[0.5, 0], [0, 1]], [1, 2]),  # LIBSVM's reader, as asked
        ("csv", UNNAMED, {"unlabelled": True}, [[1, 0.5, 0], [2, 0, 1]], [np.nan] * 2),
        ("csv", "label,a,b\nFalse,True,2\nTrue,False,3\n", {}, [[1, 2], [0, 3]], [0, 1]),
        ("csv", "label,a,b\nFALSE,TRUE,2\nTRUE,FALSE,3\n", {}, [[1, 2], [0, 3]], [0, 1]),
        ("csv", "\ufefflabel;a;b\r\n1;0.5;0\r\n2;0;1\r\n", {}, [[0.5, 0], [0, 1]], [1, 2]),
        ("txt", "label\ta\tb\r\n1\t0.5\t0\r\n2\t0\t1\r\n", {}, [[0.5, 0], [0, 1]], [1, 2]),
    ],
)
def test_csv(name, text, how, rows, labels, tmp_path):
    """Tables are known by their line of names, whatever they are called."""
    found = read_data(written(tmp_path, name, text), Reading(**how))
    assert same(found.rows, rows)
    np.testing.assert_array_equal(found.labels, labels)
    assert found.first_line == 1 + text.startswith(("label", "\ufeff"))


def test_the_remembered_column_of_labels_is_used_where_it_is(tmp_path):
    path = written(tmp_path, "csv", table(state=DENSE[:, 1]))
    labels = [read_data(path, Reading(scale=STATE, label=name)).labels for name in (None, "label")]
    np.testing.assert_array_equal(labels, [DENSE[:, 1], ROWS.labels])
    assert np.isnan(read_data(path, Reading(scale=STATE, unlabelled=True)).labels).all()
    path = written(tmp_path, "csv", table())
    assert np.array_equal(read_data(path, Reading(scale=STATE)).labels, ROWS.labels)


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_groups_of_long_words_do_not_depend_on_the_blocks(form):
    """A group ends early, at the same row, wherever the input's blocks end."""
    words = pa.table({"w": ["x" * (1 << 18 + i % 3) for i in range(150)]})
    found = []
    for size in (1, 7, 150):
        out = io.BytesIO()
        target = TableOutput(out, form)
        for begin in range(0, 150, size):
            target.write({}, size, words.slice(begin, size).to_batches()[0])
        target.finish()
        found.append(out.getvalue())
    assert found[0] == found[1] == found[2]
    if form == "parquet":
        assert parquet.ParquetFile(io.BytesIO(found[0])).num_row_groups == 3
        assert parquet.read_table(io.BytesIO(found[0])).equals(words)


# --- objects


PLAIN = table().drop_columns(["label"])


def test_objects_of_other_packages():
    frame = PLAIN.to_pandas()
    indexed = frame.set_index(pandas.Index([f"row {i}" for i in range(N)], name="id"))
    relation = duckdb.connect().from_arrow(PLAIN)
    expected = svmfast.predict(EXACT, DENSE)
    batch = PLAIN.combine_chunks().to_batches()[0]
    for given in (frame, indexed, polars.from_arrow(PLAIN), PLAIN, PLAIN.to_reader(20), batch, relation):
        found = svmfast.predict(EXACT, given)
        assert np.array_equal(found.predicted, expected.predicted), type(given)
        assert np.array_equal(found.decisions, expected.decisions), type(given)


def test_a_models_names_choose_the_columns():
    exact = svmfast.load_model(EXACT)
    named = ScaledModel(exact, identity(*NAMES))
    order = np.random.default_rng(1).permutation([*NAMES, "extra"])
    frame = pandas.DataFrame(DENSE, columns=NAMES).assign(extra="text")[list(order)]
    expected = svmfast.predict(exact, DENSE).predicted
    for one in (frame, frame.assign(extra=[*range(len(DENSE) - 1), "text"])):
        assert np.array_equal(svmfast.predict(named, one).predicted, expected)
    encoded = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([0.5, None]))
    for one, rows, message in (
        (named, frame.drop(columns="f7"), "there is no column 'f7', which is a feature of the model"),
        (named, frame.assign(f7=np.nan), "row 1, column 'f7': "),  # pandas hands nan over as a null
        (exact, pa.table({"a": encoded}), "row 2, column 'a': there is no value"),
    ):
        with pytest.raises((TableError, DataFormatError), match=f"^the data: {message}"):
            svmfast.predict(one, rows)
