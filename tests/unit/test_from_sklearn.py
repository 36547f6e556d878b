"""Models of fitted scikit-learn estimators: the same labels, values and probabilities.

In one file, since estimators and pipelines are checked by the same comparison.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from command import svmfast as program
from numpy.typing import NDArray
from program import data
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, NuSVC, NuSVR, OneClassSVM

import svmfast
from svmfast.errors import (
    ModelFormatError,
    OptionError,
    SvmfastError,
    TableError,
    UnsupportedError,
    WrongTypeError,
)
from svmfast.formats.model_files import model_bytes, open_model
from svmfast.importers.files import model_of_file
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import ScaledModel

pytestmark = pytest.mark.filterwarnings("ignore:The `probability` parameter was deprecated:FutureWarning")

FloatArray = NDArray[np.float64]


def scaled(X: FloatArray) -> FloatArray:
    found: FloatArray = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    return found


SETS: dict[str, tuple[FloatArray, NDArray[Any]]] = {
    name: (scaled(X), y)
    for name, (X, y) in {
        "breast": load_breast_cancer(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "digits": load_digits(return_X_y=True),
        "diabetes": load_diabetes(return_X_y=True),
    }.items()
}


def split(name: str) -> tuple[FloatArray, NDArray[Any], FloatArray]:
    """Return training rows, their labels, and other rows; only a few for digits."""
    X, y = SETS[name]
    order = np.random.default_rng(3).permutation(len(X))[:600]
    train, test = order[: len(order) // 2], order[len(order) // 2 :]
    return X[train], y[train], X[test]


def check(estimator: Any, model: Model, test: Any) -> None:
    """Compare a model with the estimator it was made from."""
    answer = svmfast.predict(model, test)
    predicted = estimator.predict(test)
    if model.head.is_regression:
        np.testing.assert_allclose(answer.predicted, predicted, rtol=1e-10, atol=1e-10)
        return
    if model.head.labels is None:
        np.testing.assert_array_equal(answer.predicted, predicted)
    else:
        places = np.searchsorted(model.head.labels, answer.predicted.astype(np.int64))
        np.testing.assert_array_equal(estimator.classes_[places], predicted)
    values = answer.decisions
    if values.shape[1] == 1:
        sign = 1 if model.head.labels is None else -1
        np.testing.assert_allclose(
            sign * values[:, 0], estimator.decision_function(test), rtol=1e-10, atol=1e-10
        )
    else:
        last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
        last.set_params(decision_function_shape="ovo")
        pairs = estimator.decision_function(test)
        np.testing.assert_allclose(values, pairs, rtol=1e-10, atol=1e-10)
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


CASES: dict[str, tuple[str, Any]] = {
    "two classes": ("breast", SVC()),
    "two classes, sigmoid": ("breast", SVC(kernel="sigmoid", gamma=0.01, coef0=-0.5)),
    "two classes, linear": ("breast", SVC(kernel="linear", C=0.1)),
    "two classes, cubic": ("breast", SVC(kernel="poly", coef0=1.0)),
    "two classes, probabilities": ("breast", SVC(probability=True, random_state=0)),
    "two classes, weights": ("breast", SVC(class_weight={0: 10, 1: 0.5})),
    "three classes": ("wine", SVC(gamma="auto")),
    "three classes, probabilities": ("wine", SVC(probability=True, random_state=0, gamma=0.3)),
    "three classes, balanced": ("wine", SVC(class_weight="balanced", kernel="poly", degree=2)),
    "ten classes": ("digits", SVC()),
    "ten classes, one against one": ("digits", SVC(decision_function_shape="ovo", C=3)),
    "nu, three classes": ("wine", NuSVC(nu=0.2, probability=True, random_state=0)),
    "nu, ten classes": ("digits", NuSVC(nu=0.1, kernel="linear")),
    "regression": ("diabetes", SVR(C=100)),
    "regression, square": ("diabetes", SVR(kernel="poly", degree=2, C=10, coef0=0.5)),
    "nu regression": ("diabetes", NuSVR(C=100, kernel="sigmoid", gamma=0.01)),
    "one class": ("breast", OneClassSVM(nu=0.1)),
    "one class, linear": ("breast", OneClassSVM(nu=0.2, kernel="linear")),
}


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("name", CASES)
def test_an_estimator_and_its_model_give_the_same_answers(name: str, form: str) -> None:
    data, estimator = CASES[name]
    X, y, test = split(data)
    if form == "sparse":
        X, test = (sparse.csr_matrix(np.where(np.abs(one) < 0.5, 0, one)) for one in (X, test))
    fitted = estimator.fit(X, y)
    model = svmfast.from_sklearn(fitted)
    assert isinstance(model, KernelExpansion)
    check(fitted, model, test)
    # The same holds for the LIBSVM model as which it is written.
    check(fitted, open_model(model_bytes(model)).model, test)


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (np.array([3, -7, 100]), [-7, 3, 100]),
        (np.array([0.0, 2.0, 5.0]), [0, 2, 5]),
        (np.array([1, 2, 3], dtype=np.uint8), [1, 2, 3]),
        (np.array([-(2.0**31), 0, 2**31 - 1]), [-(2**31), 0, 2**31 - 1]),
    ],
)
def test_classes_that_are_integers_are_the_labels(classes: NDArray[Any], labels: list[int]) -> None:
    X, y, test = split("wine")
    fitted = SVC().fit(X, classes[y])
    model = svmfast.from_sklearn(fitted)
    assert model.head.labels is not None
    assert model.head.labels.tolist() == labels
    np.testing.assert_array_equal(svmfast.predict(model, test).predicted, fitted.predict(test))


def test_wrappers_are_replaced_by_their_estimator() -> None:
    X, y, _ = split("wine")
    fitted = SVC().fit(X, y)
    expected = model_bytes(svmfast.from_sklearn(fitted))
    for other in (
        make_pipeline("passthrough", fitted),
        Pipeline([("outer", make_pipeline(None, fitted))]),
        GridSearchCV(SVC(), {"C": [1.0]}, cv=2).fit(X, y),
    ):
        assert model_bytes(svmfast.from_sklearn(other)) == expected
    frozen = pytest.importorskip("sklearn.frozen", reason="scikit-learn has it since 1.6")
    assert model_bytes(svmfast.from_sklearn(frozen.FrozenEstimator(fitted))) == expected


@pytest.mark.parametrize("outside", [True, False])
def test_a_calibrated_machine_with_two_classes(outside: bool, tmp_path: Path) -> None:
    """The labels are the estimator's, with probabilities and without; also from a skops file."""
    table, y = load_breast_cancer(return_X_y=True, as_frame=True)
    names = np.array(["worn", "normal"])[y]
    if outside:
        fitted = CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC(C=0.05)), ensemble=False)
    else:
        fitted = make_pipeline(StandardScaler(), CalibratedClassifierCV(NuSVC(nu=0.2), ensemble=False))
    fitted.fit(table[::2], names[::2])
    model = svmfast.from_sklearn(fitted)
    found = svmfast.predict(model, table, probability=True)
    assert found.probabilities is not None
    assert found.names is not None
    # LIBSVM keeps probabilities 1e-7 from 0 and 1; the order of the labels is that of classes_.
    assert np.abs(found.probabilities - fitted.predict_proba(table)).max() < 1.1e-7
    expected = fitted.predict(table).tolist()
    assert found.names.tolist() == expected
    assert svmfast.predict(model, table).names.tolist() == expected
    assert isinstance(model, ScaledModel)
    assert model.scaling.feature_names == tuple(table.columns)
    skops = pytest.importorskip("skops.io", reason="no skops")
    skops.dump(fitted, tmp_path / "fitted.skops")
    done = program("import", tmp_path / "fitted.skops", "-q", "-o", tmp_path / "m")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "m").read_bytes() == model_bytes(model)


