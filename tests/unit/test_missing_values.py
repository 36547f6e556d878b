"""Missing values of tables and arrays: refused, or replaced by what the model keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from program import data
from program import svmfast as program
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmfast
from svmfast.errors import OptionError, SvmfastError, TableError

RNG = np.random.default_rng(3)
WHOLE = RNG.normal(size=(90, 3)) * [1, 2, 0.5] + [0, 5, 1]
LABELS = np.where(WHOLE[:, 0] + WHOLE[:, 1] > 5, 1, -1)
HOLES = np.where(RNG.random(WHOLE.shape) < 0.1, np.nan, WHOLE)
MEANS = np.nanmean(HOLES, axis=0)
FRAME = pd.DataFrame(HOLES, columns=["a", "b", "c"])
TRAIN: dict[str, Any] = {"C": 10, "gamma": 0.2}


def written(folder: Path, form: str, values: Any = HOLES) -> Path:
    path, frame = folder / f"rows.{form}", pd.DataFrame(values, columns=["a", "b", "c"])
    frame.insert(0, "label", LABELS)
    frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    return path


def replaced(values: Any) -> Any:
    return np.where(np.isnan(HOLES), values, HOLES)


@pytest.mark.parametrize(("how", "values"), [("zero", np.zeros(3)), ("mean", MEANS)])
@pytest.mark.parametrize("form", ["csv", "parquet", "array", "frame"])
def test_training_replaces_missing_values_and_keeps_how(
    tmp_path: Path, form: str, how: str, values: Any
) -> None:
    given = {"array": HOLES, "frame": FRAME}.get(form)
    labels = None if given is None else LABELS
    given = written(tmp_path, form) if given is None else given
    with pytest.raises(SvmfastError, match=r"nan|there is no value"):
        svmfast.train(given, labels, **TRAIN)
    model = svmfast.train(given, labels, **TRAIN, missing=how).model
    assert model is not None
    scaling = model.scaling
    assert scaling is not None
    assert scaling.missing is not None
    np.testing.assert_allclose(scaling.missing, values, rtol=1e-14)
    path = tmp_path / "model"
    svmfast.save_model(model, path)
    plain = svmfast.train(replaced(scaling.missing), LABELS, **TRAIN).model
    wanted = svmfast.predict(plain, replaced(scaling.missing)).decisions
    forms = (HOLES, FRAME) if form != "array" else (HOLES,)  # an array does not name its columns
    for rows in (*forms, written(tmp_path, "csv"), written(tmp_path, "parquet")):
        assert np.array_equal(svmfast.predict(path, rows).decisions, wanted)


def test_what_the_model_keeps_can_be_overruled(tmp_path: Path) -> None:
    rows, model = written(tmp_path, "csv"), tmp_path / "model"
    assert program("train", "-q", "--missing", "mean", rows, model).returncode == 0
    assert program("predict", "-q", rows, model, tmp_path / "out").returncode == 0
    done = program("predict", "-q", "--missing", "refuse", rows, model, tmp_path / "other")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"there is no value" in done.stderr
    assert program("predict", "-q", "--missing", "zero", rows, model, tmp_path / "zero").returncode == 0
    zeros = svmfast.predict(model, replaced(0.0)).predicted
    assert (tmp_path / "zero").read_text().split() == [f"{label:g}" for label in zeros]
    plain = tmp_path / "plain"
    assert program("train", "-q", written(tmp_path, "parquet", WHOLE), plain).returncode == 0
    done = program("predict", "-q", "--missing", "mean", rows, plain, tmp_path / "other")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"--missing: the model has no means; they are found when a model is trained" in done.stderr
    assert not (tmp_path / "other").exists()


def test_ranges_and_models_made_from_a_model(tmp_path: Path) -> None:
    rows, model, ranges = written(tmp_path, "csv"), tmp_path / "model", tmp_path / "range"
    for words in (
        ("scale", "--missing", "mean", "-s", ranges, "-o", "/dev/null", rows),
        ("train", "-q", "--missing", "mean", "--scale", ranges, rows, model),
        ("compress", "-q", model, "--sv", "9", "--data", rows, "-o", tmp_path / "fast"),
        ("compare", "-q", model, tmp_path / "fast", "--data", rows),
    ):
        done = program(*words)
        assert done.returncode == 0, done.stderr
    kept = [svmfast.load_model(tmp_path / name).scaling.missing for name in ("model", "fast")]  # type: ignore[union-attr]
    assert np.array_equal(*kept)
    low = [float(line.split()[1]) for line in ranges.read_text().splitlines()[2:]]
    np.testing.assert_allclose(low, np.nanmin(HOLES, axis=0), rtol=1e-14)


def test_what_cannot_be_replaced(tmp_path: Path) -> None:
    none = np.where([True, False, False], np.nan, WHOLE)
    with pytest.raises(SvmfastError, match="column 'a' has no mean of finite numbers; leave it out"):
        svmfast.train(written(tmp_path, "csv", none), missing="mean")
    with pytest.raises(OptionError, match="column 1 has no mean of finite numbers"):
        svmfast.train(none, LABELS, missing="mean")
    with pytest.raises(OptionError, match="`missing` is for tables"):
        svmfast.train(data("breast.train"), missing="mean")
    text = f"label,a\n{'1,2'}\n,3\n-1,4\n"
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(TableError, match="column 'label': there is no value"):
        svmfast.train(tmp_path / "labels.csv", missing="zero")


@pytest.mark.parametrize("options", [{}, {"strategy": "median"}, {"strategy": "constant", "fill_value": 3.5}])
@pytest.mark.parametrize("steps", [(), (StandardScaler(),)])
def test_a_pipeline_that_begins_with_an_imputer(options: dict[str, Any], steps: tuple[Any, ...]) -> None:
    fitted = make_pipeline(SimpleImputer(**options), *steps, SVC()).fit(FRAME, LABELS)
    model = svmfast.from_sklearn(fitted)
    for rows in (FRAME, HOLES):
        assert np.array_equal(svmfast.predict(model, rows).predicted, fitted.predict(FRAME))


@pytest.mark.parametrize(
    ("imputer", "what"),
    [
        (SimpleImputer(add_indicator=True), "adds columns"),
        (SimpleImputer(missing_values=-1.0), "replaces -1.0"),
    ],
)
def test_other_imputers_are_refused(imputer: Any, what: str) -> None:
    rows = HOLES if what == "adds columns" else WHOLE
    with pytest.raises(svmfast.errors.UnsupportedError, match=what):
        svmfast.from_sklearn(make_pipeline(imputer, SVC()).fit(rows, LABELS))
