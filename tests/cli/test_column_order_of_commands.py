"""Every command and door that reads tables: columns are never taken in another order in silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from program import data, model, svmfast
from pyarrow import parquet

import svmfast as package
from svmfast.errors import TableError
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.progress import Listener

EXACT = model("iris_c_rbf_prob")
NAMES = ("w", "x", "y", "z")
REMARK = "{}: the model does not name its features, so the columns are taken in their order"
ORDER = "{}: its columns differ from those of {}: feature 1 is 'z', there 'w'"
UNNAMED = "; the model does not name its features; give --features"


def frame(names: tuple[str, ...] = NAMES, *, labels: bool = True) -> pa.Table:
    """Return rows of iris; the columns keep their values, whatever order they are in."""
    read = package.read_svmlight(data("iris.train"))
    rows = read.rows.to_dense()
    columns: dict[str, Any] = {"label": read.labels.astype(np.int64)} if labels else {}
    return pa.table({**columns, **{name: rows[:, NAMES.index(name)] for name in names}})


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    """Two tables of the same rows; the second one has its columns in another order."""
    paths = tmp_path / "a.parquet", tmp_path / "b.parquet"
    for path, names in zip(paths, (NAMES, NAMES[::-1]), strict=True):
        parquet.write_table(frame(names), path)
    return paths


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """The model with the names of its features."""
    scaling = Scaling(np.zeros(4), np.ones(4), feature_names=NAMES)
    package.save_model(ScaledModel(package.load_model(EXACT), scaling), tmp_path / "named")
    return tmp_path / "named"


@pytest.fixture(scope="module")
def fast(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An approximated model."""
    path = tmp_path_factory.mktemp("fast") / "fast"
    assert svmfast("approximate", EXACT, "--order", "2", "-o", path).returncode == 0
    return path


#: Commands that read a model and one table; {m} is the model, {f} one made from it, {a} the table,
#: {o} an output.
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


@pytest.mark.parametrize("line", ONE_TABLE)
def test_a_table_is_remarked_upon_once(
    line: str, tables: tuple[Path, Path], named: Path, fast: Path, tmp_path: Path
) -> None:
    def run(exact: Path, path: Path) -> list[str]:
        words = line.format(m=exact, f=fast, a=path, o=tmp_path / f"out.{path.stem}").split()
        done = svmfast(*words, shortened=True)
        # 1: a negative answer, of models that cannot be converted as asked
        assert done.returncode in (0, 1), done.stderr
        return done.stderr.decode().splitlines()

    assert run(EXACT, tables[0]).count(f"svmfast: {REMARK.format(tables[0])}") == 1
    assert not [text for text in run(named, tables[1]) if "order" in text and "columns" in text]


#: Commands that read two tables.
TWO_TABLES = (
    "approximate {m} --data {a} --data {b} --order 2 -o {o}",
    "compress {m} --data {a} --data {b} --sv 20 -o {o}",
    "cascade {f} {m} --data {a} --data {b} -o {o}",
    "frontier {m} --data {a} --test {b} -o {o} --methods linear --time-limit 60",
)


@pytest.mark.parametrize("line", TWO_TABLES)
def test_two_tables_that_disagree_are_an_error(
    line: str, tables: tuple[Path, Path], fast: Path, tmp_path: Path
) -> None:
    words = line.format(m=EXACT, f=fast, a=tables[0], b=tables[1], o=tmp_path / "out").split()
    done = svmfast(*words)
    assert done.returncode == 2
    last = done.stderr.decode().splitlines()[-1]
    assert last == f"{ORDER.format(tables[1], tables[0])}{UNNAMED}"


def test_held_out_rows_must_have_the_columns_of_the_training_rows(
    tables: tuple[Path, Path], tmp_path: Path
) -> None:
    def run(validate: Path, *more: object) -> Any:
        return svmfast(
            "budget-train", tables[0], "--validate", validate, "-B", "5", "-o", tmp_path / "out", *more
        )

    assert run(tables[1]).returncode == 0  # found by name
    parquet.write_table(frame(NAMES[1:]), tmp_path / "few.parquet")
    done = run(tmp_path / "few.parquet")
    assert done.returncode == 2
    error = f"{tmp_path / 'few.parquet'}: there is no column 'w', which is a feature of the model; "
    assert done.stderr.decode().splitlines()[-1].startswith(error)
    assert run(tmp_path / "few.parquet", "--features", "x,y,z").returncode == 0


