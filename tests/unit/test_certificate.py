"""The certificate is never violated, against 50 digits; its numbers are the page's; the validity bound."""

import math
from fractions import Fraction
from functools import partial
from itertools import combinations, product

import mpmath
import numpy as np
import pytest
from approximations import approximate
from fifty_digits import exactly, mpf
from hypothesis import given
from hypothesis import strategies as st
from random_models import exact_sums, random_model

from svmfast.certificate import vote_is_certain
from svmfast.errors import OptionError
from svmfast.kernels import DecisionEngine, Kernel
from svmfast.methods.approximate.bounds import certificate, gaussian_rounding, polynomial_rounding
from svmfast.models.certified import certified_rows
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows
from svmfast.solvers import residual, taylor
from svmfast.solvers.residual import SMALLEST, SPECTRAL, UNIT, Tail, largest_eigenvalue, residual_tail
from svmfast.solvers.taylor import gaussian_coefficients, polynomial_kernel_coefficients
from svmfast.validity_bound import gamma_max, inside_bound, largest_exponent


def assert_never_violated(model, made, z, oracle):
    rows = Rows.from_dense(z)
    decisions, bounds = made.certified_values(rows)
    certified, label = certified_rows(made.head, decisions, bounds), made.head.predict(decisions)
    engine = DecisionEngine(model.kernel, model.sv, model.sv_coef, model.rho, model.nr_sv)
    for exact in (model.decision_values(rows), engine.decision_values(rows, libsvm_order=True)):
        assert (np.abs(decisions - exact) <= bounds).all()
        predicted = model.head.predict(exact)
        assert (predicted[certified] == label[certified]).all()
    for sums, *found in zip(exact_sums(model, z[:oracle]), decisions.tolist(), bounds.tolist(), strict=False):
        for true, value, bound in zip(sums, *found, strict=True):
            assert abs(mpf(value) - true) <= mpf(bound)


@given(
    seed=st.integers(0, 2**31), d=st.integers(1, 6), classes=st.integers(2, 4), order=st.integers(0, 6),
    gamma=st.floats(1e-4, 20), scale=st.floats(1e-3, 30), size=st.floats(1e-6, 1e5),
    center=st.sampled_from(["auto", "mean", "origin", 3]), exponent=st.sampled_from([0, 0, 0, 60, 90, -80]),
)  # fmt: skip
def test_random_models_and_rows(seed, d, classes, order, gamma, scale, size, center, exponent):
    """Features are multiplied by a power of two; at 2^90 squares of coefficients of degree 6 are 0."""
    gamma, scale = math.ldexp(gamma, -2 * exponent), math.ldexp(scale, exponent)
    model = random_model(seed, 8, d, classes, gamma, scale, size)
    rng = np.random.default_rng(seed + 1)
    reach = rng.choice([0.0, 0.1, 1.0, 3.0, 30.0], size=(40, 1))
    z = rng.normal(size=(40, d + 1)) * reach * scale
    z[:, d] *= rng.uniform(size=40) < 0.3
    z[:8, :d] = model.sv.to_dense(d)[:8]
    where = {"cells": center} if center == 3 else {"center": center}
    made, _ = approximate(model, order=order, **where)
    if made.has_error_bound:
        assert_never_violated(model, made, z, oracle=2)


@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
@given(
    seed=st.integers(0, 2**31), d=st.integers(1, 6), scale=st.floats(1e-2, 10),
    exponent=st.sampled_from([0, 0, 280, -150]),
)  # fmt: skip
def test_converted_kernels_within_rounding(kernel, seed, d, scale, exponent):
    """At 2^280 the square of a polynomial kernel's gamma is 0, and the kernel is not."""
    gamma, scale = math.ldexp(0.5, -2 * exponent), math.ldexp(scale, exponent)
    model = random_model(seed, 8, d, 3, gamma, scale, 1.0, kernel)
    z = np.random.default_rng(seed + 1).normal(size=(20, d)) * scale
    made, _ = approximate(model)
    assert_never_violated(model, made, z, oracle=3 * (kernel == "polynomial"))
    # The bound covers only rounding, so nearly every row is certified.
    decisions, bounds = made.certified_values(Rows.from_dense(z))
    assert bounds.max() <= 1e-8 * max(1.0, float(np.abs(decisions).max()))


