"""Certified labels from bounds on decision values, against brute force over all outcomes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from approximations import approximate
from hypothesis import given
from hypothesis import strategies as st

from svmfast.errors import OptionError, UnsupportedError
from svmfast.kernels import Kernel
from svmfast.models.answer import answer
from svmfast.models.base import Model
from svmfast.models.certified import certified_rows, check_exact, fall_back_values
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.models.requirements import Columns
from svmfast.rows import FloatArray, Rows


@st.composite
def votes(draw: st.DrawFn) -> tuple[int, FloatArray, FloatArray]:
    k = draw(st.integers(2, 4))
    pairs = k * (k - 1) // 2
    numbers = st.floats(-2, 2, allow_nan=False)
    decisions = np.array([draw(st.lists(numbers, min_size=pairs, max_size=pairs))])
    bounds = np.abs(np.array([draw(st.lists(numbers, min_size=pairs, max_size=pairs))]))
    return k, decisions, bounds


@given(votes())
def test_certified_means_that_no_outcome_changes_the_label(case: tuple[int, FloatArray, FloatArray]) -> None:
    """Exact for votes: the ends and midpoints of the intervals cover all outcomes."""
    k, decisions, bounds = case
    head = Head("c_svc", labels=np.arange(10, 10 + k))
    label = head.predict(decisions)[0]
    # Every pair whose interval reaches 0 can go either way.
    outcomes = [
        (-1.0, 1.0) if abs(value) <= bound else (value,)
        for value, bound in zip(decisions[0], bounds[0], strict=True)
    ]
    labels = {head.predict(np.array([outcome]))[0] for outcome in itertools.product(*outcomes)}
    assert bool(certified_rows(head, decisions, bounds)[0]) == (labels == {label})


def test_unknown_bounds_certify_nothing() -> None:
    infinite = np.full((1, 3), np.inf)
    three = Head("c_svc", labels=np.array([1, 2, 3]), prob_a=np.ones(3), prob_b=np.zeros(3))
    assert not certified_rows(three, np.ones((1, 3)), infinite)[0]
    two = Head("c_svc", labels=np.array([1, 2]), prob_a=np.ones(1), prob_b=np.zeros(1))
    assert not certified_rows(two, np.ones((1, 1)), infinite[:, :1])[0]


def test_tolerance() -> None:
    regression = Head("nu_svr")
    values, bounds = np.array([[0.0], [1.0]]), np.array([[0.1], [0.3]])
    assert certified_rows(regression, values, bounds, tolerance=0.2).tolist() == [True, False]
    with pytest.raises(OptionError, match="within a tolerance"):
        certified_rows(regression, values, bounds)
    one_class = Head("one_class")
    assert certified_rows(one_class, values, bounds).tolist() == [False, True]
    assert certified_rows(one_class, values, bounds, tolerance=0.2).tolist() == [False, False]


class Tent(Model):
    """A certified model in one dimension: the exact value with a known error, bounded row by row."""

    kind = "tent"
    n_features = 1
    has_error_bound = True

    def __init__(self, exact: KernelExpansion) -> None:
        self.exact, self.head = exact, exact.head
        self.embedded_exact = exact

    def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
        return self.certified_values(rows)[0]

    def working_bytes(self) -> int:
        return 0

    def certified_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
        exact = self.exact.decision_values(rows)
        bounds = 0.5 * np.abs(rows.to_dense(1))
        return exact - 0.99 * np.sign(exact) * bounds, bounds


def binary() -> KernelExpansion:
    return KernelExpansion(
        Head("c_svc", labels=np.array([1, -1])),
        Kernel("rbf", gamma=1.0),
        Rows.from_dense([[0.0], [1.5]]),
        np.array([[1.0, -1.0]]),
        np.zeros(1),
        np.array([1, 1]),
    )


def test_fallback_gives_the_exact_labels() -> None:
    exact = binary()
    rows = Rows.from_dense(np.linspace(-2, 3, 101)[:, None])
    plain = answer(Tent(exact), rows, columns=Columns(certify=True))
    assert plain.certified is not None
    assert plain.error_bounds is not None
    assert 0 < plain.certified.sum() < len(rows)
    truth = exact.head.predict(exact.decision_values(rows))
    assert (plain.predicted != truth).any()
    assert (plain.predicted[plain.certified] == truth[plain.certified]).all()
    with_fallback = answer(Tent(exact), rows, exact=exact)
    assert (with_fallback.predicted == truth).all()
    assert with_fallback.certified is not None
    assert (with_fallback.certified == plain.certified).all()
    untouched = fall_back_values(lambda: plain.decisions, np.ones(len(rows), dtype=np.bool_), exact, rows)
    assert untouched is plain.decisions


def many_classes(seed: int, classes: int, kernel: str = "rbf") -> KernelExpansion:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 12, size=classes)
    n = int(sizes.sum())
    sv = rng.integers(-2, 3, size=(n, 6)) / 2
    return KernelExpansion(
        Head("c_svc", labels=np.arange(classes)),
        Kernel(kernel, gamma=0.4, coef0=1.0 if kernel == "polynomial" else 0.0, degree=3),
        Rows.from_dense(sv),
        rng.integers(-3, 4, size=(classes - 1, n)) / 2,
        rng.integers(-1, 2, size=classes * (classes - 1) // 2) / 4,
        sizes,
    )


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_fallback_of_votes_gives_the_exact_labels(classes: int) -> None:
    """With small whole numbers, ties and decision values of exactly zero are frequent."""
    exact = many_classes(5, classes)
    rng = np.random.default_rng(6)
    rows = Rows.from_dense(rng.integers(-2, 3, size=(600, 6)) / 2)
    full = exact.decision_values(rows)
    bounds = np.abs(rng.normal(size=full.shape)) * 0.3
    decisions = full + bounds * rng.uniform(-1, 1, size=full.shape)
    certified = certified_rows(exact.head, decisions, bounds)
    assert 0 < certified.sum() < 600

    class Noisy(Model):
        kind, head, n_features = "noisy", exact.head, exact.n_features
        has_error_bound, embedded_exact = True, None

        def decision_values(self, rows: Rows, *, threads: int = 1) -> FloatArray:
            return decisions

        def working_bytes(self) -> int:
            return 0

        def certified_values(self, rows: Rows, *, threads: int = 1) -> tuple[FloatArray, FloatArray]:
            return decisions, bounds

    answers = answer(Noisy(), rows, exact=exact, threads=2)
    assert answers.certified is not None
    assert np.array_equal(answers.certified, certified)
    assert np.array_equal(answers.predicted, exact.head.predict(full))
    assert np.array_equal(answers.decisions, np.where(certified[:, None], decisions, full))


def test_refusals() -> None:
    exact = binary()
    with pytest.raises(UnsupportedError, match="the model has no certificate"):
        answer(
            approximate(exact, certificate="none")[0], Rows.from_dense([[1.0]]), columns=Columns(certify=True)
        )
    other = KernelExpansion(Head("nu_svr"), exact.kernel, exact.sv, exact.sv_coef, exact.rho)
    with pytest.raises(UnsupportedError, match="has a different type or different labels"):
        check_exact(exact, other)


def test_one_against_the_rest_is_certain_when_nothing_within_the_bounds_changes_it() -> None:
    """Against the extreme case: the winner at its lowest value, each other class at its highest."""
    rng = np.random.default_rng(0)
    decisions, bounds = rng.normal(size=(400, 4)), rng.uniform(0, 0.8, (400, 4))
    head = Head("c_svc", np.array([3, 1, 2, 7]), one_vs_rest=True)
    certain = certified_rows(head, decisions, bounds)
    for row, width, sure in zip(decisions, bounds, certain, strict=True):
        best = row.argmax()
        worst = row + width
        worst[best] = row[best] - width[best]
        assert sure == (worst.argmax() == best)
    assert 0.1 < certain.mean() < 0.9
