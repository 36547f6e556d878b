"""compress: models that LIBSVM loads, a correct report, and refusal if the result is not smaller."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from blocks import blocks_of
from command import svmfast
from libsvm import svmutil
from libsvm.svm import gen_svm_nodearray, libsvm
from program import FIXTURES, data
from read_fixtures import exact, rows

import svmfast as package
from svmfast.errors import (
    MemoryLimitError,
    NegativeAnswerError,
    NothingFitsError,
    OptionError,
    UnsupportedError,
)
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.kernels import Kernel
from svmfast.methods.common.error_statement import labels_differing
from svmfast.methods.common.row_sample import RowSample
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.compressor import Compressor
from svmfast.methods.compress.data_split import gather
from svmfast.methods.compress.report import CompressReport
from svmfast.methods.compress.search import Found, doubtful, search
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.options import made
from svmfast.rows import Rows
from svmfast.solvers.intervals import clopper_pearson


def dictionaries(z: Rows) -> Iterator[dict[int, float]]:
    """Rows as libsvm-official wants them: its own svm_predict crashes on nu-SVC with several classes."""
    for i in range(len(z)):
        cut = slice(z.indptr[i], z.indptr[i + 1])
        yield dict(zip((z.indices[cut] + 1).tolist(), z.values[cut].tolist(), strict=True))


QUICK = CompressOptions(start="kmeans", iterations=60)
#: Model, fitting data, test file, support vectors, limit on differing labels (regression: relative RMS).
CASES = [
    ("breast_c_rbf", "breast.train", "breast.test", 8, 0.03),
    ("breast_c_sigmoid", "breast.train", "breast.test", 8, 0.03),
    ("onehot_c_rbf", "onehot.train", "onehot.test", 8, 0.05),
    ("digits_nu_rbf", "digits.train", "digits.test", 60, 0.05),
    ("iris_c_linear", "iris.train", "iris.test", 6, 0.0),
    ("wine_nu_sigmoid", "wine.train", "wine.test", 12, 0.05),
    ("diabetes_eps_rbf", "diabetes.train", "diabetes.test", 20, 0.1),
    ("diabetes_nu_poly3", "diabetes.train", "diabetes.test", 20, 0.1),
    ("normal_one_rbf_prob", "normal.train", "normal.test", 3, 0.05),
    ("minus_first_prob", "minus_first.train", "minus_first.test", 3, 0.05),
]


@pytest.mark.parametrize(("name", "train", "test", "count", "most"), CASES, ids=[c[0] for c in CASES])
def test_libsvm_loads_the_model_and_gives_the_same_answers(
    name: str, train: str, test: str, count: int, most: float, tmp_path: Path
) -> None:
    before = exact(name)
    made, report = Compressor(before, *rows(train), QUICK).compress(count)
    assert len(made.sv) == report.support_vectors == count
    path = tmp_path / "small.model"
    path.write_bytes(model_bytes(made))
    # The model in memory equals the file.
    assert model_bytes(load_model(path)) == path.read_bytes()
    z, _ = rows(test)
    theirs = svmutil.svm_load_model(str(path))
    answers = [
        libsvm.svm_predict(theirs, gen_svm_nodearray(row, isKernel=False)[0]) for row in dictionaries(z)
    ]
    ours = made.head.predict(made.decision_values(z))
    old = before.head.predict(before.decision_values(z))
    if before.head.is_regression:
        np.testing.assert_allclose(ours, answers, rtol=1e-9)
        assert np.sqrt(np.mean((ours - old) ** 2)) <= most * old.std()
    else:
        np.testing.assert_array_equal(ours, answers)
        assert np.mean(ours != old) <= most


def test_optimized_vectors_are_better_than_selected_ones() -> None:
    z, labels = rows("photos.train")
    before = exact("photos_c_rbf")
    selected, _ = Compressor(before, z, labels, CompressOptions(start="lars", select_only=True)).compress(12)
    moved, report = Compressor(before, z, labels, CompressOptions(start="lars", iterations=200)).compress(12)
    test, _ = rows("photos.test")
    old = before.head.predict(before.decision_values(test))
    differing = [np.mean(m.head.predict(m.decision_values(test)) != old) for m in (selected, moved)]
    assert differing[1] < 0.5 * differing[0]
    assert differing[1] < 0.06
    assert report.start == "lars"
    # Selected vectors are the model's own.
    own = {row.tobytes() for row in before.sv.to_dense(15)}
    assert all(row.tobytes() in own for row in selected.sv.to_dense(15))


def test_the_error_statement_holds_on_unseen_rows() -> None:
    before = exact("photos_c_rbf")
    made, report = Compressor(before, *rows("photos.train"), CompressOptions(iterations=200)).compress(20)
    statement = report.statement
    assert (statement.rows_from, statement.median < statement.quantile_99 < statement.largest) == (
        "data",
        True,
    )
    test, _ = rows("photos.test")
    new, old = made.decision_values(test), before.decision_values(test)
    # 4000 fresh rows against quantiles from about 250: the medians agree within a factor.
    assert np.quantile(np.abs(new - old), 0.5) == pytest.approx(statement.median, rel=0.5)
    agreement = np.mean(before.head.predict(old) == made.head.predict(new))
    low, high = statement.labels_differing_percent_low, statement.labels_differing_percent_high
    assert low is not None
    assert high is not None
    assert low <= 100 * (1 - agreement) <= high


def test_auto_continues_the_start_that_is_better_on_the_choosing_rows() -> None:
    """LARS has the smaller squared error on these rows, but k-means gives more of the exact labels."""
    before = exact("odd_c_rbf")
    squared, differing, errors = {}, {}, {}
    for start in ("kmeans", "lars"):
        compressor = Compressor(before, *rows("odd.train"), CompressOptions(start=start, select_only=True))
        made, report = compressor.compress(16)
        columns, choose = compressor.split.columns, compressor.split.choose.rows
        values = made.decision_values(choose.renumbered(columns[choose.indices], int(columns[-1]) + 1))
        f = compressor.choose.values
        squared[start] = np.average((values - f) ** 2, weights=compressor.choose.weight)
        errors[start] = np.average(
            ((values - f) ** 2 / ((values - f) ** 2 + f**2)).mean(axis=1), weights=compressor.choosing.times
        )
        differing[start] = report.statement.labels_differing_percent
    assert squared["lars"] < squared["kmeans"]
    assert differing["kmeans"] < differing["lars"]
    assert errors["kmeans"] < errors["lars"]
    _, report = Compressor(before, *rows("odd.train"), CompressOptions(select_only=True)).compress(16)
    assert (report.start, report.method) == ("kmeans", "selection")


def test_parts_share_no_row() -> None:
    before = exact("breast_c_rbf")
    z, _ = rows("breast.train")
    material = gather(before, Rows.concatenate([z, z[:50]]), seed=0, threads=1)
    parts = [
        {row.tobytes() for row in part.rows.to_dense(material.width)}
        for part in (material.fit, material.choose, material.state)
    ]
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert sum(map(len, parts)) == len(np.unique(z.to_dense(), axis=0))
    assert material.fit.times.sum() + material.choose.times.sum() + material.state.times.sum() == len(z) + 50


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_sample_does_not_depend_on_blocks(block: int) -> None:
    z = Rows.from_dense(np.arange(1, 501.0)[:, None])
    sample = RowSample(40, seed=3)
    for part in blocks_of(z, block):
        sample.add(part, part.values)
    kept, labels = sample.result()
    whole = RowSample(40, seed=3)
    whole.add(z, z.values)
    np.testing.assert_array_equal(kept.values, whole.result()[0].values)
    np.testing.assert_array_equal(kept.values, labels)
    assert (len(kept), sample.seen) == (40, 500)


def test_probabilities_are_refitted_where_labels_are() -> None:
    before = exact("digits_c_rbf_prob")
    z, labels = rows("digits.train")
    refitted, report = Compressor(before, z, labels, QUICK).compress(40)
    assert report.probabilities == "refitted"
    assert refitted.head.prob_a is not None
    assert not np.array_equal(refitted.head.prob_a, before.head.prob_a)  # type: ignore[arg-type]
    test, truth = rows("digits.test")
    answers, _ = refitted.head.predict_with_probabilities(refitted.decision_values(test))
    assert np.mean(answers == truth) > 0.9
    kept, report = Compressor(before, z, np.zeros(len(z)), QUICK).compress(40)
    assert report.probabilities == "kept"
    assert any("were kept" in note for note in report.notes)
    np.testing.assert_array_equal(kept.head.prob_a, before.head.prob_a)  # type: ignore[arg-type]


def test_the_interval_is_that_of_clopper_and_pearson() -> None:
    # Against the defining tail probabilities of the binomial distribution.
    from scipy.stats import binom

    low, high = clopper_pearson(93, 100)
    assert binom.sf(92, 100, low) == pytest.approx(0.025)
    assert binom.cdf(93, 100, high) == pytest.approx(0.025)
    assert clopper_pearson(5, 5)[1] == 1
    assert clopper_pearson(0, 5)[0] == 0


def test_refusals() -> None:
    with pytest.raises(UnsupportedError, match="a precomputed kernel is not a function of vectors"):
        Compressor(exact("iris_precomputed"))
    with pytest.raises(UnsupportedError, match="no support vectors"):
        Compressor(exact("single_class"))
    with pytest.raises(NothingFitsError, match="2 support vectors are too few for 10 classes"):
        Compressor(exact("digits_c_rbf_prob"), options=QUICK).compress(2)
    with pytest.raises(OptionError, match="`start` is 'best'; expected auto, kmeans or lars"):
        made(CompressOptions, {"start": "best"})
    with pytest.raises(MemoryLimitError, match="starting from lars needs 74,664"):
        Compressor(exact("breast_c_rbf"), options=CompressOptions(start="lars", memory=1000)).compress(20)
    with pytest.raises(MemoryLimitError, match="moving 20 vectors of 30 features"):
        Compressor(exact("breast_c_rbf"), options=CompressOptions(memory=1000)).compress(20)


# --- the command ---


def _tried(differences: Mapping[int, tuple[float, float]], limit: float) -> Found:
    """Search among models with these differences, by size: on the rows for choices, on held-out rows."""
    options = replace(QUICK, iterations=1)
    _, known = Compressor(exact("breast_c_rbf"), *rows("breast.train"), options).compress(4)

    def of_size(size: int) -> Any:
        return SimpleNamespace(sv=range(size), head=SimpleNamespace(is_regression=False))

    def compress(size: int, progress: object = None) -> tuple[Any, CompressReport]:
        ours, theirs = differences.get(size, next(iter(differences.values())))
        shown = labels_differing((theirs, *clopper_pearson(200 * theirs, 200)))
        statement = replace(known.statement, rows=200, **shown)
        found = replace(known, choosing_difference=ours, statement=statement, rows_choosing=200)
        return of_size(size), found

    held = range(200)
    split = SimpleNamespace(choose=held, state=held, frequent=())
    wanted = CompressOptions(max_diff=limit)
    fake = SimpleNamespace(model=of_size(454), smallest=2, compress=compress, split=split, options=wanted)
    return search(cast(Any, fake), lambda one: len(one.sv))


def test_max_diff_is_decided_without_the_rows_of_the_interval() -> None:
    size = 5  # the first one that is tried
    found = _tried({size: (0.0, 0.5), 2: (0.1, 0.0), 3: (0.1, 0.0), 4: (0.1, 0.0)}, 0.02)
    assert (found.verdict, dict(found.report.sizes_tried)[size]) == ("", 0.0)
    assert found.report.statement.labels_differing_percent == 50
    refused = _tried({size: (0.1, 0.0)}, 0.02)
    assert refused.model is None
    assert refused.verdict.startswith("no smaller model is close enough on the 200 rows for choices; tried ")


def test_the_held_out_rows_may_not_show_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(theirs: float) -> Found:
        one = _tried({5: (0.0, theirs)}, 0.02)
        return replace(one, model=exact("breast_c_rbf"))

    once = {"max_diff": 0.02, "iterations": 1}
    monkeypatch.setattr("svmfast.methods.compress.search.search", lambda *_, **__: found(0.05))
    refuted = (
        r"^200 held-out rows do not show `max_diff`: 5% of the labels differ \(95% confidence: 2\.42% to"
    )
    with pytest.raises(NegativeAnswerError, match=refuted):
        package.compress(exact("breast_c_rbf"), **once)
    monkeypatch.setattr("svmfast.methods.compress.search.search", lambda *_, **__: found(0.03))
    done = package.compress(exact("breast_c_rbf"), **once)
    assert done.warnings[0] == (
        "200 held-out rows do not show `max_diff`: 3% of the labels differ (95% confidence: 1.11% to 6.42%); "
        "ask for less, or give more rows in `data`"
    )
    monkeypatch.setattr("svmfast.methods.compress.search.search", lambda *_, **__: found(0.02))
    assert not package.compress(exact("breast_c_rbf"), **once).warnings
    none = found(0.0).report
    assert doubtful(none.statement, 0.015) is None
    for few in (0.0145, 0.0):  # 200 rows of which none differs show 1.5 %
        assert "0% of the labels differ" in str(doubtful(none.statement, few))


def rare_class() -> tuple[KernelExpansion, Rows]:
    """A model and rows of which 0.5 % have the rare label 1, near the support vectors of that class."""
    rng = np.random.default_rng(0)
    centers = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0], [2.0, 2.0], [-2.0, -2.0]])
    x = np.concatenate([centers, rng.normal(size=(300, 2))])
    model = KernelExpansion(
        Head("c_svc", np.array([1, -1])),
        Kernel("rbf", 20.0),
        Rows.from_dense(x),
        np.concatenate([np.full(6, 1.0), np.full(300, -0.1)])[None, :],
        np.array([0.3]),
        np.array([6, 300]),
    )
    rare = np.repeat(centers, 10, axis=0) + rng.normal(size=(60, 2)) * 0.05
    return model, Rows.from_dense(np.concatenate([rare, rng.normal(size=(12_000, 2))]))


def test_a_limit_on_the_labels_loses_no_rare_class() -> None:
    model, some = rare_class()
    made, report = package.compress(model, some, max_diff=0.03)
    assert report.sizes_tried[0][1] < 0.03  # few labels differ with any size
    assert len(made.sv) > 1
    assert report.kept.lost() is None
    assert report.kept_choosing.lost() is None
    assert f"{report.kept.worst.rows:,} rows" in report.kept.lines()[0]
    assert report.to_dict()["worst_class"]["label"] == 1


def test_a_class_that_a_given_size_loses_is_named() -> None:
    model, some = rare_class()
    done = package.compress(model, some, sv=1)
    assert len(done.warnings) == 1
    assert re.match(
        r"a class is lost: [\d.]+% of the labels differ on the \d+ rows to which the exact model gives",
        done.warnings[0],
    )


@pytest.mark.parametrize("count", [1, 2, 3])
def test_too_few_rows_to_hold_some_out(count: int, tmp_path: Path) -> None:
    few = tmp_path / "few"
    few.write_bytes(b"".join(data("breast.test").read_bytes().splitlines(keepends=True)[:count]))
    path = FIXTURES / "models/breast_c_rbf.model"
    done = svmfast("compress", path, "--sv", "5", "--data", few, "--iterations", "2", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    for name in ("breast_c_rbf", "diabetes_eps_rbf"):
        path, out = FIXTURES / f"models/{name}.model", tmp_path / name
        done = svmfast("compress", path, "--max-diff", "1%", "--data", few, "--iterations", "2", "-o", out)
        assert done.returncode == 1
        assert b"too few distinct rows to hold some out" in done.stderr
        assert b"give more rows in --data" in done.stderr
        assert not out.exists()
