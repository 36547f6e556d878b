"""scripts/bench/readme.py: what the README's first paragraph states is what was measured."""

from __future__ import annotations

import importlib
import json
import re
from statistics import median

import pytest
from program import ROOT


def test_the_gain_in_the_first_paragraph_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts/bench"))
    script = importlib.import_module("readme")
    records = json.loads(script.RESULTS.read_text())["records"]
    text = "\n".join(script.claim(records))
    assert text in (ROOT / "README.md").read_text()
    least, most = map(int, re.search(r"(\d+) to (\d+) times", text).groups())  # type: ignore[union-attr]
    ours = ("svmfast, exact", "svmfast, certified")
    best = [
        median(one["ways"]["svm-predict"]["seconds"])
        / min(median(one["ways"][way]["seconds"]) for way in ours if way in one["ways"])
        for one in records
    ]
    assert all(
        one["ways"][way]["labels_changed"] == 0 for one in records for way in ours if way in one["ways"]
    )
    assert least <= min(best) < least + 1
    assert most <= max(best) < most + 1
