"""Models with class names, from the shell: predictions, tables, labels of data, reports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from command import svmfast
from estimators import PIPELINE, fitted
from program import data, model
from pyarrow import csv, parquet
from sklearn.datasets import load_iris

import svmfast as package
from svmfast.formats.model_files import load_model, save_model
from svmfast.models.base import Model
from svmfast.models.head import Head
from svmfast.models.scaled import ScaledModel, with_scaling
from svmfast.models.scaling import Scaling

FRAME = load_iris(as_frame=True).data
TRUE = np.array(["setosa", "versicolor", "virginica"])[load_iris().target]
PROBABILITIES = model("iris_c_rbf_prob")
MEANING = (
    "svmfast: labels stand for classes: 0 is 'setosa', 1 is 'versicolor', 2 is 'virginica'; --names writes "
    "the names\n"
)


@pytest.fixture(scope="module")
def pipeline() -> Any:
    return fitted(PIPELINE)


@pytest.fixture(scope="module")
def predicted(pipeline: Any) -> list[str]:
    """Return the pipeline's own answers."""
    names: list[str] = pipeline.predict(FRAME).tolist()
    return names


@pytest.fixture(scope="module")
def flowers(pipeline: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a table with the names of the classes, and the pipeline's model."""
    folder = tmp_path_factory.mktemp("flowers")
    columns = {name: FRAME[name].to_numpy() for name in FRAME.columns}
    parquet.write_table(pa.table({**columns, "species": TRUE}), folder / "rows.parquet")
    package.save_model(package.from_sklearn(pipeline), folder / "model")
    return folder / "rows.parquet", folder / "model"


def named(folder: Path, *names: str, of: Path = PROBABILITIES) -> Path:
    """Return a model of iris whose classes have these names."""
    inner = load_model(of)
    save_model(ScaledModel(inner, Scaling(np.zeros(4), np.ones(4), class_names=names)), folder / "named")
    return folder / "named"


def test_names_replace_labels(flowers: tuple[Path, Path], predicted: list[str]) -> None:
    done = svmfast("predict", "-q", "--unlabelled", "--names", *flowers, "-")
    assert done.stdout.decode().split("\n") == [*predicted, ""]


def test_text_has_labels_by_default_and_a_remark_explains_them(
    flowers: tuple[Path, Path], predicted: list[str]
) -> None:
    done = svmfast("predict", "--label", "species", *flowers, "-")
    names = ["setosa", "versicolor", "virginica"]
    assert done.stdout.decode().split() == [str(names.index(name)) for name in predicted]
    assert done.stderr.decode() == "Accuracy = 97.3333% (146/150) (classification)\n" + MEANING
    for option in ("--names", "--no-names"):
        assert b"stand for" not in svmfast("predict", "--label", "species", option, *flowers, "-").stderr


@pytest.mark.parametrize("end", ["parquet", "csv"])
def test_tables_have_names(
    end: str, flowers: tuple[Path, Path], predicted: list[str], tmp_path: Path
) -> None:
    out = tmp_path / f"out.{end}"
    arguments = ["predict", "--label", "species", "--decision-values", *flowers, out]
    done = svmfast(*arguments)
    assert (done.returncode, done.stderr) == (0, b"")
    read = parquet.read_table if end == "parquet" else csv.read_csv
    found = read(out)
    assert found.column_names == ["label", "setosa/versicolor", "setosa/virginica", "versicolor/virginica"]
    assert found["label"].to_pylist() == predicted
    assert svmfast(*arguments, "--no-names").returncode == 0
    found = read(out)
    assert found.column_names == ["label", "0/1", "0/2", "1/2"]
    assert found["label"].type == pa.int64()


def test_probabilities_with_names(tmp_path: Path) -> None:
    path = named(tmp_path, "se", "ve", "vi")
    plain = svmfast("predict", "-q", "-b", "1", data("iris.test"), PROBABILITIES, "-").stdout.decode()
    labels = [f"{label:d}" for label in load_model(PROBABILITIES).head.labels.astype(int)]
    names = dict(zip(labels, ("se", "ve", "vi"), strict=True))
    lines = [line.split(" ", 1) for line in plain.splitlines()[1:]]
    expected = ["labels se ve vi", *(f"{names[label]} {rest}" for label, rest in lines), ""]
    done = svmfast("predict", "-q", "-b", "1", "--names", data("iris.test"), path, "-")
    assert done.stdout.decode().split("\n") == expected
    assert svmfast("predict", "-q", "-b", "1", data("iris.test"), path, "-").stdout.decode() == plain
    out = tmp_path / "out.parquet"
    assert svmfast("predict", "-q", "-b", "1", data("iris.test"), path, out).returncode == 0
    assert parquet.read_table(out).column_names == [
        "label",
        "probability se",
        "probability ve",
        "probability vi",
    ]


def test_ambiguous_column_names_are_refused(tmp_path: Path) -> None:
    path = named(tmp_path, "New York", "100%", "a\u200bb")
    done = svmfast("predict", "-q", "--names", data("iris.test"), path, "-")
    assert set(done.stdout.decode().splitlines()) == {"New York", "100%", "a\\u200bb"}
    out = tmp_path / "out"
    done = svmfast("predict", "-q", "--names", "--decision-values", data("iris.test"), path, out)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        "svmfast: --names: the class 'New York' is not a single word, and spaces separate the columns; write "
        "a table (.csv, .parquet), or labels\n"
    )
    assert not out.exists()
    path = named(tmp_path, "a/b", "a", "b/a")  # 'a/b' against 'a', and 'a' against 'b/a'
    done = svmfast("predict", "-q", "--decision-values", data("iris.test"), path, tmp_path / "out.csv")
    assert done.returncode == 2
    assert done.stderr == b"svmfast: two columns would be called 'a/b/a'; write labels (--no-names)\n"


