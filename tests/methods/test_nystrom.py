"""nystrom: against scikit-learn's features, the exact model, and itself through a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from program import data, model, svmfast

import svmfast as package
from svmfast.errors import MemoryLimitError, OptionError, SingleClassError
from svmfast.methods.common.equal_rows import row_keys, rows_aside
from svmfast.solvers.kernel_clusters import kmeans_centers


def test_as_many_landmarks_as_rows_reproduce_the_exact_model() -> None:
    """With all distinct rows as landmarks the features span the kernel, so the fit gives the exact values."""
    exact, rows = package.load_model(model("iris_c_rbf_prob")), package.read_svmlight(data("iris.train"))
    made, report = package.nystrom(rows, exact=exact, landmarks=len(rows), seed=1)
    assert report.relative_rms is None
    assert report.labels_differing["labels_differing_percent"] < 10
    ours, theirs = (m.decision_values(rows.rows) for m in (made, exact))
    assert np.abs(ours - theirs).max() < 0.01 * np.abs(theirs).max()


def test_ridge_is_the_closed_form_on_the_features() -> None:
    """The dual of ridge regression with the approximated kernel matrix gives the same values."""
    train = package.read_svmlight(data("diabetes.train"))
    gamma, regularization, m = 0.05, 0.3, 20
    made, report = package.nystrom(train, task="ridge", gamma=gamma, lambda_=regularization, landmarks=m)
    kept = np.flatnonzero(rows_aside(row_keys(train.rows), None, (0, 1), copies_agree=False).fitted)
    assert len(kept) == report.rows
    x, y = train.rows.to_dense()[kept], train.labels[kept]
    z = kmeans_centers(train.rows.take(kept), m, seed=0)

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(-gamma * ((a[:, None] - b[None]) ** 2).sum(axis=2))

    approximated = kernel(x, z) @ np.linalg.pinv(kernel(z, z)) @ kernel(x, z).T
    centering = np.eye(len(x)) - 1 / len(x)
    alpha = np.linalg.solve(
        centering @ approximated @ centering + regularization * np.eye(len(x)), y - y.mean()
    )
    expected = y.mean() + centering @ approximated @ centering @ alpha
    np.testing.assert_allclose(made.decision_values(train.rows.take(kept))[:, 0], expected, rtol=1e-5)


def test_it_is_about_as_accurate_as_scikit_learns(tmp_path: Path) -> None:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    train, test = (package.read_svmlight(data(f"digits.{part}")) for part in ("train", "test"))
    gamma, m = 0.02, 60
    made, report = package.nystrom(train, task="svc", gamma=gamma, landmarks=m)
    ours = np.mean(package.predict(made, test).predicted == test.labels)
    theirs = make_pipeline(Nystroem(gamma=gamma, n_components=m, random_state=0), LinearSVC(dual=True))
    width = max(train.rows.n_columns, test.rows.n_columns)
    theirs.fit(train.rows.to_dense(width), train.labels)
    assert ours > theirs.score(test.rows.to_dense(width), test.labels) - 0.02
    assert abs(report.agreement - ours) < 0.1
    path = tmp_path / "made"
    package.save_model(made, path)
    again = package.load_model(path)
    np.testing.assert_array_equal(again.decision_values(test.rows), made.decision_values(test.rows))


def test_identical_bytes_for_any_number_of_threads(tmp_path: Path) -> None:
    for threads in ("1", "2"):
        words = ("nystrom", data("iris.train"), "--task", "svc", "--landmarks", "9", "-j", threads)
        assert svmfast(*words, "-o", tmp_path / threads).returncode == 0
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_refusals() -> None:
    rows = package.read_svmlight(data("iris.train"))
    for options in ({}, {"task": "svc", "exact": model("iris_c_rbf_prob")}):
        with pytest.raises(OptionError, match="give either `task` or `exact`"):
            package.nystrom(rows, **options)
    with pytest.raises(OptionError, match="`lambda_` is for ridge"):
        package.nystrom(rows, task="svc", lambda_=1)
    with pytest.raises(MemoryLimitError, match="raise `memory`, or use fewer landmarks or rows"):
        package.nystrom(rows, task="svc", memory="1k")
    with pytest.raises(SingleClassError):
        package.nystrom(np.eye(3), [1, 1, 1], task="svc")
    done = svmfast("nystrom", data("iris.train"), "--task", "svc", "--lambda", "1")
    assert (done.returncode, done.stderr) == (
        2,
        b"svmfast: --lambda is for ridge and decision values; svc has -c\n",
    )


@pytest.mark.parametrize("name", ["breast", "iris"])
def test_class_weights_are_weights_of_rows_in_a_linear_model_of_the_features(name: str) -> None:
    from sklearn.svm import LinearSVC

    train = package.read_svmlight(data(f"{name}.train"))
    gamma, m, weights = 0.05, 15, {1: 4.0, 3: 0.5, 99: 2.0}
    made, report = result = package.nystrom(train, task="svc", gamma=gamma, landmarks=m, weights=weights)
    assert any("no row has label 99, which has a weight" in warning for warning in result.warnings)
    kept = np.flatnonzero(rows_aside(row_keys(train.rows), None, (0, 1), copies_agree=False).fitted)
    assert len(kept) == report.rows
    x, y = train.rows.to_dense()[kept], train.labels[kept]
    z = kmeans_centers(train.rows.take(kept), m, seed=0)

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(-gamma * ((a[:, None] - b[None]) ** 2).sum(axis=2))

    values, vectors = np.linalg.eigh(kernel(z, z))
    features = kernel(x, z) @ (vectors[:, values > 1e-12] / np.sqrt(values[values > 1e-12]))
    theirs = LinearSVC(dual=False, tol=1e-8, max_iter=100000)
    each = np.array([weights.get(int(label), 1.0) for label in y])
    expected = theirs.fit(features, y, sample_weight=each).decision_function(features)
    ours = made.decision_values(train.rows.take(kept))
    labels, classes = made.head.labels.tolist(), theirs.classes_.tolist()
    if expected.ndim == 1:
        expected = expected[:, None] * (1 if labels[0] == classes[1] else -1)
    else:
        expected = expected[:, [classes.index(label) for label in labels]]
    np.testing.assert_allclose(ours, expected, rtol=0, atol=4e-3)


def test_class_weights_need_classes() -> None:
    train = package.read_svmlight(data("diabetes.train"))
    with pytest.raises(OptionError, match="`weights` is for classification, `task` svc"):
        package.nystrom(train, task="ridge", weights={1: 2.0})
