"""The guarantee of a cascade: margins of rows, the chosen error, and how often its limit holds."""

from __future__ import annotations

import numpy as np
import pytest
from cascade_problems import ROWS, coarse, compressed, exact_model
from hypothesis import given
from hypothesis import strategies as st
from program import data
from scipy.stats import beta, binom

from svmfast.errors import OptionError
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.cascade import CascadeOptions
from svmfast.methods.cascade.join import join
from svmfast.methods.cascade.threshold import Evaluated, choose
from svmfast.methods.common.equal_rows import copied, groups_of, row_keys
from svmfast.models.answer import answer
from svmfast.models.certified import certified_rows, label_margins
from svmfast.models.head import Head
from svmfast.rows import Rows
from svmfast.solvers.intervals import largest_count, trials_needed, upper_limit


@pytest.mark.parametrize(("k", "one_vs_rest"), [(2, False), (3, False), (5, False), (3, True), (6, True)])
def test_margins_are_where_certified_rows_changes(k: int, one_vs_rest: bool) -> None:
    rng = np.random.default_rng(k)
    head = Head("c_svc", np.arange(k), one_vs_rest=one_vs_rest)
    # Small whole numbers: ties, zeros, and sums without rounding.
    decisions = rng.integers(-6, 7, size=(400, head.n_functions)).astype(float)
    sure = label_margins(head, decisions)
    for error in np.arange(0, 8, 0.5):
        certified = certified_rows(head, decisions, np.full(decisions.shape, error))
        np.testing.assert_array_equal(sure > error, certified)


def evaluated(sure: np.ndarray, differing: np.ndarray, group: np.ndarray | None = None) -> Evaluated:
    return Evaluated(sure, differing, np.arange(len(sure)) if group is None else group)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9])
@pytest.mark.parametrize("one_vs_rest", [True, False])
def test_rounding_accepts_no_uncertain_row(one_vs_rest: bool, offset: float) -> None:
    """Half of a gap may be rounded up to more than the error at which the ends of the gap meet."""
    rng = np.random.default_rng(0)
    head = Head("c_svc", np.arange(4), one_vs_rest=one_vs_rest)
    decisions = np.repeat(rng.normal(0, 1, (600, head.n_functions)), 5, axis=0)
    decisions += 1e-16 * rng.normal(0, 1, decisions.shape) + offset
    sure, all_rows = label_margins(head, decisions), np.ones(len(decisions), dtype=bool)
    largest = np.abs(decisions).max() if one_vs_rest else 0.0
    found = Evaluated(sure, all_rows, np.arange(len(sure)), largest)
    for limit in (0.002, 0.01, 0.1):
        chosen = choose(found, limit, 0.95, seed=0, cost_fast=0.1, cost_exact=1.0)
        own = ~chosen.deciding
        left = certified_rows(head, decisions[own], np.full(decisions[own].shape, chosen.error)).sum()
        allowed = largest_count(int(own.sum()), limit)
        assert left <= allowed
        assert chosen.error == pytest.approx(
            np.sort(sure[own])[::-1][allowed], rel=1e-11, abs=1e-13 + offset * 1e-15
        )


def test_margins_of_models_without_alternatives() -> None:
    assert label_margins(Head("c_svc", np.array([4])), np.zeros((3, 0))).tolist() == [np.inf] * 3
    assert label_margins(Head("one_class"), np.array([[-2.0], [0.5]])).tolist() == [2.0, 0.5]


