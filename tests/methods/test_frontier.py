"""``svmfast frontier``: what a run writes, continues, refuses and recommends."""

import json
import os
import re
import shlex
import shutil
import subprocess

import numpy as np
import pytest
from command import ran, svmfast
from frontier_runs import BREAST, TEST, frontier, points, report
from program import PROGRAM, data, model

from svmfast.frontiers.folder import RESULTS

FEW = ("--methods", "linear,approximate,budget-train,cascade")
#: The smallest limit that a few of the 94 choosing rows can show.
WIDE = ("--max-diff", "4%")


def recommending(cwd, *arguments, **more):
    """Run frontier where it must recommend a model; again where a busy machine shows none to be faster."""
    for _ in range(4):
        done = frontier(cwd, *arguments, **more)
        if done.returncode != 1:
            break
    assert done.returncode == 0, done.stdout
    return done


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a finished run, and the run's output."""
    folder = tmp_path_factory.mktemp("frontier")
    done = recommending(folder, *BREAST, *TEST, *FEW, *WIDE, shortened=False)
    return folder, done.stdout.decode()


def test_what_a_run_writes(finished):
    folder, printed = finished
    place, found, sets = folder / "dir", points(folder), report(folder)["row_sets"]
    assert next(iter(found)) == "exact"
    assert {"linear", "linear + exact", "approximate-2", "approximate-2 + exact"} <= set(found)
    assert report(folder)["complete"]
    assert found["approximate-2 + exact"]["confirming"]["labels_differing_percent"] == 0
    assert found["approximate-2 + exact"]["bytes"] > found["exact"]["bytes"]
    page = (place / "report.html").read_text()
    assert all(f"\n{name} " in printed and f"<td>{name}<" in page for name in found)
    test, trained = (str(data(f"breast.{part}")) for part in ("test", "train"))
    assert sets["choosing"] == {"path": test, "rows": 94}
    assert sets["confirming"] == {"path": test, "rows": 95}
    assert (sets["trained"], sets["held_out_of_training"]) == ({"path": trained, "rows": 380}, False)
    files = "inputs.json records models report.html report.json recommended choose.part confirm.part"
    assert {path.name for path in place.iterdir()} == set(files.split())
    files = [place / "models" / name for name in found if name != "exact" and " + " not in name]
    assert {*files} == {*(place / "models").iterdir()}


def compared(folder, *files):
    """What compare says of the files on the confirming rows."""
    words = ("compare", BREAST[0], *files, "--data", folder / "dir" / "confirm.part", "--json")
    return json.loads(svmfast(*words, cwd=folder).stdout)["models"][1:]


def test_every_command_makes_the_same_bytes_with_the_figures_of_compare(finished):
    folder, printed = finished
    best = report(folder)["recommended"]
    assert f"\nmade by: {best['command']}\n" in printed
    assert best["choosing"]["labels_differing_percent_interval"][1] <= 4
    assert (folder / "dir" / "recommended").stat().st_size == best["bytes"]
    (copy,) = compared(folder, "dir/recommended")
    assert copy["labels_differing"] == best["confirming"]["labels_differing"]
    (itself,) = compared(folder, BREAST[0])
    assert points(folder)["exact"]["confirming"]["accuracy"] == itself["accuracy"]
    for name, point in points(folder).items():
        if point["command"] is None:
            continue
        _, *words = shlex.split(point["command"].split(" && ")[-1])
        made = folder / words[words.index("-o") + 1 if "-o" in words else 2]
        before = made.read_bytes() if made.exists() else None
        assert (before is None) == name.endswith(" + exact")
        made.unlink(missing_ok=True)
        ran(*words, cwd=folder)
        assert made.stat().st_size == point["bytes"] if before is None else made.read_bytes() == before
        (line,) = compared(folder, made)
        for key in ("accuracy", "balanced_accuracy", "classes", "labels_differing"):
            assert point["confirming"][key] == line[key]
        for key in ("bytes", "certified_percent", "linear_cost_counted")[: 1 if before is None else 3]:
            assert point[key] == line[key]


