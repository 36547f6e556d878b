"""docs/export.md has the table that scripts/bench/export_flash.py makes of its results."""

from __future__ import annotations

import json

import pytest
from program import ROOT


def test_the_table_is_that_of_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("onnxruntime", "skl2onnx"):
        pytest.importorskip(package, reason=f"no {package}, which scripts/bench/export_speed.py imports")
    monkeypatch.syspath_prepend(ROOT / "scripts" / "bench")
    from export_flash import RESULTS, WORKS, table

    results = json.loads(RESULTS.read_text())
    assert list(results["works"]) == [work.name for work in WORKS]
    for name, result in results["works"].items():
        assert {"exact", "linear", "compress", "approximate"} <= {p["method"] for p in result["points"]}, name
    page = (ROOT / "docs" / "export.md").read_text()
    assert f"<!-- export flash -->\n{table(results)}<!-- /export flash -->" in page
