"""What decides how a model answers: its identity, its fields, its probabilities; names follow one rule."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from command import svmfast
from program import data, model
from pyarrow import parquet
from sealing import packed, unpacked
from sklearn.svm import SVC

import svmfast as package
from svmfast import display
from svmfast.errors import ModelFormatError, SvmfastError, TableError, UnsupportedError
from svmfast.formats.model_files import identity_of, load_model, model_bytes, open_model, save_model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.requirements import Columns, require
from svmfast.models.scaled import with_scaling
from svmfast.models.scaling import Scaling

IRIS = model("iris_c_rbf_prob")


def other_spelling(text: bytes) -> bytes:
    """Return the same model with its keys in another order and CR LF."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(b"rho"))
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return b"\r\n".join(lines) + b"\r\n"


def another() -> KernelExpansion:
    """Return a model that differs in one coefficient."""
    exact = load_model(IRIS)
    assert isinstance(exact, KernelExpansion)
    coef = exact.sv_coef.copy()
    coef[0, 0] *= 1 + 1e-15
    return replace(exact, sv_coef=coef)


def test_a_model_is_recognized_in_every_form(tmp_path: Path) -> None:
    text = IRIS.read_bytes()
    (tmp_path / "packed").write_bytes(gzip.compress(text))
    (tmp_path / "spelled").write_bytes(other_spelling(text))
    exact = load_model(IRIS)
    assert identity_of(exact) == f"sha256:{open_model(IRIS).sha256}"  # LIBSVM's own text
    fast, _ = package.approximate(IRIS, order=2)
    rows = package.read_svmlight(data("iris.test"))
    expected = package.predict(exact, rows).predicted
    save_model(fast, tmp_path / "fast")
    for form in (IRIS, exact, tmp_path / "packed", tmp_path / "spelled", load_model(tmp_path / "spelled")):
        again, _ = package.approximate(form, order=2)
        assert again.provenance == fast.provenance
        for made in (fast, tmp_path / "fast"):
            np.testing.assert_array_equal(package.predict(made, rows, exact=form).predicted, expected)
    for form in ("packed", "spelled"):
        done = svmfast("predict", "-q", data("iris.test"), tmp_path / "fast", "--exact", tmp_path / form)
        assert (done.returncode, done.stderr) == (0, b"")


def test_another_model_is_refused_as_an_object_too(tmp_path: Path) -> None:
    fast, _ = package.approximate(load_model(IRIS), order=2)
    rows = package.read_svmlight(data("iris.test"))
    with pytest.raises(UnsupportedError, match="not the one that the model was converted from: their hashes"):
        package.predict(fast, rows, exact=another())
    save_model(another(), tmp_path / "other")
    with pytest.raises(UnsupportedError, match="their hashes differ"):
        package.predict(fast, rows, exact=tmp_path / "other")
    with pytest.raises(UnsupportedError, match="does not name the model it was made from"):
        package.predict(replace(fast, provenance={}), rows, exact=load_model(IRIS))


def test_an_embedded_model_must_match_its_container(tmp_path: Path) -> None:
    fast, _ = package.approximate(load_model(IRIS), order=2, embed_exact=True)
    tree, inside = unpacked(model_bytes(fast)), IRIS.read_bytes()
    assert tree["embedded_exact"] == inside
    for name, change, message in (
        ("coefficient", model_bytes(another()), "not the one that 'source' names: their hashes differ"),
        ("labels", inside.replace(b"label 2 3 1", b"label 3 1 2"), "or other labels"),
        ("type", model("diabetes_eps_rbf_prob").read_bytes(), "embedded model of type"),
    ):
        assert change != inside
        with pytest.raises(ModelFormatError, match=message):
            load_model(packed({**tree, "embedded_exact": change}))
        # Without a source, only the content can be compared.
        path = tmp_path / name
        path.write_bytes(packed({**tree, "embedded_exact": change, "provenance": {}}))
        if name == "coefficient":
            continue
        done = svmfast("predict", data("iris.test"), path)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"(exact: an embedded model " in done.stderr


def test_a_fit_to_labels_is_refused_without_its_provenance(tmp_path: Path) -> None:
    path = tmp_path / "model"
    done: subprocess.CompletedProcess[bytes] = svmfast(
        *("dcpred", data("breast.train"), "--from", model("breast_c_rbf_prob"), "--fit", "labels"),
        *("--clusters", "1", "--landmarks", "4", "--iterations", "1", "-o", path, "-q"),
    )
    assert done.returncode == 0, done.stderr
    made: Any = load_model(path)
    for one in (made, replace(made, provenance={}), load_model(model_bytes(replace(made, provenance={})))):
        with pytest.raises(UnsupportedError, match="was fitted to labels, not to decision values"):
            require(one, Columns(probability=True))
    tree = unpacked(path.read_bytes())
    assert tree["fits_labels"] is True
    with pytest.raises(ModelFormatError, match="fits_labels: not of the type bool"):
        load_model(packed({**tree, "fits_labels": 1}))