def test_a_second_run_continues(tmp_path):
    few = ("--methods", "linear,approximate", *WIDE)
    assert frontier(tmp_path, *BREAST, *TEST, *few).returncode in (0, 1)
    models, first = tmp_path / "dir" / "models", points(tmp_path)["approximate-3"]
    stamps = {path.name: path.stat().st_mtime_ns for path in models.iterdir()}
    # One measurement is lost and one model is damaged: only these are made again.
    (tmp_path / "dir" / "records" / "linear.json").unlink()
    (models / "approximate-2").write_bytes(b"damaged")
    assert frontier(tmp_path, *BREAST, *TEST, *few, "-q").returncode in (0, 1)
    changed = {path.name for path in models.iterdir() if path.stat().st_mtime_ns != stamps[path.name]}
    assert changed == {"linear", "approximate-2"}
    again = points(tmp_path)["approximate-3"]
    for timed in ("speedup", "speedup_interval", "speedup_clock", "pareto"):
        del first[timed], again[timed]
    assert first == again
    # Other limits and methods are allowed; another seed is another run.
    other = frontier(tmp_path, *BREAST, *TEST, "--methods", "linear", "--max-diff", "0%")
    assert other.returncode == 1
    assert b"\nlinear: its models cannot prove that no label differs\n" in other.stdout
    for words, name in (((*TEST, "--seed", "7"), b"(seed)"), ((), b"(test)")):
        assert name in frontier(tmp_path, *BREAST, *words, *few).stderr


def test_joining_needs_enough_rows_a_limit_and_the_method(tmp_path):
    for methods, limit, joined in (
        ("linear,cascade", (), False),
        ("linear,cascade", ("--max-diff", "4%"), True),
        ("linear,cascade", ("--max-loss", "4%"), True),
        ("linear", ("--max-diff", "4%"), False),
        ("linear,cascade", ("--max-diff", "4%", "--max-bytes", "9k"), False),
    ):
        frontier(tmp_path, *BREAST, *TEST, "--methods", methods, *limit)
        found = points(tmp_path)
        assert set(found) == {"exact", "linear", *["linear + exact"] * joined}
        if joined:
            assert found["linear + exact"]["choosing"]["labels_differing_percent"] <= 4
            assert found["linear"]["choosing"]["labels_differing_percent"] > 0


def test_limits(finished):
    folder, _ = finished
    place = folder / "dir"
    nothing = frontier(folder, *BREAST, *TEST, *FEW, "--max-bytes", "10")
    assert nothing.returncode == 1
    none = b"none, not the exact model either"
    why = b"no candidate is within the limits (at most 10 bytes)"
    assert b"\nrecommended: " + none + b"; " + why + b"\n" in nothing.stdout
    assert report(folder)["recommended"] is None
    assert not (place / "recommended").exists()
    assert none in (place / "report.html").read_bytes()
    recommending(folder, *BREAST, *TEST, *FEW, "--max-operations", "1.5", "--max-diff", "90%")
    best = report(folder)["recommended"]
    assert best["name"] == "linear"
    assert best["linear_cost_counted"] <= 1.5
    assert (place / "recommended").read_bytes() == (place / "models" / "linear").read_bytes()


def test_a_run_that_does_not_end_leaves_no_results_of_an_earlier_one(finished, tmp_path):
    place = tmp_path / "dir"
    shutil.copytree(finished[0] / "dir", place)
    (place / "recommended").write_bytes(b"of an earlier run")
    results = {name for name in RESULTS if (place / name).exists()}
    assert {"recommended", "report.json", "report.html"} <= results
    # Refused inputs change nothing.
    assert frontier(tmp_path, BREAST[0], "--data", data("breast.test"), *FEW).returncode == 2
    assert all((place / name).exists() for name in results)
    # A run that fails after it has begun leaves none; the models stay.
    (place / "choose.part").unlink()
    (place / "choose.part").mkdir()
    failed = frontier(tmp_path, *BREAST, *TEST, *FEW)
    assert failed.returncode == 2, failed.stderr
    assert not [name for name in RESULTS if (place / name).exists()]
    assert (place / "models" / "linear").exists()


