"""The method linear, against scikit-learn."""

import numpy as np
import pytest
from linear_svc import linear_svc
from read_fixtures import rows as read_rows
from sklearn.linear_model import Ridge

from svmfast.methods.linear import LinearOptions
from svmfast.methods.linear.fit import linear
from svmfast.rows import Rows


@pytest.mark.parametrize(
    ("name", "cost", "weights"),
    [
        ("breast", 20.0, {}),
        ("breast", 1.0, {-1: 5.0, 1: 0.5}),
        ("iris", 0.1, {}),
        ("iris", 1.0, {1: 3.0, 2: 0.25}),
        ("digits", 1.0, {}),
    ],
)
def test_classes_as_scikit_learn(name, cost, weights):
    """Class weights are as LinearSVC's sample weights; its `class_weight` acts only in its problem."""
    (rows, labels), (test, _) = read_rows(f"{name}.train"), read_rows(f"{name}.test")
    model, report = linear(rows, labels, LinearOptions(C=cost, weights=tuple(weights.items())))
    width, each = max(rows.n_columns, test.n_columns), [weights.get(int(label), 1.0) for label in labels]
    given = rows.to_dense(width), labels, test.to_dense(width), each
    expected = linear_svc(model.head.labels, *given, C=cost)
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
