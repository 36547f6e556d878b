"""``svmfast frontier`` on rows without labels, and on one-class models, whose data have labels of no use."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import svmfast
from program import data, model


def bare(name: str, folder: Path) -> Path:
    """Write rows of the fixtures without their labels."""
    place = folder / name
    place.write_text(re.sub(r"^[^ \n]+ ?", "", data(name).read_text(), flags=re.MULTILINE))
    return place


def frontier(folder: Path, *words: Any, out: str = "dir", limit: str = "20") -> tuple[int, str, str]:
    done = svmfast("frontier", *words, "--time-limit", limit, "-o", folder / out, shortened=True)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def report(folder: Path, out: str = "dir") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / out / "report.json").read_text())
    return found


#: A limit on the operations in place of the speed, so that the load of the machine decides nothing.
METHODS = (
    *("--methods", "linear,budget-train,approximate,cascade"),
    *("--max-diff", "4%", "--max-operations", "20"),
)
#: Figures that are not those of a comparison with labels.
SAME = ("labels_differing", "labels_differing_percent", "labels_differing_percent_interval", "rows")


def test_rows_without_labels_give_the_same_differences(tmp_path: Path) -> None:
    train, test = bare("breast.train", tmp_path), bare("breast.test", tmp_path)
    exact = model("breast_c_rbf")
    status, text, errors = frontier(
        tmp_path, exact, "--unlabelled", "--data", train, "--test", test, *METHODS
    )
    assert status == 0, errors
    found = report(tmp_path)
    for point in found["models"]:
        for part in ("choosing", "confirming"):
            assert point[part]["accuracy"] is None
            assert point[part]["accuracy_lost_percent"] is None
            assert point[part]["classes"] == []
    labelled = ("--data", data("breast.train"), "--test", data("breast.test"))
    assert frontier(tmp_path, exact, *labelled, *METHODS, out="known")[0] == 0
    known = {point["name"]: point for point in report(tmp_path, "known")["models"]}
    names = [point["name"] for point in found["models"]]
    assert "approximate-2" in names
    assert set(known) - set(names) <= {name for name in known if name.startswith(("linear", "budget-train"))}
    for point in found["models"]:
        for part in ("choosing", "confirming"):
            for key in SAME:
                assert point[part][key] == known[point["name"]][part][key], point["name"]
    for word in ("accuracy", "quality", "lost"):
        assert word not in text
    reason = "it trains on labels, and the rows have none"
    assert {one["name"]: one["reason"] for one in found["missing"]}["linear"] == reason
    assert f"linear: {reason}" in text
    # The printed commands work as they are.
    (used,) = re.findall(r"^used by: svmfast (.*)$", text, re.MULTILINE)
    out = tmp_path / "answers"
    words = [{"DATA": str(test), "OUT": str(out)}.get(word, word) for word in used.split()]
    assert svmfast(*words).returncode == 0
    assert len(out.read_text().splitlines()) == 189


def test_a_regression_needs_no_values_either(tmp_path: Path) -> None:
    train, test = bare("diabetes.train", tmp_path), bare("diabetes.test", tmp_path)
    words = (model("diabetes_eps_rbf"), "--unlabelled", "--data", train, "--test", test)
    status, text, _ = frontier(tmp_path, *words, "--methods", "approximate", "--max-diff", "3%")
    assert status in (0, 1)
    assert "mean squared error" not in text
    for point in report(tmp_path)["models"]:
        assert point["confirming"]["values_differing_percent"] < 100
        assert point["confirming"]["mse_increase_percent"] is None
    status, _, errors = frontier(tmp_path, *words, out="other")
    assert (status, errors) == (2, "svmfast: --unlabelled: for a regression give --max-diff, such as 3%\n")


@pytest.mark.parametrize("label", [1, 7])
def test_labels_of_one_class_data_mean_nothing(label: int, tmp_path: Path) -> None:
    """Without outliers in the data, an accuracy would be the share of inliers, or 0 for other labels."""
    rng = np.random.default_rng(3)
    for name in ("train", "test"):
        rows = rng.normal(size=(400, 2))
        lines = [f"{label} 1:{a:.4f} 2:{b:.4f}" for a, b in rows]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    exact = tmp_path / "one.model"
    train = ("train", "-q", "-s", "2", "-n", "0.2", "-g", "0.2", tmp_path / "train", exact)
    assert svmfast(*train).returncode == 0
    words = (exact, "--data", tmp_path / "train", "--test", tmp_path / "test", "--methods", "approximate")
    status, text, errors = frontier(tmp_path, *words, "--max-diff", "5%")
    assert (status, errors.count("\n")) in ((0, 1), (1, 1)), errors
    assert "accuracy" not in text
    assert "note        no labels say what is right" in text
    points = {point["name"]: point for point in report(tmp_path)["models"]}
    assert points["exact"]["confirming"]["accuracy"] is None
    shares = [
        one["confirming"]["labels_differing_percent"] for name, one in points.items() if name != "exact"
    ]
    assert shares
    assert min(shares) < 10
    status, _, errors = frontier(tmp_path, *words, "--max-loss", "1%", out="other")
    assert status == 2
    assert errors == "svmfast: a one-class model is scored only by labels 1 and -1; give --max-diff\n"


def test_labels_of_outliers_are_used(tmp_path: Path) -> None:
    words = (model("normal_one_rbf"), "--data", data("normal.train"), "--test", data("normal.test"))
    frontier(tmp_path, *words, "--methods", "approximate", limit="10")
    assert report(tmp_path)["models"][0]["confirming"]["accuracy"] > 80
