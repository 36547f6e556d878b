"""compress beyond LIBSVM's models: learned metrics, scores of classes, and LIBSVM's form of the former."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import command
import numpy as np
import pytest
import sklearn.svm
from program import data, model
from read_fixtures import exact, rows

import svmfast as package
from svmfast.commands.run import _NAMES_LOST, _NO_MAP
from svmfast.errors import NotFiniteError, UnsupportedError
from svmfast.formats.model_files import model_bytes, open_model
from svmfast.formats.ranges import map_bytes, read_map
from svmfast.kernels import Kernel
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.compressor import Compressor
from svmfast.models.expansion import ScoreModel
from svmfast.models.head import Head
from svmfast.models.scaled import ScaledModel
from svmfast.models.scaling import identity
from svmfast.rows import Rows

QUICK = CompressOptions(start="kmeans", iterations=60)


def rings(k):
    """An exact model where two of eight columns decide, its rows, and other rows."""
    x = np.random.default_rng(1).uniform(-1, 1, (4000, 8))
    y = np.digitize(x[:, 0] ** 2 + x[:, 1] ** 2, [0.5] if k == 2 else [0.3, 0.7])
    machine = sklearn.svm.SVC(C=10, gamma=0.3).fit(x[:2000], y[:2000])
    return package.from_sklearn(machine), Rows.from_dense(x[:2000]), Rows.from_dense(x[2000:])


@pytest.mark.parametrize("k", [2, 3])
def test_a_metric_gives_the_labels_of_the_exact_model_with_fewer_numbers(k):
    before, train, test = rings(k)
    old, differ = before.labels(test), {}
    for metric in ("none", 2, "full", "auto"):
        options = replace(QUICK, metric=metric)
        made, report = Compressor(before, train, None, options, {"seed": "0"}).compress(12)
        differ[metric] = np.mean(made.labels(test) != old)
        rank = {"none": None, 2: 2, "full": 8, "auto": 8}[metric]
        assert (report.metric, report.support_vectors) == (rank, 12)
        assert report.statement.labels_differing_percent_low <= 100 * differ[metric]
    assert max(differ[2], differ["full"], differ["auto"]) < 0.5 * differ["none"]
    # The file has the model's own numbers.
    assert made.provenance == {"seed": "0"}
    assert model_bytes(open_model(model_bytes(made)).model) == model_bytes(made)
    w, center, sv = made.map.astype(float), made.center.astype(float), made.model.sv.to_dense(8)
    apart = ((test.to_dense(8) - center) @ w.T)[:, None] - sv
    twin = np.exp(-(apart**2).sum(axis=2))
    if k == 2:
        twin = twin @ made.model.sv_coef.T - made.model.rho
        np.testing.assert_allclose(made.decision_values(test), twin, atol=1e-10)


@pytest.mark.skipif(shutil.which("svm-predict") is None, reason="svm-predict is not installed")
@pytest.mark.parametrize(
    ("name", "count", "more"),
    [("digits_c_rbf_prob", 12, ["-b", "1"]), ("diabetes_eps_rbf", 9, []), ("normal_one_rbf", 2, [])],
)
def test_the_model_of_mapped_rows_predicts_alike_in_libsvms_form(name, count, more, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = name.split("_")[0]
    given = model(name), data(f"{first}.train")
    found = package.compress(*given, sv=count, metric=2, iterations=9, libsvm_form=True)
    assert found.save("text") == found.report.bytes
    package.save_model(found.model, "whole")
    command.ran("scale", "-q", "-r", "text.map", data(f"{first}.test"), "-o", "rows")
    subprocess.run(["svm-predict", "-q", *more, "rows", "text", "theirs"], check=True)
    for given, made in ((data(f"{first}.test"), "whole"), ("rows", "text")):
        command.ran("predict", "-q", *more, given, made, "ours")
        assert Path("ours").read_bytes() == Path("theirs").read_bytes()
    Path("wide").write_text("1 99:1\n")
    assert command.ran("predict", "wide", "whole", "ours").stderr.endswith(b"; they do not count\n")
    assert map_bytes(read_map("text.map")) == Path("text.map").read_bytes()


def test_libsvms_form_without_a_map_is_one_file_and_loses_names_with_a_remark(tmp_path):
    before, named = exact("iris_c_linear"), replace(identity(4), class_names=("a", "b", "c"))
    made = package.compress(ScaledModel(before, named), sv=6, metric="auto", libsvm_form=True)
    assert made.save(tmp_path / "m") == made.report.bytes
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [model_bytes(made.model.unscaled)]
    assert made.notes[-2:] == (_NO_MAP, _NAMES_LOST)


def test_auto_has_no_metric_where_a_map_takes_the_bytes_or_the_memory_or_the_kernel_has_none():
    digits, huge = exact("digits_c_rbf_prob"), Kernel("rbf", 1e70)
    for before, first, options in (
        (digits, "digits", CompressOptions(max_flash=2000)),
        (digits, "digits", CompressOptions(memory=1_000_000, start="kmeans")),
        (replace(digits, kernel=huge), "digits", CompressOptions()),
        (exact("iris_c_linear"), "iris", CompressOptions()),
    ):
        options = replace(options, iterations=2, metric="auto")
        _, report = Compressor(before, *rows(f"{first}.train"), options).compress(10, limit=options.max_flash)
        assert report.metric is None
    with pytest.raises(UnsupportedError, match=r"an rbf kernel with gamma 1e\+70; leave `metric` out$"):
        Compressor(replace(digits, kernel=huge), options=CompressOptions(metric=2))


@pytest.mark.parametrize("metric", ["none", 2])
def test_scores_of_classes_are_closer_where_few_vectors_serve_many_classes(metric):
    """Twelve classes of two cells each; auto takes scores for 14 vectors, and pairs for 60."""
    rng = np.random.default_rng(1)
    centers, x = rng.uniform(size=(24, 2)), rng.uniform(size=(2500, 2))
    y = ((x[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1) % 12
    before = package.from_sklearn(sklearn.svm.SVC(C=10, gamma=20).fit(x[:1500], y[:1500]))
    before = replace(before, head=replace(before.head, prob_a=-np.ones(66), prob_b=np.zeros(66)))
    train, test = Rows.from_dense(x[:1500]), Rows.from_dense(x[1500:])
    differ = {}
    for scores in ("pairs", "classes", "auto"):
        options = CompressOptions(start="kmeans", iterations=120, metric=metric, scores=scores)
        compressor = Compressor(before, train, None, options, {"seed": "0"})
        made, report = compressor.compress(14)
        differ[scores] = np.mean(made.labels(test) != before.labels(test))
        assert report.scores == ("pairs" if scores == "pairs" else "classes")
        assert report.statement.labels_differing_percent_low <= 100 * differ[scores]
    assert max(differ["classes"], differ["auto"]) < 0.8 * differ["pairs"]
    assert (report.statement.median, report.probabilities) == (None, "dropped")
    assert made.provenance == {"seed": "0"}
    assert model_bytes(open_model(model_bytes(made)).model) == model_bytes(made)
    assert compressor.compress(60)[1].scores == "pairs"
    sums, points = made, x
    if metric != "none":
        sums, points = made.model, (x - made.center) @ made.map.T.astype(float)
    twin = sums.kernel.matrix(points, sums.sv.to_dense(2)) @ sums.sv_coef.T - sums.rho
    np.testing.assert_allclose(made.decision_values(Rows.from_dense(x)), twin, atol=1e-8)


def test_the_first_of_equal_scores_wins():
    head = Head("c_svc", np.array([7, -2, 4]), one_vs_rest=True)
    coef = np.array([[10.0, 0], [0, 10], [0, 10]])
    made = ScoreModel(head, Kernel("linear"), Rows.from_dense(np.eye(2)), coef, np.zeros(3))
    some = Rows.from_dense(np.array([[1.0, 0], [0, 1], [1, 1], [-1, 0]]))
    assert made.labels(some).tolist() == [7, -2, 7, -2]
    with pytest.raises(NotFiniteError, match=r"^a score leaves the range of floating point$"):
        made.labels(Rows.from_dense(np.full((1, 2), 1e308)))
