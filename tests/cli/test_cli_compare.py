"""`svmfast compare`: its figures against separate predictions, its verdict."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import svmfast
from program import data, model
from scipy.stats import beta

import svmfast as package
from svmfast.evaluation import benchmark, timing
from svmfast.evaluation.loss import loss

KEYS = [
    "path", "kind", "accuracy", "labels_differing", "labels_differing_percent", "mean_abs_error",
    "max_abs_error", "bytes", "predict_seconds", "speedup",
]  # fmt: skip


def compare(*args: Any, status: int = 0) -> dict[str, Any]:
    done = svmfast("compare", "--json", "--repeats", "1", *args)
    assert done.returncode == status, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def approximated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("compare") / "photos.approx"
    assert svmfast("approximate", model("photos_c_rbf"), "-o", out).returncode == 0
    return out


def decisions(path: Path, test: Path) -> tuple[np.ndarray, np.ndarray]:
    done = svmfast("predict", "-q", "--decision-values", test, path)
    table = np.loadtxt(io.BytesIO(done.stdout), skiprows=1)
    return table[:, 0], table[:, 1:]


def test_figures_are_those_of_the_predictions(approximated: Path) -> None:
    exact, test = model("photos_c_rbf"), data("photos.test")
    found = compare(exact, approximated, "--data", test)
    assert (found["inputs"]["data"], found["rows"], found["features"]) == ([str(test)], 4000, 15)
    first, second = found["models"]
    for line, path, kind in ((first, exact, "libsvm"), (second, approximated, "polynomial")):
        assert set(KEYS) <= line.keys()
        assert (line["path"], line["kind"]) == (str(path), kind)
        assert line["bytes"] == path.stat().st_size
        assert line["speedup"] > 0
        assert line["speedup_interval"] == ([1, 1] if line is first else [0, None])  # of a single sample
        # Of a single sample the load decides: test_racing.py has the rule, with clocks of its own.
        assert line["speedup_clock"] in (("wall",) if line is first else ("wall", "processor"))
    sv = model("photos_c_rbf").read_text().split("\nSV\n")[1].count("\n")
    assert (first["multiply_adds"], first["linear_cost_counted"]) == (sv * 16, sv * 16 / 15)
    assert (second["multiply_adds"], second["linear_cost_counted"]) == (136, 136 / 15)  # 1 + 15 + 15 16 / 2
    targets = np.loadtxt(test, usecols=0)
    predicted, values = decisions(exact, test)
    other, others = decisions(approximated, test)
    assert (first["labels_differing"], first["mean_abs_error"], first["max_abs_error"]) == (0, 0, 0)
    assert first["accuracy"] == pytest.approx(np.mean(predicted == targets) * 100)
    assert second["accuracy"] == pytest.approx(np.mean(other == targets) * 100)
    assert second["labels_differing"] == np.count_nonzero(predicted != other) > 0
    assert second["labels_differing_percent"] == second["labels_differing"] / 40
    assert second["mean_abs_error"] == pytest.approx(np.abs(values - others).mean())
    assert second["max_abs_error"] == pytest.approx(np.abs(values - others).max())


@pytest.mark.parametrize("name", ["photos_c_rbf", "iris_c_rbf_prob"])
def test_a_model_with_an_embedded_exact_one_is_measured_as_predict_answers(name: str, tmp_path: Path) -> None:
    exact, test, out = model(name), data(f"{name.split('_')[0]}.test"), tmp_path / "embedded"
    order = "2" if name.startswith("photos") else "1"
    made = svmfast("approximate", exact, "-o", out, "--order", order, "--embed-exact")
    assert made.returncode == 0, made.stderr
    line = compare(exact, out, "--data", test, "--max-diff", "0%")["models"][1]
    targets = np.loadtxt(test, usecols=0)
    theirs, values = decisions(exact, test)
    both, mixed = decisions(out, test)
    done = svmfast("predict", "-q", "--no-fallback", "--decision-values", test, out)
    own = np.loadtxt(io.BytesIO(done.stdout), skiprows=1)[:, 1:]
    assert line["labels_differing"] == np.count_nonzero(both != theirs) == 0
    assert line["accuracy"] == pytest.approx(np.mean(both == targets) * 100)
    assert line["max_abs_error"] == pytest.approx(np.abs(mixed - values).max())
    assert line["max_abs_error"] < np.abs(own - values).max()
    assert 0 < line["exact_percent"] == pytest.approx(100 - line["certified_percent"])
    assert line["multiply_adds"] > 0


def test_the_values_of_a_regression_differ_by_a_share_of_their_spread(tmp_path: Path) -> None:
    """The same figure in text, JSON and frontier's loss, and the limit on it."""
    exact, test, out = model("diabetes_eps_rbf"), data("diabetes.test"), tmp_path / "out"
    assert svmfast("approximate", exact, "-o", out, "-q").returncode == 0
    ours, theirs = (np.array(svmfast("predict", "-q", test, m).stdout.split(), float) for m in (out, exact))
    share = float(100 * np.sqrt(np.mean((ours - theirs) ** 2)) / theirs.std())
    assert 0 < share < 100
    lines = compare(exact, out, "--data", test)["models"]
    assert [line["values_differing_percent"] for line in lines] == pytest.approx([0, share], rel=1e-9)
    measured = loss(ours, theirs, theirs, regression=True)
    assert measured.differing.value == pytest.approx(share, rel=1e-9)
    words = ("compare", "--repeats", "1", exact, out, "--data", test, "--max-diff")
    done = svmfast(*words, f"{share / 2!r}%")
    said = f"svmfast: {out}: values differ by {share:.4g}% of their spread, more than {share / 2:g}%\n"
    assert (done.returncode, done.stderr.decode()) == (1, said)
    assert svmfast(*words, f"{share * 2!r}%").returncode == 0
    # Labels have no such figure, and are limited as before.
    iris = compare(model("iris_c_linear"), model("iris_c_linear"), "--data", data("iris.test"))["models"][1]
    assert (iris["values_differing_percent"], iris["labels_differing_percent"]) == (None, 0)


