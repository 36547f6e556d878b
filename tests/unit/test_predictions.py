"""Output lines against C's printf, value by value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmfast.formats.answers import OutputColumns, lines, pair_names
from svmfast.models.head import Head
from svmfast.models.requirements import Columns

FINITE = st.floats(allow_nan=False, allow_infinity=False)
THREE = Head("c_svc", np.array([3, -1, 2]))


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=6, unique=True), st.data())
def test_labels(labels: list[int], data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.sampled_from(labels), max_size=50))
    predicted = np.array(drawn, dtype=np.float64)
    expected = "".join(f"{label:d}\n" for label in drawn).encode()
    assert lines(predicted, labels=labels) == expected
    assert lines(predicted) == expected


@given(st.lists(FINITE, max_size=20))
def test_values_have_17_digits(values: list[float]) -> None:
    text = lines(np.array(values))
    assert text == b"".join(b"%.17g\n" % value for value in values)
    assert [float(line) for line in text.split()] == values


def test_probabilities_have_6_digits_and_so_has_their_label() -> None:
    predicted = np.array([1234567.0, -1.0])
    probabilities = np.array([[1 / 3, 2 / 3], [1e-7, 1 - 1e-7]])
    assert lines(predicted, labels=[1234567, -1], probabilities=probabilities) == (
        b"1.23457e+06 0.333333 0.666667\n-1 1e-07 1\n"
    )


def test_columns_are_in_the_documented_order() -> None:
    text = lines(
        np.array([1.0, 2.0]),
        labels=[1, 2],
        probabilities=np.array([[0.5, 0.5], [0.25, 0.75]]),
        decisions=np.array([[0.1], [-1e-300]]),
        inside=np.array([True, False]),
    )
    assert text == (
        b"1 0.5 0.5 0.10000000000000001 inside\n2 0.25 0.75 -1.0000000000000000e-300 outside\n".replace(
            b"-1.0000000000000000e-300", b"%.17g" % -1e-300
        )
    )
    assert lines(np.array([7.0]), inside=np.array([False])) == b"7 outside\n"


def test_no_rows_give_no_lines() -> None:
    assert lines(np.zeros(0), labels=[1, 2]) == b""


@pytest.mark.parametrize(
    ("head", "flags", "expected"),
    [
        (THREE, "", b""),
        (THREE, "p", b"labels 3 -1 2\n"),
        (THREE, "d", b"label 3/-1 3/2 -1/2\n"),
        (THREE, "pdb", b"labels 3 -1 2 3/-1 3/2 -1/2 bound\n"),
        (THREE, "b", b"label bound\n"),
        (Head("one_class"), "p", b"label normal outlier\n"),
        (Head("one_class"), "d", b"label decision\n"),
        (Head("nu_svr"), "p", b""),
        (Head("nu_svr"), "pd", b"label decision\n"),
        (Head("c_svc", np.array([4])), "d", b"label\n"),
        (Head("c_svc", np.array([3, -1, 2]), one_vs_rest=True), "d", b"label 3/rest -1/rest 2/rest\n"),
    ],
)
def test_header(head: Head, flags: str, expected: bytes) -> None:
    asked = {"probability": "p" in flags, "decision_values": "d" in flags, "bound": "b" in flags}
    assert OutputColumns(head, None, columns=Columns(**asked)).header(None) == expected


def test_pairs_are_in_libsvms_order() -> None:
    assert pair_names(Head("c_svc", np.array([1, 2, 3, 4]))) == ["1/2", "1/3", "1/4", "2/3", "2/4", "3/4"]
