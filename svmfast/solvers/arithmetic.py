"""The last digits of numbers: those that a file has, and the instruction sets on which sums depend."""

from __future__ import annotations

from svmfast import _core
from svmfast.rows import FloatArray


def arithmetic() -> str:
    """The instruction sets of the core and of BLAS, for example ``avx512, BLAS SkylakeX``.

    With other instruction sets, sums are taken in another order and libraries use other code for exp and log.
    So the last digits of a trained model depend on them.
    """
    import scipy.linalg  # noqa: F401 (brings a BLAS of its own)
    from threadpoolctl import threadpool_info

    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    kinds = sorted({library.get("architecture") or library["internal_api"] for library in libraries})
    return f"{_core.isa()}, BLAS {' '.join(kinds) or 'unknown'}"


def provenance(method: str, parameters: str, seed: int, source: str | None = None) -> dict[str, str]:
    """The origin of a model with such digits; `source` is the hash of the model it was made from."""
    origin = {"method": method, "parameters": parameters, "seed": str(seed), "arithmetic": arithmetic()}
    return origin if source is None else {"source": source, **origin}


def eight_digits(values: FloatArray) -> FloatArray:
    """Values rounded as ``svm-train`` writes vectors (``%.8g``): a model in memory is the one in its file."""
    rounded: FloatArray = _core.round_digits(values.ravel(), 8).reshape(values.shape)
    return rounded
