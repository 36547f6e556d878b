"""`svmfast compare` against separate predictions, and the scores of all commands against scikit-learn."""

import re
from dataclasses import replace

import numpy as np
import pytest
from command import ran, report
from program import data, model
from scipy.stats import beta
from sklearn import metrics
from sklearn.datasets import load_svmlight_file

import svmfast as package
from svmfast.evaluation import benchmark, timing
from svmfast.evaluation.loss import loss

EXACT, TEST = model("photos_c_rbf"), data("photos.test")
REGRESSION, DIABETES = model("diabetes_eps_rbf"), data("diabetes.test")


def compare(exact, other, test, *words, status=0):
    """Return the figures of both models."""
    words = ("compare", exact, other, "--data", test, "--repeats", "1", *words)
    return report(*words, status=status)["models"]


def decisions(path, test, *words):
    lines = ran("predict", "-q", "--decision-values", test, path, *words).stdout.splitlines()[1:]
    table = np.array([line.split() for line in lines], float)
    return table[:, 0], table[:, 1:]


@pytest.fixture(scope="module")
def fast(tmp_path_factory):
    out = tmp_path_factory.mktemp("compare") / "photos.approx"
    ran("approximate", EXACT, "-o", out)
    return out


def test_figures_are_those_of_the_predictions(fast):
    found = report("compare", EXACT, fast, "--data", TEST, "--repeats", "1")
    assert (found["inputs"]["data"], found["rows"], found["features"]) == ([str(TEST)], 4000, 15)
    first, second = found["models"]
    targets, (_, values) = np.loadtxt(TEST, usecols=0), decisions(EXACT, TEST)
    for line, path, kind in ((first, EXACT, "libsvm"), (second, fast, "polynomial")):
        assert (line["path"], line["kind"], line["bytes"]) == (str(path), kind, path.stat().st_size)
        assert line["predict_seconds"] > 0 < line["speedup"]
        assert line["speedup_interval"] == ([1, 1] if line is first else [0, None])  # of a single sample
        # Of a single sample the load decides: test_racing.py has the rule, with clocks of its own.
        assert line["speedup_clock"] in (("wall",) if line is first else ("wall", "processor"))
        labels, others = decisions(path, TEST)
        assert line["accuracy"] == pytest.approx(np.mean(labels == targets) * 100)
        assert line["labels_differing"] == np.count_nonzero(labels != decisions(EXACT, TEST)[0])
        assert line["labels_differing_percent"] == line["labels_differing"] / 40
        assert line["mean_abs_error"] == pytest.approx(np.abs(values - others).mean())
        assert line["max_abs_error"] == pytest.approx(np.abs(values - others).max())
    assert second["labels_differing"] > 0
    sv = EXACT.read_text().split("\nSV\n")[1].count("\n")
    assert (first["multiply_adds"], first["linear_cost_counted"]) == (sv * 16, sv * 16 / 15)
    assert (second["multiply_adds"], second["linear_cost_counted"]) == (136, 136 / 15)  # 1 + 15 + 15 16 / 2
    wide = ran("compare", EXACT, fast, "--data", TEST, "--repeats", "1", "--wide").stdout
    assert f"{136 / 15:.3g}x" in re.search(rb"counted.*", wide)[0].decode()


@pytest.mark.parametrize(("name", "order"), [("photos_c_rbf", "2"), ("iris_c_rbf_prob", "1")])
def test_a_model_with_an_embedded_exact_one_is_measured_as_predict_answers(name, order, tmp_path):
    exact, test, out = model(name), data(f"{name.split('_')[0]}.test"), tmp_path / "embedded"
    ran("approximate", exact, "-o", out, "--order", order, "--embed-exact")
    line = compare(exact, out, test, "--max-diff", "0%")[1]
    (theirs, values), (both, mixed) = decisions(exact, test), decisions(out, test)
    _, own = decisions(out, test, "--no-fallback")
    assert line["labels_differing"] == np.count_nonzero(both != theirs) == 0
    assert line["accuracy"] == pytest.approx(np.mean(both == np.loadtxt(test, usecols=0)) * 100)
    assert line["max_abs_error"] == pytest.approx(np.abs(mixed - values).max())
    assert line["max_abs_error"] < np.abs(own - values).max()
    assert 0 < line["exact_percent"] == pytest.approx(100 - line["certified_percent"])
    assert line["multiply_adds"] > 0


