"""Labels, probabilities and printed lines against LIBSVM itself.

In one file: a head has all three, and the same models serve for them.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import libsvm_twin
import numpy as np
import pytest
from coupling_twin import libsvm_coupling
from hypothesis import given
from hypothesis import strategies as st
from libsvm import svm as libsvm
from numpy.typing import NDArray

from svmfast import _core
from svmfast.cli.main import run
from svmfast.errors import ModelContentError, OptionError, UnsupportedError
from svmfast.formats.answers import OutputColumns, lines
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.formats.model_files import load_model, save_model
from svmfast.kernels import Kernel
from svmfast.models.answer import Answer
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.requirements import Columns
from svmfast.rows import FloatArray, Rows


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
        buffer = (ctypes.c_double * max(p, self.head.n_classes))()
        for row in range(n):
            node = libsvm_twin.nodes(list(enumerate(decisions[row].tolist())))
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


KERNELS = [
    Kernel("linear"),
    Kernel("polynomial", 1e-3, 1.0, 3),
    Kernel("rbf", 1e-4),
    Kernel("sigmoid", 1e-5, 0.1),
]


def unscaled(kernel: Kernel, classes: int, seed: int) -> tuple[KernelExpansion, Rows]:
    """A model with features of several hundreds, and rows; linear and polynomial values are also about 1."""
    rng = np.random.default_rng(seed)
    n, d, pairs = 60, 5, classes * (classes - 1) // 2
    x, z = (rng.normal(size=(m, d)) * 200 + 300 for m in (n * classes, 40))
    size = {"linear": 1e-6, "polynomial": 1e-8}.get(kernel.kind, 1.0)
    coef = np.abs(rng.normal(size=(classes - 1, n * classes))) * size
    for c in range(classes):  # the first class of a pair has the positive ones
        coef[:c, c * n : (c + 1) * n] *= -1
    head = Head(
        "c_svc", np.arange(classes) + 3, -rng.uniform(0.5, 3, size=pairs), rng.normal(size=pairs) * 0.1
    )
    rho = rng.normal(size=pairs) * 0.1
    return KernelExpansion(head, kernel, Rows.from_dense(x), coef, rho, np.full(classes, n)), Rows.from_dense(
        z
    )


def lines_of_libsvm(path: Path, rows: Rows, classes: int) -> list[str]:
    """Return svm-predict's lines, from libsvm-official's svm_predict_probability."""
    model = libsvm.libsvm.svm_load_model(os.fsencode(path))
    estimates = (ctypes.c_double * classes)()
    lines = []
    for vector in libsvm_twin.vectors(rows):
        label = libsvm.libsvm.svm_predict_probability(model, libsvm_twin.nodes(vector), estimates)
        lines.append(" ".join(f"{number:g}" for number in [label, *estimates]))
    return lines


def lines_of_svmfast(path: Path, rows: Rows) -> list[str]:
    data, out = path.with_name("data"), path.with_name("out")
    data.write_text(libsvm_twin.lines(rows))
    assert run(["predict", "-q", "-b", "1", str(data), str(path), str(out)]) == 0
    return out.read_text().splitlines()[1:]


def saved(model: KernelExpansion, path: Path) -> KernelExpansion:
    """Return the model as read from its file, which has eight digits of each feature."""
    save_model(model, path)
    loaded = load_model(path)
    assert isinstance(loaded, KernelExpansion)
    return loaded


@pytest.mark.parametrize("classes", [2, 3, 7, 18])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.kind)
def test_bytes_on_unscaled_data(kernel: Kernel, classes: int, tmp_path: Path) -> None:
    model, rows = unscaled(kernel, classes, classes)
    path = tmp_path / "model"
    save_model(model, path)
    assert lines_of_svmfast(path, rows) == lines_of_libsvm(path, rows, classes)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.kind)
@pytest.mark.parametrize("boundary", [0.5, 0.1234565, 0.9999995, 0.05000005])
def test_two_classes_at_the_edge_of_a_digit(kernel: Kernel, boundary: float, tmp_path: Path) -> None:
    """The sigmoid's offset puts a row's probability where its sixth digit changes, or at 0.5 its label."""
    path, (model, rows) = tmp_path / "model", unscaled(kernel, 2, 1)
    model = saved(model, path)
    ours, theirs = [], []
    for i in range(8):
        row = rows[i : i + 1]
        value = float(libsvm_twin.decision_values(model, row)[0, 0])
        offset = float(np.log(1 / boundary - 1)) + value
        at = replace(model, head=replace(model.head, prob_a=-np.ones(1), prob_b=np.array([offset])))
        save_model(at, path)
        ours += lines_of_svmfast(path, row)
        theirs += lines_of_libsvm(path, row, 2)
    assert ours == theirs


def test_one_class_at_the_marks_of_its_density(tmp_path: Path) -> None:
    """A row whose value is a mark, as LIBSVM's own training rows have them, falls into LIBSVM's bin."""
    rng = np.random.default_rng(4)
    x, z = rng.normal(size=(300, 4)), Rows.from_dense(rng.normal(size=(10, 4)))
    coef, path = rng.uniform(0.1, 1, size=(1, 300)), tmp_path / "model"
    model = KernelExpansion(Head("one_class"), Kernel("rbf", 0.3), Rows.from_dense(x), coef, np.array([20.0]))
    model = saved(model, path)
    marks = np.sort(libsvm_twin.decision_values(model, z)[:, 0])
    save_model(replace(model, head=Head("one_class", density_marks=marks)), path)
    ours = lines_of_svmfast(path, z)
    assert ours == lines_of_libsvm(path, z, 2)
    assert len({line.split()[1] for line in ours}) == 10


@given(
    seed=st.integers(0, 2**31), k=st.integers(2, 9), error=st.floats(1e-15, 1e-6), spread=st.floats(0.05, 4)
)
def test_values_within_their_error_print_the_same(seed: int, k: int, error: float, spread: float) -> None:
    """Rows not in doubt print the same, with the same label, for all values in the intervals."""
    rng = np.random.default_rng(seed)
    pairs = k * (k - 1) // 2
    head = Head("c_svc", np.arange(k), rng.normal(size=pairs) - 2, rng.normal(size=pairs) * 0.1)
    strength = rng.normal(size=(20, k)) * spread
    i, j = np.triu_indices(k, 1)
    decisions = strength[:, i] - strength[:, j] + rng.normal(size=(20, pairs)) * 0.3
    errors = rng.uniform(size=decisions.shape) * error
    doubtful = in_doubt(head, decisions, errors)
    for row in np.flatnonzero(~doubtful):
        wanted = printed(head, decisions[row])
        for _ in range(4):
            moved = decisions[row] + rng.choice([-1.0, 1.0], size=pairs) * errors[row]
            assert printed(head, moved) == wanted


def in_doubt(head: Head, decisions: FloatArray, errors: FloatArray) -> NDArray[np.bool_]:
    """The rows that could print other digits or have another maximum for values within their errors.

    docs/certificate.md proves this from bounds on how each step of the coupling changes an error.
    """
    assert head.prob_a is not None
    assert head.prob_b is not None
    values = np.ascontiguousarray(decisions)
    doubtful = _core.probabilities(values, head.prob_a, head.prob_b, head.n_classes, errors, 1)[1]
    return doubtful.astype(np.bool_)


def printed(head: Head, decisions: FloatArray) -> list[str]:
    """LIBSVM's line for one row, by its operations in plain Python."""
    k, r, pair = head.n_classes, np.zeros((head.n_classes, head.n_classes)), 0
    assert head.prob_a is not None
    assert head.prob_b is not None
    for i in range(k):
        for j in range(i + 1, k):
            t = float(decisions[pair]) * float(head.prob_a[pair]) + float(head.prob_b[pair])
            p = libsvm_twin.exp(-t) / (1 + libsvm_twin.exp(-t)) if t >= 0 else 1 / (1 + libsvm_twin.exp(t))
            r[i, j] = min(max(p, 1e-7), 1 - 1e-7)
            r[j, i] = 1 - r[i, j]
            pair += 1
    p = r[[0, 1], [1, 0]] if k == 2 else libsvm_coupling(r)
    return [f"{number:g}" for number in [int(p.argmax()), *p.tolist()]]


