"""Labels and probabilities against LIBSVM itself, through a model whose decision values are its input.

With a linear kernel and one support vector e_p for each pair p, LIBSVM's decision values for a row are the
row, so any decision values, ties and zeros included, can be put to svm_predict_values and
svm_predict_probability.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libsvm import svm as libsvm
from numpy.typing import NDArray

from svmfast.errors import ModelContentError, OptionError, UnsupportedError
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.kernels import Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows

FloatArray = NDArray[np.float64]


def transparent(head: Head) -> KernelExpansion:
    """Return the model whose decision values are the row itself."""
    k, p = head.n_classes, head.n_functions
    coef = np.zeros((max(k - 1, 1), p))
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    for number, (_, j) in enumerate(pairs):
        coef[j - 1, number] = 1
    counts = np.array([k - 1 - i for i in range(k)]) if head.is_classifier else None
    return KernelExpansion(head, Kernel("linear"), Rows.from_dense(np.eye(p)), coef, np.zeros(p), counts)


class Oracle:
    """LIBSVM's own answers for given decision values."""

    def __init__(self, head: Head, folder: Path) -> None:
        path = folder / "transparent.model"
        path.write_bytes(libsvm_model_bytes(transparent(head)))
        self.model: Any = libsvm.libsvm.svm_load_model(str(path).encode())
        assert self.model, "LIBSVM refuses the model"
        self.head = head

    def __call__(self, decisions: FloatArray, probability: bool) -> tuple[FloatArray, FloatArray]:
        n, p = decisions.shape
        answers, estimates = np.empty(n), np.full((n, self.head.n_classes), np.nan)
        node = (libsvm.svm_node * (p + 1))()
        buffer = (ctypes.c_double * max(p, self.head.n_classes))()
        for row in range(n):
            for column in range(p):
                node[column].index, node[column].value = column + 1, decisions[row, column]
            node[p].index = -1
            if probability:
                answers[row] = libsvm.libsvm.svm_predict_probability(self.model, node, buffer)
                estimates[row] = buffer[: self.head.n_classes]
            else:
                answers[row] = libsvm.libsvm.svm_predict_values(self.model, node, buffer)
        return answers, estimates


def classifier(rng: np.random.Generator, k: int, svm_type: str = "c_svc") -> Head:
    pairs = k * (k - 1) // 2
    labels = rng.permutation(np.arange(-k, k))[:k].astype(np.int64)
    return Head(svm_type, labels, rng.normal(-2, 1.5, pairs), rng.normal(0, 0.5, pairs))


def decisions_for(rng: np.random.Generator, n: int, p: int) -> FloatArray:
    """Return decision values with many zeros, ties and extremes among ordinary ones."""
    values = rng.normal(0, 1, (n, p)) * rng.choice([0.01, 1, 30], (n, 1))
    special = rng.choice([0.0, -0.0, 1.0, -1.0, 1e-300, -1e-300, 1e6, -1e6], (n, p))
    return np.where(rng.random((n, p)) < rng.choice([0.0, 0.3, 1.0], (n, 1)), special, values)


