"""The certificate through the program: all labels are the exact model's, and no other model is accepted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from program import data, model, svmfast


def converted(tmp_path: Path, name: str, *options: str) -> Path:
    output = tmp_path / f"{name}.approx"
    done = svmfast("approximate", model(name), "-o", output, "-q", *options)
    assert done.returncode == 0, done.stderr
    return output


@pytest.mark.parametrize(
    ("name", "test", "order"),
    [("breast_c_rbf", "breast", "1"), ("iris_c_rbf_prob", "iris", "2"), ("digits_nu_rbf", "digits", "1")],
)
@pytest.mark.parametrize("embedded", [False, True])
def test_with_exact_every_label_is_the_exact_models(
    tmp_path: Path, name: str, test: str, order: str, embedded: bool
) -> None:
    fast = converted(tmp_path, name, "--order", order, *(["--embed-exact"] if embedded else []))
    plain, certified = tmp_path / "plain", tmp_path / "certified"
    assert svmfast("predict", data(f"{test}.test"), model(name), plain).returncode == 0
    given = [] if embedded else ["--exact", model(name)]
    done = svmfast("predict", data(f"{test}.test"), fast, certified, *given)
    assert done.returncode == 0, done.stderr
    assert certified.read_bytes() == plain.read_bytes()
    assert b"answered by the exact model" in done.stderr


def test_another_exact_model_is_refused(tmp_path: Path) -> None:
    fast = converted(tmp_path, "breast_c_rbf")
    done = svmfast("predict", data("breast.test"), fast, "--exact", model("breast_c_rbf_weights"))
    assert done.returncode == 2
    assert b"is not the one that the model was converted from: their hashes differ" in done.stderr


def test_compare_certifies_only_the_model_that_was_converted(tmp_path: Path) -> None:
    fast = converted(tmp_path, "breast_c_rbf", "--order", "1")
    args = ("--data", data("breast.test"), "--json", "--repeats", "1")
    row = json.loads(svmfast("compare", model("breast_c_rbf"), fast, *args).stdout)["models"][1]
    assert 0 < row["certified_percent"] < 100
    assert row["violations"] == 0
    row = json.loads(svmfast("compare", model("breast_c_rbf_weights"), fast, *args).stdout)["models"][1]
    assert row.get("certified_percent") is None


def test_embedding_needs_the_certificate() -> None:
    done = svmfast("approximate", model("breast_c_rbf"), "-o", "-", "--embed-exact", "--certificate", "none")
    assert done.returncode == 2
    assert b"--embed-exact needs a certificate" in done.stderr
