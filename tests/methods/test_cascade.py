"""`svmfast cascade`: the margin of a row, the chosen error, the guarantee, the file and its predictions.

Longer than 400 lines: the tests share the models and the draws of the helpers at the top.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from meaning import FROZEN
from program import data, model, svmfast
from scipy.stats import beta, binom
from sealing import packed, unpacked

from svmfast import cascade, compress, predict
from svmfast.errors import ModelFormatError, OptionError, UnsupportedError
from svmfast.formats.model_files import load_model, model_bytes, save_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.kernels import Kernel
from svmfast.methods.cascade import CascadeOptions
from svmfast.methods.cascade.join import join
from svmfast.methods.cascade.run import run
from svmfast.methods.cascade.threshold import Evaluated, choose
from svmfast.methods.common.equal_rows import copied, groups_of, row_keys
from svmfast.methods.method import GivenModel, GivenRows, Inputs, Race, Setting
from svmfast.models.answer import answer
from svmfast.models.cascade import CascadeModel
from svmfast.models.certified import certified_rows, label_margins
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows
from svmfast.solvers.intervals import clopper_pearson, largest_count, trials_needed, upper_limit

PHOTOS, ROWS = model("photos_c_rbf"), data("photos.test")


def exact_model(name: str = "photos_c_rbf") -> KernelExpansion:
    found = load_model(model(name))
    assert isinstance(found, KernelExpansion)
    return found


def coarse(exact: KernelExpansion, keep: int, seed: int = 0) -> KernelExpansion:
    """Return a poor approximation of `exact`: a few of each class's vectors, with larger coefficients."""
    rng = np.random.default_rng(seed)
    assert exact.nr_sv is not None
    ends = np.cumsum(exact.nr_sv)
    chosen = [np.sort(rng.permutation(n)[:keep]) + end - n for n, end in zip(exact.nr_sv, ends, strict=True)]
    counts = np.array([len(part) for part in chosen])
    scale = np.concatenate([np.full(c, n / c) for c, n in zip(counts, exact.nr_sv, strict=True)])
    rows = np.concatenate(chosen)
    return replace(
        exact, sv=exact.sv.take(rows), sv_coef=exact.sv_coef[:, rows] * scale, nr_sv=counts.astype(np.int64)
    )


@cache
def compressed(vectors: int) -> KernelExpansion:
    """Return photos with few vectors: with 4 the labels differ on 21 % of the rows, with 8 on 5 %."""
    return compress(PHOTOS, read_svmlight(ROWS), sv=vectors, iterations=20).model


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


def test_trials_needed() -> None:
    assert trials_needed(0.005) == 598
    assert largest_count(598, 0.005) == 0
    assert largest_count(597, 0.005) == -1


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


def test_models_that_cannot_be_joined() -> None:
    exact, rows = exact_model(), read_svmlight(ROWS).rows
    with pytest.raises(OptionError, match=r"`max_diff` is 1\.0; expected a share above 0% and below 100%"):
        cascade(compressed(8), exact, rows, max_diff=1.0)
    with pytest.raises(OptionError, match="`fast` is `exact` itself"):
        cascade(exact, exact, rows)
    with pytest.raises(UnsupportedError, match="`exact` is a cascade model; give the LIBSVM model"):
        cascade(exact, CascadeModel(compressed(8), exact, 0.1), rows)
    with pytest.raises(UnsupportedError, match="has a different type or different labels"):
        join(exact_model("iris_c_rbf_prob"), exact, rows)
    regression = exact_model("diabetes_eps_rbf")
    with pytest.raises(UnsupportedError, match="does not distinguish rows in regression"):
        join(regression, regression, rows)


