"""How ``svmfast frontier`` divides its time among the candidates, and which ones it plans."""

import time
from dataclasses import replace

import pytest
from program import data, model

from svmfast.commands.run import run_method
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.frontiers.child import Failed, make
from svmfast.frontiers.plan import CandidateCommand, plan, tried_methods
from svmfast.frontiers.schedule import Schedule
from svmfast.methods import registry
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


def candidates(names):
    parts = [(name, *name.split("-")) for name in names.split()]
    return [CandidateCommand(name, method, int(level), ()) for name, method, level in parts]


TEN = "slow-0 b-0 b-1 b-2 b-3 b-4 b-5 b-6 slow-1 b-7"


@pytest.mark.parametrize(
    ("names", "needs", "limit", "given", "late"),
    [
        ("a-0 a-1 a-2 a-3 a-4 a-5", {}, 100, "a-0 50 a-1 60 a-2 75 a-3 100 a-4 100 a-5 100", ""),
        # No candidate starts with less than 2 s.
        ("a-0", {}, 2, "a-0 2", ""),
        ("a-0", {}, 1.9, "", "a-0: not tried within the time limit"),
        # Where a candidate took too long, more expensive ones wait; it has the rest if that is much more.
        (TEN, {"slow": 40}, 100,
         "slow-0 30 b-0 23.3 b-1 26.2 b-2 30 b-3 35 b-4 35 b-5 35 b-6 35 b-7 35 slow-0 70 slow-1 30",
         "slow-1: not finished within 30 s"),
        ("slow-0 b-0 slow-1 b-1", {"slow": 1e9}, 1000, "slow-0 500 b-0 250 b-1 250 slow-1 500",
         "slow-0: not finished within 500 s; slow-1: not finished within 500 s"),
        # No method uses all the time while others wait; one that is left alone may.
        ("a-3 a-1 b-0 a-2 b-1", {"a": 1e9, "b": 1}, 100, "a-3 50 b-0 25 b-1 24 a-1 48",
         "a-3: not finished within 50 s; a-1: not finished within 48 s; "
         "a-2: not tried within the time limit"),
    ],
)  # fmt: skip
def test_time_is_shared(names, needs, limit, given, late, monkeypatch):
    """`needs`: the seconds that a method's candidates need, which `limit` divides among them."""
    clock, turns = [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    schedule = Schedule(candidates(names), limit)
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


@pytest.mark.parametrize(
    "name", ["breast_c_rbf", "digits_c_rbf_prob", "diabetes_eps_rbf", "breast_c_sigmoid"]
)
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


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "limit"), [("diabetes_eps_rbf", 12_288), ("breast_c_rbf", 8000), ("digits_c_rbf_prob", 40_960)]
)
def test_candidates_for_a_limit_on_bytes_are_within_it(name, limit):
    """Those whose method does not search for the size itself."""
    given = {"exact": model(name), "data": data(f"{name.split('_')[0]}.train")}
    quick = {"dcpred": {"iterations": 2}, "meka": {}, "budget-train": {"passes": 1}}
    for method in map(registry.method, quick):
        tried = [
            method.candidates_for(CandidateRequest(load_model(given["exact"]), 0, most))[0]
            for most in (None, limit)
        ]
        usual = {one.name for one in tried[0]}
        more = [one for one in tried[1] if one.name not in usual]
        # A budget for each of many pairs of classes is larger.
        assert len(more) == (0 if (method.name, name) == ("budget-train", "digits_c_rbf_prob") else 1)
        for one in more:
            options = {**one.options, **quick[method.name]}
            made = run_method(method, {way: given[way] for way in one.inputs}, options, threads=1)
            assert limit / 4 < len(model_bytes(made.model)) <= limit, one.name
