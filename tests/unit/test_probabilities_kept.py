"""Conversions keep or refit the probabilities of a `-b 1` model, or drop them with a warning."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import data, model, svmfast

from svmfast import dcpred, predict, read_svmlight
from svmfast.errors import UnsupportedError
from svmfast.formats.model_files import load_model

IRIS, TRAIN, TEST = model("iris_c_rbf_prob"), data("iris.train"), data("iris.test")


def probabilities(path: str | Path, test: Path = TEST) -> np.ndarray:
    done = svmfast("predict", "-b", "1", "-q", test, path)
    assert done.returncode == 0, done.stderr
    found: np.ndarray = np.loadtxt(io.BytesIO(done.stdout), skiprows=1)[:, 1:]
    return found


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("approximate", IRIS, "-o", "OUT", "--order", "4"), "kept"),
        (("approximate", IRIS, "-o", "OUT", "--order", "2", "--cells", "4"), "kept"),
        (("compress", IRIS, "-o", "OUT", "--sv", "12", "--iterations", "50"), "kept"),
        (("compress", IRIS, "-o", "OUT", "--sv", "12", "--iterations", "50", "--data", TRAIN), "refitted"),
        (("dcpred", TRAIN, "-o", "OUT", "--from", IRIS, "--clusters", "2", "--fit", "values"), "kept"),
    ],
)
def test_conversions_of_three_classes_have_probabilities(
    words: tuple[str, ...], what: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = svmfast(*(out if word == "OUT" else word for word in words), "--json")
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if line.startswith(b"svmfast: warning:")]
    assert not [line for line in warnings if b"robabilit" in line]
    report = json.loads(done.stdout)
    assert report["probabilities"] == what
    difference = np.abs(probabilities(out) - probabilities(IRIS))
    assert difference.mean() < 0.02
    mine, theirs = load_model(out).head, load_model(IRIS).head
    assert mine.prob_a is not None
    assert theirs.prob_a is not None
    assert np.array_equal(mine.prob_a, theirs.prob_a) == (what != "refitted")


def test_dcpred_warns_before_it_starts_that_labels_have_none(tmp_path: Path) -> None:
    out = tmp_path / "out"
    two = svmfast("dcpred", TRAIN, "-o", out, "--from", IRIS, "-q", "-g", "0.1,1")
    assert two.returncode == 2
    first, last = two.stderr.decode().splitlines()
    assert first.startswith(f"svmfast: warning: the probabilities of {IRIS} will be dropped: --fit labels")
    assert first.endswith("--fit values keeps them")
    assert "--from takes one --gamma and one -c or --lambda" in last
    done = svmfast(
        "dcpred", TRAIN, "-o", out, "--from", IRIS, "--clusters", "2", "--iterations", "5", "--json"
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["probabilities"] == "dropped"
    assert b"probability  dropped: predict with -b 1 will refuse the model" in done.stderr
    refused = svmfast("predict", "-b", "1", TEST, out)
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"the model was fitted to labels, not to decision values" in refused.stderr
    without = svmfast(
        "dcpred", TRAIN, "-o", out, "--from", model("iris_c_sigmoid"), "-g", "0.5", "-q", "--iterations", "0"
    )
    assert (without.returncode, without.stderr) == (0, b"")


def test_predict_names_the_cause(tmp_path: Path) -> None:
    rows, out = data("breast.test"), tmp_path / "out"
    assert svmfast("approximate", model("breast_c_rbf"), "-o", out, "-q").returncode == 0
    done = svmfast("predict", "-b", "1", rows, out)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"the model does not support probability estimates; train the exact model with -b 1" in done.stderr
    train = read_svmlight(data("breast.train"))
    exact = load_model(model("breast_c_rbf_prob"))
    small: dict[str, Any] = {"gamma": 0.1, "clusters": 2, "landmarks": 4, "iterations": 0}
    fitted, report = dcpred(train, exact=exact, fit="labels", **small)
    assert report.probabilities == "dropped"
    with pytest.raises(UnsupportedError, match="was fitted to labels, not to decision values"):
        predict(fitted, train, probability=True)
    trained, report = dcpred(train, task="svc", **small)
    assert report.probabilities == "none"
    with pytest.raises(UnsupportedError, match="the model does not support probability estimates"):
        predict(trained, train, probability=True)
