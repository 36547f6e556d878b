"""The scores of predict, compare and cross-validation, besides the accuracy, against scikit-learn's."""

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
    mean_absolute_error,
    mean_squared_error,
    precision_recall_fscore_support,
    r2_score,
    roc_auc_score,
)

#: Always predicts -1 on these rows: f = 2 x - 50.
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
        # Older versions of scikit-learn have no F1 where the recall or the precision is 0 / 0.
        right = 2 * np.sum((target == labels[i]) & (predicted == labels[i]))
        f1 = right / (np.sum(target == labels[i]) + np.sum(predicted == labels[i]))
        for name, theirs in (("precision", figures[0][i]), ("recall", figures[1][i]), ("f1", f1)):
            ours = np.nan if one[name] is None else one[name]
            assert ours == pytest.approx(100 * theirs, rel=1e-12, nan_ok=True)
    assert found["balanced_accuracy"] == pytest.approx(100 * balanced_accuracy_score(target, predicted))


def test_a_class_that_is_never_predicted_is_named(rare: tuple[Path, Path], tmp_path: Path) -> None:
    done = svmfast("predict", *rare, tmp_path / "out")
    assert done.stdout == b"Accuracy = 99% (990/1000) (classification)\n"
    assert done.stderr.decode().splitlines() == [f"svmfast: {LINE}"]
    found = report("predict", *rare, tmp_path / "out")
    assert (found["accuracy"], found["balanced_accuracy"], found["notes"]) == (99, 50, [LINE])
    _, target = load_svmlight_file(str(rare[0]))
    check_classes(found, target, np.full(1000, -1.0))


def test_the_remark_on_a_class_is_never_on_stdout(rare: tuple[Path, Path], tmp_path: Path) -> None:
    done = svmfast("predict", *rare)
    assert done.stdout == b"-1\n" * 1000
    assert done.stderr.decode().splitlines()[-1] == f"svmfast: {LINE}"
    quiet = svmfast("predict", "-q", *rare, tmp_path / "out")
    assert (quiet.stdout, quiet.stderr) == (b"", b"")
    many = svmfast("predict", "--out-dir", tmp_path / "outs", rare[1], rare[0])
    assert f"svmfast: {LINE}" in many.stderr.decode().splitlines()
    assert LINE not in many.stdout.decode()


@pytest.mark.parametrize("name", ["iris_c_rbf_prob", "breast_c_rbf"])
def test_predict_and_compare_agree_with_scikit_learn(name: str, tmp_path: Path) -> None:
    rows = name.split("_")[0] + ".test"
    out = tmp_path / "out"
    found = report("predict", "--decision-values", data(rows), model(name), out)
    lines = [line.split() for line in out.read_text().splitlines()]
    values = np.array(lines[1:], dtype=np.float64)
    _, target = load_svmlight_file(str(data(rows)))
    check_classes(found, target, values[:, 0])
    compared = report("compare", model(name), model(name), "--data", data(rows), "--repeats", "1")
    for one in compared["models"]:
        for key in ("accuracy", "balanced_accuracy", "classes"):
            assert one[key] == found[key]
        if len(lines[0]) == 2:
            positive = float(lines[0][1].split("/")[0])
            assert one["auc"] == pytest.approx(roc_auc_score(target == positive, values[:, 1]), rel=1e-12)
        else:
            assert one["auc"] is None
    wide = svmfast(
        "compare", model(name), model(name), "--data", data(rows), "--repeats", "1", "--wide"
    ).stdout.decode()
    assert ("ROC AUC" in wide) == (len(lines[0]) == 2)


def test_regression_has_its_figures(tmp_path: Path) -> None:
    rows, out = data("diabetes.test"), tmp_path / "out"
    found = report("predict", rows, model("diabetes_eps_rbf"), out)
    predicted = np.loadtxt(out)
    _, target = load_svmlight_file(str(rows))
    # The output has six digits.
    assert found["rmse"] == pytest.approx(mean_squared_error(target, predicted) ** 0.5, rel=1e-5)
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
    for key in ("accuracy", "balanced_accuracy", "classes"):
        assert found[key] == whole[key]


def test_cross_validation_names_the_class_too(rare: tuple[Path, Path]) -> None:
    done = svmfast("train", "-v", "3", "-g", "1e-6", rare[0])
    assert b"Cross Validation Accuracy = 99%\n" in done.stdout
    assert LINE in done.stderr.decode()
    found = report("train", "-v", "3", "-g", "1e-6", rare[0])
    assert found["balanced_accuracy"] == 50
    assert found["notes"][-1:] == [LINE]