def test_the_last_term_of_the_tail_is_needed():
    """Near the center it is about twice the residual, for the vector whose residual is largest."""
    for order in range(3):
        j, r = order + 1, 1e-3
        tail = residual_tail(np.array([[j**0.5]]), np.ones(1), 0.5, np.zeros(1), order, top=order)
        residual = math.exp(-j / 2) * (j**0.5 * r) ** j / math.factorial(j)
        assert not tail.degrees.any()
        assert residual <= tail.beyond * r**j < 2.2 * residual


EITHER_WAY = pytest.mark.parametrize("way", ["moments", "products", "pairs"])


def tail_from(way, *given, **options):
    """The tail with all degrees from moments (also by the products of matrices), or all from pairs."""
    with pytest.MonkeyPatch.context() as patch:
        if way == "products":
            patch.setattr(taylor, "_FEW", -1)
        patch.setattr(
            residual, "_last_by_moments", lambda n, d, first, top, _: first - 1 if way == "pairs" else top
        )
        return residual_tail(*given, **options)


@EITHER_WAY
@pytest.mark.parametrize("top", [1, 12])
def test_moments_that_cancel_keep_their_rounding_error(way, top):
    """Of vectors that cancel, M_j and N_j are the bound on their rounding error in docs/certificate.md."""
    x, n, d = 1.5, 2, 1
    tail = tail_from(way, np.full((n, 1), x), np.array([1.0, -1.0]), 0.5, np.zeros(1), 0, top=top)
    of_a = ((d + 4) * x * x + 4) * UNIT
    for j in range(1, top + 1):
        absolute = (2 * math.exp(-x * x / 2) * x**j) ** 2
        c = 2 * n + 8 * j + 40 + 1 if way != "pairs" else 2 * n + (j + 2) * (d + 4) + 400
        expected = math.sqrt((c * UNIT + 2 * of_a) * absolute) / math.factorial(j)
        assert tail.degrees[j] == pytest.approx(expected, rel=1e-6, abs=0)


@EITHER_WAY
@given(
    seed=st.integers(0, 2**31), n=st.integers(1, 6), d=st.integers(1, 2), order=st.integers(0, 4),
    exponent=st.sampled_from([0, 0, 20, -20]), spread=st.sampled_from([1e-200, 1e-8, 0.3, 3.0, 40.0]),
    size=st.sampled_from([1e-99, 1.0, 1e150]), twice=st.booleans(),
)  # fmt: skip
def test_tails_against_fifty_digits(way, seed, n, d, order, exponent, spread, size, twice):
    """Every degree is at least the exact number, and larger by its rounding error; weights underflow."""
    rng = np.random.default_rng(seed)
    scale, gamma, top = 2.0**exponent, 0.5 * 4.0**-exponent, order + SPECTRAL + 2
    x, beta = rng.normal(size=(n, d)) * spread, rng.normal(size=n) * size
    if twice:  # nearly cancelling
        x, beta = np.r_[x, x], np.r_[beta, beta * (rng.choice([1e-12, 0]) - 1)]
    found = tail_from(way, x * scale, beta, gamma, np.zeros(d), order, top=top).degrees
    points = np.array([exactly(row) for row in x])
    squares = (points * points).sum(axis=1)
    a = np.array([b * mpmath.exp(-s / 2) for b, s in zip(exactly(beta), squares, strict=True)])
    lost = sum(abs(b) for b in exactly(beta)) * mpf(10) ** -25
    for j in range(order + 1, top + 1):
        m = points.T @ (np.outer(a, a) * (points @ points.T) ** (j - 1)) @ points
        square = m.trace()
        if d == 2 and j <= order + SPECTRAL:
            square = (square + mpmath.hypot(m[0, 0] - m[1, 1], 2 * m[0, 1])) / 2
        exact, absolute = mpmath.sqrt(max(square, 0)), sum(abs(a) * squares ** (mpf(j) / 2))
        here, least = (mpf(float(v)) * mpf(scale) ** j for v in (found[j], SMALLEST))
        error = (800 + 20 * max(squares)) * UNIT * absolute**2
        most = mpmath.sqrt((exact * (1 + mpf(10) ** -8)) ** 2 + error) / math.factorial(j) + lost + least
        assert exact / math.factorial(j) - lost <= here <= most