def test_the_values_of_a_regression_differ_by_a_share_of_their_spread(tmp_path):
    """The same figure in text, JSON and frontier's loss, and the limit on it."""
    out = tmp_path / "out"
    ran("approximate", REGRESSION, "-o", out, "-q")
    ours, theirs = (
        np.array(ran("predict", "-q", DIABETES, one).stdout.split(), float) for one in (out, REGRESSION)
    )
    share = float(100 * np.sqrt(np.mean((ours - theirs) ** 2)) / theirs.std())
    assert 0 < share < 100
    lines = compare(REGRESSION, out, DIABETES)
    assert [line["values_differing_percent"] for line in lines] == pytest.approx([0, share], rel=1e-9)
    measured = loss(ours, theirs, theirs, regression=True)
    assert measured.differing.value == pytest.approx(share, rel=1e-9)
    words = ("compare", "--repeats", "1", REGRESSION, out, "--data", DIABETES, "--max-diff")
    said = f"svmfast: {out}: values differ by {share:.4g}% of their spread, more than {share / 2:g}%\n"
    assert ran(*words, f"{share / 2!r}%", status=1).stderr.decode() == said
    ran(*words, f"{share * 2!r}%")
    # Labels have no such figure, and are limited as before.
    iris = compare(model("iris_c_linear"), model("iris_c_linear"), data("iris.test"))[1]
    assert (iris["values_differing_percent"], iris["labels_differing_percent"]) == (None, 0)


def test_the_limit_is_the_exit_status_and_the_bound_is_on_all_rows_like_those_given(fast):
    exact, line = compare(EXACT, fast, TEST)
    share, differing = line["labels_differing_percent"], line["labels_differing"]
    bound = line["labels_differing_limit_percent"]
    assert bound == pytest.approx(100 * beta.ppf(0.95, differing + 1, 4000 - differing))
    assert exact["labels_differing_limit_percent"] is None
    compare(EXACT, fast, TEST, "--max-diff", f"{share}%")
    compare(EXACT, fast, TEST, "--max-diff", f"{share * 0.99}%", status=1)
    words = ("compare", "--repeats", "1", EXACT, fast, "--data", TEST, "--max-diff")
    said = f"{share:.3g}% of the labels differ ({differing:,} of 4,000), more than 0%"
    assert ran(*words, "0%", status=1).stderr.decode() == f"svmfast: {fast}: {said}\n"
    # The limit lies between the measured share and the bound: the share decides.
    heads, _, text = ran(*words, f"{(share + bound) / 2:.6f}%").stdout.decode().splitlines()[1:]
    assert "labels differ  95% bound" in heads
    assert f" {bound:.3f}%" in text


def test_the_bound_is_zero_where_no_label_can_differ(fast, tmp_path):
    out, other = tmp_path / "embedded", tmp_path / "other"
    ran("approximate", EXACT, "-o", out, "--embed-exact", "-q")
    assert compare(EXACT, out, TEST)[1]["labels_differing_limit_percent"] == 0
    # Nothing is proven about another exact model, even if no label differs.
    rho = re.search(r"rho (\S+)", EXACT.read_text())
    other.write_text(EXACT.read_text().replace(rho[0], f"rho {float(rho[1]) * (1 + 1e-12)!r}"))
    line = compare(other, out, TEST)[1]
    assert line["labels_differing"] == 0
    assert 0 < line["labels_differing_limit_percent"] < 0.1
    mine, others = (compare(exact, fast, TEST)[1] for exact in (EXACT, other))
    assert 0 < mine["certified_percent"] < 100
    assert (mine["violations"], others.get("certified_percent")) == (0, None)


@pytest.mark.parametrize(
    ("spread", "shown", "ending"), [(1.0, " 8x ", "thread"), (1.2, " ~8x ", "speed-ups of processor time")]
)
def test_uncertain_speeds_are_marked_and_the_clock_is_named(spread, shown, ending, fast, monkeypatch):
    """The rule itself is frontier's: tests/unit/test_evaluation.py."""

    def timed(calls, *args, **kwargs):
        found = timing.timed(calls, *args, **kwargs)
        first, *others = calls
        speeds = {one: timing.Speed(8.0, 8.0 / spread, 8.0, 7, spread > 1) for one in others}
        return replace(found, speeds={first: found.speeds[first], **speeds})

    monkeypatch.setattr(benchmark, "timed", timed)
    found = package.compare({"exact": EXACT, "fast": fast}, TEST, repeats=1, threads=1)
    assert found.heading().endswith(ending)
    assert shown in found.lines()[2]
    assert " 1x " in found.lines()[1]
    line = found.to_dict()["models"][1]
    assert line["speedup_interval"] == [8.0 / spread, 8.0]
    assert line["speedup_clock"] == ("processor" if spread > 1 else "wall")


# --- scores


