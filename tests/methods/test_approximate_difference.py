"""approximate: the difference from the exact model on rows used for no choice, and its consequences."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from approximations import approximate
from command import svmfast

from svmfast.errors import NegativeAnswerError
from svmfast.formats.model_files import model_bytes, save_model
from svmfast.formats.svmlight import write_svmlight
from svmfast.kernels import Kernel
from svmfast.methods.approximate import ApproximateOptions
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows
from svmfast.solvers.intervals import clopper_pearson


def wavy(gamma: float, kind: str = "c_svc", n: int = 240, d: int = 8) -> KernelExpansion:
    """A model with alternating signs: the larger gamma, the less accurate an expansion."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, d))
    wave = np.where(np.sin(3 * x[:, 0]) > 0, 1.0, -1.0)
    classifier = kind == "c_svc"
    return KernelExpansion(
        head=Head(kind, np.array([1, -1]) if classifier else None),
        kernel=Kernel("rbf", gamma),
        sv=Rows.from_dense(x),
        sv_coef=wave[None, :],
        rho=np.zeros(1),
        nr_sv=np.array([n // 2, n - n // 2]) if classifier else None,
    )


def some_rows(n: int, d: int = 8, seed: int = 2) -> Rows:
    return Rows.from_dense(np.random.default_rng(seed).normal(size=(n, d)))


def written(folder: Path, exact: KernelExpansion, rows: Rows | None = None) -> tuple[Path, Path]:
    save_model(exact, folder / "exact")
    if rows is not None:
        write_svmlight(folder / "rows", rows, np.zeros(len(rows)))
    return folder / "exact", folder / "rows"


def test_a_model_no_better_than_chance_is_not_written(tmp_path: Path) -> None:
    exact, rows = written(tmp_path, wavy(2.0), some_rows(500))
    out = tmp_path / "out"
    order = ("--order", "2")
    for words in (order, (*order, "--data", rows), ("--cells", "2")):
        done = svmfast("approximate", exact, "-o", out, *words)
        assert (done.returncode, done.stdout) == (1, b""), words
        reason, advice = done.stderr.decode().splitlines()[-2:]
        assert re.match(r"svmfast: \d\d\.?\d?% of the labels differ(: | \(95% confidence: )", reason)
        assert reason.endswith(", more than 1%; nothing was written")
        assert ("--data measures rows like yours" in advice) is ("--data" not in words)
        assert "svmfast frontier tries every method" in advice
        assert advice.endswith("; --force writes it anyway")
        assert not out.exists()
    done = svmfast("approximate", exact, "-o", out, "--force", "-q")
    assert (done.returncode, len(done.stderr.splitlines())) == (0, 1)
    assert done.stderr.startswith(b"svmfast: warning: ")
    assert out.exists()


@pytest.mark.parametrize("words", [(), ("--center", "origin"), ("--order", "1"), ("--cells", "4")])
def test_the_first_figure_is_the_share_of_differing_labels(words: tuple[str, ...], tmp_path: Path) -> None:
    exact, rows = written(tmp_path, wavy(0.12), some_rows(600))
    out = tmp_path / "out"
    made = svmfast("approximate", exact, "-o", out, "--data", rows, "--json", "--force", *words)
    assert made.returncode == 0
    report = json.loads(made.stdout)
    figures = [key for key in report if key.startswith(("labels_", "certified_", "measured_", "speedup_"))]
    assert figures[:2] == ["labels_differing", "labels_differing_percent"]
    labels = [svmfast("predict", "-q", rows, file).stdout.split() for file in (exact, out)]
    differing = [a != b for a, b in zip(*labels, strict=True)]
    assert 0 < sum(differing) < 300
    n = 600 if "--cells" not in words else 150
    assert report["measured_rows"] == n
    assert report["measured_on"] == "data"
    if n == 600:  # no rows were needed for choosing, so all are measured
        assert report["labels_differing"] == sum(differing)
    else:
        assert report["labels_differing_percent"] == pytest.approx(100 * np.mean(differing), abs=6)
    assert report["labels_differing_percent"] == 100 * report["labels_differing"] / n
    first = next(line for line in made.stderr.decode().splitlines() if not line.startswith("svmfast:"))
    ends = (report["labels_differing_percent_low"], report["labels_differing_percent_high"])
    assert ends == pytest.approx([100 * end for end in clopper_pearson(report["labels_differing"], n)])
    share = f"{report['labels_differing_percent']:.3g}% of the labels differ (95% confidence: "
    share += f"{ends[0]:.3g}% to {ends[1]:.3g}%): {report['labels_differing']}"
    assert first == f"labels       {share} of {n} held-out rows of --data"


@pytest.mark.parametrize("kind", ["c_svc", "epsilon_svr"])
def test_the_limit_is_one_percent_unless_another_is_given(kind: str) -> None:
    exact, rows = wavy(0.12, kind), some_rows(600)
    _, report = approximate(exact, data=rows, order=2)
    share = report.labels_differing_percent if kind == "c_svc" else report.values_differing_percent
    assert share is not None
    assert share > 1
    assert str(report.refusal).endswith("more than 1%")
    for factor, refused in ((0.99, True), (1.01, False)):
        limit = factor * share / 100
        _, report = approximate(exact, data=rows, order=2, max_diff=limit)
        # A class may be lost beside.
        assert str(report.refusal).endswith(f", more than {100 * limit:g}%") == refused
    assert ApproximateOptions().max_diff == 0.01


def test_regression_is_measured_by_the_error_over_the_spread(tmp_path: Path) -> None:
    exact, rows = wavy(0.08, "epsilon_svr"), some_rows(400)
    made, report = approximate(exact, data=rows, order=2)
    values, truth = (m.decision_values(rows)[:, 0] for m in (made, exact))
    error = np.sqrt(np.mean((values - truth) ** 2)) / truth.std()
    assert report.values_differing_percent == pytest.approx(100 * error, rel=1e-9)
    assert (report.labels_differing, report.labels_differing_percent) == (None, None)
    written(tmp_path, exact, rows)
    done = svmfast(
        "approximate", tmp_path / "exact", "-o", tmp_path / "out", "--data", tmp_path / "rows", "--order", "2"
    )
    assert (
        f"values       differ by {100 * error:.3g}% of their spread, on 400 held-out rows of --data"
        in done.stderr.decode()
    )


def test_an_embedded_exact_model_counts_in_the_measurement(tmp_path: Path) -> None:
    exact, rows = written(tmp_path, wavy(0.3), some_rows(400))
    out = tmp_path / "out"
    order = ("--order", "2")
    plain = svmfast("approximate", exact, "-o", out, "--data", rows, "--json", *order)
    alone = json.loads(plain.stdout)
    assert (plain.returncode, alone["outputs"], out.exists()) == (1, {"model": None}, False)
    assert alone["labels_differing_percent"] > 10
    done = svmfast("approximate", exact, "-o", out, "--data", rows, "--json", "--embed-exact", *order)
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert (report["labels_differing"], report["refusal"]) == (0, None)
    assert report["labels_differing_without_fallback"] == alone["labels_differing"]
    labels = [svmfast("predict", "-q", rows, file).stdout for file in (exact, out)]
    assert labels[0] == labels[1]


def test_the_same_figure_for_the_same_seed_and_any_threads() -> None:
    exact, rows = wavy(0.12), some_rows(500)
    for options in ({"order": 2}, {"cells": 3}, {"data": rows, "cells": 3}):
        reports = []
        for threads in (1, 2, 3):
            made, report = approximate(exact, seed=5, threads=threads, **options)  # type: ignore[arg-type]
            reports.append({**asdict(report), "seconds": 0, "model": model_bytes(made)})
        assert reports[0] == reports[1] == reports[2]
    other, first = (approximate(exact, seed=seed, data=rows, cells=3)[1] for seed in (6, 5))
    assert (other.labels_differing, other.certified_percent) != (
        first.labels_differing,
        first.certified_percent,
    )


# --- neither order nor cells


def test_without_options_order_two_is_taken_only_if_it_is_accurate() -> None:
    exact, rows = smooth()
    made, report = approximate(exact, data=rows)
    assert (report.order, report.speedup) == (2, None)
    assert model_bytes(made) == model_bytes(approximate(exact, data=rows, order=2, cells=1)[0])
    raced: list[Any] = []

    def race(one: Callable[[], Any], other: Callable[[], Any]) -> float:
        raced.append(other().certified)
        return 1.5 if len(raced) == 1 else 1.2

    worse, rows = wavy(0.2, n=1000, d=4), some_rows(2000, 4)
    _, second = approximate(worse, data=rows, order=2, force=True)
    assert second.labels_differing_percent is not None
    assert 1 < second.labels_differing_percent < 10
    found, report = approximate(worse, data=rows, race=race)
    assert report.labels_differing_percent is not None
    assert report.labels_differing_percent < 1
    assert (found.order, found.n_cells) != (2, 1)
    assert (report.speedup, report.speedup_with_fallback, report.refusal) == (1.5, None, None)
    assert raced == [None]  # the model alone
    assert "1.20 times as fast; less than 1.33" in str(approximate(worse, data=rows, race=race)[1].refusal)
    # A looser limit keeps order 2.
    assert approximate(worse, data=rows, max_diff=0.09)[1].order == 2


def test_a_class_that_is_lost_is_never_written_without_options() -> None:
    # Few rows have the rare label, so hardly any label differs when all of them lose it.
    x = np.concatenate([np.zeros((1, 2)), np.random.default_rng(0).normal(size=(400, 2)) * 0.05 + 3])
    coef = np.concatenate([[1.0], np.full(400, -0.01)])
    exact = KernelExpansion(
        Head("c_svc", np.array([1, -1])),
        Kernel("rbf", 8.0),
        Rows.from_dense(x),
        coef[None, :],
        np.array([0.2]),
        np.array([1, 400]),
    )
    rng = np.random.default_rng(1)
    rare, usual = rng.normal(size=(30, 2)) * 0.05, rng.normal(size=(8000, 2)) * 0.05 + 3
    rows = Rows.from_dense(np.concatenate([rare, usual]))
    _, second = approximate(exact, data=rows, order=2, center="mean", max_diff=0.01)
    assert second.labels_differing_percent is not None
    assert second.labels_differing_percent < 1
    assert second.kept.worst is not None
    assert (second.kept.worst.label, second.kept.worst.correct) == (1.0, 0)
    assert second.refusal == (
        "100% of the labels differ on the 19 rows to which the exact model gives label 1, more than 10%"
    )
    assert second.kept.balanced_percent == 50
    try:
        _, report = approximate(exact, data=rows)
    except NegativeAnswerError:
        return
    assert report.refusal is not None or report.kept.worst.recall >= 90  # type: ignore[union-attr]


# --- auto


def smooth() -> tuple[KernelExpansion, Rows]:
    """A model that an expansion approximates well, with so many vectors that the expansion is far cheaper."""
    return wavy(0.004, n=3000, d=4), some_rows(1200, 4)


def test_no_file_unless_the_result_is_faster() -> None:
    exact, rows = smooth()
    called: list[Any] = []

    def race(one: Callable[[], Any], other: Callable[[], Any]) -> float:
        called.append((one(), other()))
        return speed

    options: dict[str, Any] = {"order": "auto", "cells": "auto", "data": rows, "race": race}
    for speed, wanted in ((0.67, "approximation is 0.67 times as fast"), (1.2, "1.20 times"), (1.5, None)):
        _, report = approximate(exact, **options)
        assert report.speedup_with_fallback == speed
        assert report.refusal is None if wanted is None else wanted in str(report.refusal)
    # The timed prediction is that of predict --exact.
    exactly, fast = called[0]
    assert len(exactly) == len(fast) >= 2000
    assert (exactly.predicted == fast.predicted).all()
    assert fast.certified is not None
    _, fixed = approximate(exact, order=2, data=rows, race=race)
    assert (len(called), fixed.speedup_with_fallback) == (3, None)


def test_a_slow_expansion_gives_way_to_the_one_that_it_surpassed() -> None:
    exact, rows = wavy(0.2, n=3000, d=4), some_rows(2000, 4)
    speeds = iter((1.2, 1.5, 1.4))  # two on the rows that choose, the last one on those of the report
    options: dict[str, Any] = {"order": "auto", "data": rows, "max_diff": 0.5}
    best, _ = approximate(exact, **options)
    made, report = approximate(exact, race=lambda one, other: next(speeds), **options)
    assert (report.speedup_with_fallback, report.refusal) == (1.4, None)
    assert made.order < best.order
    # The rows of the report may refuse what the others chose.
    speeds = iter((1.2, 1.5, 1.3))
    refused, report = approximate(exact, race=lambda one, other: next(speeds), **options)
    assert model_bytes(refused) == model_bytes(made)
    assert "1.30 times as fast" in str(report.refusal)
    # If none is fast enough, the report is about the best, which `force` writes.
    for force in (False, True):
        made, report = approximate(exact, race=lambda one, other: 1.2, force=force, **options)
        assert model_bytes(made) == model_bytes(best)
        assert "1.20 times as fast" in str(report.refusal)


def test_the_rows_of_the_report_choose_no_expansion_by_its_speed() -> None:
    exact, rows = wavy(0.2, n=3000, d=4), some_rows(2000, 4)
    raced: list[int] = []

    def race(one: Callable[[], Any], other: Callable[[], Any]) -> float:
        labels = other().predicted
        raced.append(next(n for n in (500, 1500) if (labels[n:] == labels[:-n]).all()))
        return 1.5

    _, report = approximate(exact, order="auto", data=rows, max_diff=0.5, race=race)
    assert (raced, report.measured_rows) == ([1500, 500], 500)
    _, report = approximate(exact, data=rows, max_diff=0.5, race=race)
    assert (raced[2:], report.measured_rows) == ([500], 500)
