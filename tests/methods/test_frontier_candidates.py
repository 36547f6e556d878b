"""The candidates of ``svmfast frontier``: plan, turns, and records, which if damaged are made again."""

import hashlib
import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest
from frontier_runs import BREAST, TEST, frontier
from program import cells_of, data, model

from svmfast.cli.main import run
from svmfast.errors import OptionError
from svmfast.formats.model_files import load_model
from svmfast.frontiers.child import Failed, make
from svmfast.frontiers.folder import MadeRecord, RunFolder
from svmfast.frontiers.plan import CandidateCommand, Schedule, plan, tried_methods
from svmfast.methods.candidates import CandidateRequest


def test_only_a_negative_answer_is_final(tmp_path, monkeypatch):
    """Refused input has status 2, and so has a full disk."""
    with pytest.raises(Failed) as refused:
        make(["info", "nowhere"], 60)
    with pytest.raises(Failed) as negative:
        make(["bound-check", str(data("iris.train")), "--gamma", "50"], 60)
    (tmp_path / "sitecustomize.py").write_text("import os; os.kill(os.getpid(), 9)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(Failed, match="was killed by signal 9") as killed:
        make(["info", "nowhere"], 60)
    assert [one.value.negative for one in (refused, negative, killed)] == [False, True, False]
    monkeypatch.undo()
    begin = time.perf_counter()
    assert 0 < make(["info", str(BREAST[0])], 60) <= time.perf_counter() - begin


def candidates(names):
    parts = [(name, *name.split("-")[:2]) for name in names.split()]
    return [CandidateCommand(name, method, int(level), ()) for name, method, level in parts]


SHARED = cells_of(Path(__file__).with_name("shared_time.tsv"))


@pytest.mark.parametrize(SHARED[0], SHARED[1:])
def test_time_is_shared(names, needs, limit, given, late, monkeypatch):
    """`needs`: the seconds that a method's candidates need, which `limit` divides among them.

    No candidate starts with less than 2 s. Where one took too long, others of its method that are no cheaper
    wait; it has the rest if that is much more. No method uses all the time while others wait.
    """
    clock, turns, needs = [0.0], [], json.loads(needs)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    schedule = Schedule(candidates(names), float(limit))
    for one, seconds in schedule.turns():
        turns.append(f"{one.name} {seconds:.3g}")
        need = needs.get(one.method, 0.0)
        clock[0] += min(need, seconds)
        if need > seconds:
            schedule.postpone(one)
    assert " ".join(turns) == given
    assert "; ".join(f"{name}: {reason}" for name, reason in schedule.late().items()) == late


@pytest.mark.parametrize(("sized", "seconds"), [(True, 50), (False, 15)])
def test_a_candidate_for_a_limit_on_bytes_may_take_the_time_of_its_method(sized, seconds, monkeypatch):
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    first, *others = candidates("a-0 " + " ".join(f"b-{level}" for level in range(19)))
    first = replace(first, sized=sized)
    assert next(Schedule([first, *others], 100.0).turns()) == (first, seconds)


@pytest.mark.parametrize("name", ["digits_c_rbf_prob", "diabetes_eps_rbf", "breast_c_sigmoid"])
def test_the_plan(name):
    given = CandidateRequest(load_model(model(name)), 3)
    found, _ = plan(given, tried_methods(), reading=("--lenient",))
    names = {one.name for one in found}
    assert len(names) == len(found)
    for one in found:
        assert "{out}" in one.arguments
        assert not [word for word in one.filled("E", "T", "O") if word.startswith("{")]
    assert [one.level for one in found] == sorted(one.level for one in found)
    # With a limit on bytes there are more; compress searches for the size itself.
    limited, _ = plan(replace(given, max_bytes=5000), tried_methods(), reading=("--lenient",))
    more = [one for one in limited if one.name not in names]
    assert len(limited) == len(found) + len(more)
    assert [one for one in more if one.method == "compress" and "5000" in one.arguments]
    for most in (5000, 50_000):
        request = replace(given, max_bytes=most)
        (sized,) = {one.name for one in plan(request, ["meka"])[0]} - names
        clusters, rank = map(int, sized.removeprefix("meka-").split("x"))
        assert clusters * rank <= request.vectors < clusters * (rank + 1)
        assert clusters in (1, 8, request.vectors // 16)
        assert rank >= min(16, request.vectors)


@pytest.mark.parametrize(("limit", "kept"), [("100", 15), ("1000", 60)])
def test_the_last_minute_is_for_timing(limit, kept, monkeypatch, tmp_path):
    """15 % of the time limit, at most a minute."""

    def begin(request, progress):
        assert request.end - time.monotonic() == pytest.approx(float(limit), abs=30)
        assert request.end - request.deadline == pytest.approx(kept)
        raise OptionError("enough")

    monkeypatch.setattr("svmfast.frontiers.run.FrontierRun", begin)
    words = [*map(str, (*BREAST, *TEST)), "--time-limit", limit, "-o", str(tmp_path / "dir")]
    assert run(["frontier", *words]) == 2


def test_methods_for_other_models_are_left_out():
    for name, method, reason in (
        ("normal_one_rbf", "linear", "a one-class model has no labels to train on"),
        ("normal_one_rbf", "budget-train", "does not train one-class models"),
        ("iris_c_linear", "budget-train", "does not train the linear kernel"),
    ):
        _, left_out = plan(CandidateRequest(load_model(model(name)), 3), [method])
        assert [one.reason for one in left_out] == [reason]


# --- records ---


WORDS = (*BREAST, *TEST, "--methods", "linear", "--time-limit", "10")
LINEAR = CandidateCommand("linear", "linear", 0, ("linear", "{train}", "-o", "{out}"))
OTHER = replace(LINEAR, arguments=("info",))


def sealed(folder, candidate, record):
    """Forge a record: its seal is a hash that anybody can compute."""
    content = {name: value for name, value in record.items() if name != "seal"}
    return json.dumps({**content, "seal": folder._seal(candidate, content)}).encode()


def again(folder, *more):
    """Run frontier in this process on the folder."""
    return run(["frontier", *map(str, WORDS), *more, "-o", str(folder.path)])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("frontier")
    assert frontier(folder, *WORDS, "-q").returncode in (0, 1)
    return folder / "dir"


@pytest.fixture
def copied(finished, tmp_path):
    """A copy of a finished run's folder, opened as its run opens it."""
    shutil.copytree(finished, tmp_path / "dir")
    identity = json.loads((tmp_path / "dir" / "inputs.json").read_text())
    del identity["layout"]
    return RunFolder(tmp_path / "dir", identity)


@pytest.fixture
def place(copied):
    return copied.path / "records" / "linear.json"


@pytest.mark.parametrize(
    "damage",
    [
        lambda record, folder: b"{}",
        lambda record, folder: json.dumps({**record, "build_seconds": 1.5}).encode(),
        lambda record, folder: json.dumps({**record, "seal": 7}).encode(),
        lambda record, folder: sealed(RunFolder(folder.path, {"seed": 7}), LINEAR, record),
        lambda record, folder: sealed(folder, OTHER, record),
        lambda record, folder: sealed(folder, LINEAR, {**record, "sha256": "0" * 64}),
    ],
    ids=["empty", "another figure", "no seal", "another run", "another command", "another model"],
)
def test_a_record_of_something_else_is_made_again(damage, copied, place):
    whole = json.loads(place.read_text())
    assert copied.record(LINEAR) == MadeRecord(whole["sha256"], whole["build_seconds"])
    place.write_bytes(damage(whole, copied))
    assert copied.record(LINEAR) is None


def test_a_forged_reason_is_shown_as_text(copied, place, capfd):
    place.write_bytes(sealed(copied, LINEAR, {"reason": "\x1b[2J\nINJECTED \udcff"}))
    assert again(copied) == 1
    assert "\nlinear: \\x1b[2J\\nINJECTED \\xff\n" in capfd.readouterr().out
    assert "\x1b" not in (copied.path / "report.html").read_text()


DAMAGE = (b"x", b"[]", b"7", b"[" * 200_000, b'{"a": NaN}', b"{" + b" " * (1 << 21) + b"}", b"1" * 5000)


@pytest.mark.parametrize("content", DAMAGE, ids=range(len(DAMAGE)))
def test_a_damaged_file_says_nothing(content, copied, place, capfd):
    """A candidate with such a record is made again; a folder with such inputs is of another run."""
    place.write_bytes(content)
    assert copied.record(LINEAR) is None
    (copied.path / "inputs.json").write_bytes(content)
    assert again(copied, "-q") == 2
    captured = capfd.readouterr().err
    assert captured.startswith(f"svmfast: {copied.path} holds a run with other inputs or options (layout, ")
    assert captured.count("\n") == 1


def test_a_pipe_in_place_of_a_file_does_not_hang(copied):
    for name in ("records/linear.json", "models/linear", "inputs.json"):
        (copied.path / name).unlink()
        os.mkfifo(copied.path / name)
    assert again(copied, "-q") == 2
    assert copied.record(LINEAR) is None
    (copied.path / "inputs.json").unlink()


def test_a_model_with_other_labels_is_bad_input(copied, place, capfd):
    """A model forged together with its record."""
    content = model("iris_c_linear").read_bytes()
    (copied.path / "models" / "linear").write_bytes(content)
    forged = {**json.loads(place.read_text()), "sha256": hashlib.sha256(content).hexdigest()}
    place.write_bytes(sealed(copied, LINEAR, forged))
    assert again(copied, "-q") == 2
    captured = capfd.readouterr().err
    assert captured.startswith(f"svmfast: {copied.path}/models/linear ")
    assert captured.count("\n") == 1


@pytest.mark.parametrize("name", ["model", "train", "test", "seed", "reading", "version", "layout"])
def test_another_run_is_refused(name, copied, capfd):
    known = json.loads((copied.path / "inputs.json").read_text())
    (copied.path / "inputs.json").write_text(json.dumps({**known, name: "\x1b[2J"}))
    assert again(copied, "-q") == 2
    what = f"holds a run with other inputs or options ({name}); give another --output, or --overwrite"
    assert capfd.readouterr().err == f"svmfast: {copied.path} {what} to start over in this one\n"
