"""LIBSVM model text, for every svm_type and kernel: checked when read, written byte for byte as by LIBSVM.

Like LIBSVM, we write 17 digits for coefficients but 8 for the values of support vectors, so a model that was
not read from a file loses digits when it is saved.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from svmfast._core import format_sv_section
from svmfast.errors import UnsupportedError
from svmfast.formats._libsvm_header import KERNEL_PARAMETERS, is_model_key
from svmfast.formats._libsvm_reader import parse_libsvm_model
from svmfast.formats._whole import read_whole
from svmfast.formats.source import SourceLike, open_source
from svmfast.formats.target import write_atomic
from svmfast.models.expansion import KernelExpansion
from svmfast.models.memory import MEMORY, Allowance

__all__ = [
    "is_model_key",
    "libsvm_model_bytes",
    "parse_libsvm_model",
    "read_libsvm_model",
    "write_libsvm_model",
]


def read_libsvm_model(source: SourceLike, *, memory: int = MEMORY) -> KernelExpansion:
    """Read a LIBSVM model.

    Parameters
    ----------
    source : path, ``-``, bytes or binary file object
        Plain or compressed (gzip, bzip2, xz) text; ThunderSVM's variant is accepted too.
    memory : int
        Maximum number of bytes that the model may take, including its text while it is read.

    Raises
    ------
    ModelFormatError, FileAccessError, CompressedDataError
        The message has line and token.
    """
    with open_source(source) as opened:
        allowance = Allowance(memory, opened.name)
        return parse_libsvm_model(read_whole(opened, allowance), opened.name, allowance)[0]


def write_libsvm_model(path: str | os.PathLike[str], model: KernelExpansion) -> int:
    """Write a LIBSVM model file atomically; return its size in bytes."""
    text = libsvm_model_bytes(model)
    with write_atomic(path) as file:
        file.write(text)
    return file.stored


def libsvm_model_bytes(model: KernelExpansion) -> bytes:
    """Return the text that LIBSVM's ``svm_save_model`` writes for the same content.

    Raises
    ------
    UnsupportedError
        LIBSVM could not read the model: it has nan or inf, labels beyond a C int, or a decision rule other
        than LIBSVM's votes.
    """
    head, kernel, sv = model.head, model.kernel, model.sv
    parts = {
        "gamma or coef0": np.array([kernel.gamma, kernel.coef0]),
        "sv_coef": model.sv_coef,
        "rho": model.rho,
        "SV": sv.values,
        "probA": head.prob_a,
        "probB": head.prob_b,
    }
    for name, numbers in parts.items():
        if numbers is not None and not np.isfinite(numbers).all():
            raise UnsupportedError(f"a model with nan or inf in {name} cannot be saved")
    if head.one_vs_rest:
        raise UnsupportedError(
            "LIBSVM's format cannot hold a one-vs-rest model", "save it in svmfast's format"
        )
    if head.labels is not None and (np.abs(head.labels + 0.5) > 2**31).any():
        raise UnsupportedError("LIBSVM's labels are 32-bit integers", "choose smaller labels")

    lines = [f"svm_type {head.svm_type}", f"kernel_type {kernel.kind}"]
    for key in KERNEL_PARAMETERS[kernel.kind]:
        value = getattr(kernel, key)
        lines.append(f"{key} {value:d}" if key == "degree" else f"{key} {value:.17g}")
    lines += [f"nr_class {head.n_classes}", f"total_sv {len(sv)}", "rho" + _numbers(model.rho)]
    if head.labels is not None:
        lines.append("label" + _integers(head.labels))
    if head.prob_a is not None:
        lines.append("probA" + _numbers(head.prob_a))
    if head.prob_b is not None:
        lines.append("probB" + _numbers(head.prob_b))
    if head.density_marks is not None:
        lines.append("prob_density_marks" + _numbers(head.density_marks))
    if model.nr_sv is not None:
        lines.append("nr_sv" + _integers(model.nr_sv))
    text = "\n".join([*lines, "SV", ""]).encode("ascii")
    return text + format_sv_section(
        np.ascontiguousarray(model.sv_coef), sv.indptr, sv.indices, sv.values, kernel.kind == "precomputed"
    )


def _numbers(values: Iterable[float]) -> str:
    return "".join(f" {value:.17g}" for value in values)


def _integers(values: NDArray[np.int64]) -> str:
    return "".join(f" {value:d}" for value in values)