TRAINERS = {
    "linear": ["linear"],
    "meka": ["meka", "--task", "svc", "--clusters", "2", "--rank", "2", "-g", "1e-6"],
    "dcpred": [
        *("dcpred", "--task", "svc", "--clusters", "1", "--landmarks", "2"),
        *("--iterations", "2", "-g", "1e-6"),
    ],
}


@pytest.mark.parametrize("name", TRAINERS)
def test_trainers_name_a_class_that_is_never_predicted(
    name: str, rare: tuple[Path, Path], tmp_path: Path
) -> None:
    words = TRAINERS[name]
    found = report(*words, rare[0], "-o", tmp_path / "m")
    own = found["training"]
    assert own["accuracy"] > 98
    assert own["balanced_accuracy"] == 50
    assert 0 <= own["auc"] <= 1
    line = f"class 1 is recognized far below the accuracy of {own['accuracy']:.4g}%: recall 0% "
    assert [note[: len(line)] for note in found["notes"] if note.startswith("class")] == [line]
    text = svmfast(*words, rare[0], "-o", tmp_path / "m").stderr.decode()
    assert f"accuracy {own['accuracy']:.6g}%, balanced accuracy 50%, ROC AUC {own['auc']:.4f}" in text


@pytest.mark.parametrize("name", ["linear", "meka", "dcpred"])
@pytest.mark.parametrize("rows", ["iris.train", "breast.train"])
def test_figures_of_training_are_those_of_predict(name: str, rows: str, tmp_path: Path) -> None:
    """The trainer's label counts, one-vs-rest or for two classes, are those of predict."""
    words = [word for word in TRAINERS[name] if word not in ("-g", "1e-6")]
    found = report(*words, data(rows), "-o", tmp_path / "m")
    again = report("predict", data(rows), tmp_path / "m", tmp_path / "out")
    assert ("auc" in found["training"]) == (rows == "breast.train")
    assert "auc" not in again
    found["training"].pop("auc", None)
    assert found["training"] == {key: again[key] for key in found["training"]}


def test_figures_of_values_are_those_of_predict(tmp_path: Path) -> None:
    rows = data("diabetes.train")
    for name in ("linear", "meka", "dcpred"):
        words = [{"svc": "ridge"}.get(word, word) for word in TRAINERS[name]]
        if name == "linear":
            words += ["--task", "ridge"]
        found = report(*words, rows, "-o", tmp_path / "m")
        again = report("predict", rows, tmp_path / "m", tmp_path / "out")
        assert set(found["training"]) == {"mse", "scc", "rmse", "mae", "r2"}
        for key, value in found["training"].items():
            assert again[key] == pytest.approx(value, rel=1e-9), (name, key)


@pytest.mark.parametrize("name", ["meka", "dcpred"])
def test_scores_of_a_grid_have_all_figures(name: str, rare: tuple[Path, Path]) -> None:
    words = [*TRAINERS[name], "-v", "3", "-c", "1,2"]
    found = report(*words, rare[0])
    for one in found["cross_validation"]:
        assert (one["score"], one["accuracy"], one["balanced_accuracy"]) == (99, 99, 50)
    assert found["best"] in found["cross_validation"]
    assert found["notes"][-1] == LINE
    done = svmfast(*words, rare[0])
    assert b"Cross Validation Accuracy = 99%\n" in done.stdout
    assert b": accuracy 99%, balanced accuracy 50%, ROC AUC 0." in done.stdout
    values = report(name, "--task", "ridge", "-v", "3", *TRAINERS[name][3:7], data("diabetes.train"))
    (one,) = values["cross_validation"]
    assert one["score"] == one["rmse"] == pytest.approx(np.sqrt(one["mse"]))


def test_budget_train_names_the_class_on_validation_rows(rare: tuple[Path, Path], tmp_path: Path) -> None:
    words = ["budget-train", "-g", "1e-6", "--validate", rare[0], rare[0], tmp_path / "m"]
    found = report(*words)
    again = report("predict", rare[0], tmp_path / "m", tmp_path / "out")
    assert 0 <= found["validation"].pop("auc") <= 1
    assert found["validation"] == {key: again[key] for key in found["validation"]}
    assert LINE in found["notes"]
    text = svmfast(*words).stderr.decode()
    assert "validation  accuracy 99%, balanced accuracy 50%, ROC AUC 0." in text
    rows = data("diabetes.train")
    found = report("budget-train", "-s", "3", "--validate", rows, rows, tmp_path / "m")
    again = report("predict", rows, tmp_path / "m", tmp_path / "out")
    assert found["validation"] == pytest.approx({key: again[key] for key in found["validation"]}, rel=1e-12)
    assert report("budget-train", rare[0], tmp_path / "m")["validation"] is None