def test_most_rows_are_not_in_doubt() -> None:
    """For few classes and values as accurate as sums of a thousand terms; else the test would be vacuous."""
    rng = np.random.default_rng(3)
    for k, share in ((2, 0.999), (3, 0.99), (6, 0.9)):
        pairs = k * (k - 1) // 2
        head = Head("c_svc", np.arange(k), np.full(pairs, -2.0), np.zeros(pairs))
        strength = rng.normal(size=(2000, k))
        i, j = np.triu_indices(k, 1)
        decisions = strength[:, i] - strength[:, j]
        doubtful = in_doubt(head, decisions, np.full(decisions.shape, 1e-12))
        assert 1 - doubtful.mean() >= share


FINITE = st.floats(allow_nan=False, allow_infinity=False)
THREE = Head("c_svc", np.array([3, -1, 2]))


def answer(predicted: list[float], decisions: list[list[float]] | None = None, **parts: Any) -> Answer:
    return Answer(np.array(predicted, dtype=np.float64), lambda: np.array(decisions), **parts)


@given(st.lists(FINITE, max_size=20))
def test_values_have_17_digits(values: list[float]) -> None:
    text = lines(answer(values))
    assert text == b"".join(b"%.17g\n" % value for value in values)
    assert [float(line) for line in text.split()] == values


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
