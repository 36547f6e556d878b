"""Tables of one run and a model without feature names: columns are never silently mixed up."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from program import data, model, svmfast
from pyarrow import parquet

import svmfast as package
from svmfast.errors import TableError
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling

EXACT = model("iris_c_rbf_prob")
NAMES = ("w", "x", "y", "z")


def table(path: Path, names: tuple[str, ...] = NAMES, *more: str) -> Path:
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
    return [table(tmp_path / "in" / f"part-{n}.parquet", order) for n, order in enumerate(orders)]


WORDS = ("predict", "--unlabelled", "--keep", "id", "--suffix", ".parquet", "--out-dir")
HINT = "; the model does not name its features; give --features"
ORDER = "feature 1 is 'z', there 'w'"
REMARK = "{}: the model does not name its features, so the columns are taken in their order"


@pytest.mark.parametrize("dask", [(), ("--dask", "local:1")])
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
    assert f"{files[1]}: its columns differ from those of {files[0]}: {ORDER}{HINT}" in lines
    named = svmfast(*WORDS, tmp_path / "named", *dask, "--features", ",".join(NAMES), EXACT, *files)
    assert named.returncode == 0
    found = [parquet.read_table(tmp_path / "named" / path.name) for path in files]
    assert found[0].equals(found[1])
    assert found[0].equals(parquet.read_table(out / "part-0.parquet"))


def test_a_model_that_names_its_features_takes_any_order(files: list[Path], tmp_path: Path) -> None:
    scaling = Scaling(np.zeros(4), np.ones(4), feature_names=NAMES)
    package.save_model(ScaledModel(package.load_model(EXACT), scaling), tmp_path / "named")
    done = svmfast(*WORDS, tmp_path / "out", tmp_path / "named", *files)
    assert done.returncode == 0
    assert b"order" not in done.stderr
    found = [parquet.read_table(tmp_path / "out" / path.name) for path in files]
    assert found[0].equals(found[1])


def test_a_file_with_other_names_is_an_error(tmp_path: Path) -> None:
    first = table(tmp_path / "a.parquet")
    more = table(tmp_path / "b.parquet", NAMES, "extra")
    other = table(tmp_path / "c.parquet", ("w", "x", "y", "other"))
    fewer = table(tmp_path / "d.parquet", ("w", "x"))
    done = svmfast(*WORDS, tmp_path / "out", EXACT, first, more, other, fewer)
    lines = done.stderr.decode().splitlines()
    assert (
        f"{more}: its columns differ from those of {first}: feature 5 is 'extra', there absent{HINT}" in lines
    )
    assert (
        f"{other}: its columns differ from those of {first}: feature 4 is 'other', there 'z'{HINT}" in lines
    )
    assert f"{fewer}: 2 columns of features; the model has 4 features" in lines
    # A table with too few columns does not set the order for the others.
    done = svmfast(*WORDS, tmp_path / "out2", EXACT, fewer, first)
    assert [path.name for path in (tmp_path / "out2").glob("*.parquet")] == ["a.parquet"]


@pytest.mark.parametrize("dask", [(), ("--dask", "local:1")])
def test_a_continued_run_keeps_the_order(files: list[Path], tmp_path: Path, dask: tuple[str, ...]) -> None:
    if dask:
        pytest.importorskip("distributed")
    out = tmp_path / "out"
    assert svmfast(*WORDS, out, EXACT, files[0]).returncode == 0
    done = svmfast(*WORDS, out, *dask, "--skip-existing", EXACT, *files[:2])
    assert done.returncode == 2
    error = f"{files[1]}: its columns differ from those of {files[0]}: {ORDER}{HINT}"
    assert error in done.stderr.decode().splitlines()
    assert svmfast(*WORDS, out, *dask, EXACT, files[1]).returncode == 0


def test_a_remark_for_a_single_table(tmp_path: Path) -> None:
    path = table(tmp_path / "a.parquet")
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


def test_in_python(files: list[Path], tmp_path: Path) -> None:
    predictor, reading = package.Predictor(EXACT), package.Reading(unlabelled=True)
    predictor.predict_file(files[0], tmp_path / "0.csv", reading=reading, keep=("id",))
    # A copy in another process has the order too.
    predictor = pickle.loads(pickle.dumps(predictor))
    with pytest.raises(TableError, match="its columns differ"):
        predictor.predict_file(files[1], tmp_path / "1.csv", reading=reading, keep=("id",))
    assert not (tmp_path / "1.csv").exists()