def test_the_limit_is_the_exit_status(approximated: Path) -> None:
    args = (model("photos_c_rbf"), approximated, "--data", data("photos.test"))
    line = compare(*args)["models"][1]
    share, differing = line["labels_differing_percent"], line["labels_differing"]
    compare(*args, "--max-diff", f"{share}%")
    compare(*args, "--max-diff", f"{share * 0.99}%", status=1)
    done = svmfast("compare", "--repeats", "1", *args, "--max-diff", "0%")
    assert done.returncode == 1
    assert done.stderr.decode() == (
        f"svmfast: {approximated}: {share:.3g}% of the labels differ ({differing:,} of 4,000), more than 0%\n"
    )


def test_the_limit_is_on_the_rows_given_and_the_bound_is_on_all_rows_like_them(approximated: Path) -> None:
    args = (model("photos_c_rbf"), approximated, "--data", data("photos.test"))
    exact, line = compare(*args)["models"]
    differing, bound = line["labels_differing"], line["labels_differing_limit_percent"]
    assert bound == pytest.approx(100 * beta.ppf(0.95, differing + 1, 4000 - differing))
    assert exact["labels_differing_limit_percent"] is None
    # The limit lies between the measured share and the bound: the share decides.
    between = (line["labels_differing_percent"] + bound) / 2
    done = svmfast("compare", "--repeats", "1", *args, "--max-diff", f"{between:.6f}%")
    assert done.returncode == 0
    heads, _, text = done.stdout.decode().splitlines()[1:]
    assert "labels differ  95% bound" in heads
    assert f" {bound:.3f}%" in text


def test_the_bound_is_zero_where_no_label_can_differ(tmp_path: Path) -> None:
    exact, out = model("photos_c_rbf"), tmp_path / "embedded"
    assert svmfast("approximate", exact, "-o", out, "--embed-exact", "-q").returncode == 0
    args = ("--data", data("photos.test"))
    assert compare(exact, out, *args)["models"][1]["labels_differing_limit_percent"] == 0
    # Nothing is proven about another exact model, even if no label differs.
    other = tmp_path / "other"
    moved = lambda found: f"rho {float(found[1]) * (1 + 1e-12)!r}"  # noqa: E731
    other.write_text(re.sub(r"rho (\S+)", moved, exact.read_text()))
    line = compare(other, out, *args)["models"][1]
    assert line["labels_differing"] == 0
    assert 0 < line["labels_differing_limit_percent"] < 0.1


def test_uncertain_speeds_are_marked_and_the_clock_is_named(
    approximated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule itself is frontier's: tests/unit/test_evaluation.py."""
    spread = 1.0

    def timed(calls: Any, *args: Any, **kwargs: Any) -> timing.Timed:
        found = timing.timed(calls, *args, **kwargs)
        first, *others = calls
        speeds = {one: timing.Speed(8.0, 8.0 / spread, 8.0, 7, spread > 1) for one in others}
        return replace(found, speeds={first: found.speeds[first], **speeds})

    monkeypatch.setattr(benchmark, "timed", timed)
    models = {"exact": model("photos_c_rbf"), "fast": approximated}
    for spread, shown, ending in ((1.0, " 8x ", "thread"), (1.2, " ~8x ", "speed-ups of processor time")):
        found = package.compare(models, data("photos.test"), repeats=1, threads=1)
        assert found.title().endswith(ending)
        assert shown in str(found).splitlines()[2]
        assert " 1x " in str(found).splitlines()[1]
        line = found.to_dict()["models"][1]
        assert line["speedup_interval"] == [8.0 / spread, 8.0]
        assert line["speedup_clock"] == ("processor" if spread > 1 else "wall")
