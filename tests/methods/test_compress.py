"""compress: models that LIBSVM loads, a correct report, and refusal if the result is not smaller."""

import re
from dataclasses import replace
from types import SimpleNamespace

import command
import numpy as np
import pytest
from blocks import blocks_of
from libsvm_twin import libsvms, vectors
from program import data, model
from rbf_models import rbf_model
from read_fixtures import exact, predicted, rows

import svmfast as package
from svmfast.errors import MemoryLimitError, NegativeAnswerError
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.methods.common.error_statement import labels_differing
from svmfast.methods.common.row_sample import RowSample
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.compressor import Compressor
from svmfast.methods.compress.search import ExactSize, doubtful, search
from svmfast.rows import Rows
from svmfast.solvers.intervals import clopper_pearson

QUICK = CompressOptions(start="kmeans", iterations=60)


@pytest.mark.parametrize(
    ("name", "count", "most"),
    [
        ("breast_c_rbf", 8, 0.03),
        ("onehot_c_rbf", 8, 0.05),
        ("digits_nu_rbf", 60, 0.05),
        ("iris_c_linear", 6, 0.0),
        ("wine_nu_sigmoid", 12, 0.05),
        ("diabetes_nu_poly3", 20, 0.1),
        ("normal_one_rbf_prob", 3, 0.05),
        ("minus_first_prob", 3, 0.05),
    ],
)
def test_libsvm_loads_the_model_and_gives_the_same_answers(name, count, most, tmp_path):
    """`most`: the limit on differing labels, or for a regression on the relative RMS."""
    before, first = exact(name), "minus_first" if name.startswith("minus") else name.split("_")[0]
    made, report = Compressor(before, *rows(f"{first}.train"), QUICK).compress(count)
    assert len(made.sv) == report.support_vectors == count
    path = tmp_path / "small.model"
    path.write_bytes(model_bytes(made))
    # The model in memory equals the file.
    assert model_bytes(load_model(path)) == path.read_bytes()
    z, _ = rows(f"{first}.test")
    ours, old, answers = predicted(made, z), predicted(before, z), libsvms(path, vectors(z), made.head)[:, 0]
    if before.head.is_regression:
        np.testing.assert_allclose(ours, answers, rtol=1e-9)
        assert np.sqrt(np.mean((ours - old) ** 2)) <= most * old.std()
        assert (report.kept.lines(), report.kept.lost()) == ([], None)
    else:
        np.testing.assert_array_equal(ours, answers)
        assert np.mean(ours != old) <= most


def test_optimized_vectors_are_better_than_selected_ones():
    given, (test, _) = (exact("photos_c_rbf"), *rows("photos.train")), rows("photos.test")
    selected, _ = Compressor(*given, CompressOptions(start="lars", select_only=True)).compress(12)
    moved, report = Compressor(*given, CompressOptions(start="lars", iterations=200)).compress(12)
    old = predicted(given[0], test)
    of_selected, of_moved = (np.mean(predicted(m, test) != old) for m in (selected, moved))
    assert of_moved < 0.5 * of_selected
    assert of_moved < 0.06
    # Selected vectors are the model's own.
    own = {row.tobytes() for row in given[0].sv.to_dense(15)}
    assert all(row.tobytes() in own for row in selected.sv.to_dense(15))
    # 4000 fresh rows against quantiles from about 250: the medians agree within a factor.
    told, errors = report.statement, np.abs(moved.decision_values(test) - given[0].decision_values(test))
    assert np.median(errors) == pytest.approx(told.median, rel=0.5)
    assert told.median < told.quantile_99 < told.largest
    assert told.labels_differing_percent_low <= 100 * of_moved <= told.labels_differing_percent_high
    assert (report.start, told.rows_from) == ("lars", "data")


