"""What predict, compare and cross-validation say beside the accuracy, against scikit-learn's metrics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from program import data, model, svmfast
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import (
    balanced_accuracy_score,
    confusion_matrix,
    mean_absolute_error,
    precision_recall_fscore_support,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

#: Always says -1 on these rows: f = 2 x - 50.
NEVER = """svm_type c_svc
kernel_type linear
nr_class 2
total_sv 2
rho 50
label 1 -1
nr_sv 1 1
SV
1 1:1
-1 1:-1
"""
LINE = "class 1 is recognized far below the accuracy of 99%: recall 0% (0 of 10); it is never predicted"


@pytest.fixture
def rare(tmp_path: Path) -> tuple[Path, Path]:
    """Rows with 1 % of the positive class, and a model that never predicts it."""
    rows, never = tmp_path / "rows", tmp_path / "never.model"
    rows.write_text("".join(f"{'+1' if i % 100 == 50 else '-1'} 1:{i % 97}e-3\n" for i in range(1000)))
    never.write_text(NEVER)
    return rows, never


def report(*arguments: Any) -> dict[str, Any]:
    done = svmfast(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def check_classes(found: dict[str, Any], target: np.ndarray, predicted: np.ndarray) -> None:
    labels = np.union1d(target, predicted)
    figures = precision_recall_fscore_support(target, predicted, labels=labels, zero_division=np.nan)
    for i, one in enumerate(found["classes"]):
        assert (one["label"], one["rows"]) == (labels[i], figures[3][i])
        for name, theirs in zip(("precision", "recall", "f1"), figures[:3], strict=True):
            ours = np.nan if one[name] is None else one[name]
            assert ours == pytest.approx(100 * theirs[i], rel=1e-12, nan_ok=True)
    assert found["balanced_accuracy"] == pytest.approx(100 * balanced_accuracy_score(target, predicted))
    assert found["confusion"]["labels"] == labels.tolist()
    assert found["confusion"]["counts"] == confusion_matrix(target, predicted, labels=labels).tolist()


def test_a_class_that_is_never_predicted_is_named(rare: tuple[Path, Path], tmp_path: Path) -> None:
    done = svmfast("predict", *rare, tmp_path / "out")
    assert done.stdout == b"Accuracy = 99% (990/1000) (classification)\n"
    assert done.stderr.decode().splitlines() == [f"svmfast: {LINE}"]
    found = report("predict", *rare, tmp_path / "out")
    assert (found["accuracy"], found["balanced_accuracy"], found["notes"]) == (99, 50, [LINE])
    rows, target = load_svmlight_file(str(rare[0]))
    assert found["auc"] == pytest.approx(roc_auc_score(target, rows.toarray()[:, 0]), rel=1e-12)
    assert found["auc_error"] == 0
    check_classes(found, target, np.full(1000, -1.0))


@pytest.mark.parametrize("name", ["iris_c_rbf_prob", "breast_c_rbf"])
def test_predict_and_compare_agree_with_scikit_learn(name: str, tmp_path: Path) -> None:
    rows = name.split("_")[0] + ".test"
    out = tmp_path / "out"
    found = report("predict", "--decision-values", data(rows), model(name), out)
    lines = [line.split() for line in out.read_text().splitlines()]
    values = np.array(lines[1:], dtype=np.float64)
    _, target = load_svmlight_file(str(data(rows)))
    check_classes(found, target, values[:, 0])
    if len(lines[0]) == 2:
        positive = float(lines[0][1].split("/")[0])
        assert found["auc"] == pytest.approx(roc_auc_score(target == positive, values[:, 1]), rel=1e-12)
    else:
        assert found["auc"] is None
    compared = report("compare", model(name), model(name), "--data", data(rows), "--repeats", "1")
    for one in compared["models"]:
        for key in ("accuracy", "balanced_accuracy", "auc", "auc_error", "classes", "confusion"):
            assert one[key] == found[key]
    wide = svmfast(
        "compare", model(name), model(name), "--data", data(rows), "--repeats", "1", "--wide"
    ).stdout.decode()
    assert ("ROC AUC" in wide) == (len(lines[0]) == 2)
    table = found["confusion"]
    wrong = sum(map(sum, table["counts"])) - int(np.trace(np.array(table["counts"])))
    counts = [int(line.split()[-1]) for line in wide.splitlines() if " taken for " in line]
    assert sum(counts) == wrong


def test_regression_has_its_figures(tmp_path: Path) -> None:
    rows, out = data("diabetes.test"), tmp_path / "out"
    found = report("predict", rows, model("diabetes_eps_rbf"), out)
    predicted = np.loadtxt(out)
    _, target = load_svmlight_file(str(rows))
    # The output has six digits.
    assert found["rmse"] == pytest.approx(root_mean_squared_error(target, predicted), rel=1e-5)
    assert found["mae"] == pytest.approx(mean_absolute_error(target, predicted), rel=1e-5)
    assert found["r2"] == pytest.approx(r2_score(target, predicted), rel=1e-5)
    exact = model("diabetes_eps_rbf")
    one = report("compare", exact, exact, "--data", rows, "--repeats", "1")["models"][0]
    for key in ("rmse", "mae", "r2"):
        assert one[key] == pytest.approx(found[key], rel=1e-12)


def test_many_files_add_up(rare: tuple[Path, Path], tmp_path: Path) -> None:
    whole = report("predict", *rare, tmp_path / "out")
    lines = rare[0].read_text().splitlines(keepends=True)
    parts = [tmp_path / "a", tmp_path / "b"]
    for part, own in zip(parts, (lines[:300], lines[300:]), strict=True):
        part.write_text("".join(own))
    found = report("predict", "--out-dir", tmp_path / "outs", rare[1], *parts)
    for key in ("accuracy", "balanced_accuracy", "classes", "confusion"):
        assert found[key] == whole[key]
    assert found["auc"] is None


@pytest.mark.parametrize("command", ["train", "budget-train"])
def test_cross_validation_names_the_class_too(command: str, rare: tuple[Path, Path]) -> None:
    done = svmfast(command, "-v", "3", "-g", "1e-6", rare[0])
    assert done.stdout.endswith(b"Cross Validation Accuracy = 99%\n")
    assert LINE in done.stderr.decode()
    found = report(command, "-v", "3", "-g", "1e-6", rare[0])
    assert found["balanced_accuracy"] == 50
    assert found["notes"] == [LINE]
