"""Models and rows of the fixtures, read."""

from __future__ import annotations

from program import data, model

from svmfast.formats.model_files import load_model
from svmfast.formats.svmlight import read_svmlight
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import FloatArray, Rows


def exact(name: str) -> KernelExpansion:
    loaded = load_model(model(name))
    assert isinstance(loaded, KernelExpansion)
    return loaded


def rows(name: str) -> tuple[Rows, FloatArray]:
    read = read_svmlight(data(name))
    return read.rows, read.labels
