"""to_onnx of pipelines with svmfast's estimators: the labels and values are the pipeline's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from svmfast.rows import as_rows
from svmfast.sklearn import BudgetSVC, DCPredSVC, FastSVC, MekaRidge, register_onnx

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def run(pipeline: Any, sample: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
    # Imported here, since it takes a second.
    skl2onnx = pytest.importorskip("skl2onnx", reason="no sklearn-onnx")
    runtime = pytest.importorskip("onnxruntime", reason="no onnxruntime")
    register_onnx()
    made = skl2onnx.to_onnx(pipeline, sample[:1])
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": rows}), strict=True))


@pytest.mark.parametrize("target", [Y, NAMES], ids=["numbers", "names"])
@pytest.mark.parametrize(
    "estimator",
    [BudgetSVC(budget=10, random_state=0), DCPredSVC(clusters=2, landmarks=5, random_state=0), FastSVC()],
    ids=lambda one: type(one).__name__,
)
def test_labels_and_values_are_the_pipelines(estimator: Any, target: np.ndarray) -> None:
    pipeline = make_pipeline(StandardScaler(), estimator).fit(X, target)
    found = run(pipeline, X, X)
    assert list(found) == ["label", "scores"]
    assert np.array_equal(found["label"], pipeline.predict(X))
    values = pipeline[-1].model_.decision_values(as_rows(pipeline[0].transform(X)))
    assert np.allclose(found["scores"], values, rtol=1e-10, atol=1e-10)


def test_regression_and_single_precision_in_front() -> None:
    pipeline = make_pipeline(StandardScaler(), MekaRidge(clusters=2, rank=3, random_state=0)).fit(
        X[:, :3], X[:, 3]
    )
    found = run(pipeline, X[:, :3], X[:, :3])
    assert list(found) == ["variable"]
    assert np.allclose(found["variable"][:, 0], pipeline.predict(X[:, :3]), rtol=1e-10)
    single = X[:, :3].astype(np.float32)
    found = run(pipeline, single, single)
    assert np.allclose(found["variable"][:, 0], pipeline.predict(X[:, :3]), atol=1e-4)
