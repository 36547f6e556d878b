"""Probabilities in exported ONNX are those of ``svm-predict -b 1``; files without them say so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from coupling_twin import libsvm_coupling
from libsvm import svmutil
from program import data, model
from program import svmfast as program

import svmfast
from svmfast.errors import OptionError, UnsupportedError
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling
from svmfast.rows import FloatArray, as_rows

runtime = pytest.importorskip("onnxruntime", reason="no onnxruntime")
onnx = pytest.importorskip("onnx", reason="no onnx")

MODELS = {
    "breast_c_rbf_prob": "breast",
    "iris_c_rbf_prob": "iris",
    "wine_nu_poly2_prob": "wine",
    "digits_c_rbf_prob": "digits",
    "normal_one_rbf_prob": "normal",
    "tie_votes_prob": "iris",
}


def outputs(data_: bytes, table: FloatArray) -> dict[str, Any]:
    opened = runtime.InferenceSession(data_, providers=["CPUExecutionProvider"])
    names = [one.name for one in opened.get_outputs()]
    return dict(zip(names, opened.run(names, {"X": table}), strict=True))


def table_of(name: str, width: int) -> FloatArray:
    """Test rows, rows between them, whose classes are in doubt, and rows far from all vectors."""
    rng = np.random.default_rng(2)
    known = svmfast.read_svmlight(data(f"{MODELS[name]}.test")).rows.to_dense()[:, :width]
    known = np.pad(known, ((0, 0), (0, width - known.shape[1])))
    one, other = known[rng.integers(len(known), size=(2, 200))]
    return np.vstack([known, one + rng.random((200, 1)) * (other - one), rng.normal(size=(20, width)) * 50])


def of_libsvm(name: str, table: FloatArray) -> FloatArray:
    """The probabilities of libsvm-official."""
    known = svmutil.svm_load_model(str(model(name)))
    points = [{j + 1: float(v) for j, v in enumerate(row) if v} for row in table]
    return np.array(svmutil.svm_predict([], points, known, "-q -b 1")[2])


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_are_svm_predicts(name: str, tmp_path: Path) -> None:
    exact = svmfast.load_model(model(name))
    assert isinstance(exact, KernelExpansion)
    out = tmp_path / "m.onnx"
    done = program("export", model(name), "--to", "onnx", "-b", "1", "-o", out)
    assert done.returncode == 0
    assert b"the model has probabilities" not in done.stderr
    onnx.checker.check_model(onnx.load(out), full_check=True)
    table = table_of(name, exact.n_features)
    found = outputs(out.read_bytes(), table)
    assert list(found) == ["label", "scores", "probabilities"]
    wanted = of_libsvm(name, table)
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


@pytest.mark.parametrize("size", [1e-3, 1.0, 40.0])
def test_the_coupling_of_any_values_is_libsvms(size: float) -> None:
    """From values near 0 to those that reach LIBSVM's limits, where pairs contradict each other."""
    exact = svmfast.load_model(model("iris_c_rbf_prob"))
    assert isinstance(exact, KernelExpansion)
    head = replace(exact.head, prob_a=np.array([-size, size, -size]), prob_b=np.array([0.1, -0.2, 0.0]))
    changed = replace(exact, head=head)
    table = np.random.default_rng(0).normal(size=(150, 4))
    found = outputs(svmfast.export(changed, "onnx", probability=True).data, table)
    scaled = head.prob_a * changed.decision_values(as_rows(table)) + head.prob_b
    pairs = np.clip(1 / (1 + np.exp(scaled)), 1e-7, 1 - 1e-7)
    r = np.zeros((len(pairs), 3, 3))
    for number, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        r[:, i, j], r[:, j, i] = pairs[:, number], 1 - pairs[:, number]
    wanted = np.array([libsvm_coupling(row) for row in r])
    assert np.abs(found["probabilities"] - wanted).max() < 1e-9


def approximated() -> Model:
    return svmfast.approximate(model("iris_c_rbf_prob"), order=2, force=True).model


def with_a_scaling() -> Model:
    scaling = Scaling(np.full(4, 0.1), np.full(4, 2.0), class_names=("b", "c", "a"))
    return ScaledModel(svmfast.load_model(model("iris_c_rbf_prob")), scaling)


@pytest.mark.parametrize("made", [approximated, with_a_scaling])
def test_other_kinds_have_them_too(made: Any) -> None:
    loaded = made()
    table = np.random.default_rng(0).normal(size=(100, 4))
    found = outputs(svmfast.export(loaded, "onnx", probability=True).data, table)
    wanted = svmfast.predict(loaded, table, probability=True, no_fallback=True)
    assert wanted.probabilities is not None
    assert np.abs(found["probabilities"] - wanted.probabilities).max() < 1e-9


def test_a_file_without_probabilities_says_so(tmp_path: Path) -> None:
    words = ("export", model("iris_c_rbf_prob"), "-o", tmp_path / "m")
    head = "svmfast: the model has probabilities, but the"
    for language, line in (
        ("onnx", f"{head} onnx file does not; -b 1 adds them"),
        ("c", f"{head} c file does not; ONNX can have them"),
    ):
        remarks = program(*words, "--to", language).stderr.decode().splitlines()
        assert [one for one in remarks if "probabilities" in one] == [line]
    plain = program("export", model("iris_c_linear"), "--to", "onnx", "-o", tmp_path / "m")
    assert (plain.returncode, b"probabilities" in plain.stderr) == (0, False)


def test_probabilities_that_do_not_exist_are_refused() -> None:
    with pytest.raises(OptionError, match="`probability` is only for `to` onnx"):
        svmfast.export(model("iris_c_rbf_prob"), "c", probability=True)
    with pytest.raises(UnsupportedError, match=r"does not support probability.*export without `probability`"):
        svmfast.export(model("breast_c_linear"), "onnx", probability=True)
    with pytest.raises(UnsupportedError, match="a regression model has no probabilities of classes"):
        svmfast.export(model("diabetes_eps_rbf_prob"), "onnx", probability=True)
