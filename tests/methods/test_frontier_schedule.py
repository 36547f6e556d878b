"""How ``svmfast frontier`` divides its time among the candidates, and which ones it plans."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import svmfast
from program import data, model

from svmfast.commands.run import run_method
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.frontiers.child import Failed, OutOfTime, make
from svmfast.frontiers.plan import CandidateCommand, plan, tried_methods
from svmfast.frontiers.schedule import Schedule
from svmfast.methods import registry
from svmfast.methods.candidates import CandidateRequest


def frontier(
    cwd: Path, *arguments: str, shortened: bool = True, **more: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run frontier with the folder dir; if `shortened`, with short timing."""
    limit = () if "--time-limit" in arguments else ("--time-limit", "20")
    return svmfast("frontier", *arguments, *limit, "-o", "dir", cwd=cwd, shortened=shortened, **more)


def test_only_a_negative_answer_is_final(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refused input has status 2, and so has a full disk."""
    with pytest.raises(Failed) as refused:
        make(["info", "nowhere"], 60)
    assert not refused.value.negative
    with pytest.raises(Failed) as negative:
        make(["bound-check", str(data("iris.train")), "--gamma", "50"], 60)
    assert negative.value.negative
    (tmp_path / "sitecustomize.py").write_text("import os; os.kill(os.getpid(), 9)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(Failed, match="was killed by signal 9") as killed:
        make(["info", "nowhere"], 60)
    assert not killed.value.negative


def run_all(todo: list[CandidateCommand], attempt: Callable[..., Any], deadline: float) -> dict[str, str]:
    """Try the candidates in their turns; return the reasons for those left out."""
    schedule = Schedule(todo, deadline)
    for one, seconds in schedule.turns():
        try:
            attempt(one, seconds)
        except OutOfTime:
            schedule.postpone(one)
    return schedule.late()


def candidate(method: str, level: int) -> CandidateCommand:
    return CandidateCommand(f"{method}-{level}", method, level, ())


def test_expensive_candidates_wait_if_a_cheaper_one_timed_out() -> None:
    tried: list[str] = []

    def attempt(one: CandidateCommand, seconds: float) -> None:
        tried.append(one.name)
        if one.method == "slow" and seconds < 1e6:
            raise OutOfTime

    todo = [candidate("slow", 0), candidate("quick", 0), candidate("slow", 1), candidate("quick", 1)]
    late = run_all(todo, attempt, time.monotonic() + 1000)
    # First all in turn; the slow ones again with the remaining time.
    assert tried[:3] == ["slow-0", "quick-0", "quick-1"]
    assert set(late) == {"slow-0", "slow-1"}
    assert late["slow-0"] in (
        "not finished within 1000 s",
        "not finished within 999 s",
        "not finished within 750 s",
    )


def test_time_is_shared() -> None:
    given: list[float] = []

    def attempt(_one: CandidateCommand, seconds: float) -> None:
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
    given = CandidateRequest(load_model(model(name)), 3)
    found, _ = plan(given, tried_methods(), reading=("--lenient",))
    assert len({one.name for one in found}) == len(found)
    for one in found:
        assert "{out}" in one.arguments
        filled = one.filled("E", "T", "O")
        assert not [word for word in filled if word.startswith("{")]
    assert [one.level for one in found] == sorted(one.level for one in found)
    # With a limit on bytes there are more; compress searches for the size itself.
    limited, _ = plan(replace(given, max_bytes=5000), tried_methods(), reading=("--lenient",))
    more = [one for one in limited if one.name not in {known.name for known in found}]
    assert {one.name for one in found} <= {one.name for one in limited}
    assert [one for one in more if one.method == "compress" and "5000" in one.arguments]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "limit"), [("diabetes_eps_rbf", 12_288), ("breast_c_rbf", 8000), ("digits_c_rbf_prob", 40_960)]
)
def test_candidates_for_a_limit_on_bytes_are_within_it(name: str, limit: int) -> None:
    """Those whose method does not search for the size itself."""
    exact, train = model(name), data(f"{name.split('_')[0]}.train")
    quick = {"dcpred": {"iterations": 2}, "budget-train": {"passes": 1}}
    for method in map(registry.method, ("dcpred", "meka", "budget-train")):
        usual = {one.name for one in method.candidates_for(CandidateRequest(load_model(exact), 0))[0]}
        more = [
            one
            for one in method.candidates_for(CandidateRequest(load_model(exact), 0, limit))[0]
            if one.name not in usual
        ]
        # A budget for each of many pairs of classes is larger.
        assert len(more) == (0 if (method.name, name) == ("budget-train", "digits_c_rbf_prob") else 1)
        for one in more:
            inputs = {given: {"data": train, "exact": exact}[given] for given in one.inputs}
            made = run_method(method, inputs, {**one.options, **quick.get(method.name, {})}, threads=1)
            assert limit / 4 < len(model_bytes(made.model)) <= limit, one.name


@pytest.mark.parametrize(("sized", "seconds"), [(True, 50), (False, 15)])
def test_a_candidate_for_a_limit_on_bytes_may_take_the_time_of_its_method(
    sized: bool, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    others = [candidate("modest", level) for level in range(19)]
    first = replace(candidate("greedy", 0), sized=sized)
    assert next(Schedule([first, *others], 100.0).turns()) == (first, seconds)


def test_no_method_uses_all_the_time_while_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a method that is left alone may use the rest."""
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    spent: dict[str, list[float]] = {"greedy": [], "modest": []}

    def attempt(one: CandidateCommand, seconds: float) -> None:
        taken = seconds if one.method == "greedy" else 1.0
        spent[one.method].append(taken)
        clock[0] += taken
        if one.method == "greedy":
            raise OutOfTime

    todo = [
        candidate("greedy", 3),
        candidate("greedy", 1),
        candidate("modest", 0),
        candidate("greedy", 2),
        candidate("modest", 1),
    ]
    late = run_all(todo, attempt, 100.0)
    assert spent["greedy"][0] == 50
    assert spent["modest"] == [1, 1]
    assert set(late) == {"greedy-1", "greedy-2", "greedy-3"}
    assert clock[0] == pytest.approx(100)