def test_without_a_test_file_rows_are_held_out_and_overwriting_divides_them_again(tmp_path):
    """With another seed or other data: the rows of the earlier run must not be used for measuring."""
    lines, place = data("breast.train").read_text().splitlines(keepends=True), tmp_path / "dir"
    (tmp_path / "train").write_text("".join(lines))

    def parts(statuses, *more):
        """The rows to choose, to confirm and to train after a run, which ends with one of these statuses."""
        words = (BREAST[0], "--data", "train", "--methods", "linear", *more)
        assert frontier(tmp_path, *words).returncode in statuses
        return [path.read_bytes() for path in sorted(place.glob("*.part"))]

    done, refused, seven = (0, 1), (2,), ("--seed", "7")
    first = parts(done)
    held = int(0.15 * len(lines))
    assert [part.count(b"\n") for part in first] == [held, held, len(lines) - 2 * held]
    sets = report(tmp_path)["row_sets"]
    assert [sets["choosing"]["rows"], sets["confirming"]["rows"]] == [held, held]
    assert sets["held_out_of_training"]
    assert "the exact model was trained on all these rows" in (place / "report.html").read_text()
    assert "dir/train.part" in points(tmp_path)["linear"]["command"]
    assert parts(refused, *seven) == parts(refused, *seven, *TEST) == first
    second = parts(done, *seven, "--overwrite")
    assert not set(first) & set(second)
    (tmp_path / "train").write_text("".join(lines[::2]))
    assert parts(refused, *seven) == second
    assert not set(parts(done, *seven, "--overwrite")) & set(second)


def test_a_regression(tmp_path):
    words = (model("diabetes_eps_rbf"), "--data", data("diabetes.train"), "--methods")
    done = frontier(tmp_path, *words, "linear,budget-train,approximate", "-q")
    assert (done.returncode in (0, 1), done.stderr) == (True, b"")
    confirming = [point["confirming"] for point in points(tmp_path).values()]
    assert all("accuracy" not in one and one["mse"] > 0 for one in confirming)
    assert any(0 < one["values_differing_percent"] < 100 for one in confirming)
    assert report(tmp_path)["limits"]["max_loss_percent"] == 1


def test_no_time(tmp_path):
    done = frontier(tmp_path, *BREAST, *TEST, "--time-limit", "0.01")
    assert done.returncode == 1
    assert b"linear: not tried within the time limit\n" in done.stdout
    left_out = sum(one["late"] for one in report(tmp_path)["missing"])
    assert left_out > 10
    line = f"the time limit left out {left_out} candidates; run again to continue"
    assert f"\nnot everything was tried: {line}\n" in done.stdout.decode()
    assert not report(tmp_path)["complete"]
    assert not list((tmp_path / "dir" / "models").iterdir())


def test_a_failing_method_is_a_row_with_its_reason(tmp_path):
    # Labels that are not integers: budget-train and linear refuse them, approximate ignores them.
    (tmp_path / "train").write_text("0.5 1:1\n" + data("breast.train").read_text())
    done = frontier(tmp_path, BREAST[0], "--data", "train", *TEST, *FEW)
    assert done.returncode in (0, 1), done.stderr
    reasons = {one["name"]: one["reason"] for one in report(tmp_path)["missing"]}
    assert reasons["linear"].startswith("train:1: class label is not an integer ('0.5')")
    assert "budget-train-50" in reasons
    assert f"\nlinear: {reasons['linear']}\n" in done.stdout.decode()