@pytest.mark.parametrize("name", ["iris_c_rbf_prob", "breast_c_rbf"])
def test_predict_and_compare_agree_with_scikit_learn(name, tmp_path):
    rows = data(f"{name.split('_')[0]}.test")
    found = report("predict", rows, model(name), tmp_path / "out")
    target, (predicted, values) = load_svmlight_file(str(rows))[1], decisions(model(name), rows)
    *shares, count = metrics.precision_recall_fscore_support(target, predicted)
    for i, one in enumerate(found["classes"]):
        assert (one["label"], one["rows"]) == (np.unique(target)[i], count[i])
        theirs = [100 * share[i] for share in shares]
        assert [one[key] for key in ("precision", "recall", "f1")] == pytest.approx(theirs, rel=1e-12)
    assert found["balanced_accuracy"] == pytest.approx(
        100 * metrics.balanced_accuracy_score(target, predicted)
    )
    positive = package.load_model(model(name)).head.labels[0]
    area = metrics.roc_auc_score(target == positive, values[:, 0]) if values.shape[1] == 1 else None
    for one in compare(model(name), model(name), rows):
        assert all(one[key] == found[key] for key in ("accuracy", "balanced_accuracy", "classes"))
        assert one["auc"] == (area if area is None else pytest.approx(area, rel=1e-12))


#: Always predicts -1 on the rows below.
NEVER = "svm_type c_svc;kernel_type linear;nr_class 2;total_sv 2;rho 9;label 1 -1;nr_sv 1 1;SV;1 1:1;-1 1:-1;"
LINE = "class 1 is recognized far below the accuracy of 99%: recall 0% (0 of 10); it is never predicted"
TRAINERS = {
    "linear": ["linear"],
    "meka": ["meka", "--task", "svc", "--clusters", "2", "--rank", "2"],
    "dcpred": ["dcpred", "--task", "svc", "--clusters", "1", "--landmarks", "2", "--iterations", "2"],
    "budget-train": ["budget-train", "--validate"],
}


@pytest.fixture
def rare(tmp_path):
    """Rows with 1 % of the positive class."""
    rows = [f"{'+1' if i % 100 == 50 else '-1'} 1:{i % 97}e-3\n" for i in range(1000)]
    (tmp_path / "rows").write_text("".join(rows))
    for name, part in (("a", rows[:300]), ("b", rows[300:])):
        (tmp_path / name).write_text("".join(part))
    return tmp_path / "rows"


def test_a_class_that_is_never_predicted_is_named(rare, tmp_path):
    never = tmp_path / "never.model"
    never.write_text(NEVER.replace(";", "\n"))
    done = ran("predict", rare, never, tmp_path / "out")
    assert done.stdout == b"Accuracy = 99% (990/1000) (classification)\n"
    assert done.stderr.decode().splitlines() == [f"svmfast: {LINE}"]
    found = report("predict", rare, never, tmp_path / "out")
    assert (found["accuracy"], found["balanced_accuracy"], found["notes"]) == (99, 50, [LINE])
    added = report("predict", "--out-dir", tmp_path / "outs", never, tmp_path / "a", tmp_path / "b")
    assert all(added[key] == found[key] for key in ("accuracy", "balanced_accuracy", "classes"))
    assert LINE in added["notes"]


@pytest.mark.parametrize("name", TRAINERS)
@pytest.mark.parametrize("kind", ["iris", "breast", "diabetes", "rare"])
def test_figures_of_training_are_those_of_predict(name, kind, rare, tmp_path):
    """For one-vs-rest, two classes, values, and a class that is never predicted, which is named."""
    rows = rare if kind == "rare" else data(f"{kind}.train")
    more = {"diabetes": ["-s", "3"] if name == "budget-train" else ["--task", "ridge"]}.get(kind, [])
    more += ["-g", "1e-6"] if kind == "rare" and name != "linear" else []
    held = [rows] if name == "budget-train" else []
    found = report(*TRAINERS[name], *held, *more, rows, "-o", tmp_path / "m")
    own = found["validation" if held else "training"]
    again = report("predict", rows, tmp_path / "m", tmp_path / "out")
    assert (own.pop("auc", None) is not None) == (kind in ("breast", "rare"))
    expected = {key: again[key] for key in own}
    assert own == (pytest.approx(expected, rel=1e-9) if kind == "diabetes" else expected)
    if kind == "rare":
        assert own["balanced_accuracy"] == 50 < 98 < own["accuracy"]
        line = f"class 1 is recognized far below the accuracy of {own['accuracy']:.4g}%: recall 0% "
        assert [note[: len(line)] for note in found["notes"] if note.startswith("class")] == [line]


def test_cross_validation_names_the_class_too(rare):
    done = ran("train", "-v", "3", "-g", "1e-6", rare)
    assert b"Cross Validation Accuracy = 99%\n" in done.stdout
    assert LINE in done.stderr.decode()
    for name in ("meka", "dcpred"):
        found = report(*TRAINERS[name], "-g", "1e-6", "-v", "3", "-c", "1,2", rare)
        for one in found["cross_validation"]:
            assert (one["score"], one["accuracy"], one["balanced_accuracy"]) == (99, 99, 50)
        assert found["best"] in found["cross_validation"]
        assert found["notes"][-1] == LINE
