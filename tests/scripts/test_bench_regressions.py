"""The regression mode of scripts/bench/speed.py: gains compared as ratios."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from program import ROOT

RUN: dict[str, Any] = {
    "whole process": [
        {
            "model": "m",
            "seconds": {"svm-predict": [9.0, 10.0, 30.0], "exact": [2.0], "approximate": [1.0]},
            "differing": {"exact": 0, "approximate": 3},
        }
    ],
    "start-up": [{"seconds": {'python -c "import numpy"': [0.2], "svmfast --version": [0.1]}}],
}


def compared(new: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], bool]:
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "bench"))
    from regressions import regressions

    return regressions(new, RUN, 1.5)


def test_a_slower_machine_is_not_a_regression(monkeypatch: pytest.MonkeyPatch) -> None:
    new = copy.deepcopy(RUN)
    for record in (*new["whole process"], *new["start-up"]):
        record["seconds"] = {name: [7 * t for t in times] for name, times in record["seconds"].items()}
    lines, worse = compared(new, monkeypatch)
    assert not worse
    assert lines[0] == "whole process m exact: gain 5.00x -> 5.00x, ratio 1.00"
    assert len(lines) == 3


def test_a_lost_gain_is_a_regression(monkeypatch: pytest.MonkeyPatch) -> None:
    new = copy.deepcopy(RUN)
    new["whole process"][0]["seconds"]["exact"] = [2.9]
    assert not compared(new, monkeypatch)[1]
    new["whole process"][0]["seconds"]["exact"] = [3.1]
    lines, worse = compared(new, monkeypatch)
    assert worse
    assert lines[0].endswith("ratio 0.65  SLOWER")


def test_wrong_labels_and_nothing_in_common_are_regressions(monkeypatch: pytest.MonkeyPatch) -> None:
    new = copy.deepcopy(RUN)
    new["whole process"][0]["differing"]["exact"] = 1
    lines, worse = compared(new, monkeypatch)
    assert worse
    assert lines[-1] == "whole process m: 1 labels of the exact engine differ  WRONG"
    assert compared({}, monkeypatch)[1]
