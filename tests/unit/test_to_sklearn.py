"""Models as scikit-learn estimators that predict the same."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import FIXTURES
from scipy import sparse
from sklearn.pipeline import Pipeline

import svmfast
from svmfast.errors import UnsupportedError
from svmfast.formats.detect import model_bytes
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling

MODELS = sorted(path.name for path in (FIXTURES / "models").glob("*.model") if "precomputed" not in path.name)


def load(name: str) -> KernelExpansion:
    model = svmfast.load_model(FIXTURES / "models" / name)
    assert isinstance(model, KernelExpansion)
    return model


def rows_for(model: Any) -> Any:
    rng = np.random.default_rng(0)
    return rng.normal(0, 0.6, (200, max(1, model.n_features)))


@pytest.mark.filterwarnings("ignore:The `probability` parameter:FutureWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_libsvm_model_and_its_estimator_predict_alike(name: str) -> None:
    model = load(name)
    if model.head.n_classes == 1:
        return
    X = rows_for(model)
    made = svmfast.to_sklearn(model)
    answer = svmfast.predict(model, X)
    values = answer.decisions
    if made._sparse:
        X = sparse.csr_matrix(X)
    near = (np.abs(values) < 1e-9).any(axis=1)
    predicted = made.predict(X)
    if model.head.is_regression:
        np.testing.assert_allclose(predicted, answer.predicted, rtol=1e-9, atol=1e-9)
        return
    np.testing.assert_array_equal(predicted[~near], answer.predicted[~near])
    if model.head.labels is not None:
        made.set_params(decision_function_shape="ovo")
        sign = -1 if len(model.head.labels) == 2 else 1
        theirs = made.decision_function(X).reshape(values.shape)
        np.testing.assert_allclose(theirs, sign * values, rtol=1e-8, atol=1e-8)
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.predict(X), predicted)


@pytest.mark.parametrize("name", MODELS)
def test_there_and_back_is_the_same_model(name: str) -> None:
    model = load(name)
    if model.head.n_classes == 1 or model.head.density_marks is not None:
        return
    if model.head.is_regression and model.head.prob_a is not None:
        return
    again = svmfast.from_sklearn(svmfast.to_sklearn(model))
    X = rows_for(model)
    np.testing.assert_array_equal(svmfast.predict(again, X).decisions, svmfast.predict(model, X).decisions)
    assert model_bytes(again).splitlines()[:2] == model_bytes(model).splitlines()[:2]


@pytest.mark.parametrize("clip", [None, (-1.0, 1.0)])
def test_a_scaling_becomes_a_scaler(clip: Any) -> None:
    model = load("wine_c_rbf_prob.model")
    d = model.n_features
    rng = np.random.default_rng(1)
    names = tuple(f"f{i}" for i in range(d))
    factor = rng.uniform(0.1, 3, d)
    scaling = Scaling(rng.normal(size=d), factor, clip, names, ("a", "b", "c"))
    scaled = ScaledModel(model, scaling)
    made = svmfast.to_sklearn(scaled)
    assert isinstance(made, Pipeline)
    import pandas as pd

    table = pd.DataFrame(rows_for(model), columns=names)
    answer = svmfast.predict(scaled, table)
    labels = model.head.labels
    assert labels is not None
    expected = [("a", "b", "c")[labels.tolist().index(int(one))] for one in answer.predicted]
    np.testing.assert_array_equal(made.predict(table), expected)


def test_what_scikit_learn_has_not_is_refused() -> None:
    exact = load("wine_c_rbf_prob.model")
    fast = svmfast.approximate(exact, force=True).model
    d = exact.n_features
    rounded = ScaledModel(exact, Scaling.from_ranges(np.zeros(d), np.ones(d)))
    with pytest.raises(UnsupportedError, match="scikit-learn has no machine like a polynomial model"):
        svmfast.to_sklearn(fast)
    with pytest.raises(UnsupportedError, match="the scaling rounds to 6 digits, as svm-scale prints them"):
        svmfast.to_sklearn(rounded)
    with pytest.raises(UnsupportedError, match="a precomputed kernel has no support vectors"):
        svmfast.to_sklearn(svmfast.load_model(Path(FIXTURES / "models" / "iris_precomputed.model")))