def test_auto_continues_the_start_that_is_better_on_the_choosing_rows():
    """LARS has the smaller squared error on these rows, but k-means gives more of the exact labels."""
    given, squared = (exact("odd_c_rbf"), *rows("odd.train")), []
    for start in ("kmeans", "lars"):
        compressor = Compressor(*given, CompressOptions(start=start, select_only=True))
        made, _ = compressor.compress(16)
        columns, choose = compressor.split.columns, compressor.split.choose.rows
        values = made.decision_values(choose.renumbered(columns[choose.indices], int(columns[-1]) + 1))
        errors = (values - compressor.choose.values) ** 2
        squared.append(np.average(errors, weights=compressor.choose.weight))
    assert squared[1] < squared[0]
    _, report = Compressor(*given, CompressOptions(select_only=True)).compress(16)
    assert (report.start, report.method) == ("kmeans", "selection")


def test_coefficients_are_those_of_least_squares_where_these_are_better():
    compressor = Compressor(exact("diabetes_eps_rbf"), *rows("diabetes.train"), QUICK)
    found, _ = compressor._find(20, lambda *given: None)
    best = compressor._with_best_coefficients(found)
    assert compressor.choose.error(best) < 0.8 * compressor.choose.error(found)


@pytest.mark.parametrize(
    "size", ["24k --metric none", "24k --metric auto", "3k --metric auto", "16k --scores classes --metric 16"]
)
def test_max_flash_limits_the_tables_in_c(size, tmp_path):
    words = ("compress", model("digits_c_rbf_prob"), "--data", data("digits.train"), "-o", tmp_path / "m")
    found = command.report(*words, *f"--max-flash {size} --iterations 20 --rows 600".split())
    limit = 1024 * int(size.split("k")[0])
    assert 0.8 * limit < found["table_bytes"] <= limit
    assert package.export(tmp_path / "m", "c").report.table_bytes == found["table_bytes"]


def test_max_bytes_holds_where_dense_vectors_would_not_fit():
    """Ten take 13 kB; with a metric, fewer vectors than the first try has."""
    given = exact("digits_c_rbf_prob"), rows("digits.train")[0]
    made, report = package.compress(*given, max_bytes=12_288, metric=4, iterations=3)
    assert 0.9 * 12_288 < len(model_bytes(made)) <= 12_288
    assert len(report.sizes_tried) > 1
    _, report = package.compress(exact("iris_c_rbf_prob"), rows("iris.train")[0][:1], max_bytes=800)
    assert {one for _, one in report.sizes_tried} == {None}
    assert "%" not in report.lines()[-1]


def test_lars_starts_only_where_its_matrices_are_small(monkeypatch):
    """They are of the largest class."""
    compressor = Compressor(exact("iris_c_rbf_prob"), *rows("iris.train"))
    *others, largest = sorted(compressor.model.nr_sv.tolist())
    assert others[-1] < largest
    for limit, names in ((largest, ["kmeans", "lars"]), (largest - 1, ["kmeans"])):
        monkeypatch.setattr("svmfast.methods.compress.compressor._AUTO_LARS_LIMIT", limit)
        assert compressor._start_names() == names


def test_values_of_median_size_have_half_the_weight_of_those_on_the_boundary():
    """One-class values have no margin whose size is known."""
    split = (compressor := Compressor(exact("normal_one_rbf_prob"), *rows("normal.train"), QUICK)).split.fit
    size, weight = np.abs(split.exact[:, 0]), compressor.fit.weight[:, 0] / split.times
    np.testing.assert_allclose(weight, 1 / (1 + (size / np.median(size)) ** 2))


