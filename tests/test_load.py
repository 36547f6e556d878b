"""Inputs at the edges, for every command that takes them, and scripts/load with small sizes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from edges import DATA, GAMMAS, MODELS, Edge, convert, learn
from program import ROOT

from svmfast.cli.main import run


@pytest.fixture
def edge(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Edge:
    """A folder in which commands run within this process: a thousand of them, started in no time."""
    monkeypatch.chdir(tmp_path)

    def within(words: Sequence[str], _folder: Path) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        status = run(words)
        said, message = capfd.readouterr()
        return subprocess.CompletedProcess(words, status, said, message)

    return Edge(tmp_path, within)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_at_the_edge_gets_right_answers_or_one_line(edge: Edge, name: str) -> None:
    faults = {command: outcome.faults for command, outcome in convert(edge, name).items() if outcome.faults}
    assert not faults


@pytest.mark.parametrize("name", DATA)
def test_data_at_the_edge_get_an_answer_or_one_line(edge: Edge, name: str) -> None:
    faults = {command: outcome.faults for command, outcome in learn(edge, name).items() if outcome.faults}
    assert not faults


@pytest.mark.parametrize("gamma", GAMMAS)
def test_any_gamma_can_be_learnt_with(edge: Edge, gamma: float) -> None:
    found = learn(edge, "normal", gamma)
    assert not {command: outcome.faults for command, outcome in found.items() if outcome.faults}
    assert all(outcome.said == "answer" for outcome in found.values())


def test_no_rows_are_refused_by_every_command(edge: Edge) -> None:
    expected = "data: there are no rows; expected 'label index:value ...' a line"
    assert {outcome.said for outcome in learn(edge, "no rows").values()} == {expected}


def test_the_script_runs_with_small_sizes() -> None:
    script = [sys.executable, str(ROOT / "scripts/load.py"), "--quick"]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    found = re.match(r"(\d+) answers, (\d+) refusals, 0 wrong", last)
    assert found is not None, last
    assert int(found[1]) > 40
    assert done.stdout.count("labels right; ") == 2  # both streams, checked label by label
