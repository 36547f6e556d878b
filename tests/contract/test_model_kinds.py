"""The contract of every kind of model: register a kind and give an example here, and it is tested."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from approximations import approximate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_routed import routed

from svmfast import errors
from svmfast.formats.detect import load_model, model_bytes, open_model
from svmfast.formats.libsvm_model import read_libsvm_model
from svmfast.models.base import KINDS, Model, model_class
from svmfast.models.cascade import CascadeModel
from svmfast.models.head import Head
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import Scaling, TargetRange
from svmfast.rows import Rows

MODELS = Path(__file__).parents[2] / "fixtures" / "models"


def polynomial(name: str, order: int) -> Model:
    return approximate(read_libsvm_model(MODELS / f"{name}.model"), order=order, provenance={"seed": "3"})[0]


def cascade(fast: str, exact: str) -> Model:
    return CascadeModel(EXAMPLES[fast](), read_libsvm_model(MODELS / f"{exact}.model"), 0.25)


EXAMPLES: dict[str, Callable[[], Model]] = {
    "libsvm": lambda: load_model(MODELS / "iris_c_rbf_prob.model"),
    "libsvm one-class": lambda: load_model(MODELS / "normal_one_rbf_prob.model"),
    "libsvm regression": lambda: load_model(MODELS / "diabetes_eps_rbf_prob.model"),
    "libsvm one label": lambda: load_model(MODELS / "single_class.model"),
    "polynomial": lambda: polynomial("wine_c_rbf_prob", 2),
    "polynomial order 3": lambda: polynomial("iris_c_rbf_prob", 3),
    "polynomial exact": lambda: polynomial("breast_c_poly2", 2),
    "routed": lambda: routed(),
    "routed poly": lambda: routed(pseudo="poly"),
    "routed triangle": lambda: routed(pseudo="triangle"),
    "routed rule": lambda: routed(head=Head("c_svc", np.array([3, 1, 2]), one_vs_rest=True)),
}
EXAMPLES |= {
    "cascade": lambda: cascade("libsvm", "iris_c_rbf_prob"),
    "cascade order 3": lambda: cascade("polynomial order 3", "iris_c_rbf_prob"),
}
RANGES = Scaling.from_ranges([-1, 0, 2], [3, 1, 2], 0, 1, target=TargetRange(-1, 1, 0, 5))
AFFINE = Scaling(
    np.array([0.5, 0, -2]), np.array([2, 0, 0.25]), (-3, 2.5), ("a b", "\u00e9", ""), ("x", "y", "z")
)
EXAMPLES |= {
    "scaled libsvm": lambda: ScaledModel(EXAMPLES["libsvm"](), RANGES, {"method": "compress"}),
    "scaled polynomial": lambda: ScaledModel(EXAMPLES["polynomial"](), AFFINE),
    "scaled cascade": lambda: ScaledModel(EXAMPLES["cascade"](), RANGES),
}
NAMES = sorted(EXAMPLES)


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {name: make() for name, make in EXAMPLES.items()}


def rows_for(model: Model, n: int = 37) -> Rows:
    rng = np.random.default_rng(8)
    width = model.n_features + 3  # some columns are new to the model
    return Rows.from_dense(np.where(rng.random((n, width)) < 0.6, rng.normal(0, 0.5, (n, width)), 0))


def test_every_kind_has_an_example(models: dict[str, Model]) -> None:
    assert {model.kind for model in models.values()} == {"libsvm", *KINDS}
    assert all(model_class(kind).kind == kind for kind in KINDS)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_contains_all_of_a_model(name: str, models: dict[str, Model]) -> None:
    text = model_bytes(models[name])
    loaded = open_model(text)
    assert type(loaded.model) is type(models[name])
    assert model_bytes(loaded.model) == text
    rows = rows_for(loaded.model)
    again = open_model(text).model
    np.testing.assert_array_equal(loaded.model.decision_values(rows), again.decision_values(rows))


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_depends_on_the_row_alone_and_not_on_threads(name: str, models: dict[str, Model]) -> None:
    model = models[name]
    rows = rows_for(model)
    values = model.decision_values(rows)
    assert values.shape == (len(rows), model.head.n_functions)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, model.decision_values(rows, threads=3))
    alone = [model.decision_values(rows[i : i + 1]) for i in range(len(rows))]
    np.testing.assert_array_equal(values, np.concatenate(alone))
    assert model.decision_values(rows[:0]).shape == (0, model.head.n_functions)
    assert model.head.predict(values).shape == (len(rows),)


PIECES = [b"", b" ", b"\n", b"0", b"1", b"-", b"7", b"e9", b"99999999", b"\0", b"\xff", b"nan"]


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("libsvm")])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_files_are_refused_or_harmless(
    name: str, models: dict[str, Model], data: st.DataObject
) -> None:
    text = bytearray(model_bytes(models[name]))
    places = [i for i, c in enumerate(text) if c in b" \n"]
    for _ in range(data.draw(st.integers(1, 2))):
        at = data.draw(st.sampled_from(places)) + data.draw(st.integers(0, 2))
        text[at : at + data.draw(st.sampled_from([0, 0, 1, 2]))] = data.draw(st.sampled_from(PIECES))
    try:
        model = load_model(bytes(text))
    except errors.ModelFormatError:
        return
    assert model.n_features < 2**31
    if model.n_features < 10**6:
        assert model.decision_values(rows_for(model, 2)).shape == (2, model.head.n_functions)
