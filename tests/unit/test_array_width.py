"""Arrays whose number of columns is not the number of a model's features, in every function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from program import data, model
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmfast as package
from svmfast.errors import ArrayWidthError

X, Y = load_iris(return_X_y=True)
PLAIN = package.load_model(model("iris_c_rbf_prob"))
PIPELINE = package.from_sklearn(make_pipeline(StandardScaler(), SVC()).fit(X, Y))
NAMED = package.train(load_iris(as_frame=True).data, Y).model
FEW = r"^the data have 3 columns; expected at least 4, the number of the model's features$"
OTHER = r"^the data have {} columns; expected 4, the number of the model's features$"
WARNING = "the data have 5 columns, the model has 4 features"

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "predict": package.predict,
    "Predictor": lambda model, rows: package.Predictor(model).answer(rows),
    "compare": lambda model, rows: package.compare({"model": model}, rows),
    "bound_check": lambda model, rows: package.bound_check(rows, model=model),
    "approximate": lambda model, rows: package.approximate(model, rows, force=True),
    "compress": lambda model, rows: package.compress(model, rows, sv=20),
    "export": lambda model, rows: package.export(model, "c", test=rows),
}


def wide(width: int) -> Any:
    return np.column_stack([X, np.ones(len(X))])[:, :width]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_refuses_an_array_with_too_few_columns(name: str) -> None:
    for given in (wide(3), wide(3).tolist()):
        with pytest.raises(ArrayWidthError, match=FEW) as found:
            FUNCTIONS[name](PLAIN, given)
        assert isinstance(found.value, ValueError)  # as scikit-learn's


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("width", [3, 5])
def test_models_that_know_their_features_refuse_every_other_number(name: str, width: int) -> None:
    for one in (PIPELINE, NAMED):
        with pytest.raises(ArrayWidthError, match=OTHER.format(width)):
            FUNCTIONS[name](one, wide(width))


def test_further_columns_count_as_in_libsvm() -> None:
    """They enter the distances of a LIBSVM model, as in svm-predict; a warning says so, once."""
    found = package.predict(PLAIN, wide(5))
    assert found.notes == (WARNING,)
    sparse = package.predict(PLAIN, csr_matrix(wide(5)))
    assert np.array_equal(found.decisions, sparse.decisions)
    assert not np.array_equal(found.decisions, package.predict(PLAIN, wide(4)).decisions)
    predictor = package.Predictor(PLAIN)
    for row in wide(5)[:3]:
        predictor.answer(row)
    assert predictor.listener.warnings == [WARNING]


def test_matrices_and_rows_may_have_any_width() -> None:
    narrow = csr_matrix(wide(3))
    for one in (PLAIN, PIPELINE):
        found = package.predict(one, narrow)
        filled = np.column_stack([wide(3), np.zeros(len(X))])
        assert np.array_equal(found.predicted, package.predict(one, filled).predicted)
        rows = package.as_rows(narrow)
        assert np.array_equal(found.predicted, package.predict(one, rows).predicted)
    assert package.predict(PLAIN, package.read_svmlight(data("iris.test"))).notes == ()
