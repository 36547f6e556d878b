"""`svmfast info` on every kind of file."""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import svmfast
from model_examples import EXAMPLES
from program import data, model
from sklearn.datasets import load_svmlight_file

from svmfast.formats.model_files import load_model, save_model


def info(path: Any, stdin: bytes = b"") -> dict[str, Any]:
    done = svmfast("info", "--json", path, stdin=stdin)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_libsvm_model() -> None:
    path = model("iris_c_rbf_prob")
    found = info(path)
    lines = dict(line.split(" ", 1) for line in path.read_text().split("\nSV")[0].splitlines())
    assert found["format"] == "libsvm-model"
    assert found["svm_type"] == lines["svm_type"]
    assert found["kernel"] == lines["kernel_type"]
    assert found["gamma"] == float(lines["gamma"])
    assert found["labels"] == [int(label) for label in lines["label"].split()]
    assert found["support_vectors"] == int(lines["total_sv"])
    assert found["support_vectors_of_labels"] == [int(n) for n in lines["nr_sv"].split()]
    assert (found["functions"], found["features"], found["probability"]) == (3, 4, True)
    assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found["bytes"] == path.stat().st_size


def test_certificate_and_embedded_model_are_shown(tmp_path: Path) -> None:
    exact, out = model("photos_c_rbf"), tmp_path / "out"
    vectors = int(exact.read_text().split("total_sv ")[1].split()[0])
    for words, certificate, embedded in (
        (("--embed-exact",), True, {"kernel": "rbf", "support_vectors": vectors}),
        ((), True, None),
        (("--certificate", "none"), False, None),
    ):
        assert svmfast("approximate", exact, "-o", out, *words).returncode == 0
        found = info(out)
        assert (found["certificate"], found.get("embedded_exact")) == (certificate, embedded)
        text = svmfast("info", out).stdout.decode().splitlines()
        assert ["certificate", "yes" if certificate else "no"] in [line.split() for line in text]
        told = ["embedded exact", "  kernel           rbf", f"  support vectors  {vectors:,}"]
        assert ("\n".join(told) in "\n".join(text)) == (embedded is not None)


def test_data(tmp_path: Path) -> None:
    path = data("digits.test")
    x, y = load_svmlight_file(str(path))
    found = info(path)
    assert found["format"] == "data"
    assert (found["rows"], found["features"]) == x.shape
    assert found["stored_values"] == x.nnz
    assert found["density"] == pytest.approx(x.nnz / (x.shape[0] * x.shape[1]))
    assert found["value_range"] == [x.data.min(), x.data.max()]
    assert found["max_squared_norm"] == pytest.approx(x.multiply(x).sum(axis=1).max())
    labels, counts = np.unique(y, return_counts=True)
    assert found["label_rows"] == [
        {"label": label, "rows": int(count)} for label, count in zip(labels, counts, strict=True)
    ]
    packed = tmp_path / "packed"
    packed.write_bytes(lzma.compress(path.read_bytes()))
    for again in (info(packed), info("-", stdin=path.read_bytes())):
        for key in ("path", "inputs", "seconds"):
            again[key] = found[key]
        assert again == found


def test_many_labels_are_a_range() -> None:
    found = info(data("diabetes.test"))
    values = [float(line.split()[0]) for line in data("diabetes.test").read_text().splitlines()]
    assert found["label_rows"] is None
    assert found["label_range"] == [min(values), max(values)]


def test_the_text_has_what_a_user_wants_to_know_of_every_kind(tmp_path: Path) -> None:
    for name, make in EXAMPLES.items():
        path = tmp_path / "model"
        size = save_model(make(), path)
        text = svmfast("info", path).stdout.decode()
        lines = dict(re.split(r"  +", line, maxsplit=1) for line in text.splitlines() if "  " in line.strip())
        assert "{" not in text, name
        assert lines["bytes"] == f"{size:,}"
        assert len(lines["sha256"]) == 64
        assert {"kind", "svm type", "labels", "features", "probability"} <= set(lines), name
        made = load_model(path)
        assert ("\nprovenance" in text) == (made.kind != "libsvm")
        assert ("\nmodel\n  kind " in text) == (made.kind == "scaled"), name
        assert ("\nfast\n  kind " in text) == (made.kind == "cascade"), name
