"""Tables, read by every command and written by predict: no columns in another order in silence."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from command import ran, report, svmfast
from every_command import RUNS, words
from program import data, lines_of, model
from table_files import columns_of, read, write

import svmfast as package
from svmfast.errors import TableError
from svmfast.formats.model_files import model_bytes
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.progress import Listener

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


@pytest.mark.parametrize("end", ["parquet", "arrow", "feather", "csv", "tsv", "csv.gz", "jsonl", "jsonl.gz"])
def test_predictions_as_a_table(end, tmp_path):
    columns, ids = columns_of("photos.test"), [f"id {i}" for i in range(4000)]
    features = ",".join(f"x{j}" for j in range(1, package.load_model(EXACT).n_features + 1))
    more = {
        "id": ids,
        "part": pa.array(ids).dictionary_encode(),
        "time": pa.array(range(4000), pa.timestamp("ns")),
    }
    rows, out = tmp_path / "rows.parquet", tmp_path / f"out.{end}"
    write(rows, {**more, **columns}, row_group_size=300)
    options = ("--features", features, "--keep", "id,part,time", "--decision-values")
    done = ran("predict", *options, rows, EXACT, out)
    assert (done.stdout, done.stderr) == (ran("predict", TEST, EXACT, tmp_path / "x").stdout, b"")
    found = read(out)
    assert found.column_names == ["label", "1/-1", "id", "part", "time"]
    pairs = zip(found[0].to_pylist(), found[1].to_pylist(), strict=True)
    lines = [f"{label} {value:.17g}" for label, value in pairs]
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
    assert np.array_equal(read(out)["certified"], answer.certified)
    assert np.array_equal(read(out)["error_bound"], answer.error_bounds)
    ran("predict", "-q", "-b", "1", data("iris.test"), IRIS, out)
    labels = [f"probability {x:g}" for x in package.load_model(IRIS).head.labels]
    assert read(out).column_names == ["label", *labels]
    ran("predict", "-q", data("diabetes.test"), model("diabetes_eps_rbf"), out)
    assert read(out).schema.types == [pa.float64()]


@pytest.mark.parametrize("how", ["skip", "keep"])
@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_rows_that_lack_a_feature(form, how, tmp_path):
    """A slow twin: the lines of text, row by row."""
    columns, chance = columns_of("photos.test"), np.random.default_rng(3)
    labels, ids, features = columns["label"], pa.array([f"id {i}" for i in range(4000)]), [*columns][1:]
    gap = np.where(chance.random(4000) < 0.3, chance.integers(0, len(features), 4000), -1)
    gap[300:700] = 0  # whole groups of rows, too
    columns |= {one: pa.array(columns[one], mask=gap == place) for place, one in enumerate(features)}
    path = tmp_path / f"rows.{form}"
    columns |= {"id": ids, "y": labels}
    write(path, columns, **({"row_group_size": 150} if form == "parquet" else {}))
    kept = "id", features[0], "y"  # a feature and the label may be kept, too
    words = ("--features", ",".join(features), "--keep", ",".join(kept), "--label", "y", "--decision-values")
    words += (path, EXACT)
    out = tmp_path / "out.parquet"
    told = report("predict", "--on-null", how, *words, out)
    lines = ran("predict", "-q", "--decision-values", TEST, EXACT, "-").stdout.decode().split("\n")[1:-1]
    more = zip(ids.to_pylist(), columns[features[0]].to_pylist(), labels.tolist(), strict=True)
    rows = [(*map(float, line.split()), *kept) for line, kept in zip(lines, more, strict=True)]
    expected = [row if gap[i] < 0 else (None, None, *row[2:]) for i, row in enumerate(rows)]
    expected = [row for row in expected if how == "keep" or row[0] is not None]
    assert list(zip(*(one.to_pylist() for one in read(out).columns), strict=True)) == expected
    assert (told["rows"], told["rows_with_missing_features"]) == (sum(gap < 0), sum(gap >= 0))
    assert told["correct"] == sum(rows[i][0] == labels[i] for i in np.flatnonzero(gap < 0))
    ran("predict", "-q", "-j", "1", "--on-null", how, *words, tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == out.read_bytes()
    assert b"there is no value" in ran("predict", *words, tmp_path / "x.csv", status=2).stderr


@pytest.mark.parametrize(
    "name", ["none", "comments", "none.csv", "names.csv", "none.jsonl", "none.parquet", "-"]
)
def test_an_input_without_rows_has_an_output_without_rows(name, tmp_path):
    columns, path = {**columns_of("iris.test"), "id": pa.array(["a"] * 50)}, tmp_path / name
    path.write_text({"comments": "# a\n", "names.csv": ",".join(columns)}.get(name, ""))
    kept = ("--keep", "id") if "." in name else ()
    if path.suffix == ".parquet":
        assert ran("predict", path, IRIS, status=2).stderr.endswith(
            b"the file is empty; expected a whole file\n"
        )
        write(path, pa.table(columns)[:0])
    words = ("predict", "-q", "-b", "1", *kept, "-" if name == "-" else path, IRIS)
    done = ran(*words, tmp_path / "out.parquet")
    assert (done.stdout, done.stderr) == (b"", b"")
    found = read(tmp_path / "out.parquet")
    assert (len(found), found.column_names[:1], found.column_names[4:]) == (0, ["label"], [*kept[1:]])
    assert found.schema.types == [pa.int64(), *[pa.float64()] * 3, *[pa.string()] * len(kept[1:])]
    told = report("predict", *words[2:], tmp_path / "out.csv")
    assert (told["rows"], told["accuracy"]) == (0, None)
    assert f"{words[-2]}: there are no rows" in told["notes"]
    assert kept or ran(*words).stdout == b"labels 2 3 1\n"


def test_a_wider_table(tmp_path):
    path = write(tmp_path / "iris.parquet", {**columns_of("iris.test"), "more": np.ones(50)})
    lines = ran("predict", path, IRIS, tmp_path / "out").stderr.decode().splitlines()
    assert [line for line in lines if "feature" in line and "order" not in line] == [
        f"svmfast: warning: {path}: 5 columns of features, the model has 4 features, and 'more' beyond them; "
        "name the features with --features, or the other columns with --label or --keep"
    ]
    assert report("predict", path, IRIS, tmp_path / "out")["rows_with_unknown_features"] == 50


# --- the order of columns

ROWS = package.read_svmlight(data("iris.train"))
LABELS, IDS = {"label": ROWS.labels.astype(np.int64)}, {"id": np.arange(len(ROWS))}
NAMES = ("w", "x", "y", "z")
UNNAMED = "the model does not name its features"
REMARK = f"{{}}: {UNNAMED}, so the columns are taken in their order"
DIFFER = f"{{}}: its columns differ from those of {{}}: feature {{}}; {UNNAMED}; give --features"
ORDER = "1 is 'z', there 'w'"


def table(names=NAMES, first=IDS):
    """Return rows of iris; the columns keep their values, whatever order they are in."""
    rows = ROWS.rows.to_dense()
    return pa.table({**first, **{name: rows[:, NAMES.index(name)] for name in names}})


def written(folder, first, *orders):
    """Return tables of the same rows with their columns in these orders."""
    paths = [folder / f"part-{n}.parquet" for n in range(len(orders))]
    made = zip(paths, orders, strict=True)
    return [write(path, table(one, first), row_group_size=20) for path, one in made]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The model with the names of its features, and an approximation of it without."""
    folder = tmp_path_factory.mktemp("models")
    scaling = Scaling(np.zeros(4), np.ones(4), feature_names=NAMES)
    package.save_model(ScaledModel(package.load_model(IRIS), scaling), folder / "named")
    ran("approximate", IRIS, "--order", "2", "-o", folder / "fast")
    return {"named": folder / "named", "f": folder / "fast"}


