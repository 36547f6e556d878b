"""``svmfast frontier`` on rows without labels, and on one-class models, whose data have labels of no use."""

import re

import numpy as np
import pytest
from command import svmfast
from frontier_runs import frontier, points, report
from program import data, model


def bare(name, folder):
    """Write rows of the fixtures without their labels."""
    for part in ("train", "test"):
        text = data(f"{name}.{part}").read_text()
        (folder / part).write_text(re.sub(r"^[^ \n]+ ?", "", text, flags=re.MULTILINE))
    return "--unlabelled", "--data", "train", "--test", "test"


#: A limit on the operations in place of the speed, so that the load of the machine decides nothing.
METHODS = (
    *("--methods", "linear,budget-train,approximate,cascade"),
    *("--max-diff", "4%", "--max-operations", "20"),
)
#: Figures that are not those of a comparison with labels.
SAME = ("labels_differing", "labels_differing_percent", "labels_differing_percent_interval", "rows")


def test_rows_without_labels_give_the_same_differences(tmp_path):
    exact = model("breast_c_rbf")
    done = frontier(tmp_path, exact, *bare("breast", tmp_path), *METHODS)
    assert done.returncode == 0, done.stderr
    labelled = ("--data", data("breast.train"), "--test", data("breast.test"))
    assert frontier(tmp_path, exact, *labelled, *METHODS, out="known").returncode == 0
    found, known, text = points(tmp_path), points(tmp_path, "known"), done.stdout.decode()
    assert "approximate-2" in found
    assert {name.split("-")[0].split(" ")[0] for name in set(known) - set(found)} <= {"linear", "budget"}
    for name, point in found.items():
        for part in ("choosing", "confirming"):
            one = point[part]
            assert (one["accuracy"], one["accuracy_lost_percent"], one["classes"]) == (None, None, [])
            assert [one[key] for key in SAME] == [known[name][part][key] for key in SAME]
    assert not re.search("accuracy|quality|lost", text)
    reason = "it trains on labels, and the rows have none"
    assert {one["name"]: one["reason"] for one in report(tmp_path)["missing"]}["linear"] == reason
    assert f"linear: {reason}" in text
    # The printed commands work as they are.
    (used,) = re.findall(r"^used by: svmfast (.*)$", text, re.MULTILINE)
    words = [{"DATA": "test", "OUT": "answers"}.get(word, word) for word in used.split()]
    assert svmfast(*words, cwd=tmp_path).returncode == 0
    assert (tmp_path / "answers").read_text().count("\n") == 189


def test_a_regression_needs_no_values_either(tmp_path):
    words = (model("diabetes_eps_rbf"), *bare("diabetes", tmp_path), "--methods", "approximate")
    done = frontier(tmp_path, *words, "--max-diff", "3%")
    assert done.returncode in (0, 1)
    assert b"mean squared error" not in done.stdout
    for point in points(tmp_path).values():
        assert point["confirming"]["values_differing_percent"] < 100
        assert point["confirming"]["mse_increase_percent"] is None


@pytest.mark.parametrize("label", [1, 7])
def test_labels_of_one_class_data_mean_nothing(label, tmp_path):
    """Without outliers in the data, an accuracy would be the share of inliers, or 0 for other labels."""
    rng = np.random.default_rng(3)
    for name in ("train", "test"):
        lines = [f"{label} 1:{a:.4f} 2:{b:.4f}\n" for a, b in rng.normal(size=(400, 2))]
        (tmp_path / name).write_text("".join(lines))
    options = ("-q", "-s", "2", "-n", "0.2", "-g", "0.2")
    assert svmfast("train", *options, "train", "m", cwd=tmp_path).returncode == 0
    words = ("m", "--data", "train", "--test", "test", "--methods", "approximate")
    done = frontier(tmp_path, *words, "--max-diff", "5%")
    assert done.returncode in (0, 1)
    assert done.stderr.count(b"\n") == 1
    assert b"accuracy" not in done.stdout
    assert b"note        no labels say what is right" in done.stdout
    confirming = {name: point["confirming"] for name, point in points(tmp_path).items()}
    assert confirming.pop("exact")["accuracy"] is None
    assert min(one["labels_differing_percent"] for one in confirming.values()) < 10
    refused = frontier(tmp_path, *words, "--max-loss", "1%", out="other")
    message = b"svmfast: a one-class model is scored only by labels 1 and -1; give --max-diff\n"
    assert (refused.returncode, refused.stderr) == (2, message)


def test_labels_of_outliers_are_used(tmp_path):
    words = (model("normal_one_rbf"), "--data", data("normal.train"), "--test", data("normal.test"))
    frontier(tmp_path, *words, "--methods", "approximate", "--time-limit", "10")
    assert points(tmp_path)["exact"]["confirming"]["accuracy"] > 80