def test_other_calibrations_are_refused_in_one_line() -> None:
    alone = "or import the estimator in it, without probabilities"

    def binary(calibrated: Any) -> Callable[[FloatArray, NDArray[Any]], Any]:
        return lambda X, y: calibrated.fit(X, y == 1)

    assert refused(lambda X, y: CalibratedClassifierCV(SVC(), ensemble=False).fit(X, y)) == (
        "the estimator has a sigmoid for each of 3 classes, but LIBSVM couples one for each pair; "
        f"fit SVC with probability=True, {alone}"
    )
    assert refused(binary(CalibratedClassifierCV(SVC(), cv=3, ensemble=True))) == (
        "the estimator is an ensemble of 3 calibrated estimators; fit it with ensemble=False"
    )
    assert refused(binary(CalibratedClassifierCV(SVC(), method="isotonic", ensemble=False))) == (
        f"the estimator is calibrated by method='isotonic'; fit it with method='sigmoid', {alone}"
    )
    assert refused(binary(CalibratedClassifierCV(LinearSVC(), ensemble=False))) == (
        "the estimator is calibrated, but a LinearSVC; expected SVC or NuSVC of scikit-learn"
    )
    assert refused(lambda X, y: CalibratedClassifierCV(SVC(), ensemble=False)) == (
        "the estimator is not fitted; call its fit first"
    )


