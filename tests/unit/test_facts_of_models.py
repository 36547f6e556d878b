"""What decides how a model is answered is a field of its file, whatever its provenance says."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from program import data, model, svmfast
from sealing import packed, unpacked

from svmfast.errors import ModelFormatError, UnsupportedError
from svmfast.formats.model_files import load_model, model_bytes
from svmfast.models.requirements import Columns, require


def test_a_fit_to_labels_is_refused_without_its_provenance(tmp_path: Path) -> None:
    path = tmp_path / "model"
    done: subprocess.CompletedProcess[bytes] = svmfast(
        *("dcpred", data("breast.train"), "--from", model("breast_c_rbf_prob"), "--fit", "labels"),
        *("--clusters", "1", "--landmarks", "4", "--iterations", "1", "-o", path, "-q"),
    )
    assert done.returncode == 0, done.stderr
    made: Any = load_model(path)
    for one in (made, replace(made, provenance={}), load_model(model_bytes(replace(made, provenance={})))):
        with pytest.raises(UnsupportedError, match="was fitted to labels, not to decision values"):
            require(one, Columns(probability=True))
    tree = unpacked(path.read_bytes())
    assert tree["fits_labels"] is True
    with pytest.raises(ModelFormatError, match="fits_labels: not of the type bool"):
        load_model(packed({**tree, "fits_labels": 1}))


@pytest.mark.parametrize("words", ["order=2 calibrated", "order=99"])
def test_provenance_decides_nothing(words: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    assert svmfast("approximate", model("breast_c_rbf_prob"), "-o", path, "-q").returncode == 0
    made: Any = load_model(path)
    origin = {**made.provenance, "parameters": words}
    require(load_model(model_bytes(replace(made, provenance=origin))), Columns(bound=True))
