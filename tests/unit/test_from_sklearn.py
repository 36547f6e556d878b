"""Models of fitted scikit-learn estimators: the same labels, values and probabilities; missing values."""

import os

import numpy as np
import pandas as pd
import pytest
import skops.io
from command import svmfast as program
from program import data
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import scale
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

import svmfast
from svmfast.errors import ModelFormatError, OptionError, SvmfastError, TableError
from svmfast.formats.model_files import model_bytes, open_model
from svmfast.importers.files import model_of_file

pytestmark = pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated:FutureWarning")

LOADED = {"breast": load_breast_cancer, "wine": load_wine, "digits": load_digits, "diabetes": load_diabetes}


def split(name):
    """Return training rows, their labels, and other rows; only a few for digits."""
    X, y = LOADED[name](return_X_y=True)
    order = np.random.default_rng(3).permutation(len(X))[:600]
    train, test = order[: len(order) // 2], order[len(order) // 2 :]
    X = scale(X)
    return X[train], y[train], X[test]


def check(estimator, model, test):
    """Compare a model with the estimator it was made from."""
    answer, predicted, labels = svmfast.predict(model, test), estimator.predict(test), model.head.labels
    if model.head.is_regression:
        np.testing.assert_allclose(answer.predicted, predicted, rtol=1e-10, atol=1e-10)
        return
    if labels is not None:
        predicted = labels[np.searchsorted(estimator.classes_, predicted)]
    np.testing.assert_array_equal(answer.predicted, predicted)
    values = answer.decisions
    if values.shape[1] == 1:
        expected = estimator.decision_function(test)[:, None] * (1 if labels is None else -1)
    else:
        last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        last.set_params(decision_function_shape="ovo")
        expected = estimator.decision_function(test)
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-10)
    if model.head.has_probability:
        found = svmfast.predict(model, test, probability=True).probabilities
        expected = estimator.predict_proba(test)
        if values.shape[1] == 1:
            # For two classes LIBSVM uses the sigmoid itself. The older LIBSVM in scikit-learn approximates it
            # by the iteration for more classes, which it stops early.
            np.testing.assert_allclose(found, expected, rtol=0, atol=5e-3)
            first = 1 / (1 + np.exp(estimator._probA * values + estimator._probB))
            expected = np.hstack([first, 1 - first])
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


def agreeing(fitted, test):
    """Return an estimator's model, compared with it before and after it has been a file."""
    model = svmfast.from_sklearn(fitted)
    check(fitted, model, test)
    check(fitted, open_model(model_bytes(model)).model, test)
    return model


WITH = {"probability": True, "random_state": 0}
CASES = [
    ("breast", SVC()), ("breast", SVC(kernel="sigmoid", gamma=0.01, coef0=-0.5)), ("breast", SVC(**WITH)),
    ("breast", SVC(kernel="linear", C=0.1)), ("breast", SVC(kernel="poly", coef0=1.0)),
    ("breast", SVC(class_weight={0: 9, 1: 0.5})), ("wine", SVC(gamma="auto")), ("wine", SVC(gamma=1, **WITH)),
    ("wine", SVC(class_weight="balanced", kernel="poly", degree=2)), ("wine", NuSVC(nu=0.2, **WITH)),
    ("digits", SVC(decision_function_shape="ovo", C=3)), ("digits", NuSVC(nu=0.1, kernel="linear")),
    ("diabetes", SVR(kernel="poly", degree=2, C=10, coef0=0.5)),
    ("diabetes", NuSVR(C=100, kernel="sigmoid", gamma=0.01)), ("breast", OneClassSVM(nu=0.1)),
    ("breast", OneClassSVM(nu=0.2, kernel="linear")),
]  # fmt: skip


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize(("name", "estimator"), CASES)
def test_an_estimator_and_its_model_give_the_same_answers(name, estimator, form):
    X, y, test = split(name)
    if form == "sparse":
        X, test = (sparse.csr_matrix(np.where(np.abs(one) < 0.5, 0, one)) for one in (X, test))
    assert agreeing(estimator.fit(X, y), test).kind == "libsvm"


CLASSES = [
    ([3, -7, 100], [-7, 3, 100]), ([0.0, 2.0, 5.0], [0, 2, 5]), (np.array([1, 2, 3], np.uint8), [1, 2, 3]),
    ([-(2.0**31), 0, 2**31 - 1], [-(2**31), 0, 2**31 - 1]), ([1e10, 3e10], None), (["β", "a b"], None),
    ([False, True], None), (["False", "True"], None),
]  # fmt: skip


@pytest.mark.parametrize(("classes", "labels"), CLASSES)
def test_classes_are_labels_if_they_are_integers_and_else_have_names(classes, labels):
    X, y, test = split("wine" if len(classes) == 3 else "breast")
    fitted = SVC().fit(X, np.asarray(classes)[y])
    model = agreeing(fitted, test)
    if labels is not None:
        assert model.head.labels.tolist() == labels
        return
    names = svmfast.predict(open_model(model_bytes(model)).model, test).names
    assert names.dtype.kind == ("b" if classes[1] is True else "U")
    np.testing.assert_array_equal(names, fitted.predict(test).astype(names.dtype))


