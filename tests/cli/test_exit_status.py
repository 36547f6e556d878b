"""The same outcome has the same exit status for every command: the table of docs/command-line.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import data, model

from svmfast.cli.main import run

ROWS, EXACT = str(data("iris.train")), str(model("iris_c_rbf_prob"))
#: Limits that no model of the kind can meet.
UNREACHABLE = [
    ["approximate", EXACT, "-o", "out", "--max-bytes", "10"],
    ["compress", EXACT, "-o", "out", "--max-bytes", "10", "--data", ROWS],
    ["compress", EXACT, "-o", "out", "--sv", "1"],
    ["dcpred", ROWS, "-o", "out", "--from", EXACT, "--max-operations", "0.01"],
    ["dcpred", ROWS, "-o", "out", "--task", "svc", "--max-operations", "0.01"],
]
TOO_LARGE = [
    ["compress", EXACT, "-o", "out", "--sv", "1000"],
]
OUT_OF_MEMORY = [
    ["approximate", EXACT, "-o", "out", "--memory", "1k"],
    ["compress", EXACT, "-o", "out", "--sv", "5", "--memory", "1k"],
    ["meka", ROWS, "-o", "out", "--task", "svc", "--memory", "1k"],
    ["dcpred", ROWS, "-o", "out", "--from", EXACT, "--memory", "1k"],
    ["predict", ROWS, EXACT, "out", "--memory", "1k"],
]
ONE_CLASS = {
    0: [["train", "-q", "one", "out"]],
    2: [
        ["budget-train", "one", "out"],
        ["linear", "one", "-o", "out"],
        ["dcpred", "one", "-o", "out", "--task", "svc"],
        ["meka", "one", "-o", "out", "--task", "svc"],
    ],
}
CASES = [
    *((1, words) for words in UNREACHABLE + TOO_LARGE),
    *((2, words) for words in OUT_OF_MEMORY),
    *((status, words) for status, runs in ONE_CLASS.items() for words in runs),
]


@pytest.mark.parametrize(
    ("status", "words"), CASES, ids=[f"{status} {Path(w[0]).name} {' '.join(w[-2:])}" for status, w in CASES]
)
def test_the_exit_status_matches_the_outcome(
    status: int,
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one").write_text("".join(f"1 1:{x} 2:{x % 3}\n" for x in range(1, 40)))
    assert run(words) == status, capfd.readouterr().err
    assert Path("out").exists() == (status == 0)
    if status:
        last = capfd.readouterr().err.splitlines()[-1]
        assert last
        if "one" in words:
            assert last == "one: all rows have label 1; expected rows of two or more classes"