#: Commands that read a model {m} and a table {a}, or two; {f} is made from the model, {o} an output.
ONE_TABLE, TWO_TABLES = lines_of("one table"), lines_of("two tables")


@pytest.mark.parametrize("line", ONE_TABLE)
def test_a_table_is_remarked_upon_once(line, models, tmp_path):
    tables = written(tmp_path, LABELS, NAMES, NAMES[::-1])

    def run(exact, path):
        words = line.format(m=exact, a=path, o=tmp_path / f"out.{path.stem}", **models).split()
        done = svmfast(*words, shortened=True)
        # 1: a negative answer, of models that cannot be converted as asked
        assert done.returncode in (0, 1), done.stderr
        return done.stderr.decode().splitlines()

    assert run(IRIS, tables[0]).count(f"svmfast: {REMARK.format(tables[0])}") == 1
    assert not [text for text in run(models["named"], tables[1]) if "order" in text and "columns" in text]


@pytest.mark.parametrize("line", TWO_TABLES)
def test_two_tables_that_disagree_are_an_error(line, models, tmp_path):
    tables = written(tmp_path, LABELS, NAMES, NAMES[::-1])
    words = line.format(m=IRIS, a=tables[0], b=tables[1], o=tmp_path / "out", **models).split()
    last = ran(*words, status=2).stderr.decode().splitlines()[-1]
    assert last == DIFFER.format(tables[1], tables[0], ORDER)