def test_provenance_decides_nothing() -> None:
    made: Any = package.approximate(model("breast_c_rbf_prob")).model
    for words in ("order=2 calibrated", "order=99"):
        origin = {**made.provenance, "parameters": words}
        require(load_model(model_bytes(replace(made, provenance=origin))), Columns(bound=True))


CONTROL = "a control character or line end"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a\nb", CONTROL), ("a\x1b[2J", CONTROL), ("a\u2028", CONTROL), ("\ud800", "half a surrogate pair")],
)
def test_names_that_no_source_may_have(name: str, kind: str, tmp_path: Path) -> None:
    """Models, estimators, headers, labels, lists of names."""
    shown = display.shown(name)
    with pytest.raises(SvmfastError, match=re.escape(f"feature_names: a name with {kind} ('{shown}')")):
        Scaling(np.zeros(1), np.ones(1), feature_names=(name,))
    path = tmp_path / "model"
    scaling = Scaling(np.zeros(4), np.ones(4), class_names=("one", "two", "three"))
    package.save_model(with_scaling(load_model(model("iris_c_rbf_prob")), scaling), path)
    tree = unpacked(path.read_bytes())
    tree["scaling"]["class_names"][1] = name
    (tmp_path / "made").write_bytes(packed(tree))
    with pytest.raises(SvmfastError, match=re.escape(f"class_names: a name with {kind} ('{shown}')")):
        load_model(tmp_path / "made")
    X = np.eye(4)
    y = ["a", name] * 2
    with pytest.raises(SvmfastError, match=re.escape(f"a name with {kind} ('{shown}')")):
        package.from_sklearn(SVC().fit(X, np.array(y, dtype=object)))
    with pytest.raises(SvmfastError, match=re.escape(f"a class has a name with {kind} ('{shown}')")):
        package.train(X, y)
    if kind == CONTROL:  # UTF-8 has no surrogates
        parquet.write_table(pa.table({name: [0.5], "label": [1.0]}), tmp_path / "table.parquet")
        with pytest.raises(TableError, match=re.escape(f"a column has a name with {kind} ('{shown}')")):
            package.predict(path, tmp_path / "table.parquet")


IRIS, TRAIN, TEST = model("iris_c_rbf_prob"), data("iris.train"), data("iris.test")


def probabilities(path: str | Path, test: Path = TEST) -> np.ndarray:
    done = svmfast("predict", "-b", "1", "-q", test, path)
    assert done.returncode == 0, done.stderr
    found: np.ndarray = np.loadtxt(io.BytesIO(done.stdout), skiprows=1)[:, 1:]
    return found


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("approximate", IRIS, "-o", "OUT", "--order", "4"), "kept"),
        (("approximate", IRIS, "-o", "OUT", "--order", "2", "--cells", "4"), "kept"),
        (("compress", IRIS, "-o", "OUT", "--sv", "12", "--iterations", "50"), "kept"),
        (("compress", IRIS, "-o", "OUT", "--sv", "12", "--iterations", "50", "--data", TRAIN), "refitted"),
        (("dcpred", TRAIN, "-o", "OUT", "--from", IRIS, "--clusters", "2", "--fit", "values"), "kept"),
    ],
)
def test_conversions_of_three_classes_have_probabilities(
    words: tuple[str, ...], what: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = svmfast(*(out if word == "OUT" else word for word in words), "--json")
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if line.startswith(b"svmfast: warning:")]
    assert not [line for line in warnings if b"robabilit" in line]
    report = json.loads(done.stdout)
    assert report["probabilities"] == what
    difference = np.abs(probabilities(out) - probabilities(IRIS))
    assert difference.mean() < 0.02
    mine, theirs = load_model(out).head, load_model(IRIS).head
    assert mine.prob_a is not None
    assert theirs.prob_a is not None
    assert np.array_equal(mine.prob_a, theirs.prob_a) == (what != "refitted")


def test_dcpred_warns_before_it_starts_that_labels_have_none(tmp_path: Path) -> None:
    out = tmp_path / "out"
    two = svmfast("dcpred", TRAIN, "-o", out, "--from", IRIS, "-q", "-g", "0.1,1")
    assert two.returncode == 2
    first, last = two.stderr.decode().splitlines()
    assert first.startswith(f"svmfast: warning: the probabilities of {IRIS} will be dropped: --fit labels")
    assert first.endswith("--fit values keeps them")
    assert "--from takes one --gamma and one -c or --lambda" in last
    done = svmfast(
        "dcpred", TRAIN, "-o", out, "--from", IRIS, "--clusters", "2", "--iterations", "5", "--json"
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["probabilities"] == "dropped"
    assert b"probability  dropped: predict with -b 1 will refuse the model" in done.stderr
    refused = svmfast("predict", "-b", "1", TEST, out)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"the model was fitted to labels, not to decision values" in refused.stderr
    without = svmfast(
        "dcpred", TRAIN, "-o", out, "--from", model("iris_c_sigmoid"), "-g", "0.5", "-q", "--iterations", "0"
    )
    assert (without.returncode, without.stderr) == (0, b"")
