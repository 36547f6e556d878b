"""The contract of every kind of model. Register a kind, give examples in tests/kinds: it is tested."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_examples import EXAMPLES, NAMES, rows_for

from svmfast import errors
from svmfast.formats.model_files import load_model, model_bytes, open_model
from svmfast.models.base import KINDS, Model, model_class


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {name: make() for name, make in EXAMPLES.items()}


def test_every_kind_has_an_example(models: dict[str, Model]) -> None:
    assert {model.kind for model in models.values()} == {"libsvm", *KINDS}
    assert all(model_class(kind).kind == kind for kind in KINDS)


@pytest.mark.parametrize("name", NAMES)
def test_a_repr_is_one_informative_line(name: str, models: dict[str, Model]) -> None:
    model = models[name]
    for one in (model, model.head, getattr(model, "scaling", model)):
        text = repr(one)
        assert text.isprintable(), text
        assert len(text) < 300, text
        assert "array" not in text
        assert "object at 0x" not in text
    text = repr(model)
    assert text.startswith(f"<{model.kind} model: {model.head.svm_type}")
    assert f", {model.n_features} feature" in text
    if model.head.labels is not None:
        assert f", classes: {len(model.head.labels)}, " in text


def test_a_repr_says_what_its_kind_has(models: dict[str, Model]) -> None:
    assert repr(models["libsvm"]) == "<libsvm model: c_svc, classes: 3, 4 features>"
    assert repr(models["scaled libsvm"].scaling) == "<scaling of 3 columns>"
    assert repr(rows_for(models["libsvm"])).startswith("<37 rows of 7 columns, ")


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
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
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