@pytest.mark.parametrize("form", ["pyarrow", "pandas", "polars"])
def test_data_frames(form, models):
    made = {"pyarrow": lambda one: one, "pandas": pa.Table.to_pandas}
    made = made.get(form) or pytest.importorskip("polars").from_arrow
    first, second, fewer = (made(table(names, {})) for names in (NAMES, NAMES[::-1], NAMES[:3]))
    answer = package.predict(IRIS, first)
    assert answer.notes == (REMARK.format("the data"),)
    again = package.predict(models["named"], second)
    assert again.notes == ()
    np.testing.assert_array_equal(again.predicted, answer.predicted)
    predictor = package.Predictor(IRIS)
    predictor.answer(first)
    with pytest.raises(TableError, match=f"feature {ORDER}"):
        predictor.answer(second)
    with pytest.raises(TableError, match="3 columns of features; the model has 4 features"):
        package.predict(IRIS, fewer)
    heard = Listener()
    package.compare([IRIS, IRIS], first, repeats=1, listener=heard)
    package.bound_check(first, model=IRIS, listener=heard)
    package.export(IRIS, test=first, listener=heard)
    assert heard.notes.count(REMARK.format("the data")) == 3
    assert REMARK.format("`data`") in package.approximate(IRIS, data=first, order=2).notes


# --- predict, of one table and of many

WORDS = ("predict", "--unlabelled", "--keep", "id", "--suffix", ".parquet", "--out-dir")


@pytest.mark.parametrize("dask", [(), pytest.param(("--dask", "local:1"), marks=pytest.mark.nightly)])
def test_a_file_with_another_order_is_an_error(tmp_path, dask):
    files = written(tmp_path, IDS, NAMES, NAMES[::-1], NAMES)
    out, error = tmp_path / "out", DIFFER.format(files[1], files[0], ORDER)
    done = ran(*WORDS, out, *dask, IRIS, *files, status=2)
    assert sorted(path.name for path in out.glob("*.parquet")) == ["part-0.parquet", "part-2.parquet"]
    assert error in done.stderr.decode().splitlines()
    ran(*WORDS, tmp_path / "named", *dask, "--features", ",".join(NAMES), IRIS, *files)
    first, second = (read(tmp_path / "named" / path.name) for path in files[:2])
    assert first.equals(second)
    assert first.equals(read(out / "part-0.parquet"))
    if not dask:  # a run that continues keeps the order, and one that begins has its own
        done = ran(*WORDS, out, "--skip-existing", IRIS, *files[:2], status=2)
        assert error in done.stderr.decode().splitlines()
        ran(*WORDS, out, IRIS, files[1])


def test_a_file_with_other_names_is_an_error(tmp_path):
    both = table()
    first = write(tmp_path / "a.parquet", both)
    more = write(tmp_path / "b.parquet", both.append_column("extra", both["w"]))
    other = write(tmp_path / "c.parquet", both.rename_columns(["id", "w", "x", "y", "other"]))
    fewer = write(tmp_path / "d.parquet", table(("w", "x")))
    done = ran(*WORDS, tmp_path / "out", IRIS, first, more, other, fewer, status=2)
    for text in (
        DIFFER.format(more, first, "5 is 'extra', there absent"),
        DIFFER.format(other, first, "4 is 'other', there 'z'"),
        f"{fewer}: 2 columns of features; the model has 4 features",
    ):
        assert text in done.stderr.decode().splitlines()
    # A table with too few columns does not set the order for the others.
    ran(*WORDS, tmp_path / "out2", IRIS, fewer, first, status=2)
    assert [path.name for path in (tmp_path / "out2").glob("*.parquet")] == ["a.parquet"]