@pytest.mark.parametrize("command", ["train", "meka", "dcpred", "linear", "budget-train"])
def test_a_single_table_of_training_rows_decides_its_order_itself(
    command: str, tables: tuple[Path, Path], tmp_path: Path
) -> None:
    more = {"budget-train": ("-B", "5"), "meka": ("--task", "ridge"), "dcpred": ("--task", "ridge")}
    words = more.get(command, ())
    done = svmfast(command, tables[0], *words, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert b"order" not in done.stderr


def test_a_range_file_names_no_features_either(tables: tuple[Path, Path], tmp_path: Path) -> None:
    assert svmfast("scale", "-s", tmp_path / "range", tables[0]).returncode == 0
    remark = f"{tables[0]}: the scaling does not name its features, so the columns are taken in their order"
    for more in ((), ("-y", "0", "1")):
        done = svmfast("scale", "-r", tmp_path / "range", *more, tables[0])
        assert done.returncode == 0
        assert f"svmfast: {remark}" in done.stderr.decode().splitlines()
    done = svmfast("linear", "--scale", tmp_path / "range", tables[0], "-o", tmp_path / "out")
    assert f"svmfast: {remark}" in done.stderr.decode().splitlines()


def _pandas(table: pa.Table) -> Any:
    pytest.importorskip("pandas")
    return table.to_pandas()


def _polars(table: pa.Table) -> Any:
    return pytest.importorskip("polars").from_arrow(table)


@pytest.mark.parametrize("form", [lambda table: table, _pandas, _polars], ids=["pyarrow", "pandas", "polars"])
def test_data_frames(form: Callable[[pa.Table], Any], named: Path) -> None:
    first, second = (form(frame(names, labels=False)) for names in (NAMES, NAMES[::-1]))
    answer = package.predict(EXACT, first)
    assert answer.notes == (REMARK.format("the data"),)
    assert package.predict(named, second).notes == ()
    np.testing.assert_array_equal(package.predict(named, second).predicted, answer.predicted)
    predictor = package.Predictor(EXACT)
    predictor.answer(first)
    with pytest.raises(TableError, match="feature 1 is 'z', there 'w'"):
        predictor.answer(second)
    fewer = form(frame(NAMES[:3], labels=False))
    with pytest.raises(TableError, match="3 columns of features; the model has 4 features"):
        package.predict(EXACT, fewer)
    assert package.predict(EXACT, first.to_numpy() if form is _pandas else np.zeros((1, 4))).notes == ()
    heard = Listener()
    package.compare([EXACT, EXACT], first, repeats=1, listener=heard)
    package.bound_check(first, model=EXACT, listener=heard)
    package.export(EXACT, test=first, listener=heard)
    assert heard.notes.count(REMARK.format("the data")) == 3
    made = package.approximate(EXACT, data=first, order=2)
    assert REMARK.format("`data`") in made.notes


def test_files_in_python(tables: tuple[Path, Path], tmp_path: Path) -> None:
    assert package.predict(EXACT, tables[0]).notes == (REMARK.format(tables[0]),)
    parquet.write_table(frame(NAMES[:3]), tmp_path / "fewer.parquet")
    with pytest.raises(TableError, match="3 columns of features; the model has 4 features"):
        package.predict(EXACT, tmp_path / "fewer.parquet")


def test_a_dask_frame(tables: tuple[Path, Path]) -> None:
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    from svmfast import dask as door

    heard = Listener()
    collection = frames.from_pandas(frame(labels=False).to_pandas(), npartitions=2)
    found = door.predict(EXACT, collection, listener=heard).compute(scheduler="threads")
    assert isinstance(found, pandas.Series)
    np.testing.assert_array_equal(found, package.predict(EXACT, tables[0]).predicted)
    assert heard.notes == [REMARK.format("the data")]


def test_estimators_follow_scikit_learns_rule() -> None:
    pytest.importorskip("pandas")
    from svmfast.sklearn import FastSVC

    first, second = (frame(names).to_pandas() for names in (NAMES, NAMES[::-1]))
    fitted = FastSVC().fit(first[[*NAMES]], first["label"])
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        fitted.predict(second[[*NAMES[::-1]]])
