"""The size and hash in a model file's first line: a file that was changed or cut short is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from program import data, model, svmfast
from sealing import packed, resealed, unpacked

import svmfast as package
from svmfast.errors import ModelFormatError
from svmfast.formats.model_files import load_model, model_bytes, open_model

IRIS = model("iris_c_rbf_prob")


@pytest.fixture(scope="module")
def fast() -> bytes:
    return model_bytes(package.approximate(load_model(IRIS), order=2, embed_exact=True).model)


def test_a_changed_coefficient_is_refused(fast: bytes, tmp_path: Path) -> None:
    tree = unpacked(fast)
    tree["coefficients"][0] += 1e-9
    other = packed(tree)
    load_model(other)
    path = tmp_path / "fast"
    path.write_bytes(fast.split(b"\n", 1)[0] + b"\n" + other.split(b"\n", 1)[1])
    message = f"{path}: the file was changed after svmfast wrote it: its hash differs; expected"
    for words in (("predict", data("iris.test"), path), ("info", path)):
        done = svmfast(*words)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode() == f"{message} the model made again\n"


def test_the_provenance_is_part_of_the_content(fast: bytes) -> None:
    """Another source would let another exact model answer for this one."""
    tree = unpacked(fast)
    tree["provenance"]["source"] = "sha256:0"
    with pytest.raises(ModelFormatError, match="not the one that 'source' names"):
        load_model(packed(tree))


def test_a_file_by_the_description_of_the_format() -> None:
    """A file as docs/model-format.md defines it, taken apart here independently."""
    made, _ = package.approximate(
        load_model(model("normal_one_rbf")), order=1, certificate="none", force=True
    )
    first, content = model_bytes(made).split(b"\n", 1)
    assert first.decode() == f"svmfast-model 1.0 {len(content)} sha256:{hashlib.sha256(content).hexdigest()}"
    header, numbers = content.split(b"\n", 1)
    tree = json.loads(header)
    assert list(tree) == [
        *("kind", "head", "gamma", "n_features", "features", "about", "centers", "orders", "coefficients"),
        *("rho", "sv_squared_norm", "sv_squared_norms", "provenance"),
    ]
    assert tree["features"] == {"dtype": "int64", "shape": [4]}
    assert numbers[:32] == b"".join(column.to_bytes(8, "little") for column in range(4))


def test_no_damaged_byte_goes_unnoticed() -> None:
    made, _ = package.approximate(load_model(model("normal_one_rbf")), order=1, force=True)
    text = model_bytes(made)
    for at in range(len(text)):
        damaged = text[:at] + bytes([text[at] ^ (1 << at % 8)]) + text[at + 1 :]
        if at < len(b"svmfast-model"):  # then it is a file of another kind
            continue
        try:
            loaded = open_model(damaged)
        except ModelFormatError:
            continue
        else:
            assert loaded.warnings
            assert resealed(damaged) == damaged  # only the minor version is another
