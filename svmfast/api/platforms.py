"""The platform on which svmfast runs."""

from __future__ import annotations


def instruction_set() -> str:
    """Return the instruction set that the native core uses here: ``baseline``, ``avx2`` or ``avx512``."""
    from svmfast.solvers import arithmetic

    return arithmetic.instruction_set()