def test_wrappers_are_replaced_by_their_estimator():
    X, y, _ = split("wine")
    fitted = SVC().fit(X, y)
    expected = model_bytes(svmfast.from_sklearn(fitted))
    nested = Pipeline([("outer", make_pipeline(None, fitted))])
    for other in (make_pipeline("passthrough", fitted), nested, GridSearchCV(SVC(), {"C": [1.0]}).fit(X, y)):
        assert model_bytes(svmfast.from_sklearn(other)) == expected
    frozen = pytest.importorskip("sklearn.frozen", reason="scikit-learn has it since 1.6")
    assert model_bytes(svmfast.from_sklearn(frozen.FrozenEstimator(fitted))) == expected


def test_a_search_in_a_skops_file_imports(tmp_path):
    X, y, test = split("breast")
    fitted = GridSearchCV(SVC(), {"C": [1, 10]}, scoring=["accuracy", "f1"], refit="f1", cv=2).fit(X, y)
    skops.io.dump(fitted, tmp_path / "grid.skops")
    assert np.array_equal(
        svmfast.predict(model_of_file(tmp_path / "grid.skops")[0], test).predicted, fitted.predict(test)
    )
    fitted.scoring = os.system  # a function of another library
    skops.io.dump(fitted, tmp_path / "grid.skops")
    with pytest.raises(ModelFormatError, match=r"posix.system.*dump its best_estimator_"):
        model_of_file(tmp_path / "grid.skops")


RNG = np.random.default_rng(3)
WHOLE = RNG.normal(size=(90, 3)) * [1, 2, 0.5] + [0, 5, 1]
LABELS = np.where(WHOLE[:, 0] + WHOLE[:, 1] > 5, 1, -1)
HOLES = np.where(RNG.random(WHOLE.shape) < 0.1, np.nan, WHOLE)
FRAME = pd.DataFrame(HOLES, columns=["a", "b", "c"])
TRAIN = {"C": 10, "gamma": 0.2}


def written(folder, form, values=HOLES):
    path, frame = folder / f"rows.{form}", pd.DataFrame(values, columns=["a", "b", "c"])
    frame.insert(0, "label", LABELS)
    frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    return path


def replaced(values):
    return np.where(np.isnan(HOLES), values, HOLES)


@pytest.mark.parametrize(("how", "values"), [("zero", np.zeros(3)), ("mean", np.nanmean(HOLES, axis=0))])
@pytest.mark.parametrize("form", ["csv", "parquet", "array", "frame"])
def test_training_replaces_missing_values_and_keeps_how(tmp_path, form, how, values):
    table = form in ("csv", "parquet")
    given = written(tmp_path, form) if table else {"array": HOLES, "frame": FRAME}[form]
    labels = None if table else LABELS
    with pytest.raises(SvmfastError, match=r"nan|there is no value"):
        svmfast.train(given, labels, **TRAIN)
    model = svmfast.train(given, labels, **TRAIN, missing=how).model
    kept = model.scaling.missing
    np.testing.assert_allclose(kept, values, rtol=1e-14)
    svmfast.save_model(model, tmp_path / "model")
    plain = svmfast.train(replaced(kept), LABELS, **TRAIN).model
    wanted = svmfast.predict(plain, replaced(kept)).decisions
    forms = (HOLES, FRAME) if form != "array" else (HOLES,)  # an array does not name its columns
    for rows in (*forms, written(tmp_path, "csv"), written(tmp_path, "parquet")):
        assert np.array_equal(svmfast.predict(tmp_path / "model", rows).decisions, wanted)


def test_what_the_model_keeps_can_be_overruled(tmp_path):
    rows, (model, plain, out) = written(tmp_path, "csv"), map(tmp_path.joinpath, ("model", "plain", "out"))
    whole = written(tmp_path, "parquet", WHOLE)
    for words in (("--missing", "mean", rows, model), (whole, plain)):
        assert program("train", "-q", *words).returncode == 0
    for how, given, message in (
        ("refuse", model, b"there is no value"),
        ("mean", plain, b"--missing: the model has no means; they are found when a model is trained"),
    ):
        done = program("predict", "-q", "--missing", how, rows, given, out)
        assert (done.returncode, done.stderr.count(b"\n"), out.exists()) == (2, 1, False)
        assert message in done.stderr
    assert program("predict", "-q", "--missing", "zero", rows, model, out).returncode == 0
    zeros = svmfast.predict(model, replaced(0.0)).predicted
    assert out.read_text().split() == [f"{label:g}" for label in zeros]


def test_what_cannot_be_replaced(tmp_path):
    none = np.where([True, False, False], np.nan, WHOLE)
    with pytest.raises(SvmfastError, match="column 'a' has no mean of finite numbers; leave it out"):
        svmfast.train(written(tmp_path, "csv", none), missing="mean")
    with pytest.raises(OptionError, match="column 1 has no mean of finite numbers"):
        svmfast.train(none, LABELS, missing="mean")
    with pytest.raises(OptionError, match="`missing` is for tables"):
        svmfast.train(data("breast.train"), missing="mean")
    (tmp_path / "labels.csv").write_text("label,a\n1,2\n,3\n-1,4\n")
    with pytest.raises(TableError, match="column 'label': there is no value"):
        svmfast.train(tmp_path / "labels.csv", missing="zero")