def kernel_of_mine(a: FloatArray, b: FloatArray) -> FloatArray:
    product: FloatArray = a @ b.T
    return product


def refused(made: Callable[[FloatArray, NDArray[Any]], Any]) -> str:
    X, y, _ = split("wine")
    with pytest.raises(UnsupportedError) as caught:
        svmfast.from_sklearn(made(X, y))
    return str(caught.value)


def test_other_kinds_of_models_are_refused_in_one_line() -> None:
    machines = "expected SVC, NuSVC, SVR, NuSVR, OneClassSVM or an estimator of svmfast.sklearn"
    assert refused(lambda X, y: SVC()) == "the estimator is not fitted; call its fit first"
    assert refused(lambda X, y: LinearSVC(dual=False).fit(X, y)) == (
        f"the estimator is a LinearSVC; {machines} as the last step"
    )
    assert refused(lambda X, y: make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)) == (
        f"step 'logisticregression' of the pipeline is a LogisticRegression; {machines} as the last step"
    )
    assert refused(lambda X, y: make_pipeline(StandardScaler(), PCA(3), SVC()).fit(X, y)) == (
        "step 'pca' of the pipeline is a PCA; only StandardScaler, MinMaxScaler, "
        "MaxAbsScaler, RobustScaler can precede the machine, and a SimpleImputer as the first step"
    )
    assert refused(lambda X, y: Pipeline([("nothing", None)])) == (
        f"every step of the pipeline is passthrough; {machines} as the last step"
    )
    fit_it = "fit it with kernel='rbf', 'poly', 'linear' or 'sigmoid'"
    assert refused(lambda X, y: SVC(kernel="precomputed").fit(X @ X.T, y)) == (
        f"the estimator has the kernel 'precomputed', which a model cannot compute; {fit_it}"
    )
    assert refused(lambda X, y: make_pipeline(SVC(kernel=kernel_of_mine)).fit(X, y)) == (
        f"step 'svc' of the pipeline has the kernel kernel_of_mine, which a model cannot compute; {fit_it}"
    )
    assert refused(lambda X, y: SVC(break_ties=True).fit(X, y)) == (
        "the estimator has break_ties=True, which decides tied votes by the decision values; "
        "set break_ties=False: ties then go to the first class, as in LIBSVM"
    )
    assert "holds nan or inf" in refused(lambda X, y: spoiled(SVC().fit(X, y), np.nan))


def spoiled(fitted: Any, value: float) -> Any:
    fitted._intercept_[0] = value
    return fitted


@pytest.mark.parametrize("value", [3, np.zeros(3), {"kernel": "rbf"}, None, SVC])
def test_objects_that_are_not_estimators_have_the_wrong_type(value: Any) -> None:
    with pytest.raises((WrongTypeError, UnsupportedError)):
        svmfast.from_sklearn(value)


# --- scalers, and classes with names

RAW = load_wine(return_X_y=True)[0]


def with_outliers(X: FloatArray) -> FloatArray:
    """Rows far outside those on which a scaler was fitted, for scalers that clip."""
    return np.vstack([X, X * 1.5, X - 100, np.zeros_like(X[:1])])


