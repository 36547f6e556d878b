"""`svmfast dcpred --fit pairs`: one cluster in LIBSVM's arrangement, against LIBSVM."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from landmark_fits import tasks
from program import data as data_path
from program import model as model_path
from program import svmfast as run_program

from svmfast.errors import OptionError
from svmfast.formats.detect import load_model, model_bytes
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.compress import CompressOptions
from svmfast.methods.compress.compressor import Compressor
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.dcpred.fit import fit, fit_exact
from svmfast.methods.method import Setting
from svmfast.methods.train.training import TrainOptions, train
from svmfast.models.expansion import KernelExpansion

fit_svc, _, _ = tasks(fit)

MINE = DcpredOptions(gamma=(0.01,), C=(10.0,), clusters=1, landmarks=40, iterations=60, fit="pairs")


def test_training_is_close_to_libsvm() -> None:
    """At most two points below LIBSVM with 40 landmarks for ten classes; the same bytes for any threads."""
    rows, test = read_svmlight(data_path("digits.train")), read_svmlight(data_path("digits.test"))
    exact = train(rows.rows, rows.labels, TrainOptions(gamma=0.01, C=10.0))
    model, report = fit_svc(rows.rows, rows.labels, MINE, Setting(threads=2))
    theirs = exact.head.predict(exact.decision_values(test.rows))
    predicted = model.head.predict(model.decision_values(test.rows))
    assert np.mean(predicted == test.labels) >= np.mean(theirs == test.labels) - 0.02
    assert np.mean(predicted == theirs) > 0.95
    assert model.head.labels is not None
    assert model.head.labels.tolist() == exact.head.labels.tolist()  # type: ignore[union-attr]
    assert (report.task, report.landmarks, report.clusters, report.gamma) == ("pairs", 40, 1, 0.01)
    # Each landmark has its features and a coefficient for each of its class's nine pairs.
    d = rows.rows.n_columns
    assert model.multiply_adds(rows.rows) == 40 * (d + 9)
    own = np.mean(model.head.predict(model.decision_values(rows.rows)) == rows.labels) * 100
    assert report.training.accuracy == pytest.approx(own, rel=1e-14)
    assert model_bytes(model) == model_bytes(fit_svc(rows.rows, rows.labels, MINE)[0])
    assert model_bytes(load_model(model_bytes(model))) == model_bytes(model)


def test_with_as_many_landmarks_as_vectors_it_is_the_exact_model() -> None:
    exact = load_model(model_path("digits_nu_rbf"))
    rows = read_svmlight(data_path("digits.train")).rows
    many = replace(MINE, landmarks=len(exact.sv))  # type: ignore[attr-defined]
    model, report = fit_exact(rows, exact, many)
    test = read_svmlight(data_path("digits.test")).rows
    assert np.allclose(model.decision_values(test), exact.decision_values(test), atol=1e-9)
    assert report.held_out is None  # nothing was fitted


def test_the_error_is_stated_on_rows_held_out_of_the_fit() -> None:
    exact = load_model(model_path("digits_nu_rbf"))
    assert isinstance(exact, KernelExpansion)
    rows = read_svmlight(data_path("digits.train")).rows
    few = replace(MINE, landmarks=30)  # type: ignore[attr-defined]
    told = fit_exact(rows, exact, few)[1].held_out
    how = CompressOptions(start="kmeans", iterations=few.iterations, seed=few.seed, memory=few.memory)
    stated = Compressor(exact, rows, options=how).compress(30)[1].statement
    assert told is not None
    assert (told["rows"], told["fallback_error"]) == (stated.rows, stated.quantile_999)
    assert told["labels_differing_percent_low"] == stated.labels_differing_percent_low


def test_the_program_trains_pairs(tmp_path: Path) -> None:
    out, size = tmp_path / "fast", ("--clusters", "1", "--landmarks", "40", "--iterations", "60")
    words = ("--task", "svc", "--fit", "pairs", "-g", "0.01", "-c", "10", *size)
    made = run_program("dcpred", data_path("digits.train"), "-o", out, *words, "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["task"] == "pairs"
    assert b"fitted to the exact values of the pairs" in made.stderr
    rows = read_svmlight(data_path("digits.train"))
    assert out.read_bytes() == model_bytes(fit_svc(rows.rows, rows.labels, MINE)[0])
    result = run_program("predict", data_path("digits.test"), out, tmp_path / "predictions")
    assert float(result.stdout.split(b"=")[1].split(b"%")[0]) > 90


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clusters": 2}, "`fit` pairs: `clusters` must be 1"),
        ({"pseudo": "poly"}, "`fit` pairs: `pseudo` must be none"),
        ({"kmeans": "plain"}, "`fit` pairs: `kmeans` must be weighted"),
        ({"gamma": (0.1, 1.0)}, "`fit` pairs: `gamma` and `C` must be one value each"),
    ],
)
def test_options_that_exclude_fitting_pairs(change: dict[str, Any], message: str) -> None:
    rows = read_svmlight(data_path("digits.train"))
    with pytest.raises(OptionError) as caught:
        fit_svc(rows.rows, rows.labels, replace(MINE, **change))
    assert str(caught.value) == message


@pytest.mark.parametrize("output", [(), ("-o", "m")])
def test_pairs_have_nothing_to_choose_by_cross_validation(output: tuple[str, ...], tmp_path: Path) -> None:
    """Before the rows are read; the folds of trees would say nothing of the pairs."""
    done = run_program(
        "dcpred", "missing", "--task", "svc", "--fit", "pairs", "-v", "3", *output, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"svmfast: --fit pairs takes one --gamma and one -c; leave out --folds\n"
    assert not list(tmp_path.iterdir())


def test_problems_that_cannot_be_fitted_by_pairs() -> None:
    two = read_svmlight(data_path("breast.train"))
    with pytest.raises(OptionError, match="`fit` pairs is for three or more classes"):
        fit_svc(two.rows, two.labels, MINE)
    with pytest.raises(OptionError, match="`fit` values needs `exact`"):
        fit_svc(two.rows, two.labels, replace(MINE, fit="values"))
    with pytest.raises(OptionError, match="`fit` pairs is for classifiers"):
        fit_exact(two.rows, load_model(model_path("diabetes_eps_rbf_prob")), MINE)


def test_class_weights_are_those_of_libsvm() -> None:
    """With as many landmarks as support vectors the model is LIBSVM's own, trained with the weights."""
    rows = read_svmlight(data_path("digits.train"))
    weights = ((3, 4.0), (8, 0.1))
    exact = train(rows.rows, rows.labels, TrainOptions(gamma=0.01, C=10.0, weights=weights))
    mine = replace(MINE, landmarks=len(exact.sv), weights=weights)
    model, _ = fit_svc(rows.rows, rows.labels, mine)
    test = read_svmlight(data_path("digits.test")).rows
    assert np.allclose(model.decision_values(test), exact.decision_values(test), atol=1e-9)
