"""approximate: the difference from the exact model on rows used for no choice, and its consequences."""

import json
import re
from dataclasses import asdict

import numpy as np
import pytest
from approximations import approximate
from command import svmfast
from rbf_models import rbf_model

from svmfast.errors import NegativeAnswerError
from svmfast.formats.model_files import model_bytes, save_model
from svmfast.formats.svmlight import write_svmlight
from svmfast.methods.approximate import ApproximateOptions
from svmfast.rows import Rows
from svmfast.solvers.intervals import clopper_pearson


def wavy(gamma, kind="c_svc", n=240, d=8):
    """A model with alternating signs: the larger gamma, the less accurate an expansion."""
    x = np.random.default_rng(1).normal(size=(n, d))
    wave = np.where(np.sin(3 * x[:, 0]) > 0, 1.0, -1.0)
    return rbf_model(x, wave, gamma, first=n // 2, kind=kind)


def some_rows(n, d=8):
    return Rows.from_dense(np.random.default_rng(2).normal(size=(n, d)))


def commands(folder, exact, rows):
    """Write the model and the rows; return what runs approximate on them, for the file `out`."""
    save_model(exact, folder / "exact")
    write_svmlight(folder / "rows", rows, np.zeros(len(rows)))
    return lambda *words: svmfast("approximate", "exact", "-o", "out", *words, cwd=folder)


def labels_of(folder, name):
    return np.array(svmfast("predict", "-q", folder / "rows", folder / name).stdout.split())


def test_a_model_no_better_than_chance_is_not_written(tmp_path):
    run, out = commands(tmp_path, wavy(2.0), some_rows(500)), tmp_path / "out"
    order = ("--order", "2")
    for words in (order, (*order, "--data", "rows"), ("--cells", "2")):
        done = run(*words)
        assert (done.returncode, done.stdout) == (1, b""), words
        reason, advice = done.stderr.decode().splitlines()[-2:]
        assert re.match(r"svmfast: \d\d\.?\d?% of the labels differ(: | \(95% confidence: )", reason)
        assert reason.endswith(", more than 1%; nothing was written")
        assert ("--data measures rows like yours" in advice) is ("--data" not in words)
        assert "svmfast frontier tries every method" in advice
        assert advice.endswith("; --force writes it anyway")
        assert not out.exists()
    done = run("--force", "-q")
    assert (done.returncode, done.stderr.count(b"\n")) == (0, 1)
    assert done.stderr.startswith(b"svmfast: warning: ")
    assert out.exists()


@pytest.mark.parametrize("words", [(), ("--center", "origin"), ("--order", "1"), ("--cells", "4")])
def test_the_first_figure_is_the_share_of_differing_labels(words, tmp_path):
    made = commands(tmp_path, wavy(0.12), some_rows(600))("--data", "rows", "--json", "--force", *words)
    assert made.returncode == 0
    report = json.loads(made.stdout)
    figures = [key for key in report if key.startswith(("labels_", "certified_", "measured_", "speedup_"))]
    assert figures[:2] == ["labels_differing", "labels_differing_percent"]
    differing = labels_of(tmp_path, "exact") != labels_of(tmp_path, "out")
    assert 0 < differing.sum() < 300
    n, count, percent = (report[key] for key in ("measured_rows", *figures[:2]))
    assert (n, report["measured_on"]) == (150 if "--cells" in words else 600, "data")
    if n == 600:  # no rows were needed for choosing, so all are measured
        assert count == differing.sum()
    assert percent == pytest.approx(100 * differing.mean(), abs=6)
    assert percent == 100 * count / n
    ends = [report["labels_differing_percent_low"], report["labels_differing_percent_high"]]
    assert ends == pytest.approx([100 * end for end in clopper_pearson(count, n)])
    first = next(line for line in made.stderr.decode().splitlines() if not line.startswith("svmfast:"))
    share = f"{percent:.3g}% of the labels differ (95% confidence: {ends[0]:.3g}% to {ends[1]:.3g}%)"
    assert first == f"labels       {share}: {count} of {n} held-out rows of --data"
    # What a single expansion has, and this model has not.
    assert (b"the validity bound of order" in made.stderr) == ("--cells" not in words)
    assert b"probability  " not in made.stderr


@pytest.mark.parametrize("kind", ["c_svc", "epsilon_svr"])
def test_the_limit_is_one_percent_unless_another_is_given(kind):
    exact, rows = wavy(0.12, kind), some_rows(600)
    _, report = approximate(exact, data=rows, order=2)
    share = report.labels_differing_percent if kind == "c_svc" else report.values_differing_percent
    assert share > 1
    assert str(report.refusal).endswith("more than 1%")
    for factor, refused in ((0.99, True), (1.01, False)):
        limit = factor * share / 100
        _, report = approximate(exact, data=rows, order=2, max_diff=limit)
        # A class may be lost beside.
        assert str(report.refusal).endswith(f", more than {100 * limit:g}%") == refused
    assert ApproximateOptions().max_diff == 0.01


def test_regression_is_measured_by_the_error_over_the_spread(tmp_path):
    exact, rows = wavy(0.08, "epsilon_svr"), some_rows(400)
    made, report = approximate(exact, data=rows, order=2)
    values, truth = (m.decision_values(rows)[:, 0] for m in (made, exact))
    error = 100 * np.sqrt(np.mean((values - truth) ** 2)) / truth.std()
    assert report.values_differing_percent == pytest.approx(error, rel=1e-9)
    assert (report.labels_differing, report.labels_differing_percent) == (None, None)
    assert f"differ by {error:.3g}% of their spread, on 400 held-out rows of" in "\n".join(report.lines())


def test_an_embedded_exact_model_counts_in_the_measurement(tmp_path):
    run = commands(tmp_path, wavy(0.3), some_rows(400))
    words = ("--data", "rows", "--json", "--order", "2")
    plain, embedded = run(*words), run(*words, "--embed-exact")
    alone, report = json.loads(plain.stdout), json.loads(embedded.stdout)
    assert (plain.returncode, alone["outputs"]) == (1, {"model": None})
    assert alone["labels_differing_percent"] > 10
    assert embedded.returncode == 0
    assert (report["labels_differing"], report["refusal"]) == (0, None)
    assert report["labels_differing_without_fallback"] == alone["labels_differing"]
    np.testing.assert_array_equal(labels_of(tmp_path, "exact"), labels_of(tmp_path, "out"))


@pytest.mark.parametrize("options", [{"order": 2}, {"cells": 3, "data": some_rows(500)}])
def test_the_same_figures_for_the_same_seed_and_any_threads(options):
    def figures(**more):
        made, report = approximate(wavy(0.12), **options, **more)
        return {**asdict(report), "seconds": 0, "model": model_bytes(made)}

    one, *more = (figures(seed=5, threads=threads) for threads in (1, 2, 3))
    assert more == [one, one]
    if "cells" in options:
        other = figures(seed=6)
        assert other["labels_differing"] != one["labels_differing"]


# --- neither order nor cells


def smooth():
    """A model that an expansion approximates well, with so many vectors that the expansion is far cheaper."""
    return wavy(0.004, n=3000, d=4), some_rows(1200, 4)


def test_without_options_order_two_is_taken_only_if_it_is_accurate():
    exact, rows = smooth()
    made, report = approximate(exact, data=rows)
    assert (report.order, report.speedup) == (2, None)
    assert model_bytes(made) == model_bytes(approximate(exact, data=rows, order=2, cells=1)[0])
    worse, rows, raced = wavy(0.2, n=1000, d=4), some_rows(2000, 4), []
    _, second = approximate(worse, data=rows, order=2, force=True)
    assert 1 < second.labels_differing_percent < 10

    def race(one, other):
        raced.append(other().certified)
        return 1.5 if len(raced) == 1 else 1.2

    found, report = approximate(worse, data=rows, race=race)
    assert report.labels_differing_percent < 1
    assert (found.order, found.n_cells) != (2, 1)
    assert (report.speedup, report.speedup_with_fallback, report.refusal) == (1.5, None, None)
    assert raced == [None]  # the model alone
    assert "1.20 times as fast; less than 1.33" in str(approximate(worse, data=rows, race=race)[1].refusal)
    # A looser limit keeps order 2.
    assert approximate(worse, data=rows, max_diff=0.09)[1].order == 2


def test_no_expansion_of_very_many_features_is_built_unless_it_is_asked_for():
    """A text model of 20,000 words took 2 GB and ten minutes, and the answer was that it is not faster."""
    exact = wavy(0.01, n=6, d=600)
    few = {"data": some_rows(40, 600), "memory": 8 << 20, "certificate": "none"}
    with pytest.raises(NegativeAnswerError, match=r"\(order 2: 180,901 numbers for 3,606;"):
        approximate(exact, **few)
    assert approximate(exact, order=2, **few)[1].order == 2
    assert approximate(exact, **{**few, "memory": 32 << 20, "max_diff": 0.9})[1].order == 2


def test_a_class_that_is_lost_is_never_written_without_options():
    """Few rows have the rare label, so hardly any label differs when all of them lose it."""
    rng, more = np.random.default_rng(0), np.random.default_rng(1)
    x = np.concatenate([np.zeros((1, 2)), rng.normal(size=(400, 2)) * 0.05 + 3])
    exact = rbf_model(x, [1.0, *[-0.01] * 400], 8.0, rho=0.2)
    rare, usual = more.normal(size=(30, 2)) * 0.05, more.normal(size=(8000, 2)) * 0.05 + 3
    rows = Rows.from_dense(np.concatenate([rare, usual]))
    _, second = approximate(exact, data=rows, order=2, center="mean", max_diff=0.01)
    assert second.labels_differing_percent < 1
    assert (second.kept.worst.label, second.kept.worst.correct) == (1.0, 0)
    of_rare = "100% of the labels differ on the 19 rows to which the exact model gives label 1, more than 10%"
    assert second.refusal == of_rare
    assert second.kept.balanced_percent == 50


# --- auto


def test_no_file_unless_the_result_is_faster():
    exact, rows = smooth()
    called = []

    def race(one, other):
        called.append((one(), other()))
        return speed

    for speed, wanted in ((0.67, "approximation is 0.67 times as fast"), (1.2, "1.20 times"), (1.5, None)):
        _, report = approximate(exact, order="auto", cells="auto", data=rows, race=race)
        assert report.speedup_with_fallback == speed
        assert report.refusal is None if wanted is None else wanted in str(report.refusal)
    # The timed prediction is that of predict --exact.
    exactly, fast = called[0]
    assert len(exactly) == len(fast) >= 2000
    assert (exactly.predicted == fast.predicted).all()
    assert fast.certified is not None
    _, fixed = approximate(exact, order=2, data=rows, race=race)
    assert (len(called), fixed.speedup_with_fallback) == (3, None)


def test_a_slow_expansion_gives_way_to_the_one_that_it_surpassed():
    exact, options = wavy(0.2, n=3000, d=4), {"order": "auto", "data": some_rows(2000, 4), "max_diff": 0.5}
    best, _ = approximate(exact, **options)

    def raced(*speeds):
        """Two races on the rows that choose, the last one on those of the report."""
        found = iter(speeds)
        return approximate(exact, race=lambda one, other: next(found), **options)

    made, report = raced(1.2, 1.5, 1.4)
    assert (report.speedup_with_fallback, report.refusal) == (1.4, None)
    assert made.order < best.order
    # The rows of the report may refuse what the others chose.
    refused, report = raced(1.2, 1.5, 1.3)
    assert model_bytes(refused) == model_bytes(made)
    assert "1.30 times as fast" in str(report.refusal)
    # If none is fast enough, the report is about the best.
    made, report = raced(*[1.2] * 20)
    assert (model_bytes(made), "1.20 times as fast" in str(report.refusal)) == (model_bytes(best), True)
