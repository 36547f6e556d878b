"""ONNX exports in onnxruntime: labels, values, and the probabilities of ``svm-predict -b 1``."""

import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from c_exports import WARNINGS, compiled
from command import svmfast as program
from export_forms import FORMS, raw_rows
from golden import ROOT, predictions
from libsvm import svmutil
from nightly import nightly_but
from program import data, model
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmfast
from svmfast.exports.computation import computation_of
from svmfast.models.expansion import Kernel, KernelExpansion
from svmfast.models.head import Head
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.rows import as_rows
from svmfast.sklearn import DCPredSVC, FastSVC, MekaRidge, register_onnx

onnx = pytest.importorskip("onnx", reason="no onnx")
runtime = pytest.importorskip("onnxruntime", reason="no onnxruntime")


def outputs(file, table):
    opened = runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [one.name for one in opened.get_outputs()]
    return dict(zip(names, opened.run(names, {"X": table}), strict=True))


def about(file):
    return {one.key: one.value for one in onnx.load_from_string(file).metadata_props}


@pytest.mark.parametrize("name", FORMS)
def test_single_precision_states_its_own_difference(name):
    loaded = svmfast.load_model(FORMS[name])
    rows = as_rows(raw_rows(loaded))
    made = svmfast.export(loaded, "onnx", precision="float", test=rows)
    found = outputs(made.data, rows.to_dense(computation_of(loaded).n_features).astype(np.float32))
    apart = np.abs(found.get("scores", found.get("variable")) - loaded.decision_values(rows)).max(initial=0)
    assert apart <= made.report.accuracy.max_abs_error * (1 + 1e-6)
    assert about(made.data)["measured"].startswith("single precision, on ")
    assert about(made.data)["model"].startswith("sha256:")


#: Files of svm-predict's answers, which an export must give, too.
GOLDEN = [
    file
    for file in predictions()
    if not any(part in file for part in (".b1.", "precomputed", "single_class", "extra"))
]


