"""The kind of a file is detected by its content, whatever its name or source."""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path

import pytest

from svmfast.errors import FileAccessError, ModelFormatError
from svmfast.formats.detect import detect, file_kind
from svmfast.formats.model_files import load_model, open_model, save_model
from svmfast.models.expansion import KernelExpansion

FIXTURES = Path(__file__).parents[2] / "fixtures"
MODEL = FIXTURES / "models" / "iris_c_linear.model"


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"", "empty"),
        (b" \r\n\n", "empty"),
        (b"svm_type c_svc\n", "libsvm-model"),
        (b"\xef\xbb\xbfsvm_type c_svc\n", "libsvm-model"),
        (b"\n kernel_type rbf\n", "libsvm-model"),
        (b"svmfast-model 1.0\n", "svmfast-model"),
        (b"svmfast-model 9", "svmfast-model"),
        (b"+1 1:0.5\n", "data"),
        (b"SV\n1 1:0.5\n", "data"),
        (b"\xff\xfe", "data"),
    ],
)
def test_the_kind_is_detected_by_the_first_word(start: bytes, kind: str) -> None:
    assert file_kind(start) == kind
    assert detect(start) == kind


def test_every_fixture_is_what_its_folder_says() -> None:
    for path in (FIXTURES / "models").glob("*"):
        assert detect(path) == "libsvm-model"
    for path in (FIXTURES / "data").glob("*"):
        assert detect(path) == "data"


def test_a_model_from_a_pipe() -> None:
    read, write = os.pipe()
    text = MODEL.read_bytes()
    assert len(text) < 1 << 16  # fits the pipe
    with os.fdopen(write, "wb") as sink:
        sink.write(text)
    with os.fdopen(read, "rb") as pipe:
        loaded = open_model(pipe)
    assert loaded.text == text


def test_the_hash_is_that_of_the_unpacked_text(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(gzip.compress(MODEL.read_bytes()))
    expected = hashlib.sha256(MODEL.read_bytes()).hexdigest()
    assert open_model(tmp_path / "m").sha256 == expected == open_model(MODEL).sha256


def test_saving_replaces_the_file_at_once(tmp_path: Path) -> None:
    model = load_model(MODEL)
    assert isinstance(model, KernelExpansion)
    (tmp_path / "m").write_bytes(b"old")
    assert save_model(model, tmp_path / "m") == len(MODEL.read_bytes())
    assert (tmp_path / "m").read_bytes() == MODEL.read_bytes()
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_files_that_are_not_models_are_refused(tmp_path: Path) -> None:
    data = FIXTURES / "data" / "iris.test"
    with pytest.raises(ModelFormatError) as caught:
        load_model(data)
    word = data.read_bytes().split()[0].decode()
    assert (
        str(caught.value)
        == f"{data}:1: not a model ('{word}'); expected it to begin with 'svm_type' or 'svmfast-model'"
    )
    with pytest.raises(ModelFormatError, match="the file is empty"):
        load_model(b"\n")
    with pytest.raises(FileAccessError):
        load_model(tmp_path / "none")
