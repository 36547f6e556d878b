"""Rows and options for meka."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from svmfast.formats.svmlight import read_svmlight
from svmfast.methods.meka import MekaOptions
from svmfast.rows import Rows

FIXTURES = Path(__file__).parents[2] / "fixtures"


def data(name: str) -> tuple[Rows, Any]:
    found = read_svmlight(FIXTURES / "data" / name)
    return found.rows, found.labels


def settings(**changes: Any) -> MekaOptions:
    return replace(MekaOptions(gamma=(0.1,), clusters=3, rank=40), **changes)
