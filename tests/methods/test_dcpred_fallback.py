"""The error stated by `svmfast dcpred --from`, and the fallback of `predict --exact` that uses it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from program import data as data_path
from program import model as model_path
from program import svmfast as run_program
from scipy.stats import beta

from svmfast.formats.detect import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.common.equal_rows import Aside, Counted
from svmfast.methods.dcpred import DcpredOptions
from svmfast.methods.dcpred.fit import fit_exact
from svmfast.methods.dcpred.report import held_out
from svmfast.models.certified import certified_rows
from svmfast.models.head import Head

SMALL = ("--clusters", "2", "--landmarks", "6", "--iterations", "20")


@pytest.mark.parametrize(
    ("name", "rows", "fit"),
    [
        ("breast_c_rbf", "breast", "values"),
        ("breast_c_rbf", "breast", "labels"),
        ("digits_nu_rbf", "digits", "labels"),
        ("wine_c_rbf_prob", "wine", "values"),
    ],
)
def test_uncertain_rows_are_answered_by_the_exact_model(
    name: str, rows: str, fit: str, tmp_path: Path
) -> None:
    """The printed fallback command works unchanged; with a large error all labels are the exact ones."""
    out, train, test = tmp_path / "fast", data_path(f"{rows}.train"), data_path(f"{rows}.test")
    made = run_program("dcpred", train, "-o", out, "--from", model_path(name), "--fit", fit, *SMALL, "--json")
    assert made.returncode == 0, made.stderr
    held = json.loads(made.stdout)["held_out"]
    line = next(x for x in made.stderr.decode().splitlines() if x.startswith("fallback"))
    assert line.endswith("(statistical)")
    words = shlex.split(line)[1:-1]
    assert words[:2] == ["svmfast", "predict"]
    assert held["fallback_error"] <= float(words[-1]) <= 1.02 * held["fallback_error"] + 1e-300
    words = [str(test) if word == "DATA" else word for word in words]
    exact = run_program("predict", test, model_path(name), "-", "-q").stdout.split()

    def answered(error: str) -> list[bytes]:
        result = run_program(*words[1:4], tmp_path / "predictions", *words[4:-1], error)
        assert result.returncode == 0, result.stderr
        assert b"statistical, not proven" in result.stderr
        return (tmp_path / "predictions").read_bytes().split()

    differing = sum(a != b for a, b in zip(answered(words[-1]), exact, strict=True))
    plain = run_program("predict", test, out, "-", "-q").stdout.split()
    assert differing <= sum(a != b for a, b in zip(plain, exact, strict=True))
    assert differing <= 0.02 * len(exact)
    assert answered("1e9") == exact


def test_values_of_classes_and_of_pairs_are_not_mixed(tmp_path: Path) -> None:
    out, exact = tmp_path / "fast", model_path("digits_nu_rbf")
    made = run_program("dcpred", data_path("digits.train"), "-o", out, "--from", exact, *SMALL, "-q")
    assert made.returncode == 0, made.stderr
    words = ("--exact", exact, "--assume-error", "1", "--decision-values")
    result = run_program("predict", data_path("digits.test"), out, "-", *words)
    assert result.returncode == 2
    assert b"MODEL and --exact have values for different classes or pairs" in result.stderr
    assert result.stdout == b""


def test_one_against_the_rest_is_certain_when_nothing_within_the_bounds_changes_it() -> None:
    """Against the extreme case: the winner at its lowest value, each other class at its highest."""
    rng = np.random.default_rng(0)
    decisions, bounds = rng.normal(size=(400, 4)), rng.uniform(0, 0.8, (400, 4))
    head = Head("c_svc", np.array([3, 1, 2, 7]), one_vs_rest=True)
    certain = certified_rows(head, decisions, bounds)
    for row, width, sure in zip(decisions, bounds, certain, strict=True):
        best = row.argmax()
        worst = row + width
        worst[best] = row[best] - width[best]
        assert sure == (worst.argmax() == best)
    assert 0.1 < certain.mean() < 0.9


def test_held_out_error() -> None:
    """Quantiles, differing labels and their interval, from decision values of the same rows."""
    exact = load_model(model_path("breast_c_rbf"))
    rows = read_svmlight(data_path("breast.train")).rows
    test = read_svmlight(data_path("breast.test")).rows
    mine = DcpredOptions(gamma=(exact.kernel.gamma,), clusters=1, landmarks=3, iterations=5)  # type: ignore[attr-defined]
    model, _ = fit_exact(rows, exact, mine)
    n = len(test)
    once = Counted(np.ones(n), np.zeros(n, dtype=np.bool_), np.ones(n))
    aside = Aside(np.zeros(n, dtype=np.bool_), np.arange(n), np.arange(n), once, np.arange(n))
    found = held_out(exact, model, test, aside, values_fitted=True, threads=1)
    assert found is not None
    ours, theirs = model.decision_values(test)[:, 0], exact.decision_values(test)[:, 0]
    gaps = np.sort(np.abs(ours - theirs))
    assert found["max_abs_error"] == gaps[-1] >= found["abs_error_999"] == found["fallback_error"]
    median = found["median_abs_error"]
    assert np.mean(gaps <= median) >= 0.5 > np.mean(gaps < median)
    same = int(np.count_nonzero((ours > 0) == (theirs > 0)))
    assert found["labels_differing_percent"] == pytest.approx(100 * (n - same) / n)
    low = beta.ppf(0.025, same, n - same + 1)
    assert found["labels_differing_percent_high"] == pytest.approx(100 * (1 - low))
    labels = held_out(exact, model, test, aside, values_fitted=False, threads=1)
    assert labels is not None
    assert "median_abs_error" not in labels
    wrong = np.abs(ours[(ours > 0) != (theirs > 0)])
    assert labels["fallback_error"] <= wrong.max(initial=0.0)
    # At most one row in a thousand is certain but wrong.
    assert np.count_nonzero(wrong > labels["fallback_error"]) <= 0.001 * len(test)