@pytest.mark.parametrize("name", ["digits_c_rbf_prob", "diabetes_eps_rbf"])
def test_data_of_another_problem_are_refused(tmp_path, name):
    """Those of the model, with shuffled labels."""
    first = name.split("_")[0]
    lines = [line.split(" ", 1) for line in data(f"{first}.test").read_text().splitlines()]
    order = np.random.default_rng(0).permutation(len(lines))
    mixed = "".join(f"{lines[i][0]} {row}\n" for i, (_, row) in zip(order, lines, strict=True))
    (tmp_path / "wrong").write_text(mixed)
    for words in (("--data", data(f"{first}.train"), "--test", "wrong"), ("--data", "wrong")):
        done = frontier(tmp_path, model(name), *words, "--methods", "linear", "-q")
        assert done.returncode == 2
        assert done.stderr.startswith(b"svmfast: EXACT is no better than chance on the rows of wrong: ")
    assert [path.name for path in tmp_path.iterdir()] == ["wrong"]


@pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="nothing is faster with sanitizers")
def test_printed_and_stored_commands_are_quoted(tmp_path):
    """Commands can be pasted into a shell whatever the file names, even if these are not UTF-8."""
    names = ["of two words", "it's", "$(touch INJECTED)", "; touch INJECTED #", os.fsdecode(b"caf\xe9")]
    exact, train, test, rows, folder = names
    for place, source in zip(names, (*BREAST[::2], data("breast.test"), data("breast.test")), strict=False):
        shutil.copy(source, tmp_path / place)
    words = (exact, "--data", train, "--test", test, "--methods", "approximate", *WIDE)
    done = recommending(tmp_path, *words, out=folder)
    made, found = tmp_path / folder / "models", points(tmp_path, folder)
    content = (made / "approximate-2").read_bytes()
    (made / "approximate-2").unlink()
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"}

    def shell(line):
        subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment, check=True, capture_output=True)

    shell(found["approximate-2"]["command"])
    assert (made / "approximate-2").read_bytes() == content
    shell(found["approximate-2 + exact"]["command"])
    assert (made / "approximate-2+exact").stat().st_size == found["approximate-2 + exact"]["bytes"]
    shutil.copy(tmp_path / rows, tmp_path / "DATA")
    shell(done.stdout.decode().split("used by: ")[1].splitlines()[0])
    assert (tmp_path / "OUT").read_text().count("\n") == 189
    assert not (tmp_path / "INJECTED").exists()


# --- rows without labels, and one-class models, whose data have labels of no use ---


def bare(name, folder):
    """Write rows of the fixtures without their labels."""
    for part in ("train", "test"):
        text = data(f"{name}.{part}").read_text()
        (folder / part).write_text(re.sub(r"^[^ \n]+ ?", "", text, flags=re.MULTILINE))
    return "--unlabelled", "--data", "train", "--test", "test"


#: A limit on the operations in place of the speed, so that the load of the machine decides nothing.
CHEAP = (
    *("--methods", "linear,budget-train,approximate,cascade"),
    *("--max-diff", "4%", "--max-operations", "20"),
)
#: Figures that are not those of a comparison with labels.
SAME = ("labels_differing", "labels_differing_percent", "labels_differing_percent_interval", "rows")


def test_rows_without_labels_give_the_same_differences(tmp_path):
    exact = model("breast_c_rbf")
    done = frontier(tmp_path, exact, *bare("breast", tmp_path), *CHEAP)
    assert done.returncode == 0, done.stderr
    labelled = ("--data", data("breast.train"), "--test", data("breast.test"))
    assert frontier(tmp_path, exact, *labelled, *CHEAP, out="known").returncode == 0
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
    ran(*words, cwd=tmp_path)
    assert (tmp_path / "answers").read_text().count("\n") == 189


@pytest.mark.parametrize("label", [1, 7])
def test_labels_of_one_class_data_mean_nothing(label, tmp_path):
    """Without outliers in the data, an accuracy would be the share of inliers, or 0 for other labels."""
    rng = np.random.default_rng(3)
    for name in ("train", "test"):
        lines = [f"{label} 1:{a:.4f} 2:{b:.4f}\n" for a, b in rng.normal(size=(400, 2))]
        (tmp_path / name).write_text("".join(lines))
    options = ("-q", "-s", "2", "-n", "0.2", "-g", "0.2")
    ran("train", *options, "train", "m", cwd=tmp_path)
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
