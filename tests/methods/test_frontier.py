"""``svmfast frontier``: what a run writes, continues, refuses and recommends.

In one file, since most tests look at one finished run, which takes seconds.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import svmfast
from program import PATIENCE, PROGRAM, data, model

from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.frontiers.folder import RESULTS

BREAST = (str(model("breast_c_rbf")), "--data", str(data("breast.train")))
TEST = ("--test", str(data("breast.test")))
FEW = ("--methods", "linear,approximate,budget-train")
#: The smallest limit that a few of the 94 choosing rows can show.
WIDE = ("--max-diff", "4%")


def frontier(
    cwd: Path, *arguments: str, shortened: bool = True, **more: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run frontier with the folder dir; if `shortened`, with short timing."""
    limit = () if "--time-limit" in arguments else ("--time-limit", "20")
    return svmfast("frontier", *arguments, *limit, "-o", "dir", cwd=cwd, shortened=shortened, **more)


def recommending(cwd: Path, *arguments: str, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """Run frontier where it must recommend a model; again where a busy machine shows none to be faster."""
    for _ in range(4):
        done = frontier(cwd, *arguments, **more)
        if done.returncode != 1:
            break
    assert done.returncode == 0, done.stdout
    return done


def report(cwd: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((cwd / "dir" / "report.json").read_text())
    return found


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a finished run, and the run's output."""
    folder = tmp_path_factory.mktemp("frontier")
    done = recommending(folder, *BREAST, *TEST, *FEW, *WIDE, shortened=False)
    return folder, done.stdout.decode()


def models(cwd: Path) -> dict[str, dict[str, Any]]:
    return {found["name"]: found for found in report(cwd)["models"]}


def test_everything_is_written(finished: tuple[Path, str]) -> None:
    folder, stderr = finished
    found = models(folder)
    assert next(iter(found)) == "exact"
    assert {"linear", "approximate-2", "approximate-2 + exact"} <= set(found)
    assert report(folder)["complete"]
    assert found["approximate-2 + exact"]["confirming"]["labels_differing_percent"] == 0
    assert found["approximate-2 + exact"]["bytes"] > found["exact"]["bytes"]
    for name in found:
        assert f"\n{name} " in stderr
        made = folder / "dir" / "models" / name
        assert made.exists() == (name != "exact" and " + " not in name)
    files = {path.name for path in (folder / "dir").iterdir()}
    assert files == {
        "inputs.json", "records", "models", "report.html", "report.json", "recommended", "choose.part",
        "confirm.part",
    }  # fmt: skip
    page = (folder / "dir" / "report.html").read_text()
    assert all(f"<td>{name}<" in page for name in found)


def test_three_sets_of_rows_are_kept_apart_and_named(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    rows = report(folder)["row_sets"]
    test, parts = data("breast.test").read_text().splitlines(), {}
    for name, file in (("choosing", "choose.part"), ("confirming", "confirm.part")):
        parts[name] = read_svmlight(folder / "dir" / file)
        assert rows[name] == {"path": str(data("breast.test")), "rows": len(parts[name].rows)}
    assert rows["choosing"]["rows"] == len(test) // 2
    assert rows["confirming"]["rows"] == len(test) - len(test) // 2
    assert rows["trained"]["path"] == str(data("breast.train"))
    assert rows["trained"]["rows"] == len(data("breast.train").read_text().splitlines())
    assert not rows["held_out_of_training"]
    # Every row of TEST is in one of the halves, once.
    whole = read_svmlight(data("breast.test"))
    known = np.concatenate([part.rows.to_dense() for part in parts.values()])
    assert sorted(known.tolist()) == sorted(whole.rows.to_dense().tolist())


def test_figures_are_those_of_compare_on_the_confirming_rows(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    names = [name for name in models(folder) if name != "exact" and " + " not in name]
    files = [folder / "dir" / "models" / name for name in names]
    place = folder / "dir" / "confirm.part"
    lines = json.loads(svmfast("compare", BREAST[0], *files, "--data", place, "--json").stdout)["models"]
    ours = models(folder)
    for line in lines[1:]:
        found = ours[Path(line["path"]).name]
        keys = ("accuracy", "balanced_accuracy", "classes")
        keys += ("labels_differing", "labels_differing_percent")
        assert {key: found["confirming"][key] for key in keys} == {key: line[key] for key in keys}
        assert found["bytes"] == line["bytes"]
        assert found["certified_percent"] == line["certified_percent"]
        assert found["linear_cost_counted"] == line["linear_cost_counted"]


def test_every_command_makes_the_same_bytes(finished: tuple[Path, str]) -> None:
    folder, stderr = finished
    best = report(folder)["recommended"]
    assert f"\nmade by: {best['command']}\n" in stderr
    assert best["choosing"]["labels_differing_percent_interval"][1] <= 4
    for point in report(folder)["models"]:
        if point["command"] is None:
            continue
        name, *words = shlex.split(point["command"])
        assert name == "svmfast"
        made = folder / words[words.index("-o") + 1 if "-o" in words else 2]
        before = made.read_bytes() if made.exists() else None
        assert (before is None) == point["name"].endswith(" + exact")
        made.unlink(missing_ok=True)
        assert svmfast(*words, cwd=folder).returncode == 0
        if before is None:
            assert made.stat().st_size == point["bytes"]
        else:
            assert made.read_bytes() == before


def test_a_second_run_continues(tmp_path: Path) -> None:
    few = ("--methods", "linear,approximate", *WIDE)
    first = frontier(tmp_path, *BREAST, *TEST, *few, "--json")
    assert first.returncode in (0, 1), first.stderr
    models = tmp_path / "dir" / "models"
    stamps = {path.name: path.stat().st_mtime_ns for path in models.iterdir()}
    # One measurement is lost and one model is damaged: only these are made again.
    (tmp_path / "dir" / "records" / "linear.json").unlink()
    (models / "approximate-2").write_bytes(b"damaged")
    again = frontier(tmp_path, *BREAST, *TEST, *few, "--json", "-q")
    assert again.returncode in (0, 1), again.stderr
    changed = {path.name for path in models.iterdir() if path.stat().st_mtime_ns != stamps[path.name]}
    assert changed == {"linear", "approximate-2"}

    def known(done: subprocess.CompletedProcess[bytes]) -> dict[str, Any]:
        points = {point["name"]: point for point in json.loads(done.stdout)["models"]}
        timed = ("speedup", "speedup_interval", "speedup_clock", "pareto")
        return {name: value for name, value in points["approximate-3"].items() if name not in timed}

    assert known(first) == known(again)
    # Other limits and methods are allowed; another seed is another run.
    other = frontier(tmp_path, *BREAST, *TEST, "--methods", "linear", "--max-diff", "0%")
    assert other.returncode == 1
    assert b"\nlinear: its models cannot prove that no label differs\n" in other.stdout
    refused = frontier(tmp_path, *BREAST, *TEST, *few, "--seed", "7")
    assert refused.returncode == 2
    assert refused.stderr == (
        b"svmfast: dir holds a run with other inputs or options (seed); give another --output, or "
        b"--overwrite to start over in this one\n"
    )
    refused = frontier(tmp_path, *BREAST, *few)
    assert refused.returncode == 2
    assert b"dir holds a run with other inputs or options (test); give another --output" in refused.stderr


PHOTOS = ("m", "--data", str(data("photos.train")), "--test", str(data("photos.test")))
# With seed 0 the halves happen to differ by three standard deviations.
SEED = ("--seed", "3")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kernel", "method", "most", "kind"),
    [("2", "approximate", "0%", "polynomial"), ("3", "linear", "5%", "cascade")],
)
def test_the_recommended_copy_is_as_good_as_stated(
    tmp_path: Path, kernel: str, method: str, most: str, kind: str
) -> None:
    words = ["train", "-q", "-t", kernel, "-c", "0.1", "-g", "0.05", str(data("photos.train")), "m"]
    assert svmfast(*words, cwd=tmp_path).returncode == 0
    done = frontier(tmp_path, *PHOTOS, "--methods", method, *SEED, "--time-limit", "600")
    assert done.returncode in (0, 1), done.stderr
    # With full timing, which the recommendation depends on; the candidates are there.
    limits = ("--max-diff", most, "--time-limit", "20", *SEED)
    recommending(tmp_path, *PHOTOS, "--methods", f"{method},cascade", *limits, shortened=False)
    best, copy = report(tmp_path)["recommended"], tmp_path / "dir" / "recommended"
    assert load_model(copy).kind == kind
    assert copy.stat().st_size == best["bytes"]
    for name, part in (("choosing", "choose.part"), ("confirming", "confirm.part")):
        labels = []
        for path in (copy, tmp_path / "m"):
            done = svmfast("predict", "-q", tmp_path / "dir" / part, path, "-")
            assert done.returncode == 0, done.stderr
            labels.append(done.stdout.split())
        assert sum(a != b for a, b in zip(*labels, strict=True)) == best[name]["labels_differing"]
    # The printed command makes the same file.
    for command in best["command"].split(" && "):
        words = shlex.split(command)
        assert svmfast(*words[1:], cwd=tmp_path).returncode == 0
    assert (tmp_path / words[words.index("-o") + 1]).read_bytes() == copy.read_bytes()


def test_joining_needs_other_models_and_enough_rows(tmp_path: Path) -> None:
    alone = frontier(tmp_path, *BREAST, *TEST, "--methods", "cascade")
    assert alone.returncode == 2
    assert b"name one of those too" in alone.stderr
    frontier(tmp_path, *BREAST, *TEST, "--methods", "linear,cascade")
    assert set(models(tmp_path)) == {"exact", "linear"}
    # Enough rows for a weaker guarantee; without a limit, or without the method, nothing is joined.
    for more, joined in (
        (("--methods", "linear,cascade", "--max-diff", "4%"), True),
        (("--methods", "linear,cascade", "--max-loss", "4%"), True),
        (("--methods", "linear", "--max-diff", "4%"), False),
        (("--methods", "linear,cascade", "--max-bytes", "9k"), False),
    ):
        frontier(tmp_path, *BREAST, *TEST, *more)
        found = models(tmp_path)
        assert ("linear + exact" in found) == joined
        if joined:
            assert found["linear + exact"]["choosing"]["labels_differing_percent"] <= 4
            assert found["linear"]["choosing"]["labels_differing_percent"] > 0


def test_limits(finished: tuple[Path, str]) -> None:
    folder, _ = finished
    nothing = frontier(folder, *BREAST, *TEST, *FEW, "--max-bytes", "10")
    assert nothing.returncode == 1
    assert (
        b"\nrecommended: none, not the exact model either; no candidate is within the limits (at most 10 "
        b"bytes)\n"
    ) in nothing.stdout
    assert report(folder)["recommended"] is None
    assert not (folder / "dir" / "recommended").exists()
    assert b"none, not the exact model either" in (folder / "dir" / "report.html").read_bytes()
    recommending(folder, *BREAST, *TEST, *FEW, "--max-operations", "1.5", "--max-diff", "90%")
    best = report(folder)["recommended"]
    assert best["name"] == "linear"
    assert best["linear_cost_counted"] <= 1.5
    models = folder / "dir" / "models"
    assert (folder / "dir" / "recommended").read_bytes() == (models / "linear").read_bytes()


def test_a_run_that_does_not_end_leaves_no_results_of_an_earlier_one(
    finished: tuple[Path, str], tmp_path: Path
) -> None:
    folder, _ = finished
    place = tmp_path / "dir"
    shutil.copytree(folder / "dir", place)
    results = [name for name in RESULTS if (place / name).exists()]
    if not (place / "recommended").exists():
        results.append("recommended")
        (place / "recommended").write_bytes(b"of an earlier run")
    assert {"recommended", "report.json", "report.html"} <= set(results)
    # Refused inputs change nothing.
    refused = frontier(tmp_path, BREAST[0], "--data", str(data("breast.test")), *FEW)
    assert refused.returncode == 2
    assert all((place / name).exists() for name in results)
    # A run that fails after it has begun leaves none; the models stay.
    (place / "choose.part").unlink()
    (place / "choose.part").mkdir()
    failed = frontier(tmp_path, *BREAST, *TEST, *FEW)
    assert failed.returncode == 2, failed.stderr
    assert not [name for name in RESULTS if (place / name).exists()]
    assert (place / "models" / "linear").exists()


def test_without_a_test_file_rows_are_held_out(tmp_path: Path) -> None:
    done = recommending(tmp_path, *BREAST, "--methods", "linear", "--max-diff", "50%")
    found = report(tmp_path)
    assert found["row_sets"]["held_out_of_training"]
    for text in ((tmp_path / "dir" / "report.html").read_text(), done.stdout.decode()):
        assert "the exact model was trained on all these rows" in text
    names = ("train.part", "choose.part", "confirm.part")
    parts = [(tmp_path / "dir" / name).read_text().splitlines() for name in names]
    whole = data("breast.train").read_text().splitlines()
    held = int(0.15 * len(whole))
    assert [len(part) for part in parts] == [len(whole) - 2 * held, held, held]
    assert (found["row_sets"]["choosing"]["rows"], found["row_sets"]["confirming"]["rows"]) == (held, held)
    words = shlex.split(found["recommended"]["command"])
    assert "dir/train.part" in words


def test_overwriting_divides_the_rows_again(tmp_path: Path) -> None:
    """With another seed or other data: the rows of the earlier run must not be used for measuring."""
    lines = data("breast.train").read_text().splitlines(keepends=True)
    (tmp_path / "train").write_text("".join(lines))
    words = (BREAST[0], "--data", "train", "--methods", "linear", "-q")

    def parts() -> list[bytes]:
        found = [path.read_bytes() for path in sorted((tmp_path / "dir").glob("*.part"))]
        assert len(found) == 3
        return found

    assert frontier(tmp_path, *words).returncode in (0, 1)
    first = parts()
    for more in (("--seed", "7"), ("--seed", "7", *TEST)):
        assert frontier(tmp_path, *words, *more).returncode == 2
    assert parts() == first
    assert frontier(tmp_path, *words, "--seed", "7", "--overwrite").returncode in (0, 1)
    second = parts()
    assert not set(first) & set(second)
    (tmp_path / "train").write_text("".join(lines[::2]))
    assert frontier(tmp_path, *words, "--seed", "7").returncode == 2
    assert parts() == second
    assert frontier(tmp_path, *words, "--seed", "7", "--overwrite").returncode in (0, 1)
    assert not set(parts()) & set(second)
    assert sum(part.count(b"\n") for part in parts()) == len(lines[::2])
    # Parts that somebody edited are made again from the data and the seed.
    third = parts()
    for path in (tmp_path / "dir").glob("*.part"):
        path.write_text("1 1:1\n")
    assert frontier(tmp_path, *words, "--seed", "7").returncode in (0, 1)
    assert parts() == third


@pytest.mark.parametrize("name", ["diabetes_eps_rbf", "normal_one_rbf", "iris_c_linear"])
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
        for point in found["models"]:
            assert "accuracy" not in point["confirming"]
            assert point["confirming"]["mse"] > 0
        assert any(0 < point["confirming"]["values_differing_percent"] < 100 for point in found["models"])
        assert found["limits"]["max_loss_percent"] == 1
    if name == "iris_c_linear":
        assert reasons["budget-train"] == "does not train the linear kernel"
        assert b"\ntoo few rows: 15 choosing and as many confirming rows cannot show" in b"\n" + done.stdout
        by_name = {one["name"]: one for one in found["models"]}
        assert by_name["approximate"]["confirming"]["labels_differing"] == 0


def test_no_time(tmp_path: Path) -> None:
    begin = time.monotonic()
    done = frontier(tmp_path, *BREAST, *TEST, "--time-limit", "0.01")
    assert time.monotonic() - begin < 20 * PATIENCE
    assert done.returncode == 1
    assert b"linear: not tried within the time limit\n" in done.stdout
    left_out = sum(one["late"] for one in report(tmp_path)["missing"])
    line = (
        f"\nnot everything was tried: the time limit left out {left_out} candidates; run again to continue\n"
    )
    assert left_out > 10
    assert line in done.stdout.decode()
    assert not report(tmp_path)["complete"]
    assert not list((tmp_path / "dir" / "models").iterdir())


def test_a_failing_method_is_a_row_with_its_reason(tmp_path: Path) -> None:
    # Labels that are not integers: budget-train and linear refuse them, approximate ignores them.
    lines = data("breast.train").read_text().splitlines()
    (tmp_path / "train").write_text("\n".join(["0.5 1:1", *lines]) + "\n")
    done = frontier(tmp_path, str(model("breast_c_rbf")), "--data", "train", *TEST, *FEW)
    assert done.returncode in (0, 1), done.stderr
    reasons = {one["name"]: one["reason"] for one in report(tmp_path)["missing"]}
    assert reasons["linear"].startswith("train:1: class label is not an integer ('0.5')")
    assert "budget-train-50" in reasons
    assert f"\nlinear: {reasons['linear']}\n" in done.stdout.decode()


def shuffled(name: str, place: Path) -> Path:
    """Write data whose labels are shuffled."""
    lines = [line.split(" ", 1) for line in data(name).read_text().splitlines()]
    order = np.random.default_rng(0).permutation(len(lines))
    place.write_text("".join(f"{lines[i][0]} {row}\n" for i, (_, row) in zip(order, lines, strict=True)))
    return place


@pytest.mark.parametrize("name", ["digits_c_rbf_prob", "diabetes_eps_rbf"])
def test_data_of_another_problem_are_refused(tmp_path: Path, name: str) -> None:
    first = name.split("_")[0]
    right, wrong = str(data(f"{first}.train")), str(shuffled(f"{first}.test", tmp_path / "wrong"))
    for words in (("--data", right, "--test", "wrong"), ("--data", "wrong")):
        done = frontier(tmp_path, str(model(name)), *words, "--methods", "linear", "-q")
        assert (done.returncode, done.stderr.decode()) == (
            2,
            "svmfast: EXACT is no better than chance on the rows of wrong: nothing can be measured on them; "
            "give rows of the problem that EXACT was trained for\n",
        )
    assert {path.name for path in tmp_path.iterdir()} == {Path(wrong).name}


HOSTILE = ["of two words", "it's", "$(touch INJECTED)", "; touch INJECTED #", os.fsdecode(b"caf\xe9")]


def test_printed_and_stored_commands_are_quoted(tmp_path: Path) -> None:
    """Commands can be pasted into a shell whatever the file names, even if these are not UTF-8."""
    exact, train, test, rows, folder = HOSTILE
    for source, place in (
        (model("breast_c_rbf"), exact), (data("breast.train"), train), (data("breast.test"), test),
        (data("breast.test"), rows),
    ):  # fmt: skip
        shutil.copy(source, tmp_path / place)
    words = [
        "frontier",
        exact,
        "--data",
        train,
        "--test",
        test,
        "--methods",
        "approximate",
        *WIDE,
        "-o",
        folder,
    ]
    done = svmfast(*words, "--time-limit", "20", cwd=tmp_path, shortened=True)
    assert done.returncode == 0, done.stderr
    made = tmp_path / folder
    found = {one["name"]: one for one in json.loads((made / "report.json").read_text())["models"]}
    plain, backed = found["approximate-2"], found["approximate-2 + exact"]
    content = (made / "models" / "approximate-2").read_bytes()
    (made / "models" / "approximate-2").unlink()
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"}

    def shell(line: str) -> None:
        subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment, check=True, capture_output=True)

    shell(plain["command"])
    assert (made / "models" / "approximate-2").read_bytes() == content
    shell(backed["command"])
    assert (made / "models" / "approximate-2+exact").stat().st_size == backed["bytes"]
    (tmp_path / "DATA").write_bytes((tmp_path / rows).read_bytes())
    shell(done.stdout.decode().split("used by: ")[1].splitlines()[0])
    assert (tmp_path / "OUT").read_text().count("\n") == 189
    assert not (tmp_path / "INJECTED").exists()


def test_a_folder_with_other_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "thesis.tex").write_text("")
    done = frontier(tmp_path, *BREAST)
    assert done.returncode == 2
    expected = b"svmfast: 'dir' is not empty and not from an earlier run; give another --output\n"
    assert done.stderr == expected