def test_two_names_that_are_written_alike(tmp_path: Path) -> None:
    """Text has escapes for what is not printable, so that names that differ may be written alike."""
    rows, path = data("iris.test"), named(tmp_path, "a", "\u200b", "\\u200b")
    done = svmfast("predict", "-q", "--names", rows, path, "-")
    assert done.stderr == (
        b"svmfast: two classes would be written as '\\u200b'; write a table, or labels (--no-names)\n"
    )
    assert svmfast("predict", "-q", "-b", "1", rows, path, tmp_path / "out.csv").returncode == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()[0].split(",")) == 4


@pytest.mark.parametrize("kind", ["csv", "parquet", "dictionary"])
def test_labels_of_data_are_names(kind: str, flowers: tuple[Path, Path], tmp_path: Path) -> None:
    table = {name: FRAME[name].to_numpy() for name in FRAME.columns}
    classes = pa.array(TRUE)
    if kind == "dictionary":
        classes = classes.dictionary_encode()
    rows = tmp_path / f"rows.{'csv' if kind == 'csv' else 'parquet'}"
    write = csv.write_csv if kind == "csv" else parquet.write_table
    write(pa.table({**table, "label": classes}), rows)
    done = svmfast("predict", "--names", rows, flowers[1], tmp_path / "out")
    assert done.stdout == b"Accuracy = 97.3333% (146/150) (classification)\n"
    wrong = classes.to_pylist()
    wrong[1] = "rose"
    write(pa.table({**table, "label": wrong}), rows)
    done = svmfast("predict", "--names", rows, flowers[1], tmp_path / "out")
    place = f"{rows}:3: column" if kind == "csv" else f"{rows}: row 2, column"
    assert done.stderr.decode() == (
        f"svmfast: {place} 'label': not a class of the model ('rose'); expected one of the model's classes, "
        "'setosa', 'versicolor', 'virginica'\n"
    ).removeprefix("svmfast: ")
    wrong[1] = None
    write(pa.table({**table, "label": wrong}), rows)
    done = svmfast("predict", "--names", rows, flowers[1], tmp_path / "out")
    assert b"column 'label': there is no value" in done.stderr


def test_classes_that_are_numbers(tmp_path: Path) -> None:
    """Labels may be the numbers that scikit-learn was given, in any spelling."""
    labels = load_model(PROBABILITIES).head.labels.tolist()
    path = named(tmp_path, "0.5", "1.0", "3.0")
    numbers = dict(zip(labels, (0.5, 1.0, 3.0), strict=True))
    found = package.read_svmlight(data("iris.test"))
    expected = svmfast("predict", data("iris.test"), PROBABILITIES, tmp_path / "x").stdout
    columns = {f"x{j}": values for j, values in enumerate(found.rows.to_dense().T)}
    mine = np.array([numbers[label] for label in found.labels])
    for end, values in (("parquet", mine), ("csv", mine), ("csv", [f"{x:g}" for x in mine])):
        rows = tmp_path / f"rows.{end}"
        write = csv.write_csv if end == "csv" else parquet.write_table
        write(pa.table({"label": values, **columns}), rows)
        assert svmfast("predict", rows, path, tmp_path / "x").stdout == expected, (end, values)


