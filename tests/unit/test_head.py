"""Labels, probabilities and printed lines against LIBSVM itself."""

import os
import tempfile
from dataclasses import replace

import libsvm_twin
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libsvm_twin import libsvms

from svmfast import _core
from svmfast.cli.main import run
from svmfast.errors import OptionError, UnsupportedError
from svmfast.formats.answers import OutputColumns, lines
from svmfast.formats.libsvm_model import libsvm_model_bytes
from svmfast.formats.model_files import load_model, model_bytes, save_model
from svmfast.formats.svmlight import write_svmlight
from svmfast.kernels import Kernel
from svmfast.models.answer import Answer
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.requirements import Columns
from svmfast.rows import Rows


def transparent(head):
    """Return the model whose decision values are the row itself."""
    k, p = head.n_classes, head.n_functions
    coef = np.zeros((max(k - 1, 1), p))
    for number, (_, j) in enumerate((i, j) for i in range(k) for j in range(i + 1, k)):
        coef[j - 1, number] = 1
    counts = np.array([k - 1 - i for i in range(k)]) if head.is_classifier else None
    return KernelExpansion(head, Kernel("linear"), Rows.from_dense(np.eye(p)), coef, np.zeros(p), counts)


def classifier(rng, k):
    pairs = k * (k - 1) // 2
    labels = rng.permutation(np.arange(-k, k))[:k].astype(np.int64)
    kind = "nu_svc" if k == 4 else "c_svc"
    return Head(kind, labels, rng.normal(-2, 1.5, pairs), rng.normal(0, 0.5, pairs))


def decisions_for(rng, n, p):
    values = rng.normal(0, 1, (n, p)) * rng.choice([0.01, 1, 30], (n, 1))
    special = rng.choice([0.0, -0.0, 1.0, -1.0, 1e-300, -1e-300, 1e6, -1e6], (n, p))
    return np.where(rng.random((n, p)) < rng.choice([0.0, 0.3, 1.0], (n, 1)), special, values)


def certain(k, a, n):
    """Contradictory and nearly certain pairs, whose coupling is far from convergence when LIBSVM stops."""
    pairs = k * (k - 1) // 2
    decisions = np.random.default_rng(2).choice([-1.0, 1.0], (n, pairs))
    return Head("c_svc", np.arange(k), np.full(pairs, a), np.zeros(pairs)), decisions


