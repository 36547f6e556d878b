"""Small files that crashed svmfast, hung it, filled the memory or ended in an internal error: tests/attacks.

P: `pseudo_sizes` whose sum wraps around to the right one; Q: `landmark_start`, W: `sizes`, N: `nr_sv`, F:
`features` likewise. A and C: laplacian and Gaussian landmarks at columns so high that dense vectors take
gigabytes. mutated: found by a fuzzer.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from program import svmfast

ATTACKS = Path(__file__).parent / "attacks"
#: What is wrong with each: the first word of the line that says so, and the line.
WRONG = {
    "P1": "pseudo_sizes",
    **dict.fromkeys(("Q1", "Q2", "Q3", "Q4", "Q5"), "landmark_start"),
    **dict.fromkeys(("W1", "W1l", "W2", "W2r", "W3"), "sizes"),
    **dict.fromkeys(("N1", "N2", "N3"), "nr_sv"),
    **dict.fromkeys(("F1", "F2", "F3", "F4"), "features"),
}
MUTATED = sorted(path.stem for path in ATTACKS.glob("mutated-*.model"))


@pytest.mark.parametrize("name", WRONG)
def test_sizes_whose_sum_wraps_around_are_refused_with_their_line(name: str) -> None:
    path = ATTACKS / f"{name}.model"
    lines = path.read_text().splitlines()
    at = next(i for i, line in enumerate(lines, 1) if line.startswith(f"array {WRONG[name]} "))
    for words in (("info", path), ("predict", ATTACKS / "three.data", path)):
        done = svmfast(*words)
        assert (done.returncode, done.stdout) == (2, b"")
        assert re.fullmatch(rf"{re.escape(str(path))}:{at}: not .*; expected .*\n", done.stderr.decode())


@pytest.mark.parametrize("name", MUTATED)
def test_mutated_models_are_bad_input_or_an_answer(name: str) -> None:
    path = ATTACKS / f"{name}.model"
    for words in (("info", path), ("predict", ATTACKS / "three.data", path)):
        done = svmfast(*words)
        assert done.returncode in (0, 2)
        if done.returncode == 2:
            assert re.fullmatch(rf"{re.escape(str(path))}:\d+: .*; expected .*\n", done.stderr.decode())
