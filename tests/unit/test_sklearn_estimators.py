"""svmfast's estimators follow scikit-learn's rules, and answer like the machines they replace."""

import inspect
import pickle

import joblib
import numpy as np
import pytest
from estimators import dump_skops
from scipy import sparse
from sklearn import datasets
from sklearn.base import clone
from sklearn.datasets import load_wine, make_classification, make_moons
from sklearn.metrics import recall_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import svmfast
import svmfast.sklearn
from svmfast.errors import ModelFormatError, NegativeAnswerError, UnsupportedError
from svmfast.formats.model_files import model_bytes
from svmfast.rows import as_rows
from svmfast.sklearn import BudgetSVC, DCPredSVC, FastSVC, FastSVR, MekaRidge, MekaSVC, conversion

SKIPPED, DEPRECATED = "ignore::sklearn.exceptions.SkipTestWarning", "ignore:The `probability` p:FutureWarning"
pytestmark = pytest.mark.filterwarnings(SKIPPED, "ignore:.*array API:UserWarning", DEPRECATED)
ESTIMATORS = [getattr(svmfast.sklearn, name)() for name in svmfast.sklearn.__all__ if name[0].isupper()]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)


def expected_to_fail(estimator):
    if not isinstance(estimator, FastSVC | FastSVR):
        return {}
    why = "gamma='scale' is made of all rows alike, whatever they weigh, as in scikit-learn's own machines"
    return {f"check_sample_weight_equivalence_on_{form}_data": why for form in ("dense", "sparse")}


def own_checks(estimators):
    if "expected_failed_checks" in inspect.signature(parametrize_with_checks).parameters:
        made = parametrize_with_checks(estimators, expected_failed_checks=expected_to_fail)
        names, checks = made.args  # a generator, before 1.8
        return pytest.mark.parametrize(names, [*checks], **made.kwargs)
    since = pytest.mark.skip("scikit-learn can be told which checks are expected to fail since 1.6")
    return pytest.mark.parametrize(("estimator", "check"), [pytest.param(None, None, marks=since)])


