"""An exact model answers only for models made from it: embedded, as a path, compressed, or an object."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from program import data, model, svmfast
from sealing import packed, unpacked

import svmfast as package
from svmfast.errors import ModelFormatError, UnsupportedError
from svmfast.formats.model_files import identity_of, load_model, model_bytes, open_model, save_model
from svmfast.models.expansion import KernelExpansion

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