@pytest.mark.parametrize("svm_type", ["c_svc", "nu_svc"])
@pytest.mark.parametrize("k", [2, 3, 4, 7, 12])
def test_classes_and_probabilities_are_libsvms(svm_type: str, k: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(k)
    head = classifier(rng, k, svm_type)
    oracle = Oracle(head, tmp_path)
    decisions = decisions_for(rng, 400, head.n_functions)
    np.testing.assert_array_equal(head.predict(decisions), oracle(decisions, False)[0])
    answers, estimates = oracle(decisions, True)
    ours = head.predict_with_probabilities(decisions)
    # The sigmoid's exp may differ by an ulp between mathematical libraries; the rest is the same arithmetic.
    np.testing.assert_allclose(ours[1], estimates, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(ours[0], answers)
    np.testing.assert_array_equal(ours[1], head.probabilities(decisions))


def test_the_most_probable_label_need_not_have_the_most_votes(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    head = Head("c_svc", np.array([3, 1, 2]), np.array([-1.0, 2.0, -0.1]), np.array([1.0, -2.0, 0.3]))
    decisions = rng.normal(0, 1, (200, 3))
    voted, probable = head.predict(decisions), head.predict_with_probabilities(decisions)[0]
    assert (voted != probable).any()
    np.testing.assert_array_equal(probable, Oracle(head, tmp_path)(decisions, True)[0])


def test_the_coupling_that_never_settles_stops_where_libsvm_stops(tmp_path: Path) -> None:
    # Contradictory and nearly certain pairs: thousands of iterations from convergence.
    rng = np.random.default_rng(2)
    head = Head("c_svc", np.arange(5), np.full(10, -40.0), np.zeros(10))
    decisions = rng.choice([-1.0, 1.0], (300, 10))
    _, estimates = Oracle(head, tmp_path)(decisions, True)
    np.testing.assert_allclose(head.probabilities(decisions), estimates, rtol=0, atol=1e-12)


def test_more_than_a_hundred_classes_get_more_than_a_hundred_iterations(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    head = Head("c_svc", np.arange(104), np.full(5356, -20.0), np.zeros(5356))
    decisions = rng.choice([-1.0, 1.0], (3, 5356))
    answers, estimates = Oracle(head, tmp_path)(decisions, True)
    ours = head.predict_with_probabilities(decisions)
    np.testing.assert_allclose(ours[1], estimates, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(ours[0], answers)
    np.testing.assert_array_equal(head.predict(decisions), Oracle(head, tmp_path)(decisions, False)[0])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(3, 9), st.integers(1, 60))
def test_a_row_does_not_depend_on_its_neighbours(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    head = classifier(rng, k)
    decisions = decisions_for(rng, n, head.n_functions)
    together = head.predict_with_probabilities(decisions)
    alone = [head.predict_with_probabilities(decisions[i : i + 1]) for i in range(n)]
    np.testing.assert_array_equal(together[0], np.concatenate([a for a, _ in alone]))
    np.testing.assert_array_equal(together[1], np.concatenate([p for _, p in alone]))
    np.testing.assert_array_equal(together[1], head.probabilities(np.asfortranarray(decisions)))
    np.testing.assert_array_equal(head.predict(decisions), head.predict(np.asfortranarray(decisions)))


def test_one_class_density_is_libsvms(tmp_path: Path) -> None:
    marks = np.array([-2.0, -1.5, -1.0, -0.25, 0.0, 0.5, 0.5, 1.0, 2.0, 3.0])
    head = Head("one_class", density_marks=marks)
    steps = np.concatenate(
        [marks, np.nextafter(marks, -9), np.nextafter(marks, 9), [0.0, -0.0, 5e-324, 99, -99]]
    )
    decisions = steps[:, None]
    oracle = Oracle(head, tmp_path)
    answers, estimates = oracle(decisions, True)
    ours = head.predict_with_probabilities(decisions)
    np.testing.assert_array_equal(ours[0], answers)
    np.testing.assert_array_equal(ours[1], estimates)
    np.testing.assert_array_equal(head.predict(decisions), oracle(decisions, False)[0])


def test_regression_answers_the_value() -> None:
    head = Head("epsilon_svr", prob_a=np.array([0.7]))
    decisions = np.array([[1.5], [-2.0]])
    answers = head.predict(decisions)
    np.testing.assert_array_equal(answers, [1.5, -2.0])
    answers[0] = 9
    assert decisions[0, 0] == 1.5
    assert head.has_probability
    assert head.n_classes == 2
    with pytest.raises(
        UnsupportedError, match="does not support probability estimates; train it with `probability`"
    ):
        head.probabilities(decisions)


def test_nan_is_a_vote_for_the_second_class(tmp_path: Path) -> None:
    nan = np.array([[np.nan]])
    for head in (Head("c_svc", np.array([4, 2])), Head("one_class")):
        np.testing.assert_array_equal(head.predict(nan), Oracle(head, tmp_path)(nan, False)[0])
    head = Head("c_svc", np.array([4, 2]), np.array([-1.0]), np.array([0.5]))
    answers, estimates = Oracle(head, tmp_path)(nan, True)
    np.testing.assert_array_equal(head.predict_with_probabilities(nan)[1], estimates)
    np.testing.assert_array_equal(head.predict_with_probabilities(nan)[0], answers)


def test_one_label_is_always_the_answer(tmp_path: Path) -> None:
    head = Head("c_svc", np.array([7]), np.zeros(0), np.zeros(0))
    decisions = np.zeros((3, 0))
    np.testing.assert_array_equal(head.predict(decisions), [7, 7, 7])
    answers, estimates = Oracle(head, tmp_path)(decisions, True)
    np.testing.assert_array_equal(head.predict_with_probabilities(decisions)[0], answers)
    np.testing.assert_array_equal(head.predict_with_probabilities(decisions)[1], estimates)


def test_no_rows() -> None:
    head = classifier(np.random.default_rng(0), 4)
    answers, estimates = head.predict_with_probabilities(np.zeros((0, 6)))
    assert answers.shape == (0,)
    assert estimates.shape == (0, 4)
    assert head.predict(np.zeros((0, 6))).shape == (0,)


def test_models_without_probabilities_say_so() -> None:
    for head in (Head("c_svc", np.array([1, 2])), Head("one_class")):
        assert not head.has_probability
        with pytest.raises(UnsupportedError):
            head.probabilities(np.zeros((1, 1)))
    assert not Head("nu_svr").has_probability


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Head("svc"), "svm_type: unknown svm_type ('svc'); expected c_svc or nu_svc or one_class or "
         "epsilon_svr or nu_svr"),
        (lambda: Head("c_svc"), "label: a classifier without labels; expected one label for each class"),
        (lambda: Head("c_svc", np.array([1, 1])), "label: the same label twice; expected labels that differ"),
        (lambda: Head("nu_svr", np.array([1])), "label: labels in a nu_svr model; expected none"),
        (lambda: Head("nu_svr", prob_a=np.zeros(2)),
         "probA: 2 values; expected 1, one for each decision function"),
        (lambda: Head("one_class", density_marks=np.zeros(3)),
         "prob_density_marks: 3 values; expected exactly 10"),
    ],
)  # fmt: skip
def test_a_head_that_contradicts_itself_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ModelContentError) as caught:
        make()
    assert str(caught.value) == message


def test_decision_values_of_the_wrong_width_are_refused() -> None:
    with pytest.raises(OptionError, match=r"decision values of shape \(2, 3\); expected \(n, 1\)"):
        Head("nu_svr").predict(np.zeros((2, 3)))


@pytest.mark.parametrize("k", [3, 7, 64])
def test_votes_are_the_same_for_any_number_of_classes(k: int) -> None:
    rng = np.random.default_rng(k)
    decisions = rng.integers(-1, 2, (50, k * (k - 1) // 2)).astype(float)
    decisions[0, 0] = np.nan
    votes = np.zeros((50, k), dtype=int)
    for row, values in enumerate(decisions):
        pairs = ((i, j) for i in range(k) for j in range(i + 1, k))
        for (i, j), value in zip(pairs, values, strict=True):
            votes[row, i if value > 0 else j] += 1
    head = Head("c_svc", np.arange(k)[::-1].copy())
    expected = (k - 1 - votes.argmax(axis=1)).astype(float)
    assert head.predict(decisions).tolist() == expected.tolist()