def test_high_degrees_of_many_vectors_are_sums_over_groups(monkeypatch):
    rng = np.random.default_rng(6)
    n, d, gamma, order, top = 90, 4, 0.1, 1, 12
    x, beta = rng.normal(size=(n, d)), rng.normal(size=n)
    tail = partial(residual_tail, gamma=gamma, center=np.zeros(d), order=order, top=top)
    whole = tail(x, beta).degrees
    monkeypatch.setattr(residual, "GROUP", 20)
    assert (tail(x, beta, reach=1e200).degrees >= whole * (1 - 1e-9)).all()  # reach^2 overflows
    parts = sum(tail(x[g::5], beta[g::5]).degrees for g in range(5))
    for share in (1e-4, 1e-2):
        monkeypatch.setattr(residual, "SHARE", share)
        found = tail(x, beta, reach=0.5).degrees
        exact = int(np.flatnonzero(found <= whole * (1 + 1e-9)).max())
        assert order < exact < top
        assert found[: exact + 1] == pytest.approx(whole[: exact + 1], rel=1e-9)
        later = slice(max(exact, order + SPECTRAL) + 1, None)
        assert found[later] == pytest.approx(parts[later], rel=1e-9)
        at = 0.5 ** np.arange(top + 1)
        assert (
            (found * at)[exact + 1 :].sum()
            <= share * (whole * at)[order + 1]
            < (parts * at)[exact:].sum() * 9
        )


#: The degree of each coefficient of a polynomial of order 2 in three variables.
DEGREE = np.repeat([0, 1, 2], [1, 3, 6])


def norms_of(c):
    return [abs(c[0]), math.sqrt((c[1:4] ** 2).sum()), math.sqrt((c[4:] ** 2 / [1, 2, 2, 1, 2, 1]).sum())]


@pytest.mark.parametrize("exponent", [0, 300, -240])  # of two, of the scale of features
@pytest.mark.parametrize("about_zero", [False, True])
def test_rounding_bounds_are_those_of_the_page(about_zero, exponent):
    rng = np.random.default_rng(8)
    n, d, order, gamma, rho = 7, 3, 2, 0.3, 1e3
    points, beta, center = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=d)
    c, moved = rng.normal(size=10) * 1e-3, np.array([1e-16, 2e-16, 3e-16])
    scale, power = 2.0**exponent, 2.0 ** (-exponent * np.arange(3))
    numbers = (points * scale, beta, gamma / scale**2, center * scale, c * power[DEGREE], moved * power, rho)
    degrees, rest = gaussian_rounding(*numbers, order=order, about_zero=about_zero)
    made = gaussian_coefficients(*numbers[:4], order, about_zero=about_zero)
    plain = gaussian_coefficients(points, beta, gamma, center, order, about_zero=about_zero)
    assert made / power[DEGREE] == pytest.approx(plain, rel=1e-9, abs=0)
    norms, mu = np.linalg.norm(points - center, axis=1), float(np.linalg.norm(center))
    a, total = np.abs(beta) * np.exp(-gamma * norms**2), float(np.abs(beta).sum())
    u = 1.01 * UNIT
    built = ((d + 4) * gamma * (norms**2).max() + n + 8 * order + 40 + about_zero * order * (d + 4)) * u
    b = norms_of(c)
    sigma = 2 * gamma * norms * mu * about_zero
    of_terms = []
    for m in range(order + 1):
        inner = sum(sigma**q / math.factorial(q) for q in range(order - m + 1))
        size = float((a * inner) @ norms**m) * (2 * gamma) ** m / math.factorial(m)
        of_terms.append((2 * order * (d + 4) + 20) * u * b[m] + moved[m] + built * size)
    powers = np.poly1d([0.0])
    for m, term in enumerate(of_terms):
        powers = powers + term * np.poly1d([1, mu * about_zero]) ** m
    assert degrees / power == pytest.approx(powers.coef[::-1], rel=1e-6, abs=0)
    slope = 4.04 * (2 * d + 4096) * UNIT * gamma
    reach = float(np.linalg.norm(points, axis=1).max()) + mu
    constant = total * ((n + 24) * u + 2 * slope * reach**2) + 4 * UNIT * rho
    assert rest[1] == pytest.approx(constant, rel=1e-8, abs=0)
    assert rest[2] / power[2] == pytest.approx(2 * slope * total, rel=1e-6, abs=0)
    assert rest[3] == pytest.approx(16 * UNIT + 8 * slope * mu**2, rel=1e-6, abs=0)
    assert rest[4] / power[2] == pytest.approx(2 * slope + 4 * UNIT * gamma, rel=1e-6, abs=0)


