"""Imported estimators whose classes are booleans, or whose rows have missing values."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmfast
from svmfast.errors import ModelFormatError, OptionError
from svmfast.importers.files import model_of_file


@pytest.mark.parametrize("words", [False, True])
def test_names_of_boolean_classes_are_booleans(words: bool, tmp_path: Path) -> None:
    """Those of the strings 'False' and 'True' are strings, as the estimator's."""
    x = np.random.default_rng(2).normal(size=(60, 2))
    y = x[:, 0] > 0.2
    fitted = SVC().fit(x, y.astype(str) if words else y)
    path = tmp_path / "model"
    svmfast.save_model(svmfast.from_sklearn(fitted), path)
    names = svmfast.predict(path, x).names
    assert names is not None
    assert names.dtype.kind == fitted.predict(x).dtype.kind == ("U" if words else "b")
    assert np.array_equal(names, fitted.predict(x))


def test_nan_in_an_array_is_named_by_row_and_column() -> None:
    frame = pd.DataFrame(np.random.default_rng(2).normal(size=(60, 2)), columns=["speed", "load"])
    model = svmfast.from_sklearn(SVC().fit(frame, frame["speed"] > 0))
    rows = frame.to_numpy().copy()
    rows[7, 1] = np.nan
    with pytest.raises(OptionError, match=r"nan in row 8, column 2; every value must be finite"):
        svmfast.predict(model, rows)


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", "roc_auc", ["accuracy", "f1"]])
def test_a_search_in_a_skops_file_imports(scoring: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(4).normal(size=(60, 2))
    y = (x[:, 0] > 0).astype(int)
    x[::9, 1] = np.nan
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), SVC())
    refit = "accuracy" if isinstance(scoring, list) else True
    fitted = GridSearchCV(pipeline, {"svc__C": [1, 10]}, scoring=scoring, refit=refit, cv=2).fit(x, y)
    skops.io.dump(fitted, tmp_path / "grid.skops")
    model, _ = model_of_file(tmp_path / "grid.skops")
    assert np.array_equal(svmfast.predict(model, x).predicted, fitted.predict(x))
    fitted.scoring = os.system  # a function of another library
    skops.io.dump(fitted, tmp_path / "grid.skops")
    with pytest.raises(ModelFormatError, match=r"posix.system.*dump its best_estimator_"):
        model_of_file(tmp_path / "grid.skops")