SCALERS: dict[str, Callable[[], list[Any]]] = {
    "standard": lambda: [StandardScaler()],
    "mean alone": lambda: [StandardScaler(with_std=False)],
    "deviation alone": lambda: [StandardScaler(with_mean=False)],
    "interval": lambda: [MinMaxScaler()],
    "another interval, clipped": lambda: [MinMaxScaler((-1, 3), clip=True)],
    "largest value": lambda: [MaxAbsScaler()],
    "robust": lambda: [RobustScaler()],
    "robust, unit variance": lambda: [RobustScaler(unit_variance=True, quantile_range=(10, 80))],
    "robust, no center": lambda: [RobustScaler(with_centering=False)],
    "robust, no scale": lambda: [RobustScaler(with_scaling=False)],
    "two": lambda: [StandardScaler(), MinMaxScaler((-1, 1))],
    "three": lambda: [RobustScaler(), StandardScaler(), MinMaxScaler(clip=True)],
    "nothing, then one": lambda: ["passthrough", StandardScaler()],
}


@pytest.mark.parametrize("name", SCALERS)
def test_a_pipeline_and_its_model_give_the_same_answers(name: str) -> None:
    y = load_wine().target_names[load_wine().target]
    constant = np.column_stack([RAW, np.full(len(RAW), 7.0)])  # a feature that says nothing
    order = np.random.default_rng(0).permutation(len(RAW))
    train, test = constant[order[:90]], with_outliers(constant[order[90:]])
    fitted = make_pipeline(*SCALERS[name](), SVC(gamma=0.05 if "no scale" not in name else 1e-5))
    fitted.fit(train, y[order[:90]])
    model = svmfast.from_sklearn(fitted)
    assert isinstance(model, ScaledModel)
    assert model.scaling.class_names == ("class_0", "class_1", "class_2")
    check(fitted, model, test)
    check(fitted, open_model(model_bytes(model)).model, test)


@pytest.mark.parametrize(
    "classes",
    [np.array(["no", "yes"]), np.array([False, True]), np.array([1e10, 3e10]), np.array(["β", "a b"])],
)
def test_classes_that_are_not_integers_have_names(classes: NDArray[Any]) -> None:
    X, y, test = split("breast")
    fitted = SVC().fit(X, classes[y])
    model = svmfast.from_sklearn(fitted)
    assert isinstance(model, ScaledModel)
    assert model.scaling.class_names == tuple(map(str, fitted.classes_.tolist()))
    check(fitted, model, test)
    check(fitted, open_model(model_bytes(model)).model, test)


def test_pipelines_with_other_steps_are_refused() -> None:
    assert refused(
        lambda X, y: make_pipeline(MinMaxScaler(clip=True), StandardScaler(), SVC()).fit(X, y)
    ) == (
        "step 'standardscaler' of the pipeline follows a scaler that clips; "
        "clip in the last scaler only, or scale once"
    )
    assert refused(lambda X, y: make_pipeline(StandardScaler(), SVC())) == (
        "step 'standardscaler' of the pipeline is not fitted; call its fit first"
    )

    def narrow(X: FloatArray, y: NDArray[Any]) -> Any:
        return make_pipeline(StandardScaler().fit(X[:, :3]), SVC().fit(X, y))

    assert refused(narrow) == (
        "step 'svc' of the pipeline has support vectors of 13 features, the step before it 3; "
        "fit the pipeline as a whole"
    )


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


RNG = np.random.default_rng(3)
WHOLE = RNG.normal(size=(90, 3)) * [1, 2, 0.5] + [0, 5, 1]
LABELS = np.where(WHOLE[:, 0] + WHOLE[:, 1] > 5, 1, -1)
HOLES = np.where(RNG.random(WHOLE.shape) < 0.1, np.nan, WHOLE)
MEANS = np.nanmean(HOLES, axis=0)
FRAME = pd.DataFrame(HOLES, columns=["a", "b", "c"])
TRAIN: dict[str, Any] = {"C": 10, "gamma": 0.2}


def written(folder: Path, form: str, values: Any = HOLES) -> Path:
    path, frame = folder / f"rows.{form}", pd.DataFrame(values, columns=["a", "b", "c"])
    frame.insert(0, "label", LABELS)
    frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    return path


def replaced(values: Any) -> Any:
    return np.where(np.isnan(HOLES), values, HOLES)