@pytest.mark.parametrize(
    ("name", "data", "count"), [("digits_nu_rbf", "digits", 20), ("photos_c_rbf", "photos", 12)]
)
def test_a_sample_of_the_vectors_suffices(name, data, count, monkeypatch):
    monkeypatch.setattr("svmfast.methods.compress.data_split.LEAST_DRAWN", 150)
    monkeypatch.setattr("svmfast.methods.common.row_sample.LEAST_OF_CLASS", 25)
    before, given, (test, _) = exact(name), rows(f"{data}.train")[0], rows(f"{data}.test")
    compressor, other = (
        Compressor(before, given, options=replace(QUICK, sv=count), threads=n) for n in (1, 2)
    )
    made, split = compressor.compress(count)[0], compressor.split
    assert model_bytes(made) == model_bytes(other.compress(count)[0])
    assert 150 <= len(split.sv) < len(before.sv)
    drawn = split.sv.renumbered(split.columns[split.sv.indices], before.sv.n_columns).to_dense()
    own = {row.tobytes(): i for i, row in enumerate(before.sv.to_dense())}
    places = [own[row.tobytes()] for row in drawn]
    np.testing.assert_array_equal(split.sv_coef, before.sv_coef[:, places])
    of_class = np.bincount(np.searchsorted(np.cumsum(before.nr_sv), places, side="right"))
    assert (of_class >= np.minimum(before.nr_sv, 25)).all()
    assert np.mean(predicted(made, test) != predicted(before, test)) < 0.08


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_sample_does_not_depend_on_blocks(block):
    z = Rows.from_dense(np.arange(1, 501.0)[:, None])
    sample, whole = RowSample(40, seed=3), RowSample(40, seed=3)
    for part in blocks_of(z, block):
        sample.add(part, part.values)
    whole.add(z, z.values)
    kept, labels = sample.result()
    np.testing.assert_array_equal(kept.values, whole.result()[0].values)
    np.testing.assert_array_equal(kept.values, labels)
    assert (len(kept), sample.seen) == (40, 500)


def test_probabilities_are_refitted_where_labels_are():
    before, (z, labels), (test, truth) = exact("digits_c_rbf_prob"), rows("digits.train"), rows("digits.test")
    refitted, report = Compressor(before, z, labels, QUICK).compress(40)
    assert report.probabilities == "refitted"
    assert not np.array_equal(refitted.head.prob_a, before.head.prob_a)
    answers, _ = refitted.head.predict_with_probabilities(refitted.decision_values(test))
    assert np.mean(answers == truth) > 0.9
    kept, report = Compressor(before, z, np.zeros(len(z)), QUICK).compress(40)
    assert report.probabilities == "kept"
    assert any("were kept" in note for note in report.notes)
    np.testing.assert_array_equal(kept.head.prob_a, before.head.prob_a)


def test_memory_is_checked():
    for start, message in (("lars", "starting from lars needs 74,664"), ("kmeans", "moving 20 vectors of")):
        with pytest.raises(MemoryLimitError, match=message):
            Compressor(exact("breast_c_rbf"), options=CompressOptions(start=start, memory=1000)).compress(20)
    for memory, names in ((74_663, ["kmeans"]), (74_664, ["kmeans", "lars"])):
        assert (
            Compressor(exact("breast_c_rbf"), options=CompressOptions(memory=memory))._start_names() == names
        )


