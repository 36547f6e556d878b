"""Every kind of model is exported to every language with its own answers, or refused in one clear line."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from c_exports import WARNINGS, compiled, needs_compiler
from cell_models import exact_model, in_cells
from export_forms import FORMS, raw_rows
from model_examples import EXAMPLES, NOT_EXPORTED, rows_for
from nightly import nightly_but

import svmfast
from svmfast.errors import UnsupportedError
from svmfast.exports.computation import computation_of
from svmfast.rows import as_rows

onnx = pytest.importorskip("onnx", reason="no onnx")


def expansion(order, cells, form):
    """Three classes in five columns, one of which no vector has."""
    rng = np.random.default_rng(cells)
    exact = exact_model(cells, 3, 4, 4, 0.3)
    orders = np.arange(cells * 3).reshape(cells, 3) % 5 if order == "mixed" else np.full((cells, 3), order)
    made = in_cells(exact, rng.normal(size=(cells, 4)), orders, "zero" if form == "about zero" else "centre")
    made = replace(made, n_features=5, features=np.array([0, 1, 3, 4]))
    return replace(made, gamma=0.0, bound_degrees=None, bound_rest=None) if form == "no factor" else made


CASES = EXAMPLES | {
    f"order {order}, {cells} cells, {form}": partial(expansion, order, cells, form)
    for order in (0, 1, 2, 3, 4, "mixed")
    for cells in (1, 3)
    for form in ("about zero", "centered", "no factor")
}
FILES = {f"file {name}": path for name, path in FORMS.items()}


@cache
def made(name):
    return svmfast.load_model(FILES[name]) if name in FILES else CASES[name]()


def tolerance(name, precision, computation):
    """The largest difference of values, relative to the largest of them."""
    if computation.scaling is not None and computation.scaling.digits is not None:
        return 1e-4  # no language rounds to svm-scale's digits
    if precision == "float":
        return 2e-3 if name in FILES or "triangle" in name else 3e-5
    # If a row is a landmark, the engine takes roots of squared distances that cancel.
    return 1e-8 if "triangle" in name else 1e-12


def values_of_c(data, table, model, folder):
    file = compiled(data, folder, "-O0", *WARNINGS, regression=model.head.is_regression)
    return [file.decisions(table), file.answers(table)]


def values_of_onnx(data, table, model, folder):
    """In batches of any size."""
    runtime = pytest.importorskip("onnxruntime", reason="no onnxruntime")
    onnx.checker.check_model(onnx.load_from_string(data.data), full_check=True)
    session = runtime.InferenceSession(data.data, providers=["CPUExecutionProvider"])
    regression, names = model.head.is_regression, computation_of(model).class_names
    outputs = ["variable"] if regression else ["label", "scores"]
    assert [one.name for one in session.get_outputs()] == outputs
    parts = [session.run(outputs[::-1], {"X": part}) for part in np.split(table, [0, 1, 8])]
    found = [np.concatenate(column) for column in zip(*parts, strict=True)]
    if regression:
        assert found[0].shape == (len(table), 1)
        return [found[0], found[0][:, 0]]
    if names is not None:
        number = dict(zip(names, model.head.labels.tolist(), strict=True))
        found[1] = np.array([number[label] for label in found[1]])
    return found


READERS = {"c": values_of_c, "onnx": values_of_onnx}
ALL = [
    (language, precision, name)
    for language in READERS
    for precision in ("double", "float")
    # tests/unit/test_export_c.py compiles the files.
    for name in (CASES if language == "c" else CASES | FILES)
]
#: Every kind, and truncated expansions of mixed orders; in single precision a few.
ALWAYS = [
    one for one in ALL if (one[1] == "double" and one[2] in EXAMPLES) or one[2].startswith("order mixed, 3")
]


@needs_compiler
@pytest.mark.parametrize(("language", "precision", "name"), nightly_but(ALWAYS, ALL))
def test_every_language_has_the_models_answers_or_a_reason(name, language, precision, tmp_path):
    model = made(name)
    if name in NOT_EXPORTED:
        with pytest.raises(UnsupportedError, match=NOT_EXPORTED[name]):
            svmfast.export(model, language)
        return
    export = svmfast.export(model, language, precision=precision)
    assert export.report.bytes == len(export.data)
    assert export.data == svmfast.export(model, language, precision=precision).data
    computation = computation_of(model)
    width = computation.n_features
    table = np.vstack([rows_for(model, 12).to_dense(model.n_features + 3)[:, :width], raw_rows(model)[:15]])
    expected = model.decision_values(as_rows(table))
    values, answers = READERS[language](
        export, table.astype(np.float32 if precision == "float" else np.float64), model, tmp_path
    )
    largest = max(1.0, float(np.abs(expected).max(initial=0.0)))
    apart = tolerance(name, precision, computation) * largest
    assert np.abs(values - expected).max(initial=0.0) < apart
    if model.head.is_regression:
        assert np.abs(answers - expected[:, 0]).max() < apart
    else:
        assert np.array_equal(answers, model.head.predict(values.astype(np.float64)))
        if precision == "double":
            assert np.array_equal(answers, model.head.predict(expected))
