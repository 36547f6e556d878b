"""Extreme inputs for every command that takes them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from edges import DATA, GAMMAS, MODELS, Edge, convert, data_text, executable, learn
from nightly import nightly_but
from program import model

from svmfast.cli.main import run


@pytest.fixture
def edge(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Edge:
    """A folder in which commands run within this process, since a thousand of them are run."""
    monkeypatch.chdir(tmp_path)

    def within(words: Sequence[str], _folder: Path) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        status = run(words)
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(words, status, out, err)

    return Edge(tmp_path, within)


@pytest.mark.parametrize("name", nightly_but(["values up to 1e300", "one vector"], MODELS))
def test_extreme_models_get_right_answers_or_one_line(edge: Edge, name: str) -> None:
    faults = {command: outcome.faults for command, outcome in convert(edge, name).items() if outcome.faults}
    assert not faults


@pytest.mark.parametrize("name", nightly_but(["constant features", "values up to 1e300"], DATA))
def test_extreme_data_get_an_answer_or_one_line(edge: Edge, name: str) -> None:
    faults = {command: outcome.faults for command, outcome in learn(edge, name).items() if outcome.faults}
    assert not faults


@pytest.mark.nightly
@pytest.mark.parametrize("gamma", GAMMAS)
def test_training_works_for_any_gamma(edge: Edge, gamma: float) -> None:
    found = learn(edge, "normal", gamma)
    assert not {command: outcome.faults for command, outcome in found.items() if outcome.faults}
    assert all(outcome.message == "answer" for outcome in found.values())


def test_every_command_refuses_empty_data(edge: Edge) -> None:
    expected = "data: there are no rows; expected 'label index:value ...' on each line"
    assert {outcome.message for outcome in learn(edge, "no rows").values()} == {expected}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("compress", "-q", "model", "-o", "out", "--sv", "3"), marks=pytest.mark.nightly),
        pytest.param(("dcpred", "-q", "--from", "model", "data", "-o", "out"), marks=pytest.mark.nightly),
        ("bound-check", "data", "--model", "model"),
    ],
)
def test_overflow_is_one_line(words: tuple[str, ...], tmp_path: Path) -> None:
    large, names = MODELS["values up to 1e300"]
    (tmp_path / "model").write_text(large.text())
    (tmp_path / "data").write_text(data_text(DATA[names[0]]))
    done = executable(words, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    # The observation, without a guess at its cause.
    message = r"svmfast: a computation has no finite result: (overflow|invalid value) encountered in \w+"
    assert re.fullmatch(message + "; run again with --debug for the trace\n", done.stderr)
    assert not (tmp_path / "out").exists()


def test_regression_with_extreme_values_ends_as_in_svm_predict(tmp_path: Path) -> None:
    """LIBSVM 3.37 writes the same predictions and the same error, except for the sign of its "-nan"."""
    rows = tmp_path / "rows"
    rows.write_text("1e200 1:0.5\n-1e200 1:1e200\n3 2:1e300 3:1e300\n")
    done = executable(("predict", "rows", str(model("diabetes_eps_linear")), "out"), tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "Mean squared error = inf (regression)\nSquared correlation coefficient = nan (regression)\n"
    )
    values = [float(line) for line in (tmp_path / "out").read_text().split()]
    assert values == [161.90623925339543, -7.4362410411668565e200, 4.740680177162342e301]