@pytest.mark.parametrize("golden", GOLDEN)
def test_answers_are_svm_predicts(golden):
    *_, rows_path, model_path = predictions()[golden]
    loaded, rows = svmfast.load_model(ROOT / model_path), svmfast.read_svmlight(ROOT / rows_path).rows
    expected = np.array([float(line.split()[0]) for line in (ROOT / golden).read_text().splitlines()])
    width = max(1, loaded.n_features)
    if rows.n_columns > width:
        pytest.skip("rows with features that the model does not know have no place in a table")
    found = outputs(svmfast.export(loaded, "onnx").data, rows.to_dense(width))
    if loaded.head.is_regression:
        assert np.allclose(found["variable"][:, 0], expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    else:
        assert np.array_equal(found["label"], expected)


def test_a_value_of_zero_is_the_second_class():
    made = svmfast.export(model("tie_zero_decision"), "onnx")
    assert outputs(made.data, np.array([[-1.0], [0.0], [1.0]]))["label"].tolist() == [-1, -1, 1]


def test_sums_of_many_vectors_are_accurate():
    """With LIBSVM's order, all positive coefficients first, the error would be 2e-12."""
    rng = np.random.default_rng(0)
    vectors = (rng.random((8000, 30)) < 0.3).astype(np.float64)
    coefficients, sizes = np.repeat([[1.0, -1.0]], 4000, axis=1), np.array([4000, 4000])
    head, kernel = Head("c_svc", np.array([1, -1])), Kernel("rbf", 0.01)
    exact = KernelExpansion(head, kernel, as_rows(vectors), coefficients, np.zeros(1), sizes)
    rows = (rng.random((20, 30)) < 0.3).astype(np.float64)
    found = outputs(svmfast.export(exact, "onnx").data, rows)["scores"][:, 0]
    for row, value in zip(rows, found, strict=True):
        kernels = np.exp(-0.01 * ((vectors - row) ** 2).sum(axis=1))
        assert abs(value - math.fsum((kernels * coefficients[0]).tolist())) < 1e-13


def test_names_a_scaling_that_clips_and_probabilities():
    loaded, names = svmfast.load_model(model("iris_c_rbf_prob")), ("b", "c", "a")
    scaling = {"clip": (-0.3, 0.4), "class_names": names, "feature_names": tuple("wxyz")}
    scaling = Scaling(np.full(4, 0.5), np.full(4, 2.0), **scaling)
    named, table = ScaledModel(loaded, scaling), np.random.default_rng(0).normal(size=(100, 4))
    made = svmfast.export(named, "onnx", probability=True)
    found, wanted = outputs(made.data, table), svmfast.predict(named, table, probability=True)
    number = dict(zip(names, loaded.head.labels.tolist(), strict=True))
    labels = loaded.head.predict(named.decision_values(as_rows(table)))
    assert [number[label] for label in found["label"]] == labels.tolist()
    assert np.abs(found["probabilities"] - wanted.probabilities).max() < 1e-9
    assert about(made.data)["feature_names"] == '["w", "x", "y", "z"]'


def table_of(name, width):
    rng = np.random.default_rng(2)
    source = "iris" if name.startswith("tie") else name.split("_")[0]
    known = svmfast.read_svmlight(data(f"{source}.test")).rows.to_dense()[:, :width]
    known = np.pad(known, ((0, 0), (0, width - known.shape[1])))
    one, other = known[rng.integers(len(known), size=(2, 200))]
    return np.vstack([known, one + rng.random((200, 1)) * (other - one), rng.normal(size=(20, width)) * 50])


@pytest.mark.parametrize(
    "name", ["breast_c_rbf", "wine_nu_poly2", "digits_c_rbf", "normal_one_rbf", "tie_votes"]
)
def test_probabilities_are_svm_predicts(name, tmp_path):
    path, out = model(f"{name}_prob"), tmp_path / "m.onnx"
    exact, done = svmfast.load_model(path), program("export", path, "--to", "onnx", "-b", "1", "-o", out)
    assert (done.returncode, b"the model has probabilities" in done.stderr) == (0, False)
    onnx.checker.check_model(onnx.load(out), full_check=True)
    table = table_of(name, exact.n_features)
    points = [{j + 1: float(v) for j, v in enumerate(row) if v} for row in table]
    wanted = np.array(svmutil.svm_predict([], points, svmutil.svm_load_model(str(path)), "-q -b 1")[2])
    found = outputs(out.read_bytes(), table)
    assert list(found) == ["label", "scores", "probabilities"]
    assert np.abs(found["probabilities"] - wanted).max() < 1e-9
    assert np.array_equal(found["label"], svmfast.predict(exact, table).predicted)
    # A row's probabilities do not depend on the sweeps that other rows need, and there may be no row.
    for n in (0, 1, 7):
        part = outputs(out.read_bytes(), table[:n])["probabilities"]
        assert part.shape == (n, wanted.shape[1])
        assert np.abs(part - found["probabilities"][:n]).max(initial=0) < 1e-12
    single = svmfast.export(exact, "onnx", probability=True, precision="float", test=as_rows(table))
    near = table[:-20].astype(np.float32)
    assert np.abs(outputs(single.data, near)["probabilities"] - wanted[:-20]).max() < 1e-4
    labels = svmfast.predict(exact, table, probability=True).predicted
    for precision, most, rows in (("double", 1e-9, table), ("float", 1e-4, near)):
        made = svmfast.export(exact, "c", probability=True, precision=precision)
        file = compiled(made, tmp_path, *WARNINGS)
        found, estimates = file.probabilities(rows, wanted.shape[1])
        assert np.abs(estimates - wanted[: len(rows)]).max() < most
        clear = np.diff(np.sort(wanted[: len(rows)], axis=1)[:, -2:])[:, 0] > 2 * most
        assert np.array_equal(found[clear], labels[: len(rows)][clear])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_coupling_of_any_values_is_libsvms(size):
    """From values near 0 to those that reach LIBSVM's limits, where pairs contradict each other."""
    exact, rng = svmfast.load_model(model("digits_c_rbf_prob")), np.random.default_rng(0)
    head = replace(exact.head, prob_a=size * rng.choice([-1.0, 1.0], 45), prob_b=rng.normal(size=45) / 9)
    changed, table = replace(exact, head=head), rng.random((150, exact.n_features))
    found = outputs(svmfast.export(changed, "onnx", probability=True).data, table)
    wanted = svmfast.predict(changed, table, probability=True).probabilities
    assert np.abs(found["probabilities"] - wanted).max() < 1e-9


def test_a_file_without_probabilities_says_so(tmp_path):
    for name, to, line in (
        ("iris_c_rbf_prob", "onnx", "model has probabilities, but the onnx file does not; -b 1 adds them"),
        ("iris_c_rbf_prob", "c", "model has probabilities, but the c file does not; -b 1 adds them"),
        ("iris_c_linear", "onnx", ""),
    ):
        done = program("export", model(name), "-o", tmp_path / "m", "--to", to)
        found = [one for one in done.stderr.decode().splitlines() if "probabilities" in one]
        assert found == [f"svmfast: the {line}"] * bool(line)


X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
ESTIMATORS = [DCPredSVC(clusters=2, landmarks=5, random_state=0), FastSVC()]


def of_pipeline(pipeline, rows):
    # Imported here, since it takes a second.
    skl2onnx = pytest.importorskip("skl2onnx", reason="no sklearn-onnx")
    register_onnx()
    return outputs(skl2onnx.to_onnx(pipeline, rows[:1]).SerializeToString(), rows)


@pytest.mark.parametrize("target", [Y, NAMES], ids=["numbers", "names"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_labels_and_values_are_the_pipelines(estimator, target):
    pipeline = make_pipeline(StandardScaler(), estimator).fit(X, target)
    found = of_pipeline(pipeline, X)
    assert list(found) == ["label", "scores"]
    assert np.array_equal(found["label"], pipeline.predict(X))
    values = pipeline[-1].model_.decision_values(as_rows(pipeline[0].transform(X)))
    assert np.allclose(found["scores"], values, rtol=1e-10, atol=1e-10)


def test_regression_and_single_precision_in_front():
    pipeline = make_pipeline(StandardScaler(), MekaRidge(clusters=2, rank=3, random_state=0))
    wanted = pipeline.fit(X[:, :3], X[:, 3]).predict(X[:, :3])
    found = of_pipeline(pipeline, X[:, :3])
    assert np.allclose(found["variable"][:, 0], wanted, rtol=1e-10)
    single = of_pipeline(pipeline, X[:, :3].astype(np.float32))
    assert np.allclose(single["variable"][:, 0], wanted, atol=1e-4)


@cache
def with_probabilities(name):
    machine = FastSVC(estimator=SVC(probability=True, random_state=0))
    if name == "numbers":
        return machine.fit(X, Y + 5)
    if name == "two":
        return machine.fit(X[Y > 0], NAMES[Y > 0])
    return make_pipeline(StandardScaler(), machine).fit(X, NAMES)


@pytest.mark.filterwarnings("ignore:The `probability` parameter")
@pytest.mark.parametrize("opset", nightly_but([13, 21], range(13, 23)))
@pytest.mark.parametrize("name", ["numbers", "names", "two"])
def test_probabilities_and_zipmap_of_sklearn_onnx(name, opset):
    skl2onnx = pytest.importorskip("skl2onnx", reason="no sklearn-onnx")
    register_onnx()
    estimator = with_probabilities(name)
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    wanted, labels, classes = estimator.predict_proba(X), estimator.predict(X), last.classes_.tolist()

    def converted(**options):
        made = skl2onnx.to_onnx(estimator, X[:1], options={id(last): options}, target_opset={"": opset})
        onnx.checker.check_model(made, full_check=True)
        assert {one.version for one in made.opset_import if not one.domain} == {opset}
        return outputs(made.SerializeToString(), X)

    found = converted(zipmap=False)
    assert list(found) == ["label", "probabilities"]
    assert np.array_equal(found["label"], labels)
    assert np.abs(found["probabilities"] - wanted).max() < 1e-9
    found = converted()
    assert list(found) == ["output_label", "output_probability"]
    assert [list(one) for one in found["output_probability"]] == [classes] * len(X)
    assert np.abs([list(one.values()) for one in found["output_probability"]] - wanted).max() < 1e-6
    label, *columns = converted(zipmap="columns").values()
    assert np.array_equal(label, labels)
    assert np.abs(np.transpose(columns) - wanted).max() < 1e-9
    assert list(converted(raw_scores=True)) == ["label", "scores"]


@pytest.mark.parametrize("opset", nightly_but([13, 18], range(13, 24)))
@pytest.mark.parametrize(
    "name", ["rbf, three classes", "one class, probabilities", "regression", "routed_pseudo_triangle"]
)
def test_opsets(name, opset):
    loaded = svmfast.load_model(FORMS[name])
    table, asked = raw_rows(loaded), {"probability": loaded.head.has_probability}
    made = svmfast.export(loaded, "onnx", opset=opset, **asked).data
    onnx.checker.check_model(onnx.load_from_string(made), full_check=True)
    found, usual = outputs(made, table), outputs(svmfast.export(loaded, "onnx", **asked).data, table)
    assert all(np.array_equal(found[one], usual[one]) for one in usual)
    read = onnx.load_from_string(made)
    assert [one.version for one in read.opset_import] == [opset]
    assert (read.producer_name, read.producer_version) == ("svmfast", svmfast.__version__)
    labels = [1, -1] if loaded.head.labels is None else loaded.head.labels.tolist()
    assert json.loads(about(made).get("classes", "null")) == (None if loaded.head.is_regression else labels)