@pytest.mark.parametrize("exponent", [0, 280, -220])
def test_rounding_bounds_of_polynomial_kernels(exponent):
    rng, (n, d, degree, gamma, coef0) = np.random.default_rng(8), (7, 3, 2, 0.3, 0.9)
    points, beta, c = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=10)
    scale, power = 2.0**exponent, 2.0 ** (-exponent * np.arange(3))
    numbers = (points * scale, beta, gamma / scale**2, coef0, degree, c * power[DEGREE], 1e3)
    degrees, rest = polynomial_rounding(*numbers)
    made = polynomial_kernel_coefficients(*numbers[:5]) / power[DEGREE]
    plain = polynomial_kernel_coefficients(points, beta, gamma, coef0, degree)
    assert made == pytest.approx(plain, rel=1e-9, abs=0)
    both = (2 * n + (degree + 1) * (2 * d + 4096 + 8) + 8 * degree + 64) * 1.01 * UNIT
    for m, norm in enumerate(norms_of(c)):
        size = np.abs(beta) @ np.linalg.norm(points, axis=1) ** m * gamma**m * coef0 ** (degree - m)
        expected = both * math.comb(degree, m) * size + (2 * degree * (d + 4) + 20) * 1.01 * UNIT * norm
        assert degrees[m] / power[m] == pytest.approx(expected, rel=1e-6, abs=0)
    assert rest == pytest.approx([0, 8 * UNIT * 1e3, 0, 4 * UNIT, 0], rel=1e-6, abs=0)


@EITHER_WAY
def test_tail_of_many_vectors_is_that_of_the_whole_gram_matrix(way):
    """More vectors than a block has: each pair counts once, for any number of threads."""
    rng = np.random.default_rng(6)
    n, gamma, order = 521, 0.1, 1
    x, beta = rng.normal(size=(n, 3)), rng.normal(size=n)
    numbers = (x + 1, beta, gamma, np.ones(3), order)
    tail, other = (tail_from(way, *numbers, top=order + SPECTRAL + 2, threads=n) for n in (1, 3))
    assert np.array_equal(tail.degrees, other.degrees)
    gram, a = 2 * gamma * x @ x.T, beta * np.exp(-gamma * (x * x).sum(axis=1))
    for j in range(order + 1, order + SPECTRAL + 3):
        weights = np.outer(a, a) * gram ** (j - 1)
        matrix = 2 * gamma * x.T @ weights @ x
        size = np.linalg.eigvalsh(matrix)[-1] if j <= order + SPECTRAL else np.trace(matrix)
        expected = math.sqrt(size) * (2 * gamma) ** (j / 2) / math.factorial(j)
        assert tail.degrees[j] == pytest.approx(expected, rel=1e-7)


