"""Every command and door that reads tables: columns are never taken in another order in silence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from command import svmfast
from program import data, model
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


# --- predict, of one table and of many

WORDS = ("predict", "--unlabelled", "--keep", "id", "--suffix", ".parquet", "--out-dir")


def written(path: Path, names: tuple[str, ...] = NAMES, *more: str) -> Path:
    """Write the rows of iris.test with their columns in the given order."""
    rows = package.read_svmlight(data("iris.test")).rows.to_dense()
    columns = {name: rows[:, NAMES.index(name) if name in NAMES else 0] for name in (*names, *more)}
    path.parent.mkdir(exist_ok=True)
    parquet.write_table(pa.table({"id": range(len(rows)), **columns}), path, row_group_size=20)
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three tables; the second one has its columns in another order."""
    orders = (NAMES, NAMES[::-1], NAMES)
    return [written(tmp_path / "in" / f"part-{n}.parquet", order) for n, order in enumerate(orders)]


@pytest.mark.parametrize("dask", [(), pytest.param(("--dask", "local:1"), marks=pytest.mark.nightly)])
def test_a_file_with_another_order_is_an_error(
    files: list[Path], tmp_path: Path, dask: tuple[str, ...]
) -> None:
    if dask:
        pytest.importorskip("distributed")
    out = tmp_path / "out"
    done = svmfast(*WORDS, out, *dask, EXACT, *files)
    assert done.returncode == 2
    assert sorted(path.name for path in out.glob("*.parquet")) == ["part-0.parquet", "part-2.parquet"]
    lines = done.stderr.decode().splitlines()
    assert ORDER.format(files[1], files[0]) + UNNAMED in lines
    named = svmfast(*WORDS, tmp_path / "named", *dask, "--features", ",".join(NAMES), EXACT, *files)
    assert named.returncode == 0
    found = [parquet.read_table(tmp_path / "named" / path.name) for path in files]
    assert found[0].equals(found[1])
    assert found[0].equals(parquet.read_table(out / "part-0.parquet"))


def test_a_file_with_other_names_is_an_error(tmp_path: Path) -> None:
    first = written(tmp_path / "a.parquet")
    more = written(tmp_path / "b.parquet", NAMES, "extra")
    other = written(tmp_path / "c.parquet", ("w", "x", "y", "other"))
    fewer = written(tmp_path / "d.parquet", ("w", "x"))
    done = svmfast(*WORDS, tmp_path / "out", EXACT, first, more, other, fewer)
    lines = done.stderr.decode().splitlines()
    assert (
        f"{more}: its columns differ from those of {first}: feature 5 is 'extra', there absent{UNNAMED}"
        in lines
    )
    assert (
        f"{other}: its columns differ from those of {first}: feature 4 is 'other', there 'z'{UNNAMED}"
        in lines
    )
    assert f"{fewer}: 2 columns of features; the model has 4 features" in lines
    # A table with too few columns does not set the order for the others.
    done = svmfast(*WORDS, tmp_path / "out2", EXACT, fewer, first)
    assert [path.name for path in (tmp_path / "out2").glob("*.parquet")] == ["a.parquet"]


def test_a_continued_run_keeps_the_order(files: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert svmfast(*WORDS, out, EXACT, files[0]).returncode == 0
    done = svmfast(*WORDS, out, "--skip-existing", EXACT, *files[:2])
    assert done.returncode == 2
    error = ORDER.format(files[1], files[0]) + UNNAMED
    assert error in done.stderr.decode().splitlines()
    assert svmfast(*WORDS, out, EXACT, files[1]).returncode == 0


def test_a_remark_for_a_single_table(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet")
    words = ("predict", "--unlabelled", "--keep", "id", path, EXACT, tmp_path / "out.csv")
    remark = f"svmfast: {REMARK.format(path)}"
    assert remark in svmfast(*words).stderr.decode().splitlines()
    assert svmfast(*words, "-q").stderr == b""
    assert b"their order" not in svmfast(*words, "--features", "w,x,y,z").stderr
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("1,2,3,4\n")
    assert b"their order" not in svmfast("predict", "--unlabelled", numbers, EXACT, "-").stderr
    report = json.loads(svmfast(*words, "--json").stdout)
    assert remark.removeprefix("svmfast: ") in report["notes"]
