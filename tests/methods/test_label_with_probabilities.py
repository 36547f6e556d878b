"""Which label is certified, with and without ``-b 1``: the table of docs/certificate.md, against LIBSVM."""

from dataclasses import replace

import numpy as np
import pytest
from libsvm import svmutil
from program import data, model
from read_fixtures import exact as read_model

import svmfast
from svmfast import predict
from svmfast.errors import UnsupportedError
from svmfast.models.cascade import CascadeModel

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
    assert np.array_equal(predict(fast, rows, certify=True, **given).predicted, plain)
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