@own_checks([FastSVC(), MekaRidge()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.nightly
@own_checks([one for one in ESTIMATORS if not isinstance(one, FastSVC | MekaRidge)])
def test_scikit_learns_own_checks_of_the_others(estimator, check):
    check(estimator)


def test_weights_and_repeated_rows_are_alike_where_gamma_is_a_number():
    """What the two checks that are expected to fail look for, without gamma='scale'."""
    X, y = make_moons(80, noise=0.2, random_state=0)
    weights, svc = np.random.default_rng(0).integers(1, 4, 80), FastSVC(gamma=1.0, tol=1e-9, method="exact")
    weighted = clone(svc).fit(X, y, sample_weight=weights)
    repeated = svc.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("estimator", [FastSVC(), BudgetSVC(), MekaSVC(), DCPredSVC(iterations=5)])
def test_class_weights_are_those_of_scikit_learn(estimator):
    """Numbers for names of classes, and "balanced"."""
    X, y = make_moons(400, noise=0.3, random_state=0)
    rare = np.flatnonzero((y == 0) | (np.arange(400) % 10 == 0))
    X, y = X[rare], y[rare]
    names = np.array(["common", "rare"])[y]
    weights = dict(zip(["common", "rare"], len(y) / (2 * np.bincount(y)), strict=True))
    plain, own, given = (
        clone(estimator).set_params(class_weight=weight).fit(X, names)
        for weight in (None, "balanced", weights)
    )
    np.testing.assert_array_equal(own.decision_function(X), given.decision_function(X))
    np.testing.assert_array_equal(own.decision_function(X) > 0, own.predict(X) == "rare")
    recalls = [recall_score(names, one.predict(X), pos_label="rare") for one in (plain, own)]
    assert recalls[1] > recalls[0]
    with pytest.raises(ValueError, match="class_weight"):
        clone(estimator).set_params(class_weight="rare").fit(X, names)


def scaled(name, count=None):
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return StandardScaler().fit_transform(X)[:count], y[:count]


@pytest.mark.parametrize("name", ["breast_cancer", "wine", "digits"])
def test_fast_svc_is_svc_where_nothing_is_converted(name):
    X, y = scaled(name, 600)
    ours, theirs = FastSVC(C=3, method="exact").fit(X, y), SVC(C=3).fit(X, y)
    assert (ours.method_, ours.report_) == ("exact", None)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    X, y = datasets.load_diabetes(return_X_y=True)
    ours, theirs = FastSVR(C=100, method="exact").fit(X, y), SVR(C=100).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-10)


def test_the_kernels_width_is_scikit_learns():
    X, y = datasets.load_iris(return_X_y=True)  # positive columns, so that the mean counts
    for gamma in ("scale", "auto"):
        ours, theirs = MekaSVC(gamma=gamma).fit(X, y), SVC(gamma=gamma).fit(X, y)
        np.testing.assert_allclose(ours.model_.gamma, theirs._gamma)


@pytest.mark.parametrize("method", ["auto", "approximate", "compress", "dcpred", "cascade"])
def test_every_method_makes_a_fast_machine(method):
    X, y = make_classification(2000, 10, n_informative=6, flip_y=0.2, random_state=1)
    options = {"sv": 20} if method == "compress" else None
    made = FastSVC(gamma=0.005, C=1, method=method, method_options=options, max_diff=0.1).fit(X, y)
    exact = SVC(gamma=0.005, C=1).fit(X, y)
    assert np.mean(made.predict(X) != exact.predict(X)) <= 0.1
    assert made.method_ == method or (method, made.method_) == ("auto", "approximate")
    assert made.report_.to_dict()
    assert made.model_.unscaled.multiply_adds(as_rows(X)) < len(exact.support_) * 11 / 2


def test_auto_does_not_convert_a_machine_into_a_slower_one(monkeypatch):
    X, y = scaled("wine")
    assert FastSVC().fit(X, y).method_ == "exact"  # without a search
    monkeypatch.setattr(conversion, "FEW_OPERATIONS", 0)
    assert FastSVC(method="approximate").fit(X, y).model_.multiply_adds(as_rows(X)) > 1500
    made, exact = FastSVC().fit(X, y), FastSVC(method="exact").fit(X, y)
    ours, theirs = (one.model_.multiply_adds(as_rows(X)) for one in (made, exact))
    assert (made.method_, ours) == ("exact", theirs) or ours < theirs < 1500


@pytest.mark.parametrize(("options", "message"), [
    ({"max_bytes": 100}, "bytes"),
    ({"method": "approximate", "max_diff": 1e-4}, "no expansion is accurate and small enough"),
    ({"max_bytes": 300, "max_diff": 1e-3}, "bytes"),  # a model of this size differs by more
    ({"method": "dcpred", "max_bytes": 10_000}, "dcpred has no limit on bytes"),
    ({"method": "fast"}, "method"),
    ({"n_jobs": 0}, "n_jobs"),
    ({"method_options": {"sv": 3}}, "method_options"),
])  # fmt: skip
def test_limits_are_kept_or_reported(options, message):
    X, y = make_moons(600, noise=0.3, random_state=0)
    with pytest.raises((NegativeAnswerError, ValueError), match=message):
        FastSVC(gamma=5.0, **options).fit(X, y)
    assert FastSVC(gamma=5.0, max_diff=1e-4).fit(X, y).method_ == "exact"


def test_probabilities_where_the_machine_has_them():
    X, y = scaled("breast_cancer")
    assert not hasattr(FastSVC().fit(X[:300], y[:300]), "predict_proba")
    made = FastSVC(estimator=SVC(probability=True, random_state=0), method="exact").fit(X[:300], y[:300])
    found, values = made.predict_proba(X[300:]), made.decision_function(X[300:])
    assert found.shape == (len(values), 2)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    sure = np.abs(found[:, 1] - 0.5) > 0.2
    np.testing.assert_array_equal((found[:, 1] > 0.5)[sure], (values > 0)[sure])


@each_estimator
def test_a_model_is_saved_and_answers_the_same_in_svmfast(estimator, tmp_path):
    X, y = scaled("wine")
    classifies = hasattr(type(estimator), "decision_function")
    y = load_wine().target_names[y] if classifies else y
    fitted = clone(estimator).fit(X, y)
    expected = fitted.predict(X)
    assert fitted.score(X, y) > 0.8
    svmfast.save_model(fitted.model_, tmp_path / "model")
    answer = svmfast.predict(svmfast.load_model(tmp_path / "model"), X)
    joblib.dump(fitted, tmp_path / "joblib")
    np.testing.assert_array_equal(joblib.load(tmp_path / "joblib").predict(X), expected)
    thin = sparse.csr_matrix(X)
    copies = [copy.predict(thin) for copy in (pickle.loads(pickle.dumps(fitted)), clone(fitted).fit(thin, y))]
    if classifies:
        for found in (answer.names, *copies):
            np.testing.assert_array_equal(found, expected)
        return
    np.testing.assert_allclose(answer.predicted, expected, rtol=1e-12)
    for found in copies:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_tied_votes_go_where_libsvm_sends_them():
    """Three classes around a circle, each beating the next: every vote is tied."""
    angle = np.linspace(0, 2 * np.pi, 90, endpoint=False)
    X, y = np.column_stack([np.cos(angle), np.sin(angle)]), np.repeat([2, 0, 1], 30)
    made, exact = FastSVC(method="exact", C=0.01).fit(X, y), SVC(C=0.01).fit(X, y)
    grid = np.random.default_rng(0).normal(size=(500, 2))
    expected = exact.predict(grid)
    np.testing.assert_array_equal(made.predict(grid), expected)
    np.testing.assert_array_equal(made.classes_[made.decision_function(grid).argmax(axis=1)], expected)


def named(kind=FastSVC):
    """Return a table of a few rows, and names of classes or values for a kind of estimator."""
    table = load_wine(as_frame=True)
    regression = issubclass(kind, svmfast.sklearn.base.ModelRegressor)
    return table.data, table.target * 1.5 if regression else table.target_names[table.target]


@each_estimator
def test_a_pipeline_that_ends_in_an_estimator_of_ours_is_imported(estimator, tmp_path):
    X, y = named(type(estimator))
    fitted = make_pipeline(StandardScaler(), clone(estimator)).fit(X, y)
    joblib.dump(fitted, tmp_path / "pipeline")
    model = svmfast.from_sklearn(fitted)
    again = svmfast.from_sklearn(tmp_path / "pipeline", trust_pickle=True)
    assert isinstance(model, svmfast.ScaledModel)
    assert model_bytes(again) == model_bytes(model) == model_bytes(svmfast.load_model(model_bytes(model)))
    assert model.scaling.feature_names == tuple(X.columns)
    # Found by name, whatever their order; the table is the one that the pipeline takes.
    answer = svmfast.predict(model, X[X.columns[::-1]])
    if model.head.is_regression:
        assert model.scaling.class_names is None
        np.testing.assert_allclose(answer.predicted, fitted.predict(X), rtol=1e-12)
        return
    assert sorted(model.scaling.class_names) == ["class_0", "class_1", "class_2"]
    np.testing.assert_array_equal(answer.names, fitted.predict(X))


def test_scalings_before_and_inside_an_estimator_are_composed():
    X, y = named()
    inner = make_pipeline(MinMaxScaler((-1, 1), clip=True), SVC())
    far = X * 1.2  # some values are clipped
    # Names alone are no scaling: a scaler that clips may come before them.
    for steps in ((StandardScaler(), FastSVC(estimator=inner)), (MinMaxScaler(clip=True), FastSVC())):
        fitted = make_pipeline(*steps).fit(X, y)
        answer = svmfast.predict(svmfast.from_sklearn(fitted), far)
        np.testing.assert_array_equal(answer.names, fitted.predict(far))
    clipped = make_pipeline(MinMaxScaler(clip=True), FastSVC(estimator=inner)).fit(X, y)
    with pytest.raises(UnsupportedError, match="step 'fastsvc' of the pipeline follows a scaler that clips"):
        svmfast.from_sklearn(clipped)


def test_an_estimator_alone_is_its_model(tmp_path):
    X, y = named()
    numbers = np.unique(y, return_inverse=True)[1]
    exact = FastSVC(method="exact").fit(X, numbers)
    assert svmfast.from_sklearn(exact) is exact.model_  # LIBSVM's text, which svm-predict reads
    routed = DCPredSVC(clusters=2, landmarks=8, iterations=5).fit(X, numbers)
    model = svmfast.from_sklearn(routed)
    assert isinstance(model, svmfast.ScaledModel)
    assert model.scaling.feature_names == tuple(X.columns)
    alone = clone(routed).fit(X.to_numpy(), numbers)
    assert svmfast.from_sklearn(alone).kind == "routed"
    found = GridSearchCV(make_pipeline(StandardScaler(), FastSVC()), {"fastsvc__C": [1.0]}, cv=2).fit(X, y)
    np.testing.assert_array_equal(svmfast.predict(svmfast.from_sklearn(found), X).names, found.predict(X))
    dump_skops(clone(routed).fit(X, y), tmp_path / "estimator.skops")
    with pytest.raises(ModelFormatError, match=r"skops does not trust \('svmfast.*save svmfast.from_sklearn"):
        svmfast.from_sklearn(tmp_path / "estimator.skops")
