"""The platform that svmfast runs on."""

from __future__ import annotations


def instruction_set() -> str:
    """Return the instruction set that the core's loops use here: ``baseline``, ``avx2`` or ``avx512``."""
    from svmfast.solvers import arithmetic

    return arithmetic.instruction_set()
