"""The recipes of docs/batch.md for other engines, each run if its engine is installed."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from program import ROOT, data, model
from pyarrow import parquet

import svmfast

RECIPES = {
    text.split("\n")[0].removeprefix("# "): text
    for text in re.findall(r"^```python\n(# .*?)^```", (ROOT / "docs" / "batch.md").read_text(), re.S | re.M)
}


@pytest.mark.nightly
@pytest.mark.parametrize("engine", RECIPES)
def test_the_recipe_gives_svmfasts_labels(engine: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed: pip install {engine}")
    if engine == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    dataset = svmfast.read_svmlight(data("photos.test"))
    dense = dataset.rows.to_dense()
    columns = {f"x{j}": values for j, values in enumerate(dense.T)}
    parquet.write_table(pa.table({"label": dataset.labels, **columns}), tmp_path / "rows.parquet")
    places = {
        "MODEL": model("photos_c_rbf"),
        "INPUT": tmp_path / "rows.parquet",
        "OUTPUT": tmp_path / "out.parquet",
    }
    head = "".join(f"{name} = {os.fspath(path)!r}\n" for name, path in places.items())
    script = tmp_path / "recipe.py"
    script.write_text(head + RECIPES[engine])
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = parquet.read_table(tmp_path / "out.parquet")["label"].to_numpy()
    assert np.array_equal(found, svmfast.predict(model("photos_c_rbf"), dense).predicted)
