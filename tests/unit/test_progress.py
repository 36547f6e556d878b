"""The progress shown on a terminal while a command works: every phase has its bar."""

from __future__ import annotations

import os
import pty
import re
from pathlib import Path

import pytest
from program import PROGRAM, data, model

from svmfast.progress import counting, duration

TREE = ("--clusters", "3", "--landmarks", "4", "--rank", "4")


def on_a_terminal(*words: object) -> str:
    """Return the text that is shown, without colors."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["COLUMNS"] = "150"
        os.execv(PROGRAM, ["svmfast", *map(str, words)])
    shown = b""
    try:
        while piece := os.read(terminal, 65536):
            shown += piece
    except OSError:  # how Linux reports that the other side has closed
        pass
    os.close(terminal)
    assert os.waitpid(pid, 0)[1] == 0, shown
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())


PHASES: dict[str, tuple[list[object], list[str]]] = {
    "budget-train": (
        ["budget-train", data("breast.train"), "o", "-B", "9", "-g", "0.1"],
        ["read", "train", "refit"],
    ),
    "compress": (
        ["compress", model("breast_c_rbf"), "--sv", "5", "--data", data("breast.train"), "-o", "o"],
        ["read", "exact model on the rows", "start", "error on held-out rows"],
    ),
    "dcpred --max-operations": (
        [
            *("dcpred", data("breast.train"), "-o", "o", "--from", model("breast_c_rbf")),
            *("--max-operations", "30"),
        ],
        ["read", "exact model on the rows", "clusters", "leaves"],
    ),
    "meka": (
        ["meka", data("breast.train"), "-o", "o", "--task", "ridge", *TREE],
        ["read", "clusters", "landmarks", "blocks", "solve"],
    ),
    "meka --task error": (["meka", data("breast.train"), "--task", "error", *TREE], ["clusters", "error"]),
    "linear": (["linear", data("breast.train"), "-o", "o"], ["read", "train"]),
    "cascade": (
        [
            *(
                "cascade",
                "--force",
                "fast",
                model("digits_c_rbf_prob"),
                "--data",
                data("digits.test"),
                "-o",
                "o",
            ),
            *("--max-diff", "5%"),
        ],
        ["read", "rows"],
    ),
    "approximate": (
        [
            *("approximate", model("digits_c_rbf_prob"), "--order", "1", "--cells", "2", "--data"),
            *(data("digits.test"), "-o", "o"),
        ],
        ["read", "certify", "measure"],
    ),
}


@pytest.mark.parametrize("name", PHASES)
def test_every_phase_has_its_bar(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words, phases = PHASES[name]
    if name == "cascade":
        on_a_terminal("compress", model("digits_c_rbf_prob"), "--sv", "60", "-o", "fast", "--iterations", "5")
    shown = on_a_terminal(*words)
    for phase in phases:
        assert re.search(rf"(?<![a-z]){re.escape(phase)}", shown), (phase, shown)


def test_work_divided_among_threads_is_counted() -> None:
    seen: list[tuple[float, float | None, str]] = []
    work = counting(lambda item: item * 2, lambda *step: seen.append(step), 2, "doubling")
    assert [work(3), work(4)] == [6, 8]
    assert seen == [(0, 2, "doubling"), (1, 2, "doubling"), (2, 2, "doubling")]


@pytest.mark.parametrize(("seconds", "text"), [(3.4, "3 s"), (59.6, "1 min 0 s"), (3725, "1 h 2 min")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
