"""Training on tables, from the shell and from Python: the model keeps the names of columns and classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from command import svmfast
from pyarrow import csv, parquet
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmfast as package
from svmfast.errors import OptionError
from svmfast.formats.model_files import load_model
from svmfast.models.scaled import ScaledModel

IRIS = load_iris(as_frame=True)
FRAME = IRIS.data
SPECIES = np.array(["setosa", "versicolor", "virginica"])[IRIS.target]
MEANING = "labels stand for classes: 0 is 'setosa', 1 is 'versicolor', 2 is 'virginica'"
FORMAT = "svmfast: the model keeps names, for which LIBSVM's format has no place; export to libsvm drops them"
COMMANDS = {
    "train": (),
    "budget-train": ("-B", "20"),
    "linear": (),
    "meka": ("--task", "svc", "--clusters", "2"),
    "dcpred": ("--task", "svc", "--clusters", "2"),
}


def table(labels: object = SPECIES, *, reverse: bool = False) -> pa.Table:
    """Return iris; the columns keep their values, whatever order they are in."""
    names = list(FRAME.columns)[:: -1 if reverse else 1]
    return pa.table({"label": labels, **{name: FRAME[name].to_numpy() for name in names}})


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same rows as CSV and as Parquet, with the columns in another order, and with numbers as labels."""
    folder = tmp_path_factory.mktemp("rows")
    csv.write_csv(table(), folder / "rows.csv")
    parquet.write_table(table(), folder / "rows.parquet")
    parquet.write_table(table(pa.array(SPECIES).dictionary_encode()), folder / "coded.parquet")
    parquet.write_table(table(reverse=True), folder / "reversed.parquet")
    csv.write_csv(table(IRIS.target.to_numpy()), folder / "numbers.csv")
    return {path.stem if path.stem != "rows" else path.suffix[1:]: path for path in folder.iterdir()}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_training_command_keeps_the_names(command: str, rows: dict[str, Path], tmp_path: Path) -> None:
    made = {}
    for kind in ("csv", "parquet", "coded"):
        done = svmfast(command, rows[kind], *COMMANDS[command], "-o", tmp_path / kind)
        assert done.returncode == 0, done.stderr
        assert f"svmfast: {rows[kind]}: {MEANING}" in done.stderr.decode().splitlines()
        made[kind] = (tmp_path / kind).read_bytes()
    assert len(set(made.values())) == 1
    model = load_model(tmp_path / "csv")
    assert model.names_of_labels == {0.0: "setosa", 1.0: "versicolor", 2.0: "virginica"}
    found = []
    for name in ("parquet", "reversed"):
        out = tmp_path / f"{name}.csv"
        assert svmfast("predict", "-q", rows[name], tmp_path / "csv", out).returncode == 0
        found.append(csv.read_csv(out)["label"].to_pylist())
    assert found[0] == found[1]
    assert np.mean(np.array(found[0]) == SPECIES) > 0.6


def test_the_model_is_the_one_of_libsvms_text(rows: dict[str, Path], tmp_path: Path) -> None:
    """Names change neither the model nor its bytes as LIBSVM's text; labels as numbers keep no names."""
    done = svmfast("train", "-q", rows["csv"], "model", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    done = svmfast("train", rows["csv"], "model", cwd=tmp_path)
    assert FORMAT in done.stderr.decode().splitlines()
    assert svmfast("export", "model", "--to", "libsvm", "-o", "plain", cwd=tmp_path).returncode == 0
    done = svmfast("train", rows["numbers"], "numbers", cwd=tmp_path)
    assert "stand for" not in done.stderr.decode()
    assert FORMAT in done.stderr.decode().splitlines()
    assert svmfast("export", "numbers", "--to", "libsvm", "-o", "same", cwd=tmp_path).returncode == 0
    assert (tmp_path / "plain").read_bytes() == (tmp_path / "same").read_bytes()
    package.write_svmlight(tmp_path / "text", package.as_rows(FRAME.to_numpy()), IRIS.target)
    assert svmfast("train", "-q", "text", "text.model", cwd=tmp_path).returncode == 0
    assert (tmp_path / "text.model").read_bytes() == (tmp_path / "plain").read_bytes()


def test_a_table_without_a_header_gives_libsvms_text(rows: dict[str, Path], tmp_path: Path) -> None:
    lines = rows["numbers"].read_text().splitlines()[1:]
    (tmp_path / "bare.csv").write_text("\n".join(lines) + "\n")
    done = svmfast("train", "-q", "--label", "1", tmp_path / "bare.csv", tmp_path / "model")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "model").read_bytes().startswith(b"svm_type c_svc\n")


def test_a_range_file_gets_the_names(rows: dict[str, Path], tmp_path: Path) -> None:
    assert svmfast("scale", "-s", tmp_path / "range", rows["numbers"], "-o", "/dev/null").returncode == 0
    done = svmfast("train", "--scale", tmp_path / "range", rows["csv"], tmp_path / "model")
    assert done.returncode == 0, done.stderr
    assert b"LIBSVM's format" not in done.stderr  # it could not hold the scaling either
    scaling = load_model(tmp_path / "model").scaling
    assert scaling is not None
    assert scaling.feature_names == tuple(FRAME.columns)
    answers = [svmfast("predict", rows[name], tmp_path / "model", "-") for name in ("csv", "reversed")]
    assert answers[0].stdout == answers[1].stdout
    assert b"Accuracy = 9" in answers[0].stderr + answers[0].stdout