def test_names_of_another_model_belong_to_its_labels(flowers: tuple[Path, Path]) -> None:
    """With another model's scaling the labels keep their names, in any order; other labels have none."""
    scaling = load_model(flowers[1]).scaling  # type: ignore[attr-defined]

    def other(*labels: int) -> Model:
        inner = load_model(PROBABILITIES)
        head = Head(inner.head.svm_type, np.array(labels))
        return with_scaling(replace(inner, head=head), scaling)  # type: ignore[type-var]

    assert other(2, 0, 1).names_of_labels == {2: "virginica", 0: "setosa", 1: "versicolor"}
    assert other(2, 0, 7).names_of_labels is None


@pytest.fixture(scope="module")
def exported(flowers: tuple[Path, Path]) -> package.Export:
    """Return the pipeline's export, tested on an array."""
    return package.export(flowers[1], test=FRAME.to_numpy())


@pytest.mark.parametrize("classes", [TRUE, np.array([f"{name}?" for name in TRUE]), None])
def test_export_finds_columns_by_name_and_does_not_read_labels(
    classes: np.ndarray | None, flowers: tuple[Path, Path], exported: package.Export, tmp_path: Path
) -> None:
    """The rows are the same with class names, other words or no label column at all."""
    rows = tmp_path / "rows.csv"
    table = {name: FRAME[name].to_numpy() for name in reversed(FRAME.columns)}
    csv.write_csv(pa.table(table if classes is None else {"label": classes, **table}), rows)
    for given in (rows,) if classes is not None else (rows, pa.table(table)):
        made = package.export(flowers[1], test=given)
        assert made.data.partition(b"\n */\n")[2] == exported.data.partition(b"\n */\n")[2]
    done = svmfast("export", flowers[1], "-o", tmp_path / "m.h", "--test", rows, "-q")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command", ["predict", "export"])
def test_text_with_names_as_labels_is_refused_with_the_numbers(
    command: str, flowers: tuple[Path, Path], tmp_path: Path
) -> None:
    rows = tmp_path / "rows"
    rows.write_text("0 1:5.1 2:3.5\nvirginica 1:5.9 2:3\n")
    predicting = ["predict", rows, flowers[1], tmp_path / "out"]
    exporting = ["export", flowers[1], "--test", rows, "-o", tmp_path / "out"]
    done = svmfast(*(predicting if command == "predict" else exporting))
    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"{rows}:2: the label is not a number ('virginica'); expected a number: 0 is 'setosa', "
        "1 is 'versicolor', 2 is 'virginica'\n"
    )


@pytest.mark.nightly
def test_frontier_reads_columns_and_classes_by_name(flowers: tuple[Path, Path], tmp_path: Path) -> None:
    rows, exact = flowers
    table = parquet.read_table(rows)
    shuffled = table.select([*reversed(FRAME.columns), "species"])
    even = np.arange(0, len(table), 2)
    parquet.write_table(shuffled.take(even), tmp_path / "train.parquet")
    parquet.write_table(shuffled.take(even + 1), tmp_path / "test.parquet")
    words = ["--data", tmp_path / "train.parquet", "--test", tmp_path / "test.parquet", "--label", "species"]
    more = ["-o", tmp_path / "out", "--methods", "linear", "--max-diff", "50%", "--time-limit", "20"]
    done = svmfast("frontier", exact, *words, *more, "-q", shortened=True)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads((tmp_path / "out/report.json").read_text())
    exact_model, linear = report["models"]
    assert linear["name"] == "linear"
    assert not report["missing"]
    assert [one["name"] for one in linear["confirming"]["classes"]] == ["setosa", "versicolor", "virginica"]
    parts = [package.read_svmlight(tmp_path / "out" / name) for name in ("choose.part", "confirm.part")]
    seen = np.concatenate([part.rows.to_dense(4) for part in parts])
    assert sorted(seen.tolist()) == sorted(FRAME.to_numpy()[1::2].tolist())
    for part, measured in zip(parts, ("choosing", "confirming"), strict=True):
        right = package.predict(exact, part.rows).predicted == part.labels
        assert exact_model[measured]["accuracy"] == pytest.approx(100 * right.mean())
