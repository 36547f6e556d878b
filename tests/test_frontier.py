"""``svmfast frontier`` through the executable, and how it shares time: one finished run serves most tests."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from program import PATIENCE, PROGRAM, data, model, svmfast

from svmfast.cli.frontier_child import Failed, OutOfTime, make
from svmfast.cli.frontier_plan import METHODS, Candidate, plan
from svmfast.cli.frontier_run import run_all
from svmfast.cli.frontier_work import with_exact
from svmfast.evaluation.pareto import Limits
from svmfast.formats.detect import load_model
from svmfast.formats.libsvm_model import read_libsvm_model

BREAST = (str(model("breast_c_rbf")), "--data", str(data("breast.train")))
TEST = ("--test", str(data("breast.test")))
FEW = ("--methods", "linear,approximate,budget-train")


def frontier(cwd: Path, *arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    return svmfast("frontier", *arguments, "-o", "dir", cwd=cwd, **more)


def report(cwd: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((cwd / "dir" / "report.json").read_text())
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a finished run, and what the run printed."""
    folder = tmp_path_factory.mktemp("frontier")
    done = frontier(folder, *BREAST, *TEST, *FEW)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout.decode()


def test_everything_is_written(finished: tuple[Path, str]) -> None:
    folder, said = finished
    found = report(folder)
    names = [point["name"] for point in found["points"]]
    assert names[0] == "exact"
    assert {"linear", "approximate-2", "approximate-2 + exact"} <= set(names)
    assert found["complete"]
    by_name = {point["name"]: point for point in found["points"]}
    fallback = by_name["approximate-2 + exact"]
    assert fallback["differing_percent"] == 0
    assert fallback["n_bytes"] > by_name["exact"]["n_bytes"]
    for name in names:
        assert f"\n{name} " in said
        made = folder / "dir" / "models" / name
        assert made.exists() == (name != "exact" and " + " not in name)
    files = {path.name for path in (folder / "dir").iterdir()}
    assert files == {
        "inputs.json", "records", "models", "report.json", "report.md", "recommended",
        "figure.svg", "figure.png",
    }  # fmt: skip
    assert (folder / "dir" / "figure.png").read_bytes().startswith(b"\x89PNG")
    svg = (folder / "dir" / "figure.svg").read_text()
    assert "</svg>" in svg
    page = (folder / "dir" / "report.md").read_text()
    assert "![" in page
    assert all(name in page for name in names)


def test_figures_are_those_of_compare(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    names = ("linear", "approximate-2", "budget-train-50")
    files = [
        folder / "dir" / "models" / name for name in names if (folder / "dir" / "models" / name).exists()
    ]
    arguments = ["compare", model("breast_c_rbf"), *files, "--data", data("breast.test"), "--json"]
    lines = json.loads(svmfast(*arguments).stdout)["models"]
    ours = {point["name"]: point for point in report(folder)["points"]}
    for line in lines[1:]:
        point = ours[Path(line["path"]).name]
        assert point["accuracy"] == line["accuracy"]
        assert point["differing_percent"] == line["labels_differing_percent"]
        assert point["n_bytes"] == line["bytes"]
        assert point["certified_percent"] == line["certified_percent"]
        assert point["linear_cost_counted"] == line["linear_cost_counted"]


def test_every_command_makes_the_same_bytes(finished: tuple[Path, str]) -> None:
    folder, said = finished
    best = report(folder)["recommended"]
    assert f"\nmade by: {best['command']}\n" in said
    assert best["differing_percent"] <= 0.5
    for point in report(folder)["points"]:
        if point["command"] is None:
            continue
        name, *words = shlex.split(point["command"])
        assert name == "svmfast"
        made = folder / words[words.index("-o") + 1 if "-o" in words else 2]
        before = made.read_bytes() if made.exists() else None
        assert (before is None) == point["name"].endswith(" + exact")
        made.unlink(missing_ok=True)
        assert subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True).returncode == 0
        if before is None:
            assert made.stat().st_size == point["n_bytes"]
        else:
            assert made.read_bytes() == before


