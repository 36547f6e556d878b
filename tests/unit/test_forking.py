"""Runs of the program are forks if a fork behaves the same, which makes the suite much faster."""

from __future__ import annotations

import os

import pytest
import sklearn.svm  # noqa: F401  it sets variables
from program import runs_are_forks, svmfast


def test_forks_are_used_after_a_library_sets_variables_on_import() -> None:
    assert "KMP_INIT_AT_FORK" in os.environ
    assert runs_are_forks()
    done = svmfast("--version")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("value", ["2", None])
def test_another_environment_needs_the_executable(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program reads it on import."""
    if value is None:
        monkeypatch.delenv("OMP_NUM_THREADS")
    else:
        monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert not runs_are_forks()
    monkeypatch.undo()
    monkeypatch.setenv("SVMFAST_ISA", "scalar")
    assert not runs_are_forks()
