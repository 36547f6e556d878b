"""The method linear, against scikit-learn."""

import numpy as np
import pytest
from command import svmfast
from linear_svc import linear_svc
from program import data
from read_fixtures import rows as read_rows
from sklearn.linear_model import Ridge

from svmfast.formats.model_files import load_model
from svmfast.methods.linear import LinearOptions
from svmfast.methods.linear.fit import linear
from svmfast.rows import Rows


@pytest.mark.parametrize(
    ("name", "cost"), [("breast", 1.0), ("iris", 0.1), ("digits", 1.0), ("breast", 20.0)]
)
def test_classes_as_scikit_learn(name, cost):
    (rows, labels), (test, _) = read_rows(f"{name}.train"), read_rows(f"{name}.test")
    model, report = linear(rows, labels, LinearOptions(C=cost))
    width = max(rows.n_columns, test.n_columns)
    expected = linear_svc(model.head.labels, rows.to_dense(width), labels, test.to_dense(width), C=cost)
    ours = model.decision_values(test)
    # Our solver stops when the gradient is a small fraction of the first one.
    assert np.abs(ours - expected).max() < 0.02 * np.abs(expected).max()
    assert np.mean(model.head.predict(ours) == model.head.predict(expected)) > 0.99
    assert report.functions == ours.shape[1]


def test_values_as_scikit_learn():
    (rows, labels), (test, _) = read_rows("diabetes.train"), read_rows("diabetes.test")
    model, _ = linear(rows, labels, LinearOptions(C=4.0, task="ridge"))
    theirs = Ridge(alpha=0.25).fit(rows.to_dense(10), labels).predict(test.to_dense(10))
    np.testing.assert_allclose(model.decision_values(test)[:, 0], theirs, rtol=1e-6)


@pytest.mark.parametrize("task", ["svc", "ridge"])
def test_unused_columns_take_no_memory(task):
    """An index near 2^31 does not make an array of that size; weights are those of the columns in use."""
    rows, labels = read_rows("breast.train")
    columns = np.linspace(3, 2**31 - 2, rows.n_columns).astype(np.int32)
    spread = Rows(rows.indptr, columns[rows.indices], rows.values, 2**31 - 1)
    near, _ = linear(rows, labels, LinearOptions(task=task))
    wide, report = linear(spread, labels, LinearOptions(task=task))
    np.testing.assert_array_equal(wide.coefficients, near.coefficients)
    np.testing.assert_array_equal(wide.decision_values(spread), near.decision_values(rows))
    assert (report.features, wide.n_features) == (2**31 - 1, 2**31 - 1)


@pytest.mark.parametrize(("name", "weights"), [("breast", {-1: 5.0, 1: 0.5}), ("iris", {1: 3.0, 2: 0.25})])
def test_class_weights_are_weights_of_rows(name, weights, tmp_path):
    """As with LinearSVC's sample weights; its `class_weight` acts only in the class's own problem."""
    rows, labels = read_rows(f"{name}.train")
    words = [word for label, weight in weights.items() for word in (f"-w{label}", str(weight))]
    done = svmfast("linear", data(f"{name}.train"), *words, "-w99", "2", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert b"no row has label 99, which has a weight" in done.stderr
    each, model = np.array([weights.get(int(label), 1.0) for label in labels]), load_model(tmp_path / "out")
    expected = linear_svc(model.head.labels, rows.to_dense(), labels, rows.to_dense(), weights=each)
    # The solver stops when the gradient is 1e-5 of the first one.
    assert np.abs(model.decision_values(rows) - expected).max() < 1e-3 * np.abs(expected).max()
