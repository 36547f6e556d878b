"""LIBSVM model text: checked count by count on reading, written byte for byte as by LIBSVM.

All variants that ``svm_load_model`` of LIBSVM 3.37 reads correctly are accepted: keys in any order as long as
nr_class comes before the lists and SV comes last, several keys on a line, CRLF, no line end after the last
line. Text that would crash ``svm_load_model``, or that it would silently misread, is refused with line and
token.

Like LIBSVM, we write 17 digits for coefficients but 8 for the values of support vectors, so a model that was
not read from a file loses digits when it is saved.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from svmfast._core import SV_FAULTS, format_sv_section, read_sv_section
from svmfast.errors import ModelFormatError, UnsupportedError
from svmfast.formats._libsvm_header import KERNEL_PARAMETERS, LibsvmHeader
from svmfast.formats._model_numbers import number_fault, token_at
from svmfast.models.expansion import Kernel, KernelExpansion
from svmfast.models.head import Head
from svmfast.models.memory import MEMORY, Allowance
from svmfast.rows import Rows


def parse_libsvm_model(
    data: bytes, path: str, allowance: Allowance | None = None
) -> tuple[KernelExpansion, list[str]]:
    """Return a model and warnings, which are complete messages, from its whole text; messages call it `path`.

    The arrays are counted in `allowance`, in which `data` is already. Faults are ModelFormatErrors with line
    and token.
    """
    header = LibsvmHeader(data, path)
    values = header.values
    svm_type, kernel_type = values["svm_type"], values["kernel_type"]
    n_sv, n_coef = values["total_sv"], max(values["nr_class"] - 1, 1)
    begin = data.find(b"\n", header.end) + 1 or len(data)
    if n_sv > 0 and not token_at(data, begin)[0]:
        raise _sv_fault(header, "too_few_lines", len(data), begin, n_coef)
    if n_sv > (len(data) - begin + 1) // (2 * n_coef):
        what = f"total_sv is impossible: only {len(data) - begin} bytes follow the SV line"
        expected = "a smaller number, unless the file was cut short"
        raise header.fault(header.lines["total_sv"], what, expected, str(n_sv))
    allowance = allowance or Allowance(MEMORY, path)
    # An entry takes at least four bytes of text. Entries are counted only if the largest number that the text
    # could hold would exceed the memory limit.
    if not allowance.has_room(8 * n_sv * (n_coef + 1) + 3 * (len(data) - begin)):
        allowance.check(8 * n_sv * (n_coef + 1) + 12 * data.count(b":", begin))
    fault, pos, coef, indptr, indices, sv_values, n_columns = read_sv_section(
        data, begin, n_sv, n_coef, kernel_type == "precomputed"
    )
    allowance.take(coef.nbytes + indptr.nbytes + indices.nbytes + sv_values.nbytes)
    if fault:
        raise _sv_fault(header, SV_FAULTS[fault], pos, begin, n_coef)
    warnings = _check_last_line(header, begin)
    # LIBSVM writes gamma 0 only if the data have no features at all.
    if "gamma" in KERNEL_PARAMETERS[kernel_type] and values["gamma"] == 0 and len(sv_values):
        line = header.lines["gamma"]
        raise header.fault(line, "gamma out of range", "a positive number", "0")
    label, nr_sv = (None if v is None else v.astype(np.int64) for v in map(values.get, ("label", "nr_sv")))
    head = Head(svm_type, label, values.get("probA"), values.get("probB"), values.get("prob_density_marks"))
    kernel = Kernel(kernel_type, **{key: values[key] for key in KERNEL_PARAMETERS[kernel_type]})
    rows = Rows.trusted(indptr, indices, sv_values, n_columns)
    return KernelExpansion(head, kernel, rows, coef, values["rho"], nr_sv), warnings


def _check_last_line(header: LibsvmHeader, begin: int) -> list[str]:
    """Detect a last line that is cut short, which no count reveals; return warnings."""
    data = header.data
    if len(data) == begin or data.endswith(b"\n"):
        return []
    last = data.rfind(b"\n") + 1
    line = header.line(len(data))
    rest = data[last:].rstrip(b"\r")  # half of a line end
    if (
        last > begin
        and data[:last].rstrip(b"\r\n").endswith((b" ", b"\t"))
        and rest
        and not rest.endswith((b" ", b"\t"))
    ):
        # LIBSVM ends every line with a blank; here only the last one lacks it.
        token = rest.split()[-1].decode()
        what, expected = "the last line is cut short", "a blank and a line end, as the other lines have"
        raise header.fault(line, what, expected, token)
    return [f"{header.path}:{line}: the last line has no line end; check that the file is complete"]


def _sv_fault(header: LibsvmHeader, fault: str, pos: int, begin: int, n_coef: int) -> ModelFormatError:
    """Return the error for a fault that the native reader found at `pos`."""
    total, line = header.values["total_sv"], header.line(pos)
    token, _, stop = token_at(header.data, pos)
    if stop == len(header.data) and (token.endswith(":") or fault in ("no_colon", "missing_coefficient")):
        return header.fault(line, "the file ends inside a support vector", "the rest of it", token or None)
    if fault == "too_few_lines":
        lines = header.data[begin:pos].rstrip()
        what = f"the file ends after {lines.count(10) + bool(lines)} support vectors"
        return header.fault(line, what, f"{total} (total_sv)")
    if fault == "too_many_lines":
        what = f"text after the {total} support vectors that total_sv declares"
        return header.fault(line, what, "the end of the file", token)
    if fault == "empty_line":
        what = "an empty line among the support vectors"
        return header.fault(line, what, f"{n_coef} coefficient(s) and features")
    if fault == "missing_coefficient":
        expected = f"{n_coef} before the features (nr_class {header.values['nr_class']})"
        shown = token if ":" in token else None
        return header.fault(line, "too few coefficients", expected, shown)
    if fault == "bad_coefficient":
        return number_fault(header.path, line, token, "a coefficient")
    if fault == "no_colon":
        return header.fault(line, "a feature without a colon", "index:value", token)
    if fault == "bad_index":
        expected = "an integer from 1 to 2147483647 before the colon"
        return header.fault(line, "not a feature index", expected, token)
    if fault == "index_order":
        what, expected = "a feature index not above the one before it", "ascending indices"
        return header.fault(line, what, expected, token)
    if fault == "bad_serial":
        what = "not a support vector of a precomputed kernel"
        expected = "0:serial-number, from 1 to 2147483647, and nothing else"
        return header.fault(line, what, expected, token or None)
    index, _, value = token.partition(":")
    return number_fault(header.path, line, value, f"the value of feature {index}")


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
