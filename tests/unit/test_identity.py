"""What decides how a model answers: its identity, its fields, its probabilities; names follow one rule."""

import gzip
import io
import json
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from command import ran, svmfast
from program import data, model, words_of
from pyarrow import parquet
from sealing import packed, unpacked
from sklearn.svm import SVC

import svmfast as package
from svmfast import display
from svmfast.errors import ModelFormatError, SvmfastError, UnsupportedError
from svmfast.formats.model_files import identity_of, load_model, model_bytes, open_model, save_model
from svmfast.models.requirements import Columns, require
from svmfast.models.scaled import with_scaling
from svmfast.models.scaling import Scaling

IRIS = model("iris_c_rbf_prob")


def another():
    exact = load_model(IRIS)
    coef = exact.sv_coef.copy()
    coef[0, 0] *= 1 + 1e-15
    return replace(exact, sv_coef=coef)


def test_a_model_is_recognized_in_every_form(tmp_path):
    text = IRIS.read_bytes()
    (tmp_path / "packed").write_bytes(gzip.compress(text))
    # Its keys in another order, and CR LF.
    spelled = re.sub(rb"(rho.*)\n(.*)\n", rb"\2\n\1\n", text, count=1).replace(b"\n", b"\r\n")
    (tmp_path / "spelled").write_bytes(spelled)
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


def test_another_model_is_refused_as_an_object_too(tmp_path):
    fast, _ = package.approximate(load_model(IRIS), order=2)
    save_model(another(), tmp_path / "other")
    differ = "not the one that the model was converted from: their hashes differ"
    for made, exact, message in (
        (fast, another(), differ),
        (fast, tmp_path / "other", differ),
        (replace(fast, provenance={}), load_model(IRIS), "does not name the model it was made from"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            package.predict(made, package.read_svmlight(data("iris.test")), exact=exact)


def test_an_embedded_model_must_match_its_container(tmp_path):
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
        if name != "coefficient":  # without a source, only the content can be compared
            path = tmp_path / name
            path.write_bytes(packed({**tree, "embedded_exact": change, "provenance": {}}))
            done = svmfast("predict", data("iris.test"), path)
            assert (done.returncode, done.stdout) == (2, b"")
            assert b"(exact: an embedded model " in done.stderr


def test_a_fit_to_labels_is_refused_without_its_provenance(tmp_path):
    path = tmp_path / "model"
    words = "dcpred data/breast.train --from models/breast_c_rbf_prob.model --fit labels --clusters 1"
    ran(*words_of(words), "--landmarks", "4", "--iterations", "1", "-o", path, "-q")
    bare = replace(load_model(path), provenance={})
    for one in (load_model(path), bare, load_model(model_bytes(bare))):
        with pytest.raises(UnsupportedError, match="was fitted to labels, not to decision values"):
            require(one, Columns(probability=True))
    assert unpacked(path.read_bytes())["fits_labels"] is True


CONTROL = "a control character or line end"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a\nb", CONTROL), ("a\x1b[2J", CONTROL), ("a\u2028", CONTROL), ("\ud800", "half a surrogate pair")],
)
def test_names_that_no_source_may_have(name, kind, tmp_path):
    fault, path = f"a name with {kind} ('{display.shown(name)}')", tmp_path / "model"
    scaling = Scaling(np.zeros(4), np.ones(4), class_names=("one", "two", "three"))
    package.save_model(with_scaling(load_model(IRIS), scaling), path)
    tree, X, y = unpacked(path.read_bytes()), np.eye(4), ["a", name] * 2
    tree["scaling"]["class_names"][1] = name
    refused = [
        (f"feature_names: {fault}", lambda: Scaling(np.zeros(1), np.ones(1), feature_names=(name,))),
        (f"class_names: {fault}", lambda: load_model(packed(tree))),
        (fault, lambda: package.from_sklearn(SVC().fit(X, np.array(y, dtype=object)))),
        (f"a class has {fault}", lambda: package.train(X, y)),
    ]
    if kind == CONTROL:  # UTF-8 has no surrogates
        table = tmp_path / "table.parquet"
        parquet.write_table(pa.table({name: [0.5], "label": [1.0]}), table)
        refused.append((f"a column has {fault}", lambda: package.predict(path, table)))
    for message, call in refused:
        with pytest.raises(SvmfastError, match=re.escape(message)):
            call()


TRAIN, TEST = data("iris.train"), data("iris.test")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("approximate models/iris_c_rbf_prob.model --order 4", "kept"),
        ("compress models/iris_c_rbf_prob.model --sv 12 --iterations 50 --data data/iris.train", "refitted"),
        ("dcpred data/iris.train --from models/iris_c_rbf_prob.model --clusters 2 --fit values", "kept"),
    ],
)
def test_conversions_of_three_classes_have_probabilities(words, what, tmp_path):
    out = tmp_path / "out"
    done = ran(*words_of(words), "-o", out, "--json")
    assert b"will be dropped" not in done.stderr
    assert json.loads(done.stdout)["probabilities"] == what
    mine, theirs = (svmfast("predict", "-b", "1", "-q", TEST, one).stdout for one in (out, IRIS))
    mine, theirs = (np.loadtxt(io.BytesIO(one), skiprows=1)[:, 1:] for one in (mine, theirs))
    assert np.abs(mine - theirs).mean() < 0.02
    same = np.array_equal(load_model(out).head.prob_a, load_model(IRIS).head.prob_a)
    assert same == (what != "refitted")


def test_dcpred_warns_before_it_starts_that_labels_have_none(tmp_path):
    given = ("dcpred", TRAIN, "-o", tmp_path / "out", "--from")
    done = ran(*given, IRIS, "-q", "-g", "0.1,1", status=2)
    first, last = done.stderr.decode().splitlines()
    assert first.startswith(f"svmfast: warning: the probabilities of {IRIS} will be dropped: --fit labels")
    assert "--from takes one --gamma and one -c or --lambda" in last
    done = svmfast(*given, IRIS, "--clusters", "2", "--iterations", "5", "--json")
    assert json.loads(done.stdout)["probabilities"] == "dropped"
    without = svmfast(*given, model("iris_c_sigmoid"), "-g", "0.5", "-q", "--iterations", "0")
    assert (without.returncode, without.stderr) == (0, b"")