def test_the_program(tmp_path: Path) -> None:
    fast = compressed(8)
    save_model(fast, tmp_path / "fast")
    words = ("cascade", "fast", PHOTOS, "--data", ROWS, "--max-diff", "2%", "--json", "--force")
    done = svmfast(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["labels_differing_limit_percent"] <= 2
    assert report["bytes"] == (tmp_path / "fast.cascade.model").stat().st_size
    assert report["outputs"]["model"]["path"] == "fast.cascade.model"
    assert report["cheaper"]

    def labels(*more: str | Path) -> list[bytes]:
        result = svmfast("predict", "-q", ROWS, *more, cwd=tmp_path)
        assert (result.returncode, result.stderr) == (0, b"")
        return result.stdout.split()

    exact, plain, both = labels(PHOTOS), labels("fast"), labels("fast.cascade.model")
    assert labels("--no-fallback", "fast.cascade.model") == plain
    assert (
        sum(a != b for a, b in zip(plain, exact, strict=True)) == report["labels_differing_without_fallback"]
    )
    assert sum(a != b for a, b in zip(both, exact, strict=True)) == report["labels_differing"]

    heard = svmfast("predict", ROWS, "fast.cascade.model", "out", cwd=tmp_path).stderr.decode()
    open_rows = report["rows"] - report["answered"]
    assert f"statistical, not proven); {open_rows:,} answered by the exact model" in heard
    refused = svmfast("predict", "--certify", ROWS, "fast.cascade.model", cwd=tmp_path)
    assert refused.returncode == 2
    assert b"the model has no certificate" in refused.stderr
    refused = svmfast(
        "bound-check", ROWS, "--model", "fast.cascade.model", "--require-certified", "1%", cwd=tmp_path
    )
    assert refused.returncode == 2
    assert b"the model has no certificate" in refused.stderr

    result = json.loads(svmfast("info", "--json", "fast.cascade.model", cwd=tmp_path).stdout)
    assert (result["kind"], result["certificate"]) == ("cascade", False)
    assert result["scalars"]["error"] == report["error"]
    assert result["fast"]["support_vectors"] == len(fast.sv)
    shown = svmfast("compare", PHOTOS, "fast.cascade.model", "--data", ROWS, "--json", cwd=tmp_path)
    line = json.loads(shown.stdout)["models"][1]
    # compare measures what predict answers.
    assert line["labels_differing"] == report["labels_differing"]
    assert line["exact_percent"] == pytest.approx(100 * open_rows / report["rows"])
    share = report["measured_answered"] / report["measured_rows"]
    average = report["multiply_adds_fast"] + (1 - share) * report["multiply_adds_exact"]
    assert report["multiply_adds"] == pytest.approx(average)
    assert line["multiply_adds"] == pytest.approx(average, rel=0.1)
    assert (line["certified_percent"], line["violations"]) == (None, None)
    for limit, status in (("2%", 0), ("1%", 1)):
        words = ("compare", PHOTOS, "fast.cascade.model", "--data", ROWS, "--repeats", "1")
        assert svmfast(*words, "--max-diff", limit, cwd=tmp_path).returncode == status

    again = svmfast(
        "cascade", "fast.cascade.model", PHOTOS, "--data", ROWS, "--max-diff", "2%", "--force", cwd=tmp_path
    )
    assert again.returncode == 0
    name = "fast.cascade.cascade.model"
    assert (tmp_path / name).read_bytes() == (tmp_path / "fast.cascade.model").read_bytes()


def test_the_program_gives_a_negative_answer(tmp_path: Path) -> None:
    exact = exact_model()
    twice = np.repeat(np.arange(len(exact.sv)), 2)
    assert exact.nr_sv is not None
    larger = replace(
        exact, sv=exact.sv.take(twice), sv_coef=exact.sv_coef[:, twice] / 2, nr_sv=2 * exact.nr_sv
    )
    save_model(larger, tmp_path / "fast")
    done = svmfast("cascade", "fast", PHOTOS, "--data", ROWS, "--json", cwd=tmp_path)
    assert done.returncode == 1
    reason = b"the exact model alone costs no more (timed on this machine), by the 800 rows that decide"
    assert done.stderr.endswith(reason + b"; nothing was written\n")
    report = json.loads(done.stdout)
    assert (report["cheaper"], report["outputs"], report["bytes"]) == (False, {"model": None}, None)
    assert [path.name for path in tmp_path.iterdir()] == ["fast"]
    few = svmfast("cascade", "fast", PHOTOS, "--data", data("iris.test"), cwd=tmp_path)
    assert few.returncode == 2
    assert b"rows cannot show with 0.95 confidence that at most 0.5000% differ" in few.stderr
    same = svmfast("cascade", PHOTOS, PHOTOS, "--data", ROWS, "-o", tmp_path / "x")
    assert (same.returncode, same.stderr) == (
        2,
        b"svmfast: FAST is EXACT itself; expected a faster model\n",
    )
    assert svmfast("cascade", "fast", PHOTOS, cwd=tmp_path).returncode == 2
    over = svmfast("cascade", "fast", PHOTOS, "--data", ROWS, "-o", "fast", cwd=tmp_path)
    assert over.returncode == 2
    assert b"--output is FAST itself" in over.stderr


def test_files_that_contradict_themselves(tmp_path: Path) -> None:
    exact = exact_model("iris_c_rbf_prob")
    whole = model_bytes(CascadeModel(coarse(exact, 3), exact, 0.25))
    assert model_bytes(load_model(whole)) == whole
    tree = unpacked(whole)
    assert packed(tree) == whole
    routed = unpacked((FROZEN / "1.0/routed_pseudo_poly.model").read_bytes())
    for change, message in (
        ({"fast": None}, "fast: not an object"),
        ({"error": -1}, r"error: not an error \('-1'\); expected a number"),
        ({"fast": model_bytes(exact_model("breast_c_rbf"))}, "has a different type or different labels"),
        ({"fast": tree}, "fast: a scaled model or a cascade"),
        ({"exact": routed}, "exact: a model of kind routed"),
        ({"fast": {**routed, "kernel_typo": 1}}, r"fast: an unknown part \('kernel_typo'\)"),
    ):
        with pytest.raises(ModelFormatError, match=message):
            load_model(packed({**tree, **change}))


def test_labels_in_another_order_and_other_trainers(tmp_path: Path) -> None:
    """A fast model from nu-SVC with the labels in the opposite order: only the labels matter."""
    exact, rows = exact_model(), read_svmlight(ROWS).rows
    fast = compressed(8)
    assert fast.head.labels is not None
    assert fast.nr_sv is not None
    turned = np.concatenate([np.arange(fast.nr_sv[0], len(fast.sv)), np.arange(fast.nr_sv[0])])
    other = replace(
        fast,
        head=Head("nu_svc", fast.head.labels[::-1].copy()),
        sv=fast.sv.take(turned),
        sv_coef=-fast.sv_coef[:, turned],
        rho=-fast.rho,
        nr_sv=fast.nr_sv[::-1].copy(),
    )
    np.testing.assert_array_equal(answer(other, rows).predicted, answer(fast, rows).predicted)
    joined, report = join(other, exact, rows, CascadeOptions(max_diff=0.02))
    straight, same = join(fast, exact, rows, CascadeOptions(max_diff=0.02))
    assert (report.answered, report.labels_differing) == (same.answered, same.labels_differing)
    assert 0 < report.answered < len(rows)
    np.testing.assert_array_equal(
        answer(joined, rows, exact=exact).predicted, answer(straight, rows, exact=exact).predicted
    )
    both = predict(joined, rows, exact=joined.exact).predicted
    np.testing.assert_array_equal(both, answer(joined, rows, exact=exact).predicted)
    save_model(joined, tmp_path / "joined")
    done = svmfast("predict", "-q", ROWS, tmp_path / "joined")
    assert done.returncode == 0
    np.testing.assert_array_equal(
        np.array(done.stdout.split(), float), answer(straight, rows, exact=exact).predicted
    )
    refused = svmfast("predict", "-q", "--decision-values", ROWS, tmp_path / "joined")
    assert refused.returncode == 2
    assert b"values for different classes or pairs of classes" in refused.stderr


def test_python(tmp_path: Path) -> None:
    save_model(compressed(8), tmp_path / "fast")
    rows = read_svmlight(ROWS)
    made, report = cascade(tmp_path / "fast", PHOTOS, rows, max_diff=0.02, force=True)
    assert report.cheaper
    save_model(made, tmp_path / "joined")
    words = ("cascade", "fast", PHOTOS, "--data", ROWS, "--max-diff", "2%", "-o", "-", "--force")
    done = svmfast(*words, cwd=tmp_path)
    assert done.stdout == (tmp_path / "joined").read_bytes()
    both, alone = predict(made, rows), predict(made.fast, rows)
    np.testing.assert_array_equal(both.predicted, predict(made, rows, exact=made.exact).predicted)
    assert (both.predicted != alone.predicted).sum() > 0
    assert cascade(made, exact_model(), rows, max_diff=0.02, force=True).report == report


def test_copies_are_refused_and_repeated_draws_are_not(tmp_path: Path) -> None:
    save_model(compressed(8), tmp_path / "fast")
    lines = ROWS.read_bytes().splitlines(keepends=True)
    few, copies = lines[:300], b"the rows are copies of each other: more of them occur twice than"
    (tmp_path / "few").write_bytes(b"".join(few))
    (tmp_path / "twice").write_bytes(b"".join(few + few))
    (tmp_path / "mixed").write_bytes(b"".join(few[:200] + lines[300:900] + few))
    (tmp_path / "nearly").write_bytes(b"".join(lines[:590] + lines[:20]))
    rng = np.random.default_rng(0)
    (tmp_path / "drawn").write_bytes(b"".join(lines[i] for i in rng.integers(0, len(lines), 4000)))
    for names, message in (
        (("few", "few"), copies),
        (("twice",), copies),
        (("mixed",), copies),
        (
            ("nearly",),
            b"610 rows, 590 of them distinct, cannot show with 0.95 confidence that at most 0.5000%",
        ),
    ):
        words = [word for name in names for word in ("--data", name)]
        done = svmfast("cascade", "fast", PHOTOS, *words, "-o", "out", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, b"")
        assert len(done.stderr.splitlines()) == 1
        assert message in done.stderr
        assert not (tmp_path / "out").exists()
    done = svmfast(
        "cascade", "fast", PHOTOS, "--data", "drawn", "--max-diff", "2%", "--json", "--force", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["rows"], report["rows_deciding"]) == (4000, 800)
    assert report["different_rows"] < 2700


def test_the_seed_divides_the_rows(tmp_path: Path) -> None:
    save_model(compressed(8), tmp_path / "fast")
    rows = read_svmlight(ROWS)
    errors = {
        cascade(tmp_path / "fast", PHOTOS, rows, max_diff=0.02, seed=seed, force=True).report.error
        for seed in (0, 0, 1, 2)
    }
    assert len(errors) > 1
    for out in ("one", "two"):
        words = (
            "cascade",
            "fast",
            PHOTOS,
            "--data",
            ROWS,
            "--max-diff",
            "2%",
            "--seed",
            "1",
            "-o",
            out,
            "--force",
        )
        assert svmfast(*words, "-q", cwd=tmp_path).returncode == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert b'"seed":"1"' in (tmp_path / "one").read_bytes()


def test_timing_decides_only_whether_to_join(monkeypatch: pytest.MonkeyPatch) -> None:
    fast, exact, rows = compressed(8), exact_model(), read_svmlight(ROWS).rows
    raced: list[list[float]] = []

    def race(speed: float) -> Race:
        def run(one: Callable[[], object], other: Callable[[], object]) -> float:
            said = [one(), other()]
            raced.append([answers.predicted.tolist() for answers in said])  # type: ignore[attr-defined]
            return speed

        return run

    options = CascadeOptions(max_diff=0.02)
    counted, report = join(fast, exact, rows, options)
    assert (report.cheaper, report.speedup_with_fallback) == (True, None)
    for speed, cheaper in ((0.5, False), (1.0, False), (50.0, True)):
        made, report = join(fast, exact, rows, options, Setting(1, race=race(speed)))
        assert (report.cheaper, report.speedup_with_fallback) == (cheaper, speed if cheaper else None)
        assert model_bytes(made) == model_bytes(counted)
    # The exact model first, on its own support vectors; then the result on the rows that decide.
    own = exact.sv.take(np.resize(np.arange(len(exact.sv)), len(raced[0][0])))
    assert raced[0] == [predict(exact, own).predicted.tolist(), predict(fast, own).predicted.tolist()]
    assert len(raced) == 4
    assert np.mean(np.array(raced[-1][0]) != raced[-1][1]) < 0.03


def test_a_result_that_is_slower_is_refused() -> None:
    """The fast model alone is faster, so rows that decide are for joining; the race of the result is not."""
    speeds = iter([50.0, 0.9])
    fast, exact, rows = compressed(8), exact_model(), read_svmlight(ROWS).rows
    given = Inputs(
        fast=GivenModel(fast, "fast", "one", 0),
        exact=GivenModel(exact, "exact", "other", 0),
        data=GivenRows(rows, None, "rows"),
    )
    setting = Setting(threads=1, race=lambda one, other: next(speeds))
    outcome = run(given, CascadeOptions(max_diff=0.02), setting)
    assert outcome.model is None
    assert str(outcome.refusal).endswith("the two together are 0.90 times as fast as the exact model alone")


@pytest.mark.parametrize("max_diff", [0.01, 0.2])
def test_a_fast_model_that_is_written_alone_may_lose_the_probabilities(max_diff: float) -> None:
    """Beside the exact model nothing is lost, since that computes all probabilities."""
    exact, warnings = exact_model(), list[str]()
    able = replace(exact, head=replace(exact.head, prob_a=np.array([-1.0]), prob_b=np.array([0.0])))
    given = Inputs(
        fast=GivenModel(compressed(8), "fast", "one", 0),
        exact=GivenModel(able, "exact", "other", 0),
        data=GivenRows(read_svmlight(ROWS).rows, None, "rows"),
    )
    model = run(given, CascadeOptions(max_diff=max_diff), Setting(threads=1, warn=warnings.append)).model
    assert model is not None
    assert warnings == (
        []
        if model.kind == "cascade"
        else [
            "the result has no probabilities, though exact has: the model does not support probability "
            "estimates"
        ]
    )
    assert (model.kind == "cascade") == (max_diff == 0.01)


def test_a_result_that_loses_a_class_is_refused() -> None:
    """Few labels differ, but all of those of a rare class."""
    rng = np.random.default_rng(0)
    fast, exact = (
        KernelExpansion(
            Head("c_svc", np.array([1, -1])),
            Kernel("rbf", 1.0),
            Rows.from_dense(np.array([[0.0, 0.0], *[[9.0 + i / 99, 0.0] for i in range(n)]])),
            np.array([[first, *[-1.0] * n]]),
            np.array([0.5]),
            np.array([1, n]),
        )
        for n, first in ((1, 0.1), (99, 1.0))
    )
    x = np.concatenate([rng.normal(size=(30, 2)) * 0.1, rng.normal(size=(12_000, 2)) + 5])
    rows = Rows.from_dense(x)
    given = Inputs(
        fast=GivenModel(fast, "fast", "one", 0),
        exact=GivenModel(exact, "exact", "other", 0),
        data=GivenRows(rows, None, "rows"),
    )
    outcome = run(given, CascadeOptions(), Setting(threads=1))
    assert outcome.model is None
    assert str(outcome.refusal).startswith("a class is lost: 100% of the labels differ on the ")
    assert str(outcome.advice) == "`force` writes it anyway"
    assert run(given, CascadeOptions(force=True), Setting(threads=1)).model is not None


def test_a_file_that_is_not_faster_is_reported(tmp_path: Path) -> None:
    """Of 598 rows none is left to decide, and the cost of the chosen error does not prevent writing."""
    save_model(coarse(exact_model(), 200), tmp_path / "fast")
    (tmp_path / "few").write_bytes(b"".join(ROWS.read_bytes().splitlines(keepends=True)[:598]))
    words = ("cascade", "fast", PHOTOS, "--data", "few", "--json", "--force")
    done = svmfast(*words, "-q", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert (done.returncode, report["rows_deciding"], report["cheaper"]) == (0, 0, True)
    assert report["multiply_adds"] > report["multiply_adds_exact"]
    assert (tmp_path / "fast.cascade.model").exists()
    cost = f"{report['multiply_adds']:,.0f} multiply-adds per row"
    message = f"svmfast: warning: with the error that the guarantee needs the two together cost {cost}"
    assert done.stderr.decode().startswith(message)
    # --json prints the report as text on stderr, but not with -q.
    text = svmfast(*words, cwd=tmp_path).stderr.decode()
    lines = {line[:12].rstrip(): line[13:] for line in text.splitlines()}
    differing = report["measured_labels_differing"]
    assert lines["rows"] == (
        "598 given, 598 of them distinct; all are needed to choose the error bound, so none decides whether "
        "to join"
    )
    assert lines["labels"].endswith(f": {differing} of the 598 rows, which also chose the error bound")
    limit = f"{report['labels_differing_limit_percent']:.3g}%"
    assert lines["guarantee"] == (
        f"with 0.95 confidence at most {limit} of the labels differ on rows like these, shown by the 598 "
        f"rows that chose the error bound, of which {differing} differ"
    )


def test_the_report_says_which_rows_each_figure_comes_from(tmp_path: Path) -> None:
    """A measured share above the guaranteed one is no contradiction: its interval shows why."""
    save_model(compressed(8), tmp_path / "fast")
    words = ("cascade", "fast", PHOTOS, "--data", ROWS, "--max-diff", "2%", "--json", "--force")
    done = svmfast(*words, cwd=tmp_path)
    report = json.loads(done.stdout)
    lines = {line[:12].rstrip(): line[13:] for line in done.stderr.decode().splitlines()}
    choosing, measured = report["rows_choosing"], report["measured_rows"]
    assert lines["rows"].endswith(
        f"{choosing:,} choose the error bound, {measured:,} decide whether to join and are measured"
    )
    low, high = (100 * end for end in clopper_pearson(report["measured_labels_differing"], measured))
    differing, share = report["measured_labels_differing"], report["labels_differing_percent"]
    assert lines["labels"] == (
        f"{share:.3g}% of the labels differ (95% confidence: {low:.3g}% to {high:.3g}%): {differing} of the "
        f"{measured:,} measured rows, which did not choose the error bound"
    )
    assert f"shown by the {choosing:,} rows that chose the error bound, of which " in lines["guarantee"]
    assert lines["error bound"].startswith(
        f"{report['error']:.6g}: the fast model answers the rows whose label "
    )
    # A fast model that never differs needs no error bound.
    _, found = cascade(tmp_path / "fast", PHOTOS, ROWS, max_diff=0.02, force=True)
    never = replace(found, error=0.0).lines()
    assert (
        "error bound  0: the fast model may answer every row, because few enough of its labels differ"
        in never
    )
