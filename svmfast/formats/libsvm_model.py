"""LIBSVM model text: checked count by count on reading, written byte for byte as by LIBSVM.

All variants that ``svm_load_model`` of LIBSVM 3.37 reads correctly are accepted: keys in any order as long as
nr_class comes before the lists and SV comes last, several keys on a line, CRLF, no line end after the last
line. Text that would crash ``svm_load_model``, or that it would silently misread, is refused with line and
token.

Like LIBSVM, we write 17 digits for coefficients but 8 for the values of support vectors, so a model that was
not read from a file loses digits when it is saved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast._core import TEXT_PADDING, SvmlightTokenizer, write_rows
from svmfast.errors import ModelFormatError, UnsupportedError
from svmfast.formats._model_text import ModelText
from svmfast.formats._svmlight_errors import cut_out
from svmfast.kernels import PARAMETERS
from svmfast.models.expansion import KERNELS, Kernel, KernelExpansion
from svmfast.models.head import DENSITY_MARKS, SVM_TYPES, Head
from svmfast.models.memory import MEMORY, Allowance
from svmfast.rows import FloatArray, Rows

_NAMES = {"svm_type": SVM_TYPES, "kernel_type": KERNELS}
_INTEGERS = ("degree", "nr_class", "total_sv")
_INTEGER_LISTS = ("label", "nr_sv")
_LISTS = (*_INTEGER_LISTS, "rho", "probA", "probB", "prob_density_marks")
_KEYS = (*_NAMES, *_INTEGERS, "gamma", "coef0", *_LISTS, "SV")
_MIN = {"nr_class": 1, "total_sv": 0, "degree": 0, "gamma": 0}
#: What is wrong, and what is expected, for some faults among the support vectors.
_SV_FAULTS = {
    "too_many_lines": (
        "text after the {total} support vectors that total_sv declares",
        "the end of the file",
    ),
    "blank": ("an empty line among the support vectors", "{n_coef} coefficient(s) and features"),
    "carriage_return": ("a carriage return alone ends the line", "line ends of LF or CR LF"),
    "missing_coefficient": ("too few coefficients", "{n_coef} before the features (nr_class {nr_class})"),
    "comment": ("a comment", "none: LIBSVM models have no comments"),
    "no_colon": ("a feature without a colon", "index:value"),
    "entry": ("not a feature index", "an integer from 1 to 2147483647 before the colon"),
    "unsorted": ("a feature index not above the one before it", "ascending indices"),
    "bad_serial": (
        "not a support vector of a precomputed kernel",
        "0:serial-number, from 1 to 2147483647, and nothing else",
    ),
}
_SERIAL = re.compile(rb"0:\+?0*[1-9][0-9]{0,9}")
#: Bytes of text that are read at a time, so that a file with too many lines is refused early.
_PIECE = 1 << 22
#: Support vectors that are written at a time.
_WRITTEN = 1 << 14


def is_model_key(word: str) -> bool:
    """Whether a LIBSVM model may begin with this word."""
    return word in _KEYS and word != "SV"


class _Header(ModelText):
    """The header, read and checked; `values` has text, int, float or array by key, `lines` the line of each.

    Afterwards, `pos` is the position after the word ``SV``.
    """

    def __init__(self, data: bytes, path: str) -> None:
        super().__init__(data, path)
        self.values: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        self._read()
        self._check()

    def _read(self) -> None:
        if not self.token_at(0)[0]:
            raise self.fault(None, "the file is empty", "a LIBSVM model")
        while "SV" not in self.values:
            key, start, self.pos = self.token_at(self.pos)
            line = self.line_at(start)
            if key not in _KEYS:
                raise self._unknown(key, line)
            if key in self.values:
                what = f"the key was already given on line {self.lines[key]}"
                raise self.fault(line, what, "every key once", key)
            self.lines[key] = line
            self.values[key] = None if key == "SV" else self._list(key) if key in _LISTS else self._value(key)
            self._check_rest_of_line(key)

    def _unknown(self, key: str, line: int) -> ModelFormatError:
        if key.startswith("\ufeff"):
            return self.fault(line, "a byte order mark before the first key", "a file saved without it")
        if self.pos == len(self.data):
            what = "the file ends inside the header"
            return self.fault(line, what, "more keys, 'SV' and support vectors", key or None)
        what, expected = "unknown key", "a key of a LIBSVM model"
        if key.startswith("#"):
            what, expected = "a comment", "none: LIBSVM models have no comments"
        elif key == "coef":
            what = "a line that ThunderSVM adds to linear models and LIBSVM cannot read"
            expected = "the file without it: the support vectors hold the same information"
        return self.fault(line, what, expected, key)

    def _value(self, key: str) -> str | int | float:
        token, start, stop = self.token_at(self.pos)
        line = self.line_at(start)
        if not token:
            raise self.fault(self.lines[key], f"the file ends after '{key}'", "its value")
        if line != self.lines[key] and token in _KEYS:
            raise self.fault(self.lines[key], f"'{key}' has no value", "one")
        if key in _NAMES:
            if token not in _NAMES[key]:
                raise self.fault(line, f"unknown {key}", f"one of {' '.join(_NAMES[key])}", token)
            self.pos = stop
            return token
        dtype = "int32" if key in _INTEGERS else "float64"
        numbers, n, self.pos = self.numbers_at(self.pos, 1, dtype)
        if n == 0:
            raise self.not_a_number(line, token, key, dtype)
        value: int | float = numbers[0].item()
        if value < _MIN.get(key, value):
            raise self.fault(line, f"{key} out of range", f"at least {_MIN[key]}", token)
        # rho alone has k(k-1)/2 numbers of at least two bytes each.
        if key == "nr_class" and value * (value - 1) > len(self.data):
            what = f"nr_class is impossible in a file of {len(self.data)} bytes"
            raise self.fault(line, what, "a smaller number", token)
        return value

    def _list(self, key: str) -> NDArray[Any]:
        line, integer = self.lines[key], key in _INTEGER_LISTS
        if key == "prob_density_marks":
            count, expected = DENSITY_MARKS, f"{DENSITY_MARKS}"
        elif "nr_class" in self.values:
            k: int = self.values["nr_class"]
            count = k if integer else k * (k - 1) // 2
            expected = f"{count} as nr_class is {k}"
        else:
            what = "the key comes before nr_class, which sets its number of values"
            raise self.fault(line, what, "nr_class first", key)
        dtype = "int32" if integer else "float64"
        numbers, n, self.pos = self.numbers_at(self.pos, count, dtype)
        token, start, _ = self.token_at(self.pos)
        at = self.line_at(start)
        if n == count:
            if token and token not in _KEYS and at == line:
                raise self.fault(line, f"'{key}' has more than {count} values", expected, token)
            return numbers
        if not token:
            raise self.fault(line, f"the file ends after {n} values of '{key}'", expected)
        if at != line and token in _KEYS:
            raise self.fault(line, f"'{key}' has {n} values", expected)
        raise self.not_a_number(at, token, f"value {n + 1} of {key}", dtype)

    def _check_rest_of_line(self, key: str) -> None:
        """Refuse text that is not a key; LIBSVM allows another key on the same line."""
        line = self.lines[key]
        if (
            self.data[self.pos : self.pos + 1] == b"\r"
            and self.data[self.pos + 1 : self.pos + 2] not in b"\n"
        ):
            raise self.fault(line, "a carriage return alone ends the line", "line ends of LF or CR LF")
        token, start, _ = self.token_at(self.pos)
        if not token or self.line_at(start) != line or (token in _KEYS and key != "SV"):
            return
        what = f"text after '{key}'" if key == "SV" else f"text after the value of '{key}'"
        raise self.fault(line, what, "a line end", token)

    def _check(self) -> None:
        """Check that the parts of a model of this type are there, and no others."""
        values = self.values
        self._need("", "svm_type", "kernel_type", "nr_class", "total_sv", "rho")
        svm_type, kernel_type, k = values["svm_type"], values["kernel_type"], values["nr_class"]
        self._need(f" where kernel_type is {kernel_type}", *PARAMETERS[kernel_type])
        if svm_type in ("c_svc", "nu_svc"):
            self._need(f" where svm_type is {svm_type}", "label", "nr_sv")
            for one, other in (("probA", "probB"), ("probB", "probA")):
                if one in values:
                    self._need(f" with {one}", other)
            self._refuse("prob_density_marks")
            self._check_classes()
        else:
            other = "probA" if svm_type == "one_class" else "prob_density_marks"
            self._refuse("label", "nr_sv", "probB", other)
            if k != 2:
                what = f"wrong nr_class where svm_type is {svm_type}"
                raise self.fault(self.lines["nr_class"], what, "2, as LIBSVM writes it", str(k))
        if k == 1 and values["total_sv"] != 0:
            what, token = "support vectors in a model of one class", str(values["total_sv"])
            raise self.fault(self.lines["total_sv"], what, "total_sv 0", token)

    def _need(self, where: str, *keys: str) -> None:
        for key in keys:
            if key not in self.values:
                what = f"no '{key}' before the support vectors"
                raise self.fault(self.lines["SV"], what, f"one{where}")

    def _refuse(self, *keys: str) -> None:
        for key in keys:
            if key in self.values:
                expected = f"none where svm_type is {self.values['svm_type']}"
                raise self.fault(self.lines[key], "a key of another svm_type", expected, key)

    def _check_classes(self) -> None:
        labels, times = np.unique(self.values["label"], return_counts=True)
        if len(labels) != self.values["nr_class"]:
            twice = str(labels[times > 1][0])
            raise self.fault(self.lines["label"], "the same label twice", "labels that differ", twice)
        counts, total, line = self.values["nr_sv"], self.values["total_sv"], self.lines["nr_sv"]
        if (counts < 0).any():
            raise self.fault(line, "a negative count in nr_sv", "at least 0", str(counts[counts < 0][0]))
        found = int(counts.sum(dtype=np.int64))
        if found != total:
            what = "the counts of nr_sv do not sum to total_sv"
            raise self.fault(line, what, f"a sum of {total}", str(found))


def parse_libsvm_model(
    data: bytes, path: str, allowance: Allowance | None = None
) -> tuple[KernelExpansion, list[str]]:
    """A model and warnings, which are complete messages, from its whole text; messages call it `path`.

    The arrays are counted in `allowance`, in which `data` is already. Faults are ModelFormatErrors with line
    and token.
    """
    header = _Header(data, path)
    values = header.values
    svm_type, kernel_type = values["svm_type"], values["kernel_type"]
    n_sv, n_coef = values["total_sv"], max(values["nr_class"] - 1, 1)
    begin = data.find(b"\n", header.pos) + 1 or len(data)
    if n_sv > 0 and not header.token_at(begin)[0]:
        raise _too_few_lines(header, 0, len(data))
    if n_sv > (len(data) - begin + 1) // (2 * n_coef):
        what = f"total_sv is impossible: only {len(data) - begin} bytes follow the SV line"
        expected = "a smaller number, unless the file was cut short"
        raise header.fault(header.lines["total_sv"], what, expected, str(n_sv))
    allowance = allowance or Allowance(MEMORY, path)
    # An entry takes at least four bytes of text. Entries are counted only if the largest number that the text
    # could hold would exceed the memory limit.
    if not allowance.has_room(8 * n_sv * (n_coef + 1) + 3 * (len(data) - begin)):
        allowance.check(8 * n_sv * (n_coef + 1) + 12 * data.count(b":", begin))
    coef, rows = _read_vectors(header, begin, n_coef)
    allowance.take(coef.nbytes + rows.indptr.nbytes + rows.indices.nbytes + rows.values.nbytes)
    warnings = _check_last_line(header, begin)
    # LIBSVM writes gamma 0 only if the data have no features at all.
    if "gamma" in PARAMETERS[kernel_type] and values["gamma"] == 0 and rows.nnz:
        raise header.fault(header.lines["gamma"], "gamma out of range", "a positive number", "0")
    label, nr_sv = (None if v is None else v.astype(np.int64) for v in map(values.get, ("label", "nr_sv")))
    head = Head(svm_type, label, values.get("probA"), values.get("probB"), values.get("prob_density_marks"))
    kernel = Kernel(kernel_type, **{key: values[key] for key in PARAMETERS[kernel_type]})
    return KernelExpansion(head, kernel, rows, coef, values["rho"], nr_sv), warnings


def _read_vectors(header: _Header, begin: int, n_coef: int) -> tuple[FloatArray, Rows]:
    """The coefficients and the support vectors, which `begin` at this position."""
    data, n_sv = header.data, header.values["total_sv"]
    precomputed, first = header.values["kernel_type"] == "precomputed", header.line_at(begin)
    tokenizer = SvmlightTokenizer(precomputed, False, False, False, n_coef)
    fault, pos = None, begin
    while pos < len(data) and fault is None and tokenizer.rows <= n_sv:
        text, stop = data, data.find(b"\n", pos + _PIECE, len(data) - TEXT_PADDING) + 1
        if not stop:
            rest = data[pos:] + b"\n" * (not data.endswith(b"\n"))
            text, pos, stop = rest + bytes(TEXT_PADDING), 0, len(rest)
        fault = tokenizer.feed(np.frombuffer(text, np.uint8), pos, stop, 1)
        pos = stop if text is data else len(data)
    found = tokenizer.rows
    coef, indptr, indices, values, n_columns, _, notes = tokenizer.take()
    if any(notes):
        noted = re.compile(rb"#|qid:").search(data, begin)
        assert noted is not None
        rule = "comment" if noted.group() == b"#" else "entry"
        raise _sv_fault(
            header, rule, header.line_at(noted.start()), header.token_at(noted.start())[0], n_coef
        )
    content = len(data.rstrip(b" \t\r\n")) if fault else len(data)
    if fault and fault[0] == "blank" and first + found > header.line_at(content):
        fault = None  # blank lines at the end
    if found > n_sv or (fault and found == n_sv):
        for _ in range(n_sv):
            begin = data.index(b"\n", begin) + 1
        token, start, _ = header.token_at(begin)
        raise _sv_fault(header, "too_many_lines", header.line_at(start), token, n_coef)
    if fault:
        token = (cut_out(text, fault)[3] or b"").decode("utf-8", "backslashreplace")
        raise _sv_fault(header, fault[0], first + found, token, n_coef)
    if precomputed:
        for line, text in enumerate(data[begin:].split(b"\n")[:found], first):
            word, *more = text.split()[n_coef:] or [b""]
            if more or not _SERIAL.fullmatch(word) or int(word[2:]) >= 2**31:
                raise _sv_fault(header, "bad_serial", line, (more or [word])[0].decode(), n_coef)
    if found < n_sv:
        raise _too_few_lines(header, found, content)
    coef = np.ascontiguousarray(coef.reshape(n_sv, n_coef).T)
    return coef, Rows.trusted(indptr, indices, values, n_columns)


def _check_last_line(header: _Header, begin: int) -> list[str]:
    """Detect a last line that is cut short, which no count reveals; return warnings."""
    data = header.data
    if len(data) == begin or data.endswith(b"\n"):
        return []
    last, line, blanks = data.rfind(b"\n") + 1, header.line_at(len(data)), (b" ", b"\t")
    rest = data[last:].rstrip(b"\r")  # half of a line end
    # LIBSVM ends every line with a blank; here only the last one lacks it.
    others_end_so = last > begin and data[:last].rstrip(b"\r\n").endswith(blanks)
    if others_end_so and rest and not rest.endswith(blanks):
        what, expected = "the last line is cut short", "a blank and a line end, as the other lines have"
        raise header.fault(line, what, expected, rest.split()[-1].decode())
    return [f"{header.path}:{line}: the last line has no line end; check that the file is complete"]


def _too_few_lines(header: _Header, found: int, content: int) -> ModelFormatError:
    """The error for a file that ends too early; `content` is its length without blanks at its end."""
    what = f"the file ends after {found} support vectors"
    return header.fault(header.line_at(content), what, f"{header.values['total_sv']} (total_sv)")


def _sv_fault(header: _Header, rule: str, line: int, token: str, n_coef: int) -> ModelFormatError:
    """The error for a rule that the support vector on this line breaks."""
    data, index, colon, value = header.data, *token.partition(":")
    if rule == "label":
        if token and not colon:
            return header.not_a_number(line, token, "a coefficient")
        rule = "missing_coefficient"
    elif rule in ("entry", "value", "unsorted", "duplicate"):
        if header.values["kernel_type"] == "precomputed":
            rule = "bad_serial"
        elif not colon:
            rule = "no_colon"
        elif rule == "duplicate":
            rule = "unsorted"
    cut = line == header.line_at(len(data.rstrip())) and data.endswith(token.encode())
    if cut and (token.endswith(":") or rule in ("no_colon", "missing_coefficient")):
        return header.fault(line, "the file ends inside a support vector", "the rest of it", token or None)
    if rule == "value":
        return header.not_a_number(line, value, f"the value of feature {index}")
    facts = {"total": header.values["total_sv"], "n_coef": n_coef, "nr_class": header.values["nr_class"]}
    what, expected = (text.format(**facts) for text in _SV_FAULTS[rule])
    return header.fault(line, what, expected, token or None)


def libsvm_model_bytes(model: KernelExpansion) -> bytes:
    """The whole text of :func:`libsvm_model_pieces`."""
    return b"".join(libsvm_model_pieces(model))


def libsvm_model_pieces(model: KernelExpansion) -> Iterator[bytes]:
    """The text that LIBSVM's ``svm_save_model`` writes for the same content, in pieces.

    An UnsupportedError: LIBSVM could not read the model, since it has nan or inf, labels beyond a C int, or a
    decision rule other than LIBSVM's votes.
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

    def listed(key: str, numbers: Iterable[Any] | None, form: str = ".17g") -> list[str]:
        return [] if numbers is None else [key + "".join(f" {number:{form}}" for number in numbers)]

    lines = [f"svm_type {head.svm_type}", f"kernel_type {kernel.kind}"]
    for key in PARAMETERS[kernel.kind]:
        lines += listed(key, [getattr(kernel, key)], "d" if key == "degree" else ".17g")
    lines += [f"nr_class {head.n_classes}", f"total_sv {len(sv)}", *listed("rho", model.rho)]
    lines += listed("label", head.labels, "d") + listed("probA", head.prob_a) + listed("probB", head.prob_b)
    lines += listed("prob_density_marks", head.density_marks) + listed("nr_sv", model.nr_sv, "d")
    yield "\n".join([*lines, "SV", ""]).encode("ascii")
    first = 0 if kernel.kind == "precomputed" else 1
    for a in range(0, len(sv), _WRITTEN):
        b = min(a + _WRITTEN, len(sv))
        coef = np.ascontiguousarray(model.sv_coef[:, a:b])
        yield write_rows(coef, sv.indptr[a : b + 1], sv.indices, sv.values, first, 8)