@pytest.mark.parametrize(("how", "values"), [("zero", np.zeros(3)), ("mean", MEANS)])
@pytest.mark.parametrize("form", ["csv", "parquet", "array", "frame"])
def test_training_replaces_missing_values_and_keeps_how(
    tmp_path: Path, form: str, how: str, values: Any
) -> None:
    given = {"array": HOLES, "frame": FRAME}.get(form)
    labels = None if given is None else LABELS
    given = written(tmp_path, form) if given is None else given
    with pytest.raises(SvmfastError, match=r"nan|there is no value"):
        svmfast.train(given, labels, **TRAIN)
    model = svmfast.train(given, labels, **TRAIN, missing=how).model
    assert model is not None
    scaling = model.scaling
    assert scaling is not None
    assert scaling.missing is not None
    np.testing.assert_allclose(scaling.missing, values, rtol=1e-14)
    path = tmp_path / "model"
    svmfast.save_model(model, path)
    plain = svmfast.train(replaced(scaling.missing), LABELS, **TRAIN).model
    wanted = svmfast.predict(plain, replaced(scaling.missing)).decisions
    forms = (HOLES, FRAME) if form != "array" else (HOLES,)  # an array does not name its columns
    for rows in (*forms, written(tmp_path, "csv"), written(tmp_path, "parquet")):
        assert np.array_equal(svmfast.predict(path, rows).decisions, wanted)


def test_what_the_model_keeps_can_be_overruled(tmp_path: Path) -> None:
    rows, model = written(tmp_path, "csv"), tmp_path / "model"
    assert program("train", "-q", "--missing", "mean", rows, model).returncode == 0
    assert program("predict", "-q", rows, model, tmp_path / "out").returncode == 0
    done = program("predict", "-q", "--missing", "refuse", rows, model, tmp_path / "other")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"there is no value" in done.stderr
    assert program("predict", "-q", "--missing", "zero", rows, model, tmp_path / "zero").returncode == 0
    zeros = svmfast.predict(model, replaced(0.0)).predicted
    assert (tmp_path / "zero").read_text().split() == [f"{label:g}" for label in zeros]
    plain = tmp_path / "plain"
    assert program("train", "-q", written(tmp_path, "parquet", WHOLE), plain).returncode == 0
    done = program("predict", "-q", "--missing", "mean", rows, plain, tmp_path / "other")
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"--missing: the model has no means; they are found when a model is trained" in done.stderr
    assert not (tmp_path / "other").exists()


def test_what_cannot_be_replaced(tmp_path: Path) -> None:
    none = np.where([True, False, False], np.nan, WHOLE)
    with pytest.raises(SvmfastError, match="column 'a' has no mean of finite numbers; leave it out"):
        svmfast.train(written(tmp_path, "csv", none), missing="mean")
    with pytest.raises(OptionError, match="column 1 has no mean of finite numbers"):
        svmfast.train(none, LABELS, missing="mean")
    with pytest.raises(OptionError, match="`missing` is for tables"):
        svmfast.train(data("breast.train"), missing="mean")
    text = f"label,a\n{'1,2'}\n,3\n-1,4\n"
    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(TableError, match="column 'label': there is no value"):
        svmfast.train(tmp_path / "labels.csv", missing="zero")


@pytest.mark.parametrize("options", [{}, {"strategy": "median"}, {"strategy": "constant", "fill_value": 3.5}])
@pytest.mark.parametrize("steps", [(), (StandardScaler(),)])
def test_a_pipeline_that_begins_with_an_imputer(options: dict[str, Any], steps: tuple[Any, ...]) -> None:
    fitted = make_pipeline(SimpleImputer(**options), *steps, SVC()).fit(FRAME, LABELS)
    model = svmfast.from_sklearn(fitted)
    for rows in (FRAME, HOLES):
        assert np.array_equal(svmfast.predict(model, rows).predicted, fitted.predict(FRAME))


@pytest.mark.parametrize(
    ("imputer", "what"),
    [
        (SimpleImputer(add_indicator=True), "adds columns"),
        (SimpleImputer(missing_values=-1.0), "replaces -1.0"),
    ],
)
def test_other_imputers_are_refused(imputer: Any, what: str) -> None:
    rows = HOLES if what == "adds columns" else WHOLE
    with pytest.raises(svmfast.errors.UnsupportedError, match=what):
        svmfast.from_sklearn(make_pipeline(imputer, SVC()).fit(rows, LABELS))
