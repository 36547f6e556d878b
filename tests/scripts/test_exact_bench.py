"""scripts/bench/exact.py measures both sides, counts differing labels, and puts its table into a page."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program import ROOT


@pytest.mark.skipif(shutil.which("svm-predict") is None, reason="no svm-predict")
def test_it_measures_against_another_interpreter(tmp_path: Path) -> None:
    page, results = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text("above\n<!-- exact -->\nold\n<!-- /exact -->\nbelow\n")
    words = [sys.executable, str(ROOT / "scripts/bench/exact.py"), "--against", sys.executable]
    words += ["--repeats", "1", "--isa", "", "--isa", "baseline", "--only", "photos", "--only", "onehot"]
    done = subprocess.run(
        [*words, "--json", str(results), "--readme", str(page)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(results.read_text())
    assert str(ROOT) not in found["machine"]["command"]
    assert sys.executable not in found["machine"]["command"]
    records = {record["model"]: record for record in found["records"]}
    assert list(records) == ["photos_c_rbf", "onehot_c_rbf", "photos_c_rbf, order 2"]
    for record in records.values():
        ours = {name: count for name, count in record["differing"].items() if "scikit" not in name}
        assert ours == {"svmfast": 0, "before": 0, "svmfast baseline": 0, "before baseline": 0}
        assert record["identical_bytes"]
        assert {"svmfast", "before", "svmfast, one row"} < set(record["seconds"])
        assert set(record["process_seconds"]) == {"svm-predict", "svmfast"}
    assert records["photos_c_rbf"]["single_percent"] > 97
    assert records["onehot_c_rbf"]["one_hot"]
    text = page.read_text()
    assert text.startswith("above\n<!-- exact -->\nMeasured on ")
    assert text.endswith("<!-- /exact -->\nbelow\n")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(lines) == 5
    # No figure for an instruction set that was not measured.
    assert lines[2].split(" | ")[5] == "-"
