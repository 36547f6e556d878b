"""Output lines against C's printf, value by value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmfast.formats.answers import OutputColumns, lines, pair_names
from svmfast.models.answer import Answer
from svmfast.models.head import Head
from svmfast.models.requirements import Columns

FINITE = st.floats(allow_nan=False, allow_infinity=False)
THREE = Head("c_svc", np.array([3, -1, 2]))


def answer(predicted: list[float], decisions: list[list[float]] | None = None, **parts: Any) -> Answer:
    return Answer(np.array(predicted, dtype=np.float64), lambda: np.array(decisions), **parts)


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=6, unique=True), st.data())
def test_labels(labels: list[int], data: st.DataObject) -> None:
    drawn = data.draw(st.lists(st.sampled_from(labels), max_size=50))
    predicted = answer(drawn)  # type: ignore[arg-type]
    expected = "".join(f"{label:d}\n" for label in drawn).encode()
    assert lines(predicted, labels=labels) == expected
    assert lines(predicted) == expected


@given(st.lists(FINITE, max_size=20))
def test_values_have_17_digits(values: list[float]) -> None:
    text = lines(answer(values))
    assert text == b"".join(b"%.17g\n" % value for value in values)
    assert [float(line) for line in text.split()] == values


def test_probabilities_have_6_digits_and_so_has_their_label() -> None:
    probabilities = np.array([[1 / 3, 2 / 3], [1e-7, 1 - 1e-7]])
    assert lines(answer([1234567.0, -1.0], probabilities=probabilities), labels=[1234567, -1]) == (
        b"1.23457e+06 0.333333 0.666667\n-1 1e-07 1\n"
    )


def test_columns_are_in_the_documented_order() -> None:
    found = answer(
        [1.0, 2.0],
        [[0.1], [-1e-300]],
        probabilities=np.array([[0.5, 0.5], [0.25, 0.75]]),
        inside=np.array([True, False]),
        certified=np.array([False, True]),
        error_bounds=np.array([0.5, 1e-9]),
    )
    tiny = b"%.17g" % -1e-300
    asked = Columns(probability=True, decision_values=True, bound=True)
    assert lines(found, asked, labels=[1, 2]) == (
        b"1 0.5 0.5 0.10000000000000001 inside\n2 0.25 0.75 " + tiny + b" outside\n"
    )
    certified = lines(found, replace(asked, certify=True), class_names={1: "one", 2: "50%"})
    assert certified == (
        b"one 0.5 0.5 0.10000000000000001 inside no 0.500005\n"
        b"50% 0.25 0.75 " + tiny + b" outside yes 1.00001e-09\n"
    )
    assert lines(answer([7.0], inside=np.array([False]))) == b"7 outside\n"
    assert lines(answer([7.0], error_bounds=np.ones(1)), Columns(certify=True)) == b"7 - 1.00001\n"


def test_no_rows_give_no_lines() -> None:
    assert lines(answer([]), labels=[1, 2]) == b""


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
