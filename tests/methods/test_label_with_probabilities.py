"""Which label is certified, with and without ``-b 1``: the table of docs/certificate.md, against LIBSVM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from libsvm import svmutil
from program import data, model

import svmfast as package
from svmfast.errors import UnsupportedError
from svmfast.models.cascade import CascadeModel
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray, Rows

NOTE = "the exact model answers every row: probabilities are computed from its values"
NAMES = {"breast_c_rbf_prob": "breast", "iris_c_rbf_prob": "iris", "normal_one_rbf_prob": "normal"}


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def exact(name: str) -> KernelExpansion:
    found = package.load_model(model(name))
    assert isinstance(found, KernelExpansion)
    return found


@pytest.fixture(scope="module")
def rows(name: str) -> Rows:
    """Test rows, and rows between two of them, many of which are near a boundary."""
    dense = package.read_svmlight(data(f"{NAMES[name]}.test")).rows.to_dense()
    rng = np.random.default_rng(5)
    one, other = dense[rng.integers(len(dense), size=(2, 400))]
    between = one + rng.random((400, 1)) * (other - one)
    return package.as_rows(np.vstack([dense, between]))


def libsvm_labels(name: str, rows: Rows, probability: bool) -> FloatArray:
    """Return the labels of svm-predict with and without ``-b 1``."""
    known = svmutil.svm_load_model(str(model(name)))
    points = [{j + 1: float(v) for j, v in enumerate(row) if v} for row in rows.to_dense()]
    labels, _, _ = svmutil.svm_predict([], points, known, f"-q -b {int(probability)}")
    return np.array(labels)


@pytest.fixture(scope="module")
def theirs(name: str, rows: Rows) -> dict[bool, FloatArray]:
    return {probability: libsvm_labels(name, rows, probability) for probability in (False, True)}


def test_the_two_labels_differ_near_a_boundary(name: str, theirs: dict[bool, FloatArray]) -> None:
    """Otherwise the tests below would not tell them apart; a one-class label has no other form."""
    differing = int(np.count_nonzero(theirs[False] != theirs[True]))
    assert differing == 0 if name.startswith("normal") else differing >= 3


def test_an_approximation_alone(exact: KernelExpansion, rows: Rows, theirs: dict[bool, FloatArray]) -> None:
    fast = package.approximate(exact, order=1, force=True).model
    answer = package.predict(fast, rows, certify=True)
    assert answer.certified is not None
    assert 0 < answer.certified.mean() < 1
    assert np.array_equal(answer.predicted[answer.certified], theirs[False][answer.certified])
    assert np.array_equal(answer.predicted, package.predict(fast, rows).predicted)
    with pytest.raises(UnsupportedError, match="probabilities are not certified"):
        package.predict(fast, rows, probability=True, certify=True)


@pytest.mark.parametrize("embedded", [False, True])
def test_an_approximation_with_an_exact_model(
    exact: KernelExpansion, rows: Rows, theirs: dict[bool, FloatArray], embedded: bool
) -> None:
    fast = package.approximate(exact, order=1, force=True, embed_exact=embedded).model
    other = None if embedded else exact
    assert np.array_equal(package.predict(fast, rows, certify=True, exact=other).predicted, theirs[False])
    answer = package.predict(fast, rows, probability=True, exact=other)
    assert np.array_equal(answer.predicted, theirs[True])
    assert answer.notes[0] == NOTE
    known = package.predict(exact, rows, probability=True)
    assert np.array_equal(answer.probabilities, known.probabilities)
    with pytest.raises(UnsupportedError, match="probabilities are not certified"):
        package.predict(fast, rows, probability=True, certify=True, exact=other)


def test_a_cascade(exact: KernelExpansion, rows: Rows, theirs: dict[bool, FloatArray]) -> None:
    fast = package.approximate(exact, order=1, force=True, certificate="none").model
    joined = CascadeModel(fast, exact, 0.05)
    with pytest.raises(UnsupportedError, match="the model has no certificate"):
        package.predict(joined, rows, certify=True)
    answer = package.predict(joined, rows)
    assert answer.certified is not None
    open_rows = ~answer.certified
    assert 0 < open_rows.mean() < 1
    assert np.array_equal(answer.predicted[open_rows], theirs[False][open_rows])
    alone = package.predict(fast, rows)
    assert np.array_equal(answer.predicted[~open_rows], alone.predicted[~open_rows])
    both = package.predict(joined, rows, probability=True)
    assert np.array_equal(both.predicted, theirs[True])
    assert np.array_equal(both.probabilities, package.predict(exact, rows, probability=True).probabilities)


def test_the_exact_models_probabilities_do_not_need_the_fast_models(
    exact: KernelExpansion, rows: Rows, theirs: dict[bool, FloatArray]
) -> None:
    fast = package.approximate(exact, order=1, force=True, certificate="none").model
    dumb = replace(fast, head=replace(fast.head, prob_a=None, prob_b=None, density_marks=None))
    answer = package.predict(CascadeModel(dumb, exact, 0.05), rows, probability=True)
    assert np.array_equal(answer.predicted, theirs[True])
    with pytest.raises(UnsupportedError, match="does not support probability estimates"):
        package.predict(CascadeModel(dumb, exact, 0.05), rows, probability=True, no_fallback=True)


def test_a_libsvm_model(exact: KernelExpansion, rows: Rows, theirs: dict[bool, FloatArray]) -> None:
    answer = package.predict(exact, rows, certify=True)
    assert answer.certified is not None
    assert answer.certified.all()
    assert np.array_equal(answer.predicted, theirs[False])
    both = package.predict(exact, rows, probability=True)
    assert np.array_equal(both.predicted, theirs[True])
    assert np.array_equal(both.voted, theirs[False])
    assert answer.voted is None
    with pytest.raises(UnsupportedError, match="probabilities are not certified; request either"):
        package.predict(exact, rows, probability=True, certify=True)
