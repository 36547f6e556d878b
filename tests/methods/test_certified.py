"""Certified labels from bounds on decision values, and which label that is with ``-b 1``, against LIBSVM.

Votes against all outcomes: test_certificate.py.
"""

from dataclasses import replace

import numpy as np
import pytest
from libsvm import svmutil
from program import data, model
from read_fixtures import exact as read_model

import svmfast
from svmfast import predict
from svmfast.errors import OptionError, UnsupportedError
from svmfast.models.cascade import CascadeModel
from svmfast.models.certified import certified_rows
from svmfast.models.head import Head


def test_tolerance():
    regression, one_class = Head("nu_svr"), Head("one_class")
    values, bounds = np.array([[0.0], [1.0]]), np.array([[0.2], [0.3]])
    assert certified_rows(regression, values, bounds, tolerance=0.2).tolist() == [True, False]
    with pytest.raises(OptionError, match="within a tolerance"):
        certified_rows(regression, values, bounds)
    assert certified_rows(one_class, values, bounds).tolist() == [False, True]
    assert certified_rows(one_class, values, bounds, tolerance=0.2).tolist() == [False, False]


def test_one_against_the_rest_is_certain_when_nothing_within_the_bounds_changes_it():
    """Against the extreme case: the winner at its lowest value, each other class at its highest."""
    rng = np.random.default_rng(0)
    decisions, bounds = rng.normal(size=(400, 4)), rng.uniform(0, 0.8, (400, 4))
    head, best = Head("c_svc", np.array([3, 1, 2, 7]), one_vs_rest=True), decisions.argmax(axis=1)
    certain = certified_rows(head, decisions, bounds)
    worst, at = decisions + bounds, (np.arange(400), best)
    worst[at] = (decisions - bounds)[at]
    np.testing.assert_array_equal(certain, worst.argmax(axis=1) == best)
    assert 0.1 < certain.mean() < 0.9


# --- with and without probabilities: the table of docs/certificate.md ---

NOTE = "the exact model answers every row: probabilities are computed from its values"
NOT_CERTIFIED = "probabilities are not certified; request either"


@pytest.fixture(scope="module", params=["breast_c_rbf_prob", "iris_c_rbf_prob", "normal_one_rbf_prob"])
def known(request):
    """The exact model, rows of which many are near a boundary, and LIBSVM's labels without and with -b 1."""
    name = request.param
    dense = svmfast.read_svmlight(data(f"{name.split('_')[0]}.test")).rows.to_dense()
    rng = np.random.default_rng(5)
    one, other = dense[rng.integers(len(dense), size=(2, 400))]
    rows = svmfast.as_rows(np.vstack([dense, one + rng.random((400, 1)) * (other - one)]))
    theirs = svmutil.svm_load_model(str(model(name)))
    points = [{j + 1: float(v) for j, v in enumerate(row) if v} for row in rows.to_dense()]
    labels = [np.array(svmutil.svm_predict([], points, theirs, f"-q -b {b}")[0]) for b in (0, 1)]
    # Otherwise the tests would not tell them apart; a one-class label has no other form.
    differing = np.count_nonzero(labels[0] != labels[1])
    assert differing == 0 if name.startswith("normal") else differing >= 3
    return read_model(name), rows, *labels


def approximation(exact, **options):
    return svmfast.approximate(exact, order=1, force=True, **options).model


def test_an_approximation_alone(known):
    exact, rows, plain, _ = known
    fast = approximation(exact)
    answer = predict(fast, rows, certify=True)
    assert 0 < answer.certified.mean() < 1
    assert np.array_equal(answer.predicted[answer.certified], plain[answer.certified])
    assert np.array_equal(answer.predicted, predict(fast, rows).predicted)
    with pytest.raises(UnsupportedError, match=NOT_CERTIFIED):
        predict(fast, rows, probability=True, certify=True)


@pytest.mark.parametrize("embedded", [False, True])
def test_an_approximation_with_an_exact_model(known, embedded):
    exact, rows, plain, with_probabilities = known
    fast, given = approximation(exact, embed_exact=embedded), {} if embedded else {"exact": exact}
    labels = predict(fast, rows, certify=True, **given)
    assert np.array_equal(labels.predicted, plain)
    alone, full, certain = fast.decision_values(rows), exact.decision_values(rows), labels.certified[:, None]
    assert np.array_equal(labels.decisions, np.where(certain, alone, full))
    answer = predict(fast, rows, probability=True, **given)
    assert np.array_equal(answer.predicted, with_probabilities)
    assert answer.notes[0] == NOTE
    assert np.array_equal(answer.probabilities, predict(exact, rows, probability=True).probabilities)
    with pytest.raises(UnsupportedError, match=NOT_CERTIFIED):
        predict(fast, rows, probability=True, certify=True, **given)


def test_a_cascade(known):
    exact, rows, plain, with_probabilities = known
    fast = approximation(exact, certificate="none")
    joined = CascadeModel(fast, exact, 0.05)
    with pytest.raises(UnsupportedError, match="the model has no certificate"):
        predict(joined, rows, certify=True)
    answer, alone = predict(joined, rows), predict(fast, rows)
    assert 0 < answer.certified.mean() < 1
    assert np.array_equal(answer.predicted, np.where(answer.certified, alone.predicted, plain))
    # The exact model's probabilities do not need the fast one's.
    dumb = replace(fast, head=replace(fast.head, prob_a=None, prob_b=None, density_marks=None))
    expected = predict(exact, rows, probability=True).probabilities
    for one in (joined, CascadeModel(dumb, exact, 0.05)):
        both = predict(one, rows, probability=True)
        assert np.array_equal(both.predicted, with_probabilities)
        assert np.array_equal(both.probabilities, expected)
    with pytest.raises(UnsupportedError, match="does not support probability estimates"):
        predict(one, rows, probability=True, no_fallback=True)


def test_a_libsvm_model(known):
    exact, rows, plain, with_probabilities = known
    answer, both = predict(exact, rows, certify=True), predict(exact, rows, probability=True)
    assert answer.certified.all()
    assert answer.voted is None
    assert np.array_equal(answer.predicted, plain)
    assert np.array_equal(both.predicted, with_probabilities)
    assert np.array_equal(both.voted, plain)
    with pytest.raises(UnsupportedError, match=NOT_CERTIFIED):
        predict(exact, rows, probability=True, certify=True)
