"""What only JSON exports have; test_export_kinds compares their answers with the model's."""

from __future__ import annotations

import json

import numpy as np
from program import FIXTURES, ROOT, model

import svmfast

SCHEMA = json.loads((ROOT / "docs" / "export.schema.json").read_text())


def test_a_certificate_probabilities_and_names_are_kept() -> None:
    fast = svmfast.load_model(FIXTURES / "frozen" / "1.0" / "polynomial_three_classes.model")
    document = json.loads(svmfast.export(fast, "json", feature_names=list("abcd")).data)
    assert document["feature_names"] == list("abcd")
    assert np.array_equal(document["values"]["certificate"]["rest"], fast.bound_rest)  # type: ignore[attr-defined]
    known = json.loads(svmfast.export(model("iris_c_rbf_prob"), "json").data)["answer"]
    exact = svmfast.load_model(model("iris_c_rbf_prob"))
    assert known["prob_a"] == exact.head.prob_a.tolist()  # type: ignore[union-attr]


def test_every_key_is_described() -> None:
    page = (ROOT / "docs" / "export.md").read_text()
    for key, rule in SCHEMA["properties"].items():
        assert rule["description"].endswith("."), key
        assert f"`{key}`" in page, key
