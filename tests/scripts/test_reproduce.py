"""scripts/bench/reproduce.py runs, stores its measurements, and makes its page again from them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from program import PROGRAM, ROOT, svmfast

SCRIPT = ROOT / "scripts/bench/reproduce.py"


def forked(words: list[Any], **_same: Any) -> subprocess.CompletedProcess[str]:
    """Stand in for `subprocess.run` where the script starts the program: dozens of times."""
    assert words[0] == PROGRAM
    done = svmfast(*words[1:], timeout=600)
    return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_it_measures_and_makes_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page, results = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text("above\n<!-- reproduce -->\nold\n<!-- /reproduce -->\nbelow\n")
    words = [sys.executable, str(SCRIPT), "--json", str(results)]
    monkeypatch.syspath_prepend(SCRIPT.parent)
    import reproduce
    import reproduce_claims

    monkeypatch.setattr(reproduce_claims, "subprocess", SimpleNamespace(run=forked))
    monkeypatch.setattr(sys, "argv", words[1:])
    reproduce.main()
    printed = capsys.readouterr().out
    rows = json.loads(results.read_text())["rows"]
    assert len(rows) == 11
    assert all(row["commands"] and "/" not in row["commands"][0].split()[-1] for row in rows)
    by_name = {row["what"]: row["ours"] for row in rows}
    # By svm-predict: fixtures/golden/breast_c_rbf.stdout.
    golden = (ROOT / "fixtures/golden/breast_c_rbf.stdout").read_text()
    assert float(by_name["exact"].rstrip("%")) == round(float(golden.split("= ")[1].split("%")[0]), 2)
    again = subprocess.run([*words, "--tables", "--page", str(page)], capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    text = page.read_text()
    assert text.startswith("above\n<!-- reproduce -->\nMeasured on ")
    assert text.endswith("<!-- /reproduce -->\nbelow\n")
    assert again.stdout == printed


def test_missing_files_are_named(tmp_path: Path) -> None:
    words = [sys.executable, str(SCRIPT), str(tmp_path), "--quick", "--only", "Claesen"]
    done = subprocess.run([*words, "--json", str(tmp_path / "r")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("left out for want of a9a, a9a.t, a9a_g0.01.model, ")
