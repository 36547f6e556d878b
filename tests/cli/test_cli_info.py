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
from model_examples import EXAMPLES
from program import FIXTURES, data, model, svmfast
from sklearn.datasets import load_svmlight_file

from svmfast.formats.model_files import load_model, save_model
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling


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


def test_an_approximated_model(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert svmfast("approximate", model("photos_c_rbf"), "-o", out).returncode == 0
    found = info(out)
    assert found["format"] == "svmfast-model"
    assert found["features"] == 15
    digest = hashlib.sha256(model("photos_c_rbf").read_bytes()).hexdigest()
    assert found["provenance"]["source"] == f"sha256:{digest}"
    assert found["scalars"]["gamma"] > 0


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


@pytest.mark.parametrize(
    "path",
    sorted((FIXTURES / "models").iterdir())[:6] + sorted((FIXTURES / "data").glob("*.train"))[:3],
    ids=lambda path: path.name,
)
def test_the_text_has_the_names_and_numbers_of_the_json(path: Path) -> None:
    lines = svmfast("info", path).stdout.decode().splitlines()
    figures = list(info(path).items())
    start = [name for name, _ in figures].index("path")  # after the head
    for (name, value), line in zip(figures[start:], lines, strict=True):
        name = "labels" if name == "label_rows" else name
        assert line.startswith(name.replace("_", " ") + " ")
        if isinstance(value, int) and not isinstance(value, bool):
            assert line.endswith(f"  {value:,}")


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


def test_names_and_scaling_are_shown(tmp_path: Path) -> None:
    scaling = Scaling(np.zeros(4), np.full(4, 2.0), (-1, 1), ("a", "b b", "c", "d"), ("x", "y", "z"))
    save_model(ScaledModel(EXAMPLES["cascade"](), scaling), tmp_path / "model")
    lines = svmfast("info", tmp_path / "model").stdout.decode().splitlines()
    start, end = lines.index("scaling"), lines.index("model")
    found = dict(re.split(r"   *", line.strip(), maxsplit=1) for line in lines[start + 1 : end])
    assert (found["class names"], found["feature names"]) == ("x, y, z", "a, b b, c, d")
    assert (found["columns"], found["clip"]) == ("4", "-1 1")
    assert lines[end + 1].split() == ["kind", "cascade"]
    assert "  fast" in lines[end:]


@pytest.mark.parametrize(
    ("content", "where"),
    [(b"", ""), (b"svm_type c_svc\nkernel_type rbf\n", ""), (b"1 1:1\n1 2;3\n", ":2")],
    ids=["empty", "cut model", "bad data"],
)
def test_bad_files_are_one_line(tmp_path: Path, content: bytes, where: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    done = svmfast("info", path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.decode().startswith(f"{path}{where}")