def test_tail_of_negligible_vectors_is_that_of_each_alone():
    rng = np.random.default_rng(6)
    x, beta, gamma, top = rng.normal(size=(30, 3)), rng.normal(size=30), 0.1, 9
    tail = partial(residual_tail, x, beta, gamma, np.zeros(3), 1, top=top)
    tails = [tail(reach=1.0, negligible=most).degrees for most in (0.0, np.inf)]
    assert np.array_equal(tails[0], tail().degrees)
    norms, a = np.linalg.norm(x, axis=1), np.abs(beta) * np.exp(-gamma * (x * x).sum(axis=1))
    for j in range(2, top + 1):
        assert tails[1][j] == pytest.approx(a @ norms**j * (2 * gamma) ** j / math.factorial(j), rel=1e-8)


def test_stored_numbers_are_those_of_rounding_and_tail_rounded_up():
    rng = np.random.default_rng(7)
    order = 2
    of_rounding, rest, of_tail = rng.random(order + 1), rng.random(5), rng.random(40)
    degrees, stored = certificate((of_rounding, rest), order, Tail(of_tail, 0.7))
    sums = of_tail + np.concatenate((of_rounding, np.zeros(len(of_tail) - order - 1)))
    for found, exact in ((degrees, sums), (stored, np.array([0.7, *rest[1:]]))):
        assert (exact <= found).all()
        assert found == pytest.approx(exact, rel=2e-5)


def test_the_eigensolver_is_not_trusted(monkeypatch):
    # Of the identity, everything is computed exactly; of another matrix it could have been rounded.
    assert largest_eigenvalue(np.eye(40)) >= 1 + residual.product_rounding(40)[0] * math.sqrt(40)
    rng = np.random.default_rng(9)
    basis = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    matrix = (basis * [0.1, 0.2, 0.3, 0.4, 1.0]) @ basis.T
    for v in (0.99 * basis, basis + 0.003 * rng.normal(size=(5, 5))):
        monkeypatch.setattr(residual, "symmetric_eigen", lambda given, v=v: (np.diag(v.T @ given @ v), v))
        assert 1 <= largest_eigenvalue(matrix) < 1.05


@pytest.mark.parametrize("exponent", [-966, -533, -30, 0, 30, 533, 966])
@pytest.mark.parametrize("d", [1, 2, 7, 40])
def test_the_largest_eigenvalue_is_never_underestimated(d, exponent):
    basis = np.linalg.qr(np.random.default_rng(d).normal(size=(d, d)))[0]
    found = largest_eigenvalue(np.ldexp((basis * np.geomspace(1, 1e-12, d)) @ basis.T, exponent))
    assert 2.0**exponent * (1 - 1e-13) <= found <= 2.0**exponent * (1 + 1e-10)
    assert [largest_eigenvalue(np.full((d, d), tiny)) for tiny in (0, 5e-324)] == [0, 1e-300]


@pytest.mark.parametrize("d", [1, 2, 17, 65, 1000, 10**5])
def test_rounding_of_matrix_products_is_no_less_than_its_worst_case(d):
    gamma = d * UNIT / (1 - d * UNIT)
    of_residual, of_gram = residual.product_rounding(d)
    squared, spectral = 1.5 * d, 1.5**0.5  # the largest accepted ||V||_F^2 and ||V||_2
    assert of_gram >= gamma * squared
    assert of_residual >= gamma * squared**0.5 * (2 * spectral + gamma * squared**0.5)


def slow_vote(certain, decisions, k):
    pairs, winners = zip(certain, decisions, strict=True), set()
    for signs in product(*([value > 0] if sure else [True, False] for sure, value in pairs)):
        votes = [0] * k
        for pair, first in zip(combinations(range(k), 2), signs, strict=True):
            votes[pair[not first]] += 1
        winners.add(votes.index(max(votes)))
    return len(winners) == 1


