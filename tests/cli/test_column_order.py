"""Every command and door that reads tables: columns are never taken in another order in silence."""

import numpy as np
import pyarrow as pa
import pytest
from command import ran, report, svmfast
from program import data, model
from table_files import read, write

import svmfast as package
from svmfast.errors import TableError
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.progress import Listener

EXACT = model("iris_c_rbf_prob")
IRIS = package.read_svmlight(data("iris.train"))
LABELS, IDS = {"label": IRIS.labels.astype(np.int64)}, {"id": np.arange(len(IRIS))}
NAMES = ("w", "x", "y", "z")
UNNAMED = "the model does not name its features"
REMARK = f"{{}}: {UNNAMED}, so the columns are taken in their order"
DIFFER = f"{{}}: its columns differ from those of {{}}: feature {{}}; {UNNAMED}; give --features"
ORDER = "1 is 'z', there 'w'"


def table(names=NAMES, first=IDS):
    """Return rows of iris; the columns keep their values, whatever order they are in."""
    rows = IRIS.rows.to_dense()
    return pa.table({**first, **{name: rows[:, NAMES.index(name)] for name in names}})


@pytest.fixture
def tables(tmp_path):
    """Two tables of the same rows; the second one has its columns in another order."""
    orders = {"a": NAMES, "b": NAMES[::-1]}
    return [write(tmp_path / f"{name}.parquet", table(order, LABELS)) for name, order in orders.items()]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The model with the names of its features, and an approximation of it without."""
    folder = tmp_path_factory.mktemp("models")
    scaling = Scaling(np.zeros(4), np.ones(4), feature_names=NAMES)
    package.save_model(ScaledModel(package.load_model(EXACT), scaling), folder / "named")
    ran("approximate", EXACT, "--order", "2", "-o", folder / "fast")
    return {"named": folder / "named", "f": folder / "fast"}


#: Commands that read a model {m} and a table {a}, or two; {f} is made from the model, {o} an output.
ONE_TABLE = (
    "compare {m} {m} --data {a}",
    "bound-check --model {m} {a}",
    "approximate {m} --data {a} --order 2 -o {o}",
    "compress {m} --data {a} --sv 20 -o {o}",
    "cascade {f} {m} --max-diff 20% --data {a} -o {o}",
    "dcpred {a} --from {m} -o {o}",
    "export {m} --test {a} -o {o}.h",
    "frontier {m} --data {a} -o {o} --methods linear --time-limit 60",
)
TWO_TABLES = (
    "approximate {m} --data {a} --data {b} --order 2 -o {o}",
    "compress {m} --data {a} --data {b} --sv 20 -o {o}",
    "cascade {f} {m} --data {a} --data {b} -o {o}",
    "frontier {m} --data {a} --test {b} -o {o} --methods linear --time-limit 60",
)


@pytest.mark.parametrize("line", ONE_TABLE)
def test_a_table_is_remarked_upon_once(line, tables, models, tmp_path):
    def run(exact, path):
        words = line.format(m=exact, a=path, o=tmp_path / f"out.{path.stem}", **models).split()
        done = svmfast(*words, shortened=True)
        # 1: a negative answer, of models that cannot be converted as asked
        assert done.returncode in (0, 1), done.stderr
        return done.stderr.decode().splitlines()

    assert run(EXACT, tables[0]).count(f"svmfast: {REMARK.format(tables[0])}") == 1
    assert not [text for text in run(models["named"], tables[1]) if "order" in text and "columns" in text]


@pytest.mark.parametrize("line", TWO_TABLES)
def test_two_tables_that_disagree_are_an_error(line, tables, models, tmp_path):
    words = line.format(m=EXACT, a=tables[0], b=tables[1], o=tmp_path / "out", **models).split()
    last = ran(*words, status=2).stderr.decode().splitlines()[-1]
    assert last == DIFFER.format(tables[1], tables[0], ORDER)


@pytest.mark.parametrize("form", ["pyarrow", "pandas", "polars"])
def test_data_frames(form, models):
    made = {"pyarrow": lambda one: one, "pandas": pa.Table.to_pandas}
    made = made.get(form) or pytest.importorskip("polars").from_arrow
    first, second, fewer = (made(table(names, {})) for names in (NAMES, NAMES[::-1], NAMES[:3]))
    answer = package.predict(EXACT, first)
    assert answer.notes == (REMARK.format("the data"),)
    again = package.predict(models["named"], second)
    assert again.notes == ()
    np.testing.assert_array_equal(again.predicted, answer.predicted)
    predictor = package.Predictor(EXACT)
    predictor.answer(first)
    with pytest.raises(TableError, match=f"feature {ORDER}"):
        predictor.answer(second)
    with pytest.raises(TableError, match="3 columns of features; the model has 4 features"):
        package.predict(EXACT, fewer)
    assert package.predict(EXACT, np.zeros((1, 4))).notes == ()
    heard = Listener()
    package.compare([EXACT, EXACT], first, repeats=1, listener=heard)
    package.bound_check(first, model=EXACT, listener=heard)
    package.export(EXACT, test=first, listener=heard)
    assert heard.notes.count(REMARK.format("the data")) == 3
    assert REMARK.format("`data`") in package.approximate(EXACT, data=first, order=2).notes


# --- predict, of one table and of many

WORDS = ("predict", "--unlabelled", "--keep", "id", "--suffix", ".parquet", "--out-dir")


@pytest.fixture
def files(tmp_path):
    """Three tables; the second one has its columns in another order."""
    (tmp_path / "in").mkdir()
    orders = (NAMES, NAMES[::-1], NAMES)
    paths = [tmp_path / "in" / f"part-{n}.parquet" for n in range(3)]
    return [write(path, table(order), row_group_size=20) for path, order in zip(paths, orders, strict=True)]


@pytest.mark.parametrize("dask", [(), pytest.param(("--dask", "local:1"), marks=pytest.mark.nightly)])
def test_a_file_with_another_order_is_an_error(files, tmp_path, dask):
    if dask:
        pytest.importorskip("distributed")
    out, error = tmp_path / "out", DIFFER.format(files[1], files[0], ORDER)
    done = ran(*WORDS, out, *dask, EXACT, *files, status=2)
    assert sorted(path.name for path in out.glob("*.parquet")) == ["part-0.parquet", "part-2.parquet"]
    assert error in done.stderr.decode().splitlines()
    ran(*WORDS, tmp_path / "named", *dask, "--features", ",".join(NAMES), EXACT, *files)
    first, second = (read(tmp_path / "named" / path.name) for path in files[:2])
    assert first.equals(second)
    assert first.equals(read(out / "part-0.parquet"))
    if not dask:  # a run that continues keeps the order, and one that begins has its own
        done = ran(*WORDS, out, "--skip-existing", EXACT, *files[:2], status=2)
        assert error in done.stderr.decode().splitlines()
        ran(*WORDS, out, EXACT, files[1])


def test_a_file_with_other_names_is_an_error(tmp_path):
    both = table()
    first = write(tmp_path / "a.parquet", both)
    more = write(tmp_path / "b.parquet", both.append_column("extra", both["w"]))
    other = write(tmp_path / "c.parquet", both.rename_columns(["id", "w", "x", "y", "other"]))
    fewer = write(tmp_path / "d.parquet", table(("w", "x")))
    done = ran(*WORDS, tmp_path / "out", EXACT, first, more, other, fewer, status=2)
    for text in (
        DIFFER.format(more, first, "5 is 'extra', there absent"),
        DIFFER.format(other, first, "4 is 'other', there 'z'"),
        f"{fewer}: 2 columns of features; the model has 4 features",
    ):
        assert text in done.stderr.decode().splitlines()
    # A table with too few columns does not set the order for the others.
    ran(*WORDS, tmp_path / "out2", EXACT, fewer, first, status=2)
    assert [path.name for path in (tmp_path / "out2").glob("*.parquet")] == ["a.parquet"]


def test_a_remark_for_a_single_table(tmp_path):
    path = write(tmp_path / "a.parquet", table())
    words = ("predict", "--unlabelled", "--keep", "id", path, EXACT, tmp_path / "out.csv")
    assert f"svmfast: {REMARK.format(path)}" in ran(*words).stderr.decode().splitlines()
    assert ran(*words, "-q").stderr == b""
    assert b"their order" not in ran(*words, "--features", "w,x,y,z").stderr
    assert REMARK.format(path) in report(*words)["notes"]
    (tmp_path / "numbers.csv").write_text("1,2,3,4\n")
    assert b"their order" not in ran("predict", "--unlabelled", tmp_path / "numbers.csv", EXACT, "-").stderr
