"""Options for meka."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from svmfast.methods.meka import MekaOptions


def settings(**changes: Any) -> MekaOptions:
    return replace(MekaOptions(task="svc", gamma=(0.1,), clusters=3, rank=40), **changes)
