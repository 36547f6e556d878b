"""Conversion of values for JSON."""

from __future__ import annotations

import math
from typing import Any


def finite(values: Any) -> Any:
    """Return values with nan and infinity, which JSON lacks, replaced by None."""
    if isinstance(values, dict):
        return {key: finite(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [finite(value) for value in values]
    return None if isinstance(values, float) and not math.isfinite(values) else values
