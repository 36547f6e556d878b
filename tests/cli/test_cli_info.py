"""`svmfast info` on every kind of file."""

import hashlib
import lzma
import re

import numpy as np
import pytest
from command import ran, report
from model_examples import EXAMPLES
from program import data, model
from sklearn.datasets import load_svmlight_file

from svmfast.formats.model_files import load_model, save_model


def test_a_libsvm_model():
    path = model("iris_c_rbf_prob")
    found, header = report("info", path), path.read_text().split("\nSV")[0]
    lines = dict(re.findall(r"(?m)^(\w+) (.*)$", header))
    assert (found["format"], found["bytes"]) == ("libsvm-model", path.stat().st_size)
    assert (found["svm_type"], found["kernel"]) == (lines["svm_type"], lines["kernel_type"])
    assert (found["gamma"], found["support_vectors"]) == (float(lines["gamma"]), int(lines["total_sv"]))
    assert found["labels"] == [int(label) for label in lines["label"].split()]
    assert found["support_vectors_of_labels"] == [int(n) for n in lines["nr_sv"].split()]
    assert (found["functions"], found["features"], found["probability"]) == (3, 4, True)
    assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("words", "certificate", "embedded"),
    [(["--embed-exact"], True, True), ([], True, False), (["--certificate", "none"], False, False)],
)
def test_certificate_and_embedded_model_are_shown(words, certificate, embedded, tmp_path):
    exact, out = model("photos_c_rbf"), tmp_path / "out"
    vectors = int(exact.read_text().split("total_sv ")[1].split()[0])
    ran("approximate", exact, "-o", out, *words)
    found, text = report("info", out), ran("info", out).stdout.decode()
    shown = {"kernel": "rbf", "support_vectors": vectors} if embedded else None
    assert (found["certificate"], found.get("embedded_exact")) == (certificate, shown)
    assert re.search(f"(?m)^certificate +{'yes' if certificate else 'no'}$", text)
    told = f"embedded exact\n  kernel           rbf\n  support vectors  {vectors:,}"
    assert (told in text) == embedded


def test_data(tmp_path):
    path = data("digits.test")
    (x, y), found = load_svmlight_file(str(path)), report("info", path)
    assert (found["format"], found["rows"], found["features"]) == ("data", *x.shape)
    assert found["stored_values"] == x.nnz
    assert found["density"] == pytest.approx(x.nnz / (x.shape[0] * x.shape[1]))
    assert found["value_range"] == [x.data.min(), x.data.max()]
    assert found["max_squared_norm"] == pytest.approx(x.multiply(x).sum(axis=1).max())
    counted = zip(*np.unique(y, return_counts=True), strict=True)
    assert found["label_rows"] == [{"label": label, "rows": count} for label, count in counted]
    (tmp_path / "packed").write_bytes(lzma.compress(path.read_bytes()))
    again = report("info", tmp_path / "packed")
    assert again == {**found, **{key: again[key] for key in ("path", "inputs", "seconds")}}
    many, values = report("info", data("diabetes.test")), np.loadtxt(data("diabetes.test"), usecols=0)
    assert (many["label_rows"], many["label_range"]) == (None, [values.min(), values.max()])


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_text_has_what_a_user_wants_to_know_of_every_kind(name, tmp_path):
    made, path = EXAMPLES[name](), tmp_path / "model"
    size = save_model(made, path)
    text, kind = ran("info", path).stdout.decode(), load_model(path).kind
    lines = dict(re.findall(r"(?m)^(.*\S)  +(\S.*)$", text))
    assert "{" not in text
    assert (lines["bytes"], len(lines["sha256"])) == (f"{size:,}", 64)
    assert {"kind", "svm type", "labels", "features", "probability"} <= {one.strip() for one in lines}
    for part, there in (
        ("\nprovenance", kind != "libsvm"),
        ("\nmodel\n  kind ", kind in ("scaled", "mapped")),
    ):
        assert (part in text) == there
    assert (lines.get("map") or lines.get("  map")) == ("5 5" if "mapped" in name else None)
    assert ("\nfast\n  kind " in text) == (kind == "cascade")