def test_vote_is_certain_exactly_when_no_outcome_changes_it():
    rng = np.random.default_rng(6)
    for k in (2, 3, 4, 5):
        p = k * (k - 1) // 2
        decisions = rng.normal(size=(150, p))
        certain = rng.uniform(size=(150, p)) < rng.uniform(0.2, 1, size=(150, 1))
        expected = [slow_vote(*one, k) for one in zip(certain, decisions, strict=True)]
        assert vote_is_certain(certain, decisions, k).tolist() == expected
        assert 0 < sum(expected) < 150


def test_the_default_tolerance_is_a_share_of_the_spread_of_values():
    rng = np.random.default_rng(13)
    vectors, coef = Rows.from_dense(rng.normal(size=(60, 3))), rng.normal(size=(1, 60))
    model = KernelExpansion(Head("epsilon_svr"), Kernel("rbf", 0.1), vectors, coef, np.array([0.3]))
    expected = 0.01 * model.decision_values(model.sv).std()
    assert approximate(model, order=4)[1].tolerance == pytest.approx(expected)


def test_gamma_max_of_model_and_data():
    assert gamma_max(14) == pytest.approx(1 / 56)  # every row of Adult has at most 14 ones
    assert gamma_max(0.0) == math.inf
    for norms in ((-1.0,), (1.0, -1.0)):
        with pytest.raises(OptionError, match="must not be negative"):
            gamma_max(*norms)
    assert inside_bound(0.25, 1.0, np.array([0.99, 1.0])).tolist() == [True, False]
    for gamma in (1e-300, 1e300, 1.7e308):
        # With a zero vector, and at half and at twice the norm of the bound.
        norm = 0.25 / gamma
        assert inside_bound(gamma, norm, np.array([0.0, norm / 2, norm * 2])).tolist() == [True, True, False]
        assert inside_bound(gamma, 0.0, np.array([0.0, 1.0, np.inf])).all()
    for call, message in ((gamma_max, "must not be negative"), (largest_exponent, "order -1 is negative")):
        with pytest.raises(OptionError, match=message):
            call(-1)


@pytest.mark.parametrize("order", range(17))
def test_every_order_allows_the_error_that_the_paper_allows_the_second(order):
    allowed = Fraction(str(math.exp(0.5))) * Fraction(5, 8) - 1
    t = largest_exponent(order)

    def error(at):
        terms = sum(Fraction(-at) ** j / math.factorial(j) for j in range(order + 1))
        return abs(float(Fraction(math.exp(at)) * terms - 1))

    assert error(t) == pytest.approx(float(allowed), rel=1e-6)
    # Closer to 0, and for the other sign, the error is smaller: the condition is |t| <= T.
    assert all(error(share * t) < float(allowed) for share in (-1, -0.5, 0.3, 0.9, 0.999))
    gamma = gamma_max(2.0, 3.0, order=order)
    assert gamma == pytest.approx(t / (2 * math.sqrt(6)), rel=1e-14)
    inside = inside_bound(gamma * 0.999, 2.0, np.array([3.0, 3.01]), order=order)
    assert inside.tolist() == [True, False]


@pytest.mark.parametrize(
    ("kernel", "vector", "size"),
    [
        (Kernel("rbf", 1e-285), 1e140, 1.0),
        (Kernel("rbf", 1e285), 1e-140, 1.0),
        (Kernel("polynomial", 1e160, 1.0, 2), 1e-140, 1.0),
        (Kernel("rbf", 0.5), 1.0, 1e-150),  # coefficients that nearly vanish
    ],
)
def test_no_certificate_beyond_the_limits(kernel, vector, size):
    head, vectors = Head("c_svc", np.array([1, -1])), Rows.from_dense([[vector], [-vector]])
    coef, sizes = np.array([[1.0, -0.5]]) * size, np.array([1, 1])
    model = KernelExpansion(head, kernel, vectors, coef, np.array([0.1 * size]), sizes)
    assert not approximate(model, order=0)[0].has_error_bound
