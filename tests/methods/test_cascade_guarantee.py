"""The guarantee of a cascade: margins of rows, the chosen error, and how often its limit holds."""

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
from svmfast.solvers.intervals import clopper_pearson, largest_count, trials_needed, upper_limit


@pytest.mark.parametrize(("k", "one_vs_rest"), [(2, False), (3, False), (5, False), (3, True), (6, True)])
def test_margins_are_where_certified_rows_changes(k, one_vs_rest):
    head = Head("c_svc", np.arange(k), one_vs_rest=one_vs_rest)
    # Small whole numbers: ties, zeros, and sums without rounding.
    decisions = np.random.default_rng(k).integers(-6, 7, size=(400, head.n_functions)).astype(float)
    sure = label_margins(head, decisions)
    for error in np.arange(0, 8, 0.5):
        certified = certified_rows(head, decisions, np.full(decisions.shape, error))
        np.testing.assert_array_equal(sure > error, certified)


def chosen_of(sure, differing, max_diff=0.01, group=None, largest=0.0, **more):
    found = Evaluated(sure, differing, np.arange(len(sure)) if group is None else group, largest)
    return choose(found, max_diff, 0.95, **{"seed": 0, "cost_fast": 0.1, "cost_exact": 1.0, **more})


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e9])
@pytest.mark.parametrize("one_vs_rest", [True, False])
@pytest.mark.parametrize("limit", [0.002, 0.01, 0.1])
def test_rounding_accepts_no_uncertain_row(one_vs_rest, offset, limit):
    """Half of a gap may be rounded up to more than the error at which the ends of the gap meet."""
    rng = np.random.default_rng(0)
    head = Head("c_svc", np.arange(4), one_vs_rest=one_vs_rest)
    decisions = np.repeat(rng.normal(0, 1, (600, head.n_functions)), 5, axis=0)
    decisions += 1e-16 * rng.normal(0, 1, decisions.shape) + offset
    sure, largest = label_margins(head, decisions), np.abs(decisions).max() if one_vs_rest else 0.0
    chosen = chosen_of(sure, np.ones(len(sure), dtype=bool), limit, largest=largest)
    own = ~chosen.deciding
    allowed = largest_count(int(own.sum()), limit)
    assert certified_rows(head, decisions[own], np.full(decisions[own].shape, chosen.error)).sum() <= allowed
    expected = np.sort(sure[own])[::-1][allowed]
    assert chosen.error == pytest.approx(expected, rel=1e-11, abs=1e-13 + offset * 1e-15)


@pytest.mark.parametrize("row", [[5 * 5e-324, 0.0, 0.0], [1.0, -3 * 2.0**-56, -1.0]])
def test_a_margin_that_is_rounded_down_certifies_nothing(row):
    """Half of this gap between the two largest values is no floating point number."""
    decisions = np.tile(row, (2000, 1))
    head = Head("c_svc", np.arange(3), one_vs_rest=True)
    sure, differing = label_margins(head, decisions), np.ones(2000, dtype=bool)
    assert certified_rows(head, decisions, np.full(decisions.shape, sure[0])).all()
    error = chosen_of(sure, differing, largest=np.abs(decisions).max()).error
    assert not certified_rows(head, decisions, np.full(decisions.shape, error)).any()


def test_margins_of_models_without_alternatives():
    assert label_margins(Head("c_svc", np.array([4])), np.zeros((3, 0))).tolist() == [np.inf] * 3
    assert label_margins(Head("one_class"), np.array([[-2.0], [0.5]])).tolist() == [2.0, 0.5]


