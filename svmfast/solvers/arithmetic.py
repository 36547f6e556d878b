"""What the last digits of sums depend on besides the input: the instruction sets of the core and of BLAS."""

from __future__ import annotations

from svmfast import _core


def instruction_set() -> str:
    """Return which of the core's variants this machine runs: ``baseline``, ``avx2`` or ``avx512``."""
    return _core.isa()


def arithmetic() -> str:
    """Return what the bytes of a trained model depend on: the instruction sets of the core and of BLAS.

    On other ones sums are taken in another order and libraries choose other code for exp and log, so the last
    digits of a model that was searched for with them differ. For example ``avx512, BLAS SkylakeX``.
    """
    import scipy.linalg  # noqa: F401 (brings a BLAS of its own)
    from threadpoolctl import threadpool_info

    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    kinds = sorted({library.get("architecture") or library["internal_api"] for library in libraries})
    return f"{instruction_set()}, BLAS {' '.join(kinds) or 'unknown'}"
