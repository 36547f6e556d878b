"""Imported estimators whose classes are booleans, or whose rows have missing values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.model_selection import GridSearchCV
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


def test_a_search_in_a_skops_file_is_refused(tmp_path: Path) -> None:
    x = np.random.default_rng(4).normal(size=(60, 2))
    fitted = GridSearchCV(SVC(), {"C": [1, 10]}, scoring="accuracy", cv=2).fit(x, x[:, 0] > 0)
    skops.io.dump(fitted, tmp_path / "grid.skops")
    with pytest.raises(ModelFormatError, match=r"sklearn.metrics.*dump the best_estimator_"):
        model_of_file(tmp_path / "grid.skops")