@pytest.mark.parametrize("n", [1, 20, 598, 5000])
def test_binomial_limits(n):
    for k in {0, n // 3, n - 1}:
        # By definition: if the share is at the limit, so few are seen with probability 5 %.
        low, high = clopper_pearson(k, n)
        assert binom.cdf(k, n, upper_limit(k, n)) == pytest.approx(0.05, rel=1e-6)
        assert binom.cdf(k, n, high) == pytest.approx(0.025, rel=1e-6)
        assert binom.sf(k - 1, n, low) == pytest.approx(0.025, rel=1e-6) if k else low == 0
    assert upper_limit(n, n) == clopper_pearson(n, n)[1] == 1
    for share in (1e-4, 0.005, 0.2, 0.96):
        within = [j for j in range(n + 1) if upper_limit(j, n) <= share]
        assert largest_count(n, share) == max(within, default=-1)


def test_rows_at_the_error_itself_count_as_the_exact_models():
    """All rows have the margin that becomes the error, so the fast model answers none of them."""
    chosen = chosen_of(np.ones(2000), np.arange(2000) % 2 == 0)
    assert (chosen.error, chosen.cheaper) == (1.0, False)


@pytest.mark.parametrize("name", ["photos_c_rbf", "digits_nu_rbf", "iris_c_rbf_prob"])
def test_the_error_is_the_smallest_that_suffices(name):
    exact = exact_model(name)
    fast = compressed(4) if name == "photos_c_rbf" else coarse(exact, 4)
    rows = read_svmlight(data(f"{name.split('_')[0]}.test")).rows
    joined, report = join(fast, exact, rows, CascadeOptions(max_diff=0.15, confidence=0.9))
    decisions = fast.decision_values(rows)
    ours, theirs = fast.head.predict(decisions), answer(exact, rows).predicted
    differing = ours != theirs
    assert report.labels_differing_without_fallback == differing.sum() > 0
    group, _ = groups_of(row_keys(rows))
    found = Evaluated(label_margins(fast.head, decisions), differing, group)
    costs = {"cost_fast": report.operations_fast, "cost_exact": report.operations_exact}
    chosen = choose(found, 0.15, 0.9, seed=0, **costs)
    choosing, others = np.flatnonzero(~chosen.deciding), np.flatnonzero(chosen.deciding)
    assert (len(choosing), chosen.error) == (report.rows_choosing, joined.error)
    assert report.rows_choosing + report.rows_deciding == report.rows == len(rows)
    _, first = np.unique(group[choosing], return_index=True)

    def left(error, among=slice(None)):
        answered = certified_rows(fast.head, decisions, np.full(decisions.shape, error))
        return int((answered & differing)[among].sum())

    def shown(error):
        """Both with repetitions and without."""
        parts = (choosing, choosing[first])
        return all(beta.ppf(0.9, left(error, own) + 1, len(own) - left(error, own)) <= 0.15 for own in parts)

    assert joined.error > 0
    assert shown(joined.error)
    assert not shown(joined.error * (1 - 1e-12))
    assert report.labels_differing_choosing == left(joined.error, choosing)
    # Measured on the rows that were not used to choose the error.
    measured = (report.measured_rows, report.measured_labels_differing)
    assert measured == (len(others), left(joined.error, others))
    classes = report.kept.classes
    assert measured == (sum(one.rows for one in classes), sum(one.rows - one.correct for one in classes))
    assert report.labels_differing_limit_percent <= 15
    # As predict uses it: the fast model answers some rows, the exact model the others.
    answers = answer(joined, rows, exact=exact)
    assert answers.certified.sum() == report.answered
    assert answers.certified[others].sum() == report.measured_answered
    np.testing.assert_array_equal(answers.predicted, np.where(answers.certified, ours, theirs))
    assert (answers.predicted != theirs).sum() == report.labels_differing == left(joined.error)


def population(differing, n=200_000):
    """Rows of which those with smaller margins differ more often; overall the share `differing`."""
    rng = np.random.default_rng(0)
    sure = rng.random(n)
    return sure, rng.random(n) < 3 * differing * (1 - sure) ** 2


def test_the_guarantee_holds_as_often_as_stated_and_for_the_files_that_are_written():
    """If the rows that choose the error also decide on a joining that is barely faster, every file fails."""
    sure, differing = population(0.02)
    limit, trials, n = 0.01, 400, 3000
    truth = np.sort(sure[differing])[::-1][int(limit * len(sure))]  # a smaller error exceeds the limit
    # With 0.999 of that error the two models would cost as much as the exact model alone.
    fast = float((sure > 0.999 * truth).mean())
    exceeded = written = broken = written_by_its_own_rows = broken_by_its_own_rows = 0
    rng = np.random.default_rng(1)
    for trial in range(trials):
        drawn = rng.integers(0, len(sure), n)
        costs = {"cost_fast": 1000 * fast, "cost_exact": 1000.0}  # in any unit
        chosen = chosen_of(sure[drawn], differing[drawn], limit, drawn, seed=trial, **costs)
        wrong = (differing & (sure > chosen.error)).mean() > limit
        exceeded += wrong
        written += chosen.cheaper
        broken += chosen.cheaper and wrong
        same_rows = fast < (sure[drawn] > chosen.error).mean()
        written_by_its_own_rows += same_rows
        broken_by_its_own_rows += same_rows and wrong
    # Sometimes it is exceeded: the error is not far too large.
    assert 0 < exceeded <= binom.ppf(0.999, trials, 0.05)
    assert trials / 20 < written < trials / 2
    assert broken <= binom.ppf(0.999, written, 0.05)
    assert broken_by_its_own_rows > 0.8 * written_by_its_own_rows > 0


def test_the_guarantee_holds_for_models_that_are_joined():
    """Samples from a population whose labels are all known: at most one in twenty may exceed the limit."""
    exact, fast, rows, rng = exact_model(), compressed(6), read_svmlight(ROWS).rows, np.random.default_rng(2)
    decisions = fast.decision_values(rows)
    labels, sure = exact.head.predict(exact.decision_values(rows)), label_margins(fast.head, decisions)
    differing = fast.head.predict(decisions) != labels
    limit, wrong, kept, trials = 0.03, 0, 0.0, 300
    assert differing.mean() > limit
    for _ in range(trials):
        drawn = rng.integers(0, len(rows), 300)
        options = CascadeOptions(max_diff=limit)
        answered = sure > join(fast, exact, rows.take(drawn), options, labels=labels[drawn])[1].error
        wrong += bool((answered & differing).mean() > limit)
        kept += answered.mean() / trials
    assert 0 < wrong <= binom.ppf(0.999, trials, 0.05)  # nor is the error far too large
    assert kept > 0.5


def test_the_limit_is_that_of_the_observed_count_where_nothing_falls_back():
    differing = np.arange(1500) < 4
    chosen = chosen_of(np.ones(1500), differing, 0.02, seed=1)
    own = ~chosen.deciding
    seen = (own & differing).sum()
    assert chosen.error == 0
    assert chosen.limit == pytest.approx(beta.ppf(0.95, seen + 1, own.sum() - seen), rel=1e-9)


def test_possible_copies_do_not_reduce_the_confidence():
    """Too few repetitions to be distinguished from chance: the limit holds with and without them."""
    sure, differing = population(0.02, 3000)
    again = np.flatnonzero(~differing)[:60]  # sixty rows that agree, given twice
    group = np.concatenate([np.arange(3000), again])
    assert copied(group) is None
    chosen = chosen_of(sure[group], differing[group], group=group)
    different = np.unique(group[~chosen.deciding])
    allowed = largest_count(len(different), 0.01)
    assert chosen.error >= np.sort(sure[different][differing[different]])[::-1][allowed]


@pytest.mark.parametrize("seed", range(6))
def test_repeated_draws_are_not_taken_for_copies(seed):
    rng = np.random.default_rng(seed)
    shares = (
        np.ones(3), np.ones(500), np.ones(100_000), 1 / np.arange(1, 3000) ** 1.2,
        rng.dirichlet(np.full(400, 0.1)), rng.lognormal(0, 3, 2000),
    )[seed]  # fmt: skip
    drawn = rng.choice(len(shares), 2000, p=shares / shares.sum())
    assert copied(np.unique(drawn, return_inverse=True)[1]) is None
    assert copied(np.concatenate([np.arange(400)] * (seed + 2))) == seed + 2
    assert copied(np.concatenate([np.arange(700), np.arange(400)])) == 2


@given(st.integers(1, 400), st.floats(1e-3, 0.5), st.floats(0.5, 0.999))
def test_too_few_rows_are_refused(n, share, confidence):
    exact, rows = exact_model(), Rows.from_dense(np.arange(1.0, n + 1)[:, None])
    options, needed = CascadeOptions(max_diff=share, confidence=confidence), trials_needed(share, confidence)
    if n >= needed + 1:
        assert join(exact, exact, rows, options)[0].error == 0
    elif n < needed - 1:
        with pytest.raises(OptionError, match="cannot show with"):
            join(exact, exact, rows, options)
