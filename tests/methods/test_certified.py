"""Certified labels from bounds on decision values; votes against all outcomes: test_certificate.py."""

import numpy as np
import pytest
from approximations import approximate
from rbf_models import rbf_model

from svmfast.errors import OptionError, UnsupportedError
from svmfast.kernels import Kernel
from svmfast.models.answer import answer
from svmfast.models.base import Model
from svmfast.models.certified import certified_rows, check_exact, fall_back_values
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.requirements import Columns
from svmfast.rows import Rows


@pytest.mark.parametrize("k", [2, 3])
def test_unknown_bounds_certify_nothing(k):
    unknown, known = np.full((1, k * (k - 1) // 2), np.inf), np.ones((1, k * (k - 1) // 2))
    head = Head("c_svc", labels=np.arange(k))
    for decisions, bounds in ((known, unknown), (unknown, known / 2), (np.nan * known, known / 2)):
        assert not certified_rows(head, decisions, bounds)[0]


def test_tolerance():
    regression, one_class = Head("nu_svr"), Head("one_class")
    values, bounds = np.array([[0.0], [1.0]]), np.array([[0.2], [0.3]])
    assert certified_rows(regression, values, bounds, tolerance=0.2).tolist() == [True, False]
    with pytest.raises(OptionError, match="within a tolerance"):
        certified_rows(regression, values, bounds)
    assert certified_rows(one_class, values, bounds).tolist() == [False, True]
    assert certified_rows(one_class, values, bounds, tolerance=0.2).tolist() == [False, False]


class Bounded(Model):
    """A certified model whose decision values and bounds are given, row by row."""

    kind, has_error_bound, embedded_exact = "bounded", True, None

    def __init__(self, exact, decisions, bounds):
        self.head, self.n_features, self.given = exact.head, exact.n_features, (decisions, bounds)

    def decision_values(self, rows, *, threads=1):
        return self.given[0]

    def working_bytes(self):
        return 0

    def certified_values(self, rows, *, threads=1):
        return self.given


def many_classes(classes):
    rng = np.random.default_rng(5)
    sizes = rng.integers(0, 12, size=classes)
    n = int(sizes.sum())
    sv, pairs = rng.integers(-2, 3, size=(n, 6)) / 2, classes * (classes - 1) // 2
    coef, rho = rng.integers(-3, 4, size=(classes - 1, n)) / 2, rng.integers(-1, 2, size=pairs) / 4
    head, kernel = Head("c_svc", labels=np.arange(classes)), Kernel("rbf", gamma=0.4)
    return KernelExpansion(head, kernel, Rows.from_dense(sv), coef, rho, sizes)


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_fallback_gives_the_exact_labels(classes):
    """With small whole numbers, ties and decision values of exactly zero are frequent."""
    exact = many_classes(classes)
    rng = np.random.default_rng(6)
    rows = Rows.from_dense(rng.integers(-2, 3, size=(600, 6)) / 2)
    full = exact.decision_values(rows)
    bounds = np.abs(rng.normal(size=full.shape)) * 0.3
    decisions, truth = full + bounds * rng.uniform(-1, 1, size=full.shape), exact.head.predict(full)
    certified = certified_rows(exact.head, decisions, bounds)
    assert 0 < certified.sum() < 600
    noisy = Bounded(exact, decisions, bounds)
    alone = answer(noisy, rows, columns=Columns(certify=True))
    assert (alone.predicted != truth).any()
    assert np.array_equal(alone.predicted[certified], truth[certified])
    answers = answer(noisy, rows, exact=exact, threads=2)
    assert np.array_equal(answers.certified, certified)
    assert np.array_equal(answers.predicted, truth)
    assert np.array_equal(answers.decisions, np.where(certified[:, None], decisions, full))
    untouched = fall_back_values(lambda: decisions, np.ones(600, dtype=np.bool_), exact, rows)
    assert untouched is decisions


def test_refusals():
    exact = rbf_model([[0.0], [1.5]], [1.0, -1.0], 1.0)
    plain, _ = approximate(exact, certificate="none")
    with pytest.raises(UnsupportedError, match="the model has no certificate"):
        answer(plain, Rows.from_dense([[1.0]]), columns=Columns(certify=True))
    for kind in ("nu_svr", "epsilon_svr"):
        other = rbf_model([[0.0], [1.5]], [1.0, -1.0], 1.0, kind=kind)
        with pytest.raises(UnsupportedError, match="has a different type or different labels"):
            check_exact(exact, other)


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