def test_a_second_run_goes_on(tmp_path: Path) -> None:
    few = ("--methods", "linear,approximate")
    first = frontier(tmp_path, *BREAST, *TEST, *few, "--json")
    assert first.returncode == 0, first.stderr
    models = tmp_path / "dir" / "models"
    stamps = {path.name: path.stat().st_mtime_ns for path in models.iterdir()}
    # One measurement is lost, and one model is damaged: just these are made again.
    (tmp_path / "dir" / "records" / "linear.json").unlink()
    (models / "approximate-2").write_bytes(b"damaged")
    again = frontier(tmp_path, *BREAST, *TEST, *few, "--json", "-q")
    assert again.returncode == 0, again.stderr
    changed = {path.name for path in models.iterdir() if path.stat().st_mtime_ns != stamps[path.name]}
    assert changed == {"linear", "approximate-2"}

    def known(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
        points = {point["name"]: point for point in json.loads(done.stdout)["points"]}
        timed = ("rows_per_second", "speedup", "linear_cost", "on_front")
        return {name: value for name, value in points["approximate-3"].items() if name not in timed}

    assert known(first) == known(again)
    # Other limits and methods are welcome, another seed is another run.
    other = frontier(tmp_path, *BREAST, *TEST, "--methods", "linear", "--max-diff", "0%")
    assert other.returncode == 1
    refused = frontier(tmp_path, *BREAST, *TEST, *few, "--seed", "7")
    assert refused.returncode == 2
    assert (
        refused.stderr
        == b"svmfast: dir holds a run with seed 0, this one has 7; give another folder with -o, or --anew to "
        b"begin again in this one\n"
    )
    refused = frontier(tmp_path, *BREAST, *few)
    assert refused.returncode == 2
    assert b"dir holds a run with test " in refused.stderr


@pytest.mark.parametrize(
    ("most", "method", "kind"),
    [
        ("0%", "approximate", "polynomial"),
        ("0.3%", "approximate", "polynomial"),
        ("1%", "budget-train", "cascade"),
    ],
)
def test_the_recommended_copy_is_as_good_as_is_said(
    tmp_path: Path, most: str, method: str, kind: str
) -> None:
    assert svmfast("train", "-q", "-c", "0.1", str(data("photos.train")), "m", cwd=tmp_path).returncode == 0
    words = ["m", "--data", str(data("photos.train")), "--test", str(data("photos.test"))]
    limits = ("--max-diff", most, "--time-limit", "10s")
    done = frontier(tmp_path, *words, "--methods", f"{method},cascade", *limits)
    assert done.returncode == 0, done.stderr
    best, copy = report(tmp_path)["recommended"], tmp_path / "dir" / "recommended"
    assert load_model(copy).kind == kind
    assert copy.stat().st_size == best["n_bytes"]
    labels = []
    for path in (copy, tmp_path / "m"):
        predict = [PROGRAM, "predict", "-q", data("photos.test"), path, tmp_path / "labels"]
        subprocess.run(predict, check=True)
        labels.append((tmp_path / "labels").read_text().split())
    differing = sum(a != b for a, b in zip(*labels, strict=True))
    assert 100 * differing / len(labels[0]) == pytest.approx(best["differing_percent"])
    # The command that is printed makes the same file.
    for command in best["command"].split(" && "):
        words = shlex.split(command)
        subprocess.run([PROGRAM, *words[1:]], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / words[words.index("-o") + 1]).read_bytes() == copy.read_bytes()


def test_a_copy_with_the_exact_model_inside_is_approximates_own(tmp_path: Path) -> None:
    for name, more in (("plain", ()), ("both", ("--embed-exact",))):
        words = ("approximate", str(model("digits_c_rbf_prob")), "--order", "2", "-o", name, *more)
        assert svmfast(*words, cwd=tmp_path).returncode == 0
    exact = read_libsvm_model(model("digits_c_rbf_prob"))
    assert with_exact(load_model(tmp_path / "plain"), exact) == (tmp_path / "both").read_bytes()


def test_joining_needs_others_and_enough_rows(tmp_path: Path) -> None:
    alone = frontier(tmp_path, *BREAST, *TEST, "--methods", "cascade")
    assert alone.returncode == 2
    assert b"name one of those too" in alone.stderr
    done = frontier(tmp_path, *BREAST, *TEST, "--methods", "linear,cascade")
    assert b"a candidate + exact: 189 rows cannot show with 0.95 confidence that at most 0.5" in done.stdout
    assert {p["name"] for p in report(tmp_path)["points"]} == {"exact", "linear"}
    # Enough for a weaker promise; without one, or without the method, nothing is joined.
    for more, joined in (
        (("--methods", "linear,cascade", "--max-diff", "3%"), True),
        (("--methods", "linear", "--max-diff", "3%"), False),
        (("--methods", "linear,cascade", "--max-bytes", "9k"), False),
    ):
        frontier(tmp_path, *BREAST, *TEST, *more)
        points = {p["name"]: p for p in report(tmp_path)["points"]}
        assert ("linear + exact" in points) == joined
        if joined:
            assert points["linear + exact"]["differing_percent"] <= 3
            assert points["linear"]["differing_percent"] > 0


def test_a_run_on_other_inputs_begins_again_when_asked(tmp_path: Path) -> None:
    assert frontier(tmp_path, *BREAST, *TEST, "--methods", "linear").returncode in (0, 1)
    first = (tmp_path / "dir/models/linear").read_bytes()
    lines = data("breast.train").read_text().splitlines(keepends=True)
    (tmp_path / "train").write_text("".join(lines[::2]))
    other = (BREAST[0], "--data", "train", *TEST, "--methods", "linear")
    refused = frontier(tmp_path, *other)
    assert refused.returncode == 2
    assert refused.stderr.endswith(b"or --anew to begin again in this one\n")
    assert (tmp_path / "dir/models/linear").read_bytes() == first
    assert frontier(tmp_path, *other, "--anew").returncode in (0, 1)
    assert (tmp_path / "dir/models/linear").read_bytes() != first


def test_a_killed_command_is_no_answer(tmp_path: Path) -> None:
    with pytest.raises(Failed) as refused:
        make(["info", "nowhere"], 60)
    assert refused.value.final
    (tmp_path / "sitecustomize.py").write_text("import os; os.kill(os.getpid(), 9)")
    with pytest.raises(Failed, match="was killed by signal 9") as killed:
        make(["info", "nowhere"], 60, {**os.environ, "PYTHONPATH": str(tmp_path)})
    assert not killed.value.final


def test_limits(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    nothing = frontier(folder, *BREAST, *TEST, *FEW, "--max-bytes", "10")
    assert nothing.returncode == 1
    assert (
        b"\nnothing faster or smaller than the exact model keeps to the limits: at most 10 bytes\n"
        in nothing.stdout
    )
    assert report(folder)["recommended"] is None
    assert not (folder / "dir" / "recommended").exists()
    loose = frontier(folder, *BREAST, *TEST, *FEW, "--max-cost", "1.5x", "--max-diff", "90%")
    assert loose.returncode == 0
    best = report(folder)["recommended"]
    assert best["name"] == "linear"
    assert best["linear_cost_counted"] <= 1.5
    models = folder / "dir" / "models"
    assert (folder / "dir" / "recommended").read_bytes() == (models / "linear").read_bytes()


def test_without_a_test_file_rows_are_held_out(tmp_path: Path) -> None:
    done = frontier(tmp_path, *BREAST, "--methods", "linear", "--max-diff", "50%")
    assert done.returncode == 0, done.stderr
    found = report(tmp_path)
    assert found["test_held_out"]
    assert "flatters" in (tmp_path / "dir" / "report.md").read_text()
    parts = [(tmp_path / "dir" / name).read_text().splitlines() for name in ("train.part", "test.part")]
    whole = data("breast.train").read_text().splitlines()
    assert [len(part) for part in parts] == [len(whole) - len(whole) // 5, len(whole) // 5]
    assert found["rows"] == len(whole) // 5
    words = shlex.split(found["recommended"]["command"])
    assert "dir/train.part" in words


@pytest.mark.parametrize("name", ["diabetes_eps_rbf", "normal_one_rbf", "iris_c_linear", "digits_c_poly2"])
def test_other_kinds_of_models(tmp_path: Path, name: str) -> None:
    train = data(f"{name.split('_')[0]}.train")
    methods = "linear,budget-train,approximate"
    done = frontier(tmp_path, str(model(name)), "--data", str(train), "--methods", methods, "-q")
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr == b""
    found = report(tmp_path)
    reasons = {one["name"]: one["reason"] for one in found["missing"]}
    if name == "normal_one_rbf":
        assert reasons["linear"] == "a one-class model has no labels to train on"
        assert reasons["budget-train"] == "does not train one-class models"
    if name == "diabetes_eps_rbf":
        assert all(point["accuracy"] is None and point["mse"] > 0 for point in found["points"])
        assert any(0 < point["differing_percent"] < 100 for point in found["points"])
    if name == "iris_c_linear":
        assert reasons["budget-train"] == "does not train the linear kernel"
        assert found["recommended"]["name"] == "approximate"
        assert found["recommended"]["differing_percent"] == 0


def test_without_matplotlib_the_report_is_written(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['matplotlib'] = None\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [PROGRAM, "frontier", *BREAST, *TEST, "--methods", "linear", "-o", "dir", "--max-diff", "50%"],
        cwd=tmp_path, env=environment, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    line = (
        b"svmfast: no figure: matplotlib is not installed; pip install 'svmfast[figures]', then run again\n"
    )
    assert line in done.stderr
    files = {path.name for path in (tmp_path / "dir").iterdir()}
    assert files == {"inputs.json", "records", "models", "report.json", "report.md", "recommended"}
    assert "![" not in (tmp_path / "dir" / "report.md").read_text()


def test_no_time(tmp_path: Path) -> None:
    begin = time.monotonic()
    done = frontier(tmp_path, *BREAST, *TEST, "--time-limit", "0.01s")
    assert time.monotonic() - begin < 20 * PATIENCE
    assert done.returncode == 1
    assert b"linear: not tried within the time limit\n" in done.stdout
    assert b"not everything was tried, run again to go on\n" in done.stdout
    assert not report(tmp_path)["complete"]
    assert not list((tmp_path / "dir" / "models").iterdir())


def test_a_failing_method_is_a_row_with_its_reason(tmp_path: Path) -> None:
    # Labels that are no integers: budget-train and linear cannot, approximate does not look.
    lines = data("breast.train").read_text().splitlines()
    (tmp_path / "train").write_text("\n".join(["0.5 1:1", *lines]) + "\n")
    done = frontier(tmp_path, str(model("breast_c_rbf")), "--data", "train", *TEST, *FEW)
    assert done.returncode == 0, done.stderr
    reasons = {one["name"]: one["reason"] for one in report(tmp_path)["missing"]}
    assert reasons["linear"].startswith("train:1: class label is not an integer ('0.5')")
    assert "budget-train-50" in reasons
    assert f"\nlinear: {reasons['linear']}\n" in done.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((*BREAST, "--methods", "meka,moka"), "svmfast: no method 'moka'; methods: " + ", ".join(METHODS)),
        (("-", "--data", "x"), "svmfast: EXACT is read more than once; give a file, not '-'"),
        (
            (str(model("iris_precomputed")), "--data", str(data("iris.train"))),
            "svmfast: models with a precomputed kernel cannot be converted",
        ),
        ((BREAST[0], "--data", "nowhere"), "svmfast: nowhere: No such file or directory"),
        (
            (*BREAST, "--time-limit", "soon"),
            "svmfast frontier: Invalid value for '--time-limit': 'soon' is not a time such as 90s, 10m or "
            "2h; see 'svmfast frontier --help'",
        ),
    ],
)
def test_refusals(tmp_path: Path, arguments: tuple[str, ...], line: str) -> None:
    done = frontier(tmp_path, *arguments)
    assert (done.returncode, done.stderr.decode()) == (2, line + "\n")
    assert not list(tmp_path.iterdir())


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "thesis.tex").write_text("")
    done = frontier(tmp_path, *BREAST)
    assert done.returncode == 2
    expected = b"svmfast: 'dir' is not empty and no earlier run's; give another folder with -o\n"
    assert done.stderr == expected


def candidate(method: str, level: int) -> Candidate:
    return Candidate(f"{method}-{level}", method, level, ())


def test_dearer_candidates_wait_where_a_cheaper_one_ran_out_of_time() -> None:
    tried: list[str] = []

    def attempt(one: Candidate, seconds: float) -> None:
        tried.append(one.name)
        if one.method == "slow" and seconds < 1e6:
            raise OutOfTime

    todo = [candidate("slow", 0), candidate("quick", 0), candidate("slow", 1), candidate("quick", 1)]
    late = run_all(todo, attempt, time.monotonic() + 1000)
    # At once, the quick ones, then the slow ones again with what time is left.
    assert tried[:3] == ["slow-0", "quick-0", "quick-1"]
    assert set(late) == {"slow-0", "slow-1"}
    assert late["slow-0"] in (
        "not finished within 1000 s",
        "not finished within 999 s",
        "not finished within 750 s",
    )


def test_time_is_shared() -> None:
    given: list[float] = []

    def attempt(_one: Candidate, seconds: float) -> None:
        given.append(seconds)

    assert run_all([candidate("a", i) for i in range(6)], attempt, time.monotonic() + 100) == {}
    assert given == pytest.approx([50, 60, 75, 100, 100, 100], abs=1)
    given.clear()
    late = run_all([candidate("a", 0)], attempt, time.monotonic() - 1)
    assert (given, late) == ([], {"a-0": "not tried within the time limit"})


@pytest.mark.parametrize(
    "name", ["breast_c_rbf", "digits_c_rbf_prob", "diabetes_eps_rbf", "breast_c_sigmoid"]
)
def test_the_plan(name: str) -> None:
    exact = read_libsvm_model(model(name))
    found, _ = plan(exact, METHODS, seed=3, limits=Limits(max_bytes=5000), reading=("--lenient",))
    assert len({one.name for one in found}) == len(found)
    assert [one.level for one in found] == sorted(one.level for one in found)
    for one in found:
        assert "{out}" in one.arguments
        filled = one.filled("E", "T", "O")
        assert not [word for word in filled if word.startswith("{")]
    assert any("--max-bytes" in one.arguments for one in found)