@pytest.mark.parametrize("memory", ["1M", "2G"])
def test_rows_beyond_memory_have_the_same_labels(memory: str, tmp_path: Path) -> None:
    """The names that come last in the file are the first ones in order."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 3))
    words = np.where(x[:, 0] > 0, "no", "yes").astype(object)
    words[-50:] = np.where(x[-50:, 0] > 0, "no", "later")
    both = pa.table({"label": words, **{f"f{k}": x[:, k] for k in range(3)}})
    parquet.write_table(both, tmp_path / "rows.parquet")
    place = tmp_path / "model"
    done = svmfast("budget-train", tmp_path / "rows.parquet", "--memory", memory, "-B", "10", "-o", place)
    assert done.returncode == 0, done.stderr
    assert load_model(place).names_of_labels == {0.0: "later", 1.0: "no", 2.0: "yes"}
    answer = package.predict(place, both.drop_columns("label"))
    assert answer.names is not None
    assert np.mean(np.asarray(answer.names) == words) > 0.9


def test_labels_that_a_conversion_ignores_may_be_names(rows: dict[str, Path], tmp_path: Path) -> None:
    assert svmfast("train", "-q", rows["numbers"], tmp_path / "exact").returncode == 0
    done = svmfast("dcpred", rows["reversed"], "--from", tmp_path / "exact", "-o", tmp_path / "dcpred")
    assert done.returncode == 0, done.stderr
    model = load_model(tmp_path / "dcpred")
    assert model.names_of_labels is None  # those of the rows are not the exact model's
    scaling = model.scaling
    assert scaling is not None
    assert scaling.feature_names == tuple(FRAME.columns)


def test_models_of_other_tables_are_not_mixed(rows: dict[str, Path], tmp_path: Path) -> None:
    for name in ("csv", "reversed"):
        assert svmfast("train", "-q", rows[name], tmp_path / name).returncode == 0
    done = svmfast("compare", tmp_path / "csv", tmp_path / "reversed", "--data", rows["csv"])
    assert done.returncode == 2
    assert b"differ in the names or the order of their features" in done.stderr


def test_from_python(tmp_path: Path) -> None:
    model = package.train(FRAME, SPECIES).model
    assert isinstance(model, ScaledModel)
    found = package.predict(model, FRAME[list(FRAME.columns)[::-1]])
    wanted = SVC(gamma=0.25).fit(FRAME.to_numpy(), SPECIES).predict(FRAME.to_numpy())
    assert found.names is not None
    assert np.array_equal(np.asarray(found.names), wanted)
    assert package.compare({"model": model}, FRAME, SPECIES).models[0].accuracy > 95
    for labels, message in (
        (["a", 1.0] * 75, "`labels`: 1.0 in row 2 is not one of the names that begin the labels"),
        (["1", "b"] * 75, "`labels`: 'b' in row 2 is not one of the numbers that begin the labels"),
    ):
        with pytest.raises(OptionError, match=f"^{message}"):
            package.train(FRAME, np.array(labels, dtype=object))
    with pytest.raises(
        OptionError, match=r"^`labels`: could not convert string to float: .*expected numbers"
    ):
        package.train(FRAME, SPECIES, svm_type="epsilon_svr")


def test_scale_numbers_the_classes_as_training_does(rows: dict[str, Path]) -> None:
    named, numbers = (svmfast("scale", rows[name]) for name in ("csv", "numbers"))
    assert (named.returncode, numbers.returncode) == (0, 0)
    assert named.stdout == numbers.stdout
    assert named.stderr.decode() == f"svmfast: {rows['csv']}: {MEANING}\n"


def test_the_column_of_labels_is_kept(tmp_path: Path) -> None:
    """Every later command finds it without `label`, and does not miss it where there are no labels."""
    named = {"id": [f"m{row}" for row in range(len(FRAME))], "species": SPECIES}
    whole = pa.table({**named, **{name: FRAME[name].to_numpy() for name in FRAME}})
    csv.write_csv(whole, tmp_path / "rows.csv")
    csv.write_csv(whole.drop_columns("species"), tmp_path / "new.csv")
    words = ("--label", "species", "--exclude", "id")
    done = svmfast("train", "-q", *words, tmp_path / "rows.csv", tmp_path / "model")
    assert done.returncode == 0, done.stderr
    scaling = load_model(tmp_path / "model").scaling
    assert scaling is not None
    assert (scaling.label_column, scaling.feature_names) == ("species", tuple(FRAME.columns))
    assert b'"label_column":"species"' in (tmp_path / "model").read_bytes()
    done = svmfast("predict", tmp_path / "rows.csv", tmp_path / "model", tmp_path / "out.csv")
    assert b"Accuracy = 9" in done.stderr + done.stdout
    words = ("compress", tmp_path / "model", "--sv", "9", "--data", tmp_path / "rows.csv")
    assert svmfast(*words, "-q", "-o", tmp_path / "fast").returncode == 0
    assert load_model(tmp_path / "fast").scaling.label_column == "species"  # type: ignore[union-attr]
    done = svmfast(
        "predict", "--unlabelled", tmp_path / "new.csv", tmp_path / "fast", tmp_path / "new.out.csv"
    )
    assert done.returncode == 0, done.stderr
