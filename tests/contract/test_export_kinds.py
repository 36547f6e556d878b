"""Every kind of model is exported to every language with its own answers, or refused in one clear line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from c_exports import WARNINGS, compiled, needs_compiler
from cell_models import exact_model, in_cells
from json_reader import answer
from model_examples import EXAMPLES, rows_for

import svmfast
from svmfast.errors import UnsupportedError
from svmfast.exports.computation import DESCRIBED, computation_of
from svmfast.exports.languages import LANGUAGES
from svmfast.models.base import KINDS, Model
from svmfast.rows import as_rows

#: Kinds and examples that have no such form, and the message.
REASONS = {
    "cascade": "^a cascade consists of two models and a rule; export its fast and its exact model",
    "scaled polynomial": "^the scaling clips 3 columns and does not change the model's other columns",
}


def test_every_kind_is_described() -> None:
    assert set(DESCRIBED) == {"libsvm", *KINDS}, "DESCRIBED in svmfast/exports/computation.py"


def expansion(order: int | None, cells: int, about: str, factor: bool) -> Model:
    """Three classes in five columns, one of which no vector has; without an order, one of each."""
    rng = np.random.default_rng(cells)
    exact = exact_model(cells, 3, 4, 4, 0.3)
    orders = np.full((cells, 3), order) if order is not None else np.arange(cells * 3).reshape(cells, 3) % 5
    made = in_cells(exact, rng.normal(size=(cells, 4)), orders, about)
    made = replace(made, n_features=5, features=np.array([0, 1, 3, 4]))
    return made if factor else replace(made, gamma=0.0, bound_degrees=None, bound_rest=None)


CASES: dict[str, Callable[[], Model]] = EXAMPLES | {
    f"order {'mixed' if order is None else order}, {cells} cells, {form}": lambda o=order, c=cells, f=form: (
        expansion(o, c, "zero" if f == "about zero" else "centre", f != "no factor")
    )
    for order in (0, 1, 2, 3, 4, None)
    for cells in (1, 3)
    for form in ("about zero", "centered", "no factor")
}
made = cache(lambda name: CASES[name]())
#: Largest difference of values, relative to the largest of them. No language rounds to svm-scale's digits.
TOLERANCE = {"double": 1e-12, "float": 3e-5}
WITH_DIGITS = 1e-4


def values_of_c(data: svmfast.Export, table: np.ndarray, model: Model, folder: Path) -> list[np.ndarray]:
    file = compiled(data, folder, "-O0", *WARNINGS, regression=model.head.is_regression)
    return [file.decisions(table) if file.functions else np.zeros((len(table), 0)), file.answers(table)]


def values_of_json(data: svmfast.Export, table: np.ndarray, model: Model, folder: Path) -> list[np.ndarray]:
    document = json.loads(data.data)
    found = [answer(document, row) for row in table.tolist()]
    return [np.array([values for values, _ in found]), np.array([label for _, label in found])]


def values_of_onnx(data: svmfast.Export, table: np.ndarray, model: Model, folder: Path) -> list[np.ndarray]:
    runtime = pytest.importorskip("onnxruntime", reason="no onnxruntime")
    session = runtime.InferenceSession(data.data, providers=["CPUExecutionProvider"])
    if model.head.is_regression:
        [values] = session.run(["variable"], {"X": table})
        return [values, values[:, 0]]
    return list(session.run(["scores", "label"], {"X": table}))


READERS = {"c": values_of_c, "json": values_of_json, "onnx": values_of_onnx}


@needs_compiler
@pytest.mark.parametrize(
    ("language", "precision"),
    [
        (name, precision)
        for name, one in LANGUAGES.items()
        if one.computes
        for precision in (("double", "float") if "precision" in one.abilities else ("double",))
    ],
)
@pytest.mark.parametrize("name", CASES)
def test_every_language_has_the_models_answers_or_a_reason(
    name: str, language: str, precision: str, tmp_path: Path
) -> None:
    model = made(name)
    reason = REASONS.get(name, REASONS.get(model.unscaled.kind))
    if reason is not None:
        with pytest.raises(UnsupportedError, match=reason):
            svmfast.export(model, language)
        return
    given = {"precision": precision} if "precision" in LANGUAGES[language].abilities else {}
    export = svmfast.export(model, language, **given)  # type: ignore[arg-type]
    assert export.report.bytes == len(export.data)
    assert export.data == svmfast.export(model, language, **given).data  # type: ignore[arg-type]
    computation = computation_of(model)
    table = rows_for(model, 12).to_dense(model.n_features + 3)[:, : computation.n_features]
    expected = model.decision_values(as_rows(table))
    table = table.astype(np.float32 if precision == "float" else np.float64)
    values, answers = READERS[language](export, table, model, tmp_path)
    rounds = computation.scaling is not None and computation.scaling.digits is not None
    largest = max(1.0, float(np.abs(expected).max(initial=0.0)))
    tolerance = (WITH_DIGITS if rounds else TOLERANCE[precision]) * largest
    assert np.abs(values - expected).max(initial=0.0) < tolerance
    if model.head.is_regression:
        assert np.abs(answers - expected[:, 0]).max() < tolerance
    else:
        assert np.array_equal(answers, model.head.predict(values.astype(np.float64)))
