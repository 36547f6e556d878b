"""The scores that commands report besides the accuracy, against scikit-learn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import svmfast
from program import data, model
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


def test_a_class_that_is_never_predicted_is_named(rare: tuple[Path, Path], tmp_path: Path) -> None:
    done = svmfast("predict", *rare, tmp_path / "out")
    assert done.stdout == b"Accuracy = 99% (990/1000) (classification)\n"
    assert done.stderr.decode().splitlines() == [f"svmfast: {LINE}"]
    found = report("predict", *rare, tmp_path / "out")
    assert (found["accuracy"], found["balanced_accuracy"], found["notes"]) == (99, 50, [LINE])
    lines = rare[0].read_text().splitlines(keepends=True)
    parts = [tmp_path / "a", tmp_path / "b"]
    for part, own in zip(parts, (lines[:300], lines[300:]), strict=True):
        part.write_text("".join(own))
    added = report("predict", "--out-dir", tmp_path / "outs", rare[1], *parts)
    for key in ("accuracy", "balanced_accuracy", "classes"):
        assert added[key] == found[key]
    assert LINE in added["notes"]


@pytest.mark.parametrize("name", ["iris_c_rbf_prob", "breast_c_rbf"])
def test_predict_and_compare_agree_with_scikit_learn(name: str, tmp_path: Path) -> None:
    rows, out = data(name.split("_")[0] + ".test"), tmp_path / "out"
    found = report("predict", "--decision-values", rows, model(name), out)
    head, *lines = (line.split() for line in out.read_text().splitlines())
    values = np.array(lines, dtype=np.float64)
    target, predicted = load_svmlight_file(str(rows))[1], values[:, 0]
    precision, recall, f1, count = precision_recall_fscore_support(target, predicted)
    for i, one in enumerate(found["classes"]):
        assert (one["label"], one["rows"]) == (np.unique(target)[i], count[i])
        for key, theirs in (("precision", precision), ("recall", recall), ("f1", f1)):
            assert one[key] == pytest.approx(100 * theirs[i], rel=1e-12)
    assert found["balanced_accuracy"] == pytest.approx(100 * balanced_accuracy_score(target, predicted))
    for one in report("compare", model(name), model(name), "--data", rows, "--repeats", "1")["models"]:
        assert {
            key: one[key] for key in ("accuracy", "balanced_accuracy", "classes")
        }.items() <= found.items()
        area = roc_auc_score(target == float(head[1].split("/")[0]), values[:, 1]) if len(head) == 2 else None
        assert one["auc"] == (area if area is None else pytest.approx(area, rel=1e-12))


def test_regression_has_its_figures(tmp_path: Path) -> None:
    rows, exact, out = data("diabetes.test"), model("diabetes_eps_rbf"), tmp_path / "out"
    found = report("predict", rows, exact, out)
    predicted, target = np.loadtxt(out), load_svmlight_file(str(rows))[1]
    # The output has six digits.
    assert found["rmse"] == pytest.approx(mean_squared_error(target, predicted) ** 0.5, rel=1e-5)
    assert found["mae"] == pytest.approx(mean_absolute_error(target, predicted), rel=1e-5)
    assert found["r2"] == pytest.approx(r2_score(target, predicted), rel=1e-5)
    one = report("compare", exact, exact, "--data", rows, "--repeats", "1")["models"][0]
    for key in ("mse", "scc", "rmse", "mae", "r2"):
        assert one[key] == pytest.approx(found[key], rel=1e-12)
    assert not {"accuracy", "balanced_accuracy", "classes"} & {*one}


TRAINERS = {
    "linear": ["linear"],
    "meka": ["meka", "--task", "svc", "--clusters", "2", "--rank", "2"],
    "dcpred": ["dcpred", "--task", "svc", "--clusters", "1", "--landmarks", "2", "--iterations", "2"],
    "budget-train": ["budget-train", "--validate"],
}


def trained(name: str, rows: Path, place: Path, *more: str) -> dict[str, Any]:
    """Return the figures of training, or of the validation rows."""
    held = [rows] if name == "budget-train" else []
    found = report(*TRAINERS[name], *held, *more, rows, "-o", place)
    return {**found, "training": found["validation" if held else "training"]}


@pytest.mark.parametrize("name", TRAINERS)
def test_trainers_name_a_class_that_is_never_predicted(
    name: str, rare: tuple[Path, Path], tmp_path: Path
) -> None:
    found = trained(name, rare[0], tmp_path / "m", *(() if name == "linear" else ("-g", "1e-6")))
    own = found["training"]
    assert own["accuracy"] > 98
    assert own["balanced_accuracy"] == 50
    line = f"class 1 is recognized far below the accuracy of {own['accuracy']:.4g}%: recall 0% "
    assert [note[: len(line)] for note in found["notes"] if note.startswith("class")] == [line]


@pytest.mark.parametrize("name", TRAINERS)
def test_figures_of_training_are_those_of_predict(name: str, tmp_path: Path) -> None:
    """For two classes, one-vs-rest and values."""
    regression = {"linear": ("--task", "ridge"), "budget-train": ("-s", "3")}.get(name, ("--task", "ridge"))
    for rows, more in (("iris.train", ()), ("breast.train", ()), ("diabetes.train", regression)):
        own = trained(name, data(rows), tmp_path / "m", *more)["training"]
        again = report("predict", data(rows), tmp_path / "m", tmp_path / "out")
        assert ("auc" in own) == (rows == "breast.train")
        own.pop("auc", None)
        assert (
            own == pytest.approx({key: again[key] for key in own}, rel=1e-9)
            if more
            else own == {key: again[key] for key in own}
        )


def test_cross_validation_names_the_class_too(rare: tuple[Path, Path]) -> None:
    done = svmfast("train", "-v", "3", "-g", "1e-6", rare[0])
    assert b"Cross Validation Accuracy = 99%\n" in done.stdout
    assert LINE in done.stderr.decode()
    for name in ("meka", "dcpred"):
        words = [*TRAINERS[name], "-g", "1e-6", "-v", "3", "-c", "1,2"]
        found = report(*words, rare[0])
        for one in found["cross_validation"]:
            assert (one["score"], one["accuracy"], one["balanced_accuracy"]) == (99, 99, 50)
        assert found["best"] in found["cross_validation"]
        assert found["notes"][-1] == LINE