MARKS = np.array([-2.0, -1.5, -1.0, -0.25, 0.0, 0.5, 0.5, 1.0, 2.0, 3.0])
BESIDE = [*MARKS, *np.nextafter(MARKS, -9), *np.nextafter(MARKS, 9), -0.0, 5e-324, 99, -99]
TWO = Head("c_svc", np.array([4, 2]))
CASES = {
    "a coupling that never settles": certain(5, -40.0, 300),
    "more than a hundred iterations": certain(104, -20.0, 3),
    "density": (Head("one_class", density_marks=MARKS), np.array(BESIDE)[:, None]),
    "nan": (TWO, np.array([[np.nan]])),
    "nan with probabilities": (replace(TWO, prob_a=-np.ones(1), prob_b=np.ones(1)), np.array([[np.nan]])),
    "nan of one class": (Head("one_class"), np.array([[np.nan]])),
    "one label": (Head("c_svc", np.array([7]), np.zeros(0), np.zeros(0)), np.zeros((3, 0))),
}
for k in (2, 3, 4, 7, 12):
    rng = np.random.default_rng(k)
    CASES[f"{k} classes"] = (classifier(rng, k), decisions_for(rng, 400, k * (k - 1) // 2))


@pytest.mark.parametrize("name", CASES)
def test_labels_and_probabilities_are_libsvms(name, tmp_path):
    (head, decisions), path = CASES[name], tmp_path / "model"
    path.write_bytes(libsvm_model_bytes(transparent(head)))
    rows = [list(enumerate(row)) for row in decisions.tolist()]
    np.testing.assert_array_equal(head.predict(decisions), libsvms(path, rows, head)[:, 0])
    if head.has_probability:
        expected = libsvms(path, rows, head, probability=True)
        answers, estimates = head.predict_with_probabilities(decisions)
        np.testing.assert_array_equal(answers, expected[:, 0])
        # The sigmoid's exp may differ by an ulp between mathematical libraries; the rest is the same.
        np.testing.assert_allclose(estimates, expected[:, 1 : 1 + head.n_classes], rtol=0, atol=1e-12)
        # A row's estimates depend neither on other rows nor on their order in memory.
        alone = [head.probabilities(decisions[i : i + 1]) for i in range(len(decisions))]
        for other in (np.concatenate(alone), head.probabilities(np.asfortranarray(decisions))):
            np.testing.assert_array_equal(estimates, other)
        if head.n_functions == 0:
            return
        # The native path from file to file.
        files = [os.fsencode(one) for one in (tmp_path / "rows", path, tmp_path / "out")]
        write_svmlight(files[0].decode(), Rows.from_dense(np.nan_to_num(decisions)), np.zeros(len(decisions)))
        _core.predict_plain([b"-q", b"-b", b"1", *files])
        printed = np.loadtxt(files[2].decode(), skiprows=1, ndmin=2)
        known = np.isfinite(decisions).all(axis=1)
        np.testing.assert_allclose(printed[known], expected[known, : 1 + head.n_classes], rtol=1e-5)


def test_regression_answers_the_value():
    head, decisions = Head("epsilon_svr", prob_a=np.array([0.7])), np.array([[1.5], [-2.0]])
    np.testing.assert_array_equal(head.predict(decisions), [1.5, -2.0])
    assert (head.has_probability, head.n_classes, head.linear_functions) == (True, 2, 1)
    assert [Head("c_svc", np.arange(k)).linear_functions for k in (2, 3, 26)] == [1, 3, 26]
    with pytest.raises(UnsupportedError, match="probability estimates; train it with `probability`"):
        head.probabilities(decisions)
    with pytest.raises(OptionError, match=r"decision values of shape \(2, 3\); expected \(n, 1\)"):
        head.predict(np.zeros((2, 3)))


# --- the lines of predict -b 1

KERNELS = {"linear": (), "polynomial": (1e-3, 1.0, 3), "rbf": (1e-4,), "sigmoid": (1e-5, 0.1)}


def unscaled(kernel, classes, seed):
    """A model with features of several hundreds, and rows; linear and polynomial values are also about 1."""
    rng = np.random.default_rng(seed)
    n, d, pairs = 60, 5, classes * (classes - 1) // 2
    x, z = (Rows.from_dense(rng.normal(size=(m, d)) * 200 + 300) for m in (n * classes, 40))
    size = {"linear": 1e-6, "polynomial": 1e-8}.get(kernel, 1.0)
    coef = np.abs(rng.normal(size=(classes - 1, n * classes))) * size
    for c in range(classes):  # the first class of a pair has the positive ones
        coef[:c, c * n : (c + 1) * n] *= -1
    sigmoids = -rng.uniform(0.5, 3, size=pairs), rng.normal(size=pairs) * 0.1
    head, rho = Head("c_svc", np.arange(classes) + 3, *sigmoids), rng.normal(size=pairs) * 0.1
    return KernelExpansion(head, Kernel(kernel, *KERNELS[kernel]), x, coef, rho, np.full(classes, n)), z


def printed(path, rows, head):
    """LIBSVM's lines for rows: labels and probabilities."""
    found = libsvms(path, rows, head, probability=True)
    return [" ".join(f"{number:g}" for number in row[: 1 + head.n_classes]) for row in found]


def both(model, rows, folder):
    path, data, out = (folder / name for name in ("model", "data", "out"))
    save_model(model, path)
    data.write_text(libsvm_twin.lines(rows))
    assert run(["predict", "-q", "-b", "1", str(data), str(path), str(out)]) == 0
    return out.read_text().splitlines()[1:], printed(path, libsvm_twin.vectors(rows), model.head)


@pytest.mark.parametrize("classes", [2, 3, 7, 18])
@pytest.mark.parametrize("kernel", KERNELS)
def test_bytes_on_unscaled_data(kernel, classes, tmp_path):
    ours, theirs = both(*unscaled(kernel, classes, classes), tmp_path)
    assert ours == theirs


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("boundary", [0.5, 0.1234565, 0.9999995, 0.05000005])
def test_two_classes_at_the_edge_of_a_digit(kernel, boundary, tmp_path):
    """The sigmoid's offset puts a row's probability where its sixth digit changes, or at 0.5 its label."""
    model, rows = unscaled(kernel, 2, 1)
    model = load_model(model_bytes(model))
    for i in range(8):
        value = float(libsvm_twin.decision_values(model, rows[i : i + 1])[0, 0])
        offset = np.array([float(np.log(1 / boundary - 1)) + value])
        at = replace(model, head=replace(model.head, prob_a=-np.ones(1), prob_b=offset))
        ours, theirs = both(at, rows[i : i + 1], tmp_path)
        assert ours == theirs


def test_one_class_at_the_marks_of_its_density(tmp_path):
    """A row whose value is a mark, as LIBSVM's own training rows have them, falls into LIBSVM's bin."""
    rng = np.random.default_rng(4)
    x, z = (Rows.from_dense(rng.normal(size=(n, 4))) for n in (300, 10))
    coef = rng.uniform(0.1, 1, size=(1, 300))
    model = KernelExpansion(Head("one_class"), Kernel("rbf", 0.3), x, coef, np.array([20.0]))
    model = load_model(model_bytes(model))
    marks = np.sort(libsvm_twin.decision_values(model, z)[:, 0])
    ours, theirs = both(replace(model, head=Head("one_class", density_marks=marks)), z, tmp_path)
    assert ours == theirs
    assert len({line.split()[1] for line in ours}) == 10


# --- which rows could print other digits


def in_doubt(head, decisions, errors):
    """The rows that could print other digits or have another maximum for values within their errors.

    docs/certificate.md proves this from bounds on how each step of the coupling changes an error.
    """
    decisions = np.ascontiguousarray(decisions)
    doubtful = _core.probabilities(decisions, head.prob_a, head.prob_b, head.n_classes, errors, 1)[1]
    return doubtful.astype(np.bool_)


@given(st.integers(0, 2**31), st.integers(2, 9), st.floats(1e-15, 1e-6), st.floats(0.05, 4))
def test_values_within_their_error_print_the_same(seed, k, error, spread):
    rng = np.random.default_rng(seed)
    i, j = np.triu_indices(k, 1)
    head = Head("c_svc", np.arange(k), rng.normal(size=len(i)) - 2, rng.normal(size=len(i)) * 0.1)
    strength = rng.normal(size=(20, k)) * spread
    decisions = strength[:, i] - strength[:, j] + rng.normal(size=(20, len(i))) * 0.3
    errors = rng.uniform(size=decisions.shape) * error
    sure = ~in_doubt(head, decisions, errors)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        save_model(transparent(head), path)

        def lines_of(values):
            return printed(path, [list(enumerate(row)) for row in values[sure].tolist()], head)

        wanted = lines_of(decisions)
        for _ in range(4):
            assert lines_of(decisions + rng.choice([-1.0, 1.0], errors.shape) * errors) == wanted


def test_most_rows_are_not_in_doubt():
    """For few classes and values as accurate as sums of a thousand terms; else the test would be vacuous."""
    rng = np.random.default_rng(3)
    for k, share in ((2, 0.999), (3, 0.99), (6, 0.9)):
        i, j = np.triu_indices(k, 1)
        strength = rng.normal(size=(2000, k))
        head = Head("c_svc", np.arange(k), np.full(len(i), -2.0), 0.0 * i)
        decisions = strength[:, i] - strength[:, j]
        assert 1 - in_doubt(head, decisions, np.full(decisions.shape, 1e-12)).mean() >= share


# --- printed columns


def answer(predicted, decisions=None, **parts):
    return Answer(np.array(predicted, dtype=np.float64), lambda: np.array(decisions), **parts)


def test_columns_are_in_the_documented_order():
    probabilities, bounds = np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0.5, 1e-9])
    yes = {"inside": np.array([True, False]), "certified": np.array([False, True]), "error_bounds": bounds}
    found = answer([1.0, 2.0], [[0.1], [-1e-300]], probabilities=probabilities, **yes)
    tiny = b"%.17g" % -1e-300
    asked = Columns(probability=True, decision_values=True, bound=True)
    assert lines(found, asked, labels=[1, 2]) == (
        b"1 0.5 0.5 0.10000000000000001 inside\n2 0.25 0.75 " + tiny + b" outside\n"
    )
    assert lines(found, replace(asked, certify=True), class_names={1: "one", 2: "50%"}) == (
        b"one 0.5 0.5 0.10000000000000001 inside no 0.500005\n"
        b"50% 0.25 0.75 " + tiny + b" outside yes 1.00001e-09\n"
    )
    assert lines(answer([0.1, 2**60])) == b"0.10000000000000001\n1.152921504606847e+18\n"
    assert lines(answer([7.0], inside=np.array([False]))) == b"7 outside\n"
    assert lines(answer([7.0], error_bounds=np.ones(1)), Columns(certify=True)) == b"7 - 1.00001\n"


THREE = Head("c_svc", np.array([3, -1, 2]))


@pytest.mark.parametrize(
    ("head", "headers"),
    [
        (THREE, {"": "", "p": "labels 3 -1 2", "d": "label 3/-1 3/2 -1/2", "b": "label bound"}),
        (THREE, {"pdb": "labels 3 -1 2 3/-1 3/2 -1/2 bound"}),
        (Head("one_class"), {"p": "label normal outlier", "d": "label decision"}),
        (Head("nu_svr"), {"p": "", "pd": "label decision"}),
        (Head("c_svc", np.array([4])), {"d": "label"}),
        (replace(THREE, one_vs_rest=True), {"d": "label 3/rest -1/rest 2/rest"}),
    ],
)
def test_header(head, headers):
    for flags, expected in headers.items():
        asked = Columns(probability="p" in flags, decision_values="d" in flags, bound="b" in flags)
        found = OutputColumns(head, None, columns=asked).header(None)
        assert found.decode() == expected + "\n" * (expected != "")
