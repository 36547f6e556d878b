"""The method linear, against scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command import svmfast
from program import data

from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.linear import LinearOptions
from svmfast.methods.linear.fit import linear
from svmfast.rows import Rows


@pytest.mark.parametrize(
    ("name", "cost"), [("breast", 1.0), ("iris", 0.1), ("digits", 1.0), ("breast", 20.0)]
)
def test_classes_as_scikit_learn(name: str, cost: float) -> None:
    from sklearn.svm import LinearSVC

    train, test = read_svmlight(data(f"{name}.train")), read_svmlight(data(f"{name}.test"))
    model, report = linear(train.rows, train.labels, LinearOptions(C=cost))
    width = max(train.rows.n_columns, test.rows.n_columns)
    dense, other = train.rows.to_dense(width), test.rows.to_dense(width)
    # Both count the bias in the norm.
    theirs = LinearSVC(C=cost, dual=False, tol=1e-8, max_iter=100000).fit(dense, train.labels)
    expected = theirs.decision_function(other)
    ours = model.decision_values(test.rows)
    assert model.head.labels is not None
    if expected.ndim == 1:
        sign = 1 if model.head.labels[0] == theirs.classes_[1] else -1
        expected = sign * expected[:, None]
    else:
        expected = expected[:, [list(theirs.classes_).index(label) for label in model.head.labels]]
    # Our solver stops when the gradient is a small fraction of the first one.
    assert np.abs(ours - expected).max() < 0.02 * np.abs(expected).max()
    agree = np.mean(model.head.predict(ours) == theirs.predict(other))
    assert agree > 0.99
    assert report.functions == ours.shape[1]


def test_values_as_scikit_learn() -> None:
    from sklearn.linear_model import Ridge

    train, test = read_svmlight(data("diabetes.train")), read_svmlight(data("diabetes.test"))
    model, _ = linear(train.rows, train.labels, LinearOptions(C=4.0, task="ridge"))
    theirs = Ridge(alpha=0.25).fit(train.rows.to_dense(10), train.labels).predict(test.rows.to_dense(10))
    np.testing.assert_allclose(model.decision_values(test.rows)[:, 0], theirs, rtol=1e-6)


@pytest.mark.parametrize("options", [LinearOptions(), LinearOptions(task="ridge")], ids=["svc", "ridge"])
def test_unused_columns_take_no_memory(options: LinearOptions) -> None:
    """An index near 2^31 does not make an array of that size; weights are those of the columns in use."""
    train = read_svmlight(data("breast.train"))
    columns = np.linspace(3, 2**31 - 2, train.rows.n_columns).astype(np.int32)
    spread = Rows(train.rows.indptr, columns[train.rows.indices], train.rows.values, 2**31 - 1)
    near, _ = linear(train.rows, train.labels, options)
    wide, report = linear(spread, train.labels, options)
    np.testing.assert_array_equal(wide.coefficients, near.coefficients)
    np.testing.assert_array_equal(wide.decision_values(spread), near.decision_values(train.rows))
    assert (report.features, wide.n_features) == (2**31 - 1, 2**31 - 1)


def test_refusals() -> None:
    from svmfast.errors import OptionError, SingleClassError

    rows = Rows.from_dense(np.eye(3))
    with pytest.raises(SingleClassError, match="all rows have label 1; expected rows of two"):
        linear(rows, np.ones(3), LinearOptions())
    with pytest.raises(OptionError, match="no rows to train on"):
        linear(rows[:0], np.zeros(0), LinearOptions())


@pytest.mark.parametrize(("name", "weights"), [("breast", {-1: 5.0, 1: 0.5}), ("iris", {1: 3.0, 2: 0.25})])
def test_class_weights_are_weights_of_rows(name: str, weights: dict[int, float], tmp_path: Path) -> None:
    """As with LinearSVC's sample weights; its `class_weight` acts only in the class's own problem."""
    from sklearn.svm import LinearSVC

    train = read_svmlight(data(f"{name}.train"))
    out = tmp_path / "out"
    words = [word for label, weight in weights.items() for word in (f"-w{label}", str(weight))]
    done = svmfast("linear", data(f"{name}.train"), *words, "-w99", "2", "-o", out)
    assert done.returncode == 0, done.stderr
    assert b"no row has label 99, which has a weight" in done.stderr
    each = np.array([weights.get(int(label), 1.0) for label in train.labels])
    assert (each != 1).any()
    dense = train.rows.to_dense(train.rows.n_columns)
    theirs = LinearSVC(dual=False, tol=1e-8, max_iter=100000)
    expected = theirs.fit(dense, train.labels, sample_weight=each).decision_function(dense)
    model = load_model(out)
    ours = model.decision_values(train.rows)
    # The solver stops when the gradient is 1e-5 of the first one.
    near = 1e-3 * np.abs(expected).max()
    if ours.shape[1] == 1:
        assert model.head.labels is not None
        sign = 1 if model.head.labels[0] == theirs.classes_[1] else -1
        assert np.allclose(sign * ours[:, 0], expected, rtol=0, atol=near)
    else:
        order = [theirs.classes_.tolist().index(label) for label in model.head.labels]
        assert np.allclose(ours, expected[:, order], rtol=0, atol=near)


def test_weights_need_classes(tmp_path: Path) -> None:
    done = svmfast("linear", data("diabetes.train"), "--task", "ridge", "-w1", "2", "-o", tmp_path / "out")
    assert done.returncode == 2
    assert b"have no effect on regression" in done.stderr