def test_the_size_of_a_large_model_is_estimated_unless_that_decides_nothing(monkeypatch):
    monkeypatch.setattr("svmfast.methods.compress.search._ESTIMATED_FROM", 30)
    model, asked = exact("digits_nu_rbf"), []
    own = ExactSize(model, lambda one: asked.append(len(one.sv)) or len(model_bytes(one)))
    size = len(model_bytes(model))
    assert [own.exceeds(n) for n in (size // 3, 3 * size, size - 1, size)] == [True, False, True, False]
    assert asked == [34, len(model.sv)]


# --- the command ---


@pytest.fixture(scope="module")
def known():
    """A report of a small model."""
    quick = replace(QUICK, iterations=1)
    return Compressor(exact("breast_c_rbf"), *rows("breast.train"), quick).compress(4)[1]


def tried(known, differences, limit=0.02):
    """Search among models with these differences, by size: on the rows for choices, on held-out rows."""

    def of_size(size):
        return SimpleNamespace(sv=range(size), head=SimpleNamespace(is_regression=False))

    def compress(size, progress=None):
        ours, theirs = differences.get(size, next(iter(differences.values())))
        shown = labels_differing((theirs, *clopper_pearson(200 * theirs, 200)))
        statement = replace(known.statement, rows=200, **shown)
        found = {"choosing_difference": ours, "support_vectors": size}
        return of_size(size), replace(known, **found, statement=statement, rows_choosing=200)

    held, wanted = range(200), CompressOptions(max_diff=limit)
    split = SimpleNamespace(choose=held, state=held, frequent=())
    fake = SimpleNamespace(model=of_size(454), smallest=2, compress=compress, split=split, options=wanted)
    return search(fake, lambda one: len(one.sv))


def test_max_diff_is_decided_without_the_rows_of_the_interval(known):
    size = 5  # the first one that is tried
    found = tried(known, {size: (0.0, 0.5), 2: (0.1, 0.0), 3: (0.1, 0.0), 4: (0.1, 0.0)})
    assert (found.verdict, dict(found.report.sizes_tried)[size]) == ("", 0.0)
    assert found.report.statement.labels_differing_percent == 50
    refused = tried(known, {size: (0.1, 0.0)})
    assert refused.model is None
    assert refused.verdict.startswith("no smaller model is close enough on the 200 rows for choices; tried ")


def test_the_fewest_vectors_that_suffice_are_taken(known):
    """Sizes double until one passes; then the gap is bisected until it is below 15 %."""
    found = tried(known, {1: (0.02, 0.0), **{n: (0.021, 0.0) for n in range(2, 33)}})
    assert list(dict(found.report.sizes_tried)) == [5, 10, 20, 28, 30, 33, 40]
    assert len(found.model.sv) == 33


def test_the_held_out_rows_may_not_show_the_limit(known, monkeypatch):
    def compressed(theirs):
        found = replace(tried(known, {5: (0.0, theirs)}), model=exact("breast_c_rbf"))
        monkeypatch.setattr("svmfast.methods.compress.search.search", lambda *_, **__: found)
        return package.compress(exact("breast_c_rbf"), max_diff=0.02, iterations=1)

    refuted = r"^200 held-out rows cannot show `max_diff`: 5% of the labels differ \(95% confidence: 2\.42% "
    with pytest.raises(NegativeAnswerError, match=refuted):
        compressed(0.05)
    assert compressed(0.03).warnings[0] == (
        "200 held-out rows cannot show `max_diff`: 3% of the labels differ (95% confidence: 1.11% to 6.42%); "
        "ask for less, or give more rows in `data`"
    )
    assert not compressed(0.02).warnings
    none = tried(known, {5: (0.0, 0.0)}).report.statement
    assert doubtful(none, 0.015) is None
    for few in (0.0145, 0.0):  # 200 rows of which none differs show 1.5 %
        assert "0% of the labels differ" in str(doubtful(none, few))


def test_a_limit_on_the_labels_loses_no_rare_class():
    """0.5 % of the rows have the rare label 1, near the support vectors of that class."""
    rng = np.random.default_rng(0)
    centers = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0], [2.0, 2.0], [-2.0, -2.0]])
    x = np.concatenate([centers, rng.normal(size=(300, 2))])
    rare = np.repeat(centers, 10, axis=0) + rng.normal(size=(60, 2)) * 0.05
    some = Rows.from_dense(np.concatenate([rare, rng.normal(size=(12_000, 2))]))
    given = rbf_model(x, [*[1.0] * 6, *[-0.1] * 300], 20.0, first=6, rho=0.3), some
    made, report = package.compress(*given, max_diff=0.03)
    assert report.sizes_tried[0][1] < 0.03  # few labels differ with any size
    assert len(made.sv) > 1
    assert (report.kept.lost(), report.kept_choosing.lost()) == (None, None)
    assert f"{report.kept.worst.rows:,} rows" in report.kept.lines()[0]
    assert report.to_dict()["worst_class"]["label"] == 1
    (warning,) = package.compress(*given, sv=1).warnings
    lost = r"a class is lost: [\d.]+% of the labels differ on the \d+ rows to which the exact model gives"
    assert re.match(lost, warning)