@pytest.mark.parametrize("n", [1, 20, 598, 5000])
def test_binomial_limits(n: int) -> None:
    for k in {0, n // 3, n - 1}:
        limit = upper_limit(k, n)
        assert limit == pytest.approx(beta.ppf(0.95, k + 1, n - k), rel=1e-9)
        # By definition: if the share is at the limit, so few are seen with probability 5 %.
        assert binom.cdf(k, n, limit) == pytest.approx(0.05, rel=1e-6)
    assert upper_limit(n, n) == 1
    for share in (1e-4, 0.005, 0.2, 0.96):
        k = largest_count(n, share)
        assert k == max(j for j in range(-1, n + 1) if j < 0 or upper_limit(j, n) <= share)


def test_rows_at_the_error_itself_count_as_the_exact_models() -> None:
    """All rows have the margin that becomes the error, so the fast model answers none of them."""
    found = evaluated(np.ones(2000), np.arange(2000) % 2 == 0, group=np.arange(2000))
    chosen = choose(found, 0.01, 0.95, seed=0, cost_fast=0.1, cost_exact=1.0)
    assert chosen.error == 1.0
    assert not chosen.cheaper


@pytest.mark.parametrize("name", ["photos_c_rbf", "digits_nu_rbf", "iris_c_rbf_prob"])
def test_the_error_is_the_smallest_that_suffices(name: str) -> None:
    exact = exact_model(name)
    fast = compressed(4) if name == "photos_c_rbf" else coarse(exact, 4)
    rows = read_svmlight(data(f"{name.split('_')[0]}.test")).rows
    joined, report = join(fast, exact, rows, CascadeOptions(max_diff=0.15, confidence=0.9))
    decisions = fast.decision_values(rows)
    theirs = answer(exact, rows).predicted
    differing = fast.head.predict(decisions) != theirs
    assert report.labels_differing_without_fallback == differing.sum() > 0
    group, _ = groups_of(row_keys(rows))
    found = evaluated(label_margins(fast.head, decisions), differing, group)
    how = {"cost_fast": report.operations_fast, "cost_exact": report.operations_exact}
    chosen = choose(found, 0.15, 0.9, seed=0, **how)
    choosing = np.flatnonzero(~chosen.deciding)
    assert (len(choosing), chosen.error) == (report.rows_choosing, joined.error)
    assert report.rows_choosing + report.rows_deciding == report.rows == len(rows)
    _, first = np.unique(group[choosing], return_index=True)

    def left(error: float, among: np.ndarray) -> int:
        answered = certified_rows(fast.head, decisions, np.full(decisions.shape, error))
        return int((answered & differing)[among].sum())

    def shown(error: float) -> bool:
        """Both with repetitions and without."""
        parts = (choosing, choosing[first])
        return all(beta.ppf(0.9, left(error, own) + 1, len(own) - left(error, own)) <= 0.15 for own in parts)

    assert shown(joined.error)
    assert joined.error > 0
    assert not shown(joined.error * (1 - 1e-12))
    assert report.labels_differing_choosing == left(joined.error, choosing)
    # Measured on the rows that were not used to choose the error.
    others = np.flatnonzero(chosen.deciding)
    assert (report.measured_rows, report.measured_labels_differing) == (
        len(others),
        left(joined.error, others),
    )
    classes = report.kept.classes
    assert sum(one.rows - one.correct for one in classes) == report.measured_labels_differing
    assert sum(one.rows for one in classes) == len(others)
    assert report.labels_differing_limit_percent <= 15
    # As predict uses it: the fast model answers some rows, the exact model the others.
    answers = answer(joined, rows, exact=exact)
    assert answers.certified is not None
    assert answers.certified.sum() == report.answered
    assert answers.certified[others].sum() == report.measured_answered
    expected = np.where(answers.certified, fast.head.predict(decisions), theirs)
    np.testing.assert_array_equal(answers.predicted, expected)
    assert (
        (answers.predicted != theirs).sum()
        == report.labels_differing
        == left(joined.error, np.arange(len(rows)))
    )


def test_the_guarantee_holds_as_often_as_stated() -> None:
    """Samples from a population whose labels are all known: at most one in twenty may exceed the limit."""
    exact, fast, rows = exact_model(), compressed(6), read_svmlight(ROWS).rows
    decisions = fast.decision_values(rows)
    labels = exact.head.predict(exact.decision_values(rows))
    differing = fast.head.predict(decisions) != labels
    sure = label_margins(fast.head, decisions)
    limit, wrong, kept, trials = 0.03, 0, 0.0, 300
    assert differing.mean() > limit
    rng = np.random.default_rng(2)
    for _ in range(trials):
        sample = rng.integers(0, len(rows), 300)
        options = CascadeOptions(max_diff=limit)
        _, report = join(fast, exact, rows.take(sample), options, labels=labels[sample])
        answered = sure > report.error
        wrong += bool((answered & differing).mean() > limit)
        kept += answered.mean() / trials
    assert wrong <= binom.ppf(0.999, trials, 0.05)
    assert wrong > 0  # and it is not met by an error that is far too large
    assert kept > 0.5


def population(differing: float, n: int = 200_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which those with smaller margins differ more often; overall the share `differing`."""
    rng = np.random.default_rng(seed)
    sure = rng.random(n)
    return sure, rng.random(n) < 3 * differing * (1 - sure) ** 2


def test_the_guarantee_holds_for_the_files_that_are_written() -> None:
    """If the rows that choose the error also decide on a joining that is barely faster, every file fails."""
    sure, differing = population(0.02)
    limit, trials, n = 0.01, 400, 3000
    truth = np.sort(sure[differing])[::-1][int(limit * len(sure))]  # a smaller error exceeds the limit
    # With 0.999 of that error the two models would cost as much as the exact model alone.
    fast = float((sure > 0.999 * truth).mean())
    written = broken = written_by_its_own_rows = broken_by_its_own_rows = 0
    rng = np.random.default_rng(1)
    for trial in range(trials):
        drawn = rng.integers(0, len(sure), n)
        found = evaluated(sure[drawn], differing[drawn], group=drawn)
        chosen = choose(found, limit, 0.95, seed=trial, cost_fast=fast, cost_exact=1.0)
        wrong = (differing & (sure > chosen.error)).mean() > limit
        written += chosen.cheaper
        broken += chosen.cheaper and wrong
        same_rows = fast < (sure[drawn] > chosen.error).mean()
        written_by_its_own_rows += same_rows
        broken_by_its_own_rows += same_rows and wrong
    assert written > trials / 20
    assert broken <= binom.ppf(0.999, written, 0.05)
    assert broken_by_its_own_rows > 0.8 * written_by_its_own_rows > 0


def test_the_limit_is_that_of_the_observed_count_where_nothing_falls_back() -> None:
    differing = np.zeros(1500, dtype=bool)
    differing[:4] = True
    chosen = choose(evaluated(np.ones(1500), differing), 0.02, 0.95, seed=1, cost_fast=0.1, cost_exact=1.0)
    own = ~chosen.deciding
    assert chosen.error == 0
    seen = (own & differing).sum()
    assert chosen.limit == pytest.approx(beta.ppf(0.95, seen + 1, own.sum() - seen), rel=1e-9)


def test_possible_copies_do_not_reduce_the_confidence() -> None:
    """Too few repetitions to be distinguished from chance: the limit holds with and without them."""
    sure, differing = population(0.02, 3000)
    how = {"seed": 0, "cost_fast": 0.1, "cost_exact": 1.0}
    again = np.flatnonzero(~differing)[:60]  # sixty rows that agree, given twice
    group = np.concatenate([np.arange(3000), again])
    assert copied(group) is None
    found = evaluated(sure[group], differing[group], group=group)
    chosen = choose(found, 0.01, 0.95, **how)
    different = np.unique(group[~chosen.deciding])
    allowed = largest_count(len(different), 0.01)
    assert chosen.error >= np.sort(sure[different][differing[different]])[::-1][allowed]


@pytest.mark.parametrize("seed", range(6))
def test_repeated_draws_are_not_taken_for_copies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = (
        np.ones(3), np.ones(500), np.ones(100_000), 1 / np.arange(1, 3000) ** 1.2,
        rng.dirichlet(np.full(400, 0.1)), rng.lognormal(0, 3, 2000),
    )[seed]  # fmt: skip
    drawn = rng.choice(len(shares), 2000, p=shares / shares.sum())
    _, group = np.unique(drawn, return_inverse=True)
    assert copied(group) is None
    assert copied(np.concatenate([np.arange(400)] * (seed + 2))) == seed + 2
    assert copied(np.concatenate([np.arange(700), np.arange(400)])) == 2


@given(st.integers(1, 400), st.floats(1e-3, 0.5), st.floats(0.5, 0.999))
def test_too_few_rows_are_refused(n: int, share: float, confidence: float) -> None:
    exact = exact_model()
    rows = Rows.from_dense(np.arange(1.0, n + 1)[:, None])
    needed = trials_needed(share, confidence)
    if n >= needed + 1:
        assert join(exact, exact, rows, CascadeOptions(max_diff=share, confidence=confidence))[0].error == 0
    elif n < needed - 1:
        with pytest.raises(OptionError, match="cannot show with"):
            join(exact, exact, rows, CascadeOptions(max_diff=share, confidence=confidence))
