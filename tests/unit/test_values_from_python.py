"""Values from Python that NumPy would convert to numbers by dropping a part of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from program import model

import svmfast
from svmfast.errors import OptionError
from svmfast.rows import as_rows

MASKED = np.ma.masked_array(np.ones((4, 4)), np.eye(4))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (MASKED, "has masked values; fill them, or leave their rows out"),
        ([*MASKED], "has masked values; fill them, or leave their rows out"),
        (MASKED + 1j, "is an array of complex128; expected real numbers"),
        (np.zeros((4, 4), "M8[D]"), r"is an array of datetime64\[D\]; expected real numbers"),
        (np.zeros((4, 4), "m8[s]"), r"is an array of timedelta64\[s\]; expected real numbers"),
        (np.full((4, 4), None), "holds None, which is not a number"),
        (np.array([[np.timedelta64(1, "D")] * 4] * 4, dtype=object), "holds .*timedelta64.*, which is not"),
    ],
)
def test_no_part_of_a_value_is_dropped(values: Any, message: str) -> None:
    """NumPy would take what is masked, the real part, or a number of days."""
    exact = svmfast.load_model(model("iris_c_linear"))
    with pytest.raises(OptionError, match=f"^the data {message}"):
        svmfast.predict(exact, values)
    with pytest.raises(OptionError, match=f"^the array {message}"):
        as_rows(values)
    for train in (svmfast.train, svmfast.linear):
        with pytest.raises(OptionError, match=f"^`labels` {message}"):
            train(np.eye(4), values[0])
    with pytest.raises(OptionError, match=f"^`labels` {message}"):
        svmfast.compare({"model": exact}, np.eye(4), values[0])


def test_an_integer_beyond_doubles_is_refused() -> None:
    exact = svmfast.load_model(model("iris_c_linear"))
    large = np.full((1, 4), 10**400, dtype=object)
    with pytest.raises(OptionError, match=r"^the data is a ndarray; expected an array of numbers"):
        svmfast.predict(exact, large)
    with pytest.raises(OptionError, match=r"^`labels`: .* too large .*; expected numbers$"):
        svmfast.compare({"model": exact}, np.eye(4), large[0])


def test_labels_are_numbers_or_strings() -> None:
    for labels, kind in ((np.array([object()] * 4), "object"), (np.array([b"a", b"b"] * 2), "bytes_")):
        with pytest.raises(
            OptionError, match=f"^`labels` holds an object of type {kind}; expected numbers or"
        ):
            svmfast.train(np.eye(4), labels)
    with pytest.raises(OptionError, match=r"^no rows to train on$"):
        svmfast.dcpred(np.eye(4)[:0], [], task="svc")
