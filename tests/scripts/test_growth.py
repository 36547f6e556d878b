"""scripts/bench/growth.py: slopes of known powers, and a run of small sizes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from program import ROOT


def test_slopes_of_known_powers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "bench"))
    import growth

    sizes = [10.0, 100.0, 1000.0, 10000.0]
    assert growth.slope(sizes, [3 * n**2 for n in sizes]) == pytest.approx(2)
    # Fixed costs matter only for small sizes.
    assert growth.slope(sizes, [5 + n for n in sizes]) == pytest.approx(1, abs=0.01)
    assert growth.slope([1.0], [1.0]) is None
    row = {"axis": "svs", "density": 1.0, "step": "parsing", "peak": 5e6}
    rows = [{**row, "size": size, "seconds": size / 10} for size in (30, 60)]
    table = growth.tables({"machine": {**growth.machine("all"), "command": "growth.py"}, "rows": rows})
    assert table.splitlines()[-1] == "| svs | parsing | 30 | 60 | 3.00 | 6.00 | 5 | 5 | 1.00 |"


def test_it_runs_and_measures_the_memory_of_each_step(tmp_path: Path) -> None:
    results = tmp_path / "growth.json"
    script = [sys.executable, str(ROOT / "scripts/bench/growth.py"), "--axis", "svs", "--svs", "60"]
    done = subprocess.run([*script, "--json", str(results)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = json.loads(results.read_text())["rows"]
    steps = {row["step"] for row in rows}
    assert {"parsing", "predict: exact", "build: approximate, certificate", "build: compress"} <= steps
    assert all(row["seconds"] > 0 for row in rows)
    if "SVMFAST_SANITIZED" in os.environ:
        return  # sanitizers need additional memory
    # Not the memory of the script itself, which has all rows and NumPy: predict needs less than compress.
    peak = {row["step"]: row["peak"] for row in rows}
    assert 20e6 < peak["predict: exact"] < peak["build: compress"]
