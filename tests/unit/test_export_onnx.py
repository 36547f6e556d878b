"""ONNX exports in onnxruntime; test_export_kinds compares the answers of every kind with the model's."""

from __future__ import annotations

import math
import shlex
from typing import Any

import numpy as np
import pytest
from export_forms import FORMS, raw_rows
from golden import ROOT, manifest
from program import data, model

import svmfast
from svmfast.exports.computation import computation_of
from svmfast.models.expansion import Kernel, KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import as_rows

onnx = pytest.importorskip("onnx", reason="no onnx")
runtime = pytest.importorskip("onnxruntime", reason="no onnxruntime")


def session(made: svmfast.Export) -> Any:
    return runtime.InferenceSession(made.data, providers=["CPUExecutionProvider"])


def run(opened: Any, table: np.ndarray) -> dict[str, np.ndarray]:
    names = [one.name for one in opened.get_outputs()]
    return dict(zip(names, opened.run(names, {"X": table}), strict=True))


@pytest.mark.parametrize("name", FORMS)
def test_single_precision_states_its_own_difference(name: str) -> None:
    loaded = svmfast.load_model(FORMS[name])
    rows = as_rows(raw_rows(loaded))
    made = svmfast.export(loaded, "onnx", precision="float", test=rows)
    table = rows.to_dense(computation_of(loaded).n_features).astype(np.float32)
    found = run(session(made), table)
    values = loaded.decision_values(rows)
    exact = found.get("scores", found.get("variable"))
    apart = float(np.abs(exact - values).max(initial=0))
    assert made.report.accuracy is not None
    assert apart <= made.report.accuracy.max_abs_error * (1 + 1e-6)
    about = {one.key: one.value for one in onnx.load_from_string(made.data).metadata_props}
    assert about["measured"].startswith("single precision, on ")
    assert about["model"].startswith("sha256:")


GOLDEN = [
    entry["command"].removeprefix("svm-predict ")
    for entry in manifest()
    if entry["command"].startswith("svm-predict ")
    and not any(part in entry["command"] for part in (">", "-b 1", "precomputed", "extra", "single_class"))
]


@pytest.mark.parametrize("command", GOLDEN)
def test_answers_are_svm_predicts(command: str) -> None:
    *_, rows_path, model_path, golden = (word for word in shlex.split(command) if not word.startswith("-"))
    loaded = svmfast.load_model(ROOT / model_path)
    rows = svmfast.read_svmlight(ROOT / rows_path).rows
    expected = np.array([float(line.split()[0]) for line in (ROOT / golden).read_text().splitlines()])
    width = max(1, loaded.n_features)
    if rows.n_columns > width:
        pytest.skip("rows with features that the model does not know have no place in a table")
    found = run(session(svmfast.export(loaded, "onnx")), rows.to_dense(width))
    if loaded.head.is_regression:
        assert np.allclose(found["variable"][:, 0], expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    else:
        assert np.array_equal(found["label"], expected)


def test_sums_of_many_vectors_are_accurate() -> None:
    """With LIBSVM's order, all positive coefficients first, the error would be 2e-12."""
    rng = np.random.default_rng(0)
    vectors = (rng.random((8000, 30)) < 0.3).astype(np.float64)
    coefficients = np.repeat([[1.0, -1.0]], 4000, axis=1)
    sizes = np.array([4000, 4000])
    exact = KernelExpansion(
        Head("c_svc", np.array([1, -1])),
        Kernel("rbf", 0.01),
        as_rows(vectors),
        coefficients,
        np.zeros(1),
        sizes,
    )
    rows = (rng.random((20, 30)) < 0.3).astype(np.float64)
    found = run(session(svmfast.export(exact, "onnx")), rows)["scores"][:, 0]
    for row, value in zip(rows, found, strict=True):
        kernels = np.exp(-0.01 * ((vectors - row) ** 2).sum(axis=1))
        wanted = math.fsum((kernels * coefficients[0]).tolist())
        assert abs(value - wanted) < 1e-13


def test_string_classes_and_names_of_features() -> None:
    from svmfast.models.scaled import ScaledModel
    from svmfast.models.scaling import Scaling

    loaded = svmfast.load_model(model("iris_c_rbf_prob"))
    named = ScaledModel(
        loaded, Scaling(np.zeros(4), np.ones(4), class_names=("a", "b", "c"), feature_names=tuple("wxyz"))
    )
    made = svmfast.export(named, "onnx")
    rows = svmfast.read_svmlight(data("iris.test")).rows
    labels = run(session(made), rows.to_dense(4))["label"]
    assert loaded.head.labels is not None
    number = dict(zip("abc", loaded.head.labels.tolist(), strict=True))
    expected = loaded.head.predict(loaded.decision_values(rows))
    assert [number[label] for label in labels] == expected.tolist()
    about = {one.key: one.value for one in onnx.load_from_string(made.data).metadata_props}
    assert about["feature_names"] == '["w", "x", "y", "z"]'


def test_a_scaling_that_clips() -> None:
    from svmfast.models.scaled import ScaledModel
    from svmfast.models.scaling import Scaling

    inner = svmfast.load_model(model("iris_c_rbf_prob"))
    clipped = ScaledModel(inner, Scaling(np.full(4, 0.5), np.full(4, 2.0), clip=(-0.3, 0.4)))
    table = np.random.default_rng(0).normal(size=(60, 4))
    found = run(session(svmfast.export(clipped, "onnx")), table)
    assert np.array_equal(found["label"], clipped.head.predict(clipped.decision_values(as_rows(table))))


def test_missing_onnx_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(svmfast.SvmfastError) as caught:
        svmfast.export(model("iris_c_rbf_prob"), "onnx")
    assert str(caught.value) == "writing ONNX needs onnx, which is not installed; pip install 'svmfast[onnx]'"
