"""The JSON export matches its schema, and a reader that knows only the page gets the model's answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from json_reader import answer
from json_schema import faults
from program import FIXTURES, ROOT, model

import svmfast
from svmfast.exports.accuracy import own_rows
from svmfast.exports.computation import computation_of

SCHEMA = json.loads((ROOT / "docs" / "export.schema.json").read_text())
FORMS: dict[str, Path] = {
    "three classes": model("iris_c_rbf_prob"),
    "linear": model("breast_c_linear"),
    "polynomial kernel": model("iris_c_poly3"),
    "sigmoid": model("iris_c_sigmoid"),
    "one class": model("normal_one_rbf_prob"),
    "regression": model("diabetes_eps_rbf"),
    "one label": model("single_class"),
    **{path.stem: path for path in sorted((FIXTURES / "frozen" / "1.0").glob("[!c]*.model"))},  # no cascades
}


@pytest.mark.parametrize("name", FORMS)
def test_a_reader_written_from_the_page_gets_the_models_answers(name: str) -> None:
    loaded = svmfast.load_model(FORMS[name])
    document = json.loads(svmfast.export(loaded, "json").data)
    assert faults(SCHEMA, document) == []
    rows, _ = own_rows(loaded, computation_of(loaded))
    rows = rows[:15]
    values = loaded.decision_values(rows)
    expected = loaded.head.predict(values)
    scale = max(1.0, float(np.abs(values).max(initial=0)))
    least = 1e-8 if "triangle" in name else 1e-4 if "scaled" in name else 1e-11
    for x, row, value in zip(rows.to_dense(document["features"]).tolist(), values, expected, strict=True):
        found, answered = answer(document, x)
        assert np.abs(np.array(found) - row).max(initial=0) < least * scale
        if loaded.head.is_regression:
            assert abs(answered - value) < least * scale
        else:
            assert answered == value


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
