"""What decides how a model is answered is a field of its file, whatever its provenance says."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from program import data, model, svmfast
from sealing import resealed

from svmfast.errors import ModelFormatError, UnsupportedError
from svmfast.formats.detect import load_model, model_bytes
from svmfast.models.requirements import Columns, require

RUNS = {
    "fitted": (
        *("dcpred", data("breast.train"), "--from", model("breast_c_rbf_prob"), "--fit", "labels"),
        *("--clusters", "1", "--landmarks", "4", "--iterations", "1"),
    ),
    "validity_bound": ("approximate", model("breast_c_rbf_prob"), "--max-bytes", "8k", "--force"),
}
REFUSALS = {
    "fitted": r"was fitted to labels, not to decision values",
    "validity_bound": "shortened",
}


@pytest.mark.parametrize("name", RUNS)
def test_it_is_refused_without_its_provenance(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    done: subprocess.CompletedProcess[bytes] = svmfast(*RUNS[name], "-o", path, "-q")
    assert done.returncode == 0, done.stderr
    made: Any = load_model(path)
    asked = Columns(probability=True) if name == "fitted" else Columns(bound=True)
    for one in (made, replace(made, provenance={}), load_model(model_bytes(replace(made, provenance={})))):
        with pytest.raises(UnsupportedError, match=REFUSALS[name]):
            require(one, asked)
    text = path.read_bytes()
    value = b"labels" if name == "fitted" else b"unknown"
    line = name.encode() + b" " + value + b"\n"
    assert text.count(line) == 1
    with pytest.raises(ModelFormatError, match=rf"'other'.*; expected {value.decode()}"):
        load_model(resealed(text.replace(line, name.encode() + b" other\n")))


@pytest.mark.parametrize("words", ["order=2 calibrated", "max_bytes=3"])
def test_provenance_decides_nothing(words: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    assert svmfast("approximate", model("breast_c_rbf_prob"), "-o", path, "-q").returncode == 0
    made: Any = load_model(path)
    origin = {**made.provenance, "parameters": words}
    require(load_model(model_bytes(replace(made, provenance=origin))), Columns(bound=True))
