"""Reads the header of LIBSVM model text, the keys and values up to the SV line, and checks them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmfast.errors import ModelFormatError
from svmfast.formats._model_numbers import line_of, number_fault, read_numbers, token_at
from svmfast.models.expansion import KERNELS
from svmfast.models.head import DENSITY_MARKS, SVM_TYPES

KERNEL_PARAMETERS = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
    "precomputed": (),
}
_NAMES = {"svm_type": SVM_TYPES, "kernel_type": KERNELS}
_INTEGERS = ("degree", "nr_class", "total_sv")
_FLOATS = ("gamma", "coef0")
_INTEGER_LISTS = ("label", "nr_sv")
_LISTS = (*_INTEGER_LISTS, "rho", "probA", "probB", "prob_density_marks")
# svm-train writes 'rho -nan' if its own sums overflow, and svm-predict accepts it.
_FINITE_RHO = (
    "a finite number: svm-predict accepts this one, but gives the same decision value for every row; "
    "train the model again"
)
_KEYS = (*_NAMES, *_INTEGERS, *_FLOATS, *_LISTS, "SV")
_CUT, _MORE = "the file ends inside the header", "more keys, 'SV' and support vectors"
_MIN = {"nr_class": 1, "total_sv": 0, "degree": 0, "gamma": 0}


def is_model_key(word: str) -> bool:
    """Return whether a LIBSVM model may begin with this word."""
    return word in _KEYS and word != "SV"


class LibsvmHeader:
    """Reads and checks a header; afterwards, `end` is the position after the word ``SV``.

    `values` has text, int, float or array by key; `lines` the line of each key.
    """

    def __init__(self, data: bytes, path: str) -> None:
        self.data, self.path = data, path
        self.values: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        self.end = 0
        self._read()
        self._check()

    def line(self, pos: int) -> int:
        """Return the line number of a position."""
        return line_of(self.data, pos)

    def fault(self, line: int | None, what: str, expected: str, token: str | None = None) -> ModelFormatError:
        """Return an error about this file."""
        return ModelFormatError(self.path, line, what, token, f"expected {expected}")

    # --- reading ---

    def _read(self) -> None:
        values, lines = self.values, self.lines
        if not token_at(self.data, 0)[0]:
            raise self.fault(None, "the file is empty", "a LIBSVM model")
        while "SV" not in values:
            key, start, self.end = token_at(self.data, self.end)
            line = self.line(start)
            if not key:
                raise self.fault(line, _CUT, _MORE)
            if key not in _KEYS:
                raise self._unknown(key, line)
            if key in values:
                what = f"the key was already given on line {lines[key]}"
                raise self.fault(line, what, "every key once", key)
            lines[key] = line
            values[key] = None if key == "SV" else self._list(key) if key in _LISTS else self._value(key)
            self._check_rest_of_line(key)

    def _unknown(self, key: str, line: int) -> ModelFormatError:
        what, expected = "unknown key", "a key of a LIBSVM model"
        if key.startswith("\ufeff"):
            what, expected = "a byte order mark before the first key", "a file saved without it"
            return self.fault(line, what, expected)
        if self.end == len(self.data):
            return self.fault(line, _CUT, _MORE, key)
        if key.startswith("#"):
            what, expected = "a comment", "none: LIBSVM models have no comments"
        elif key == "coef":
            what = "a line that ThunderSVM adds to linear models and LIBSVM cannot read"
            expected = "the file without it: the support vectors hold the same information"
        return self.fault(line, what, expected, key)

    def _value(self, key: str) -> str | int | float:
        token, start, stop = token_at(self.data, self.end)
        line = self.line(start)
        if not token:
            what = f"the file ends after '{key}'"
            raise self.fault(self.lines[key], what, "its value")
        if line != self.lines[key] and token in _KEYS:
            raise self.fault(self.lines[key], f"'{key}' has no value", "one")
        if key in _NAMES:
            if token not in _NAMES[key]:
                expected = f"one of {' '.join(_NAMES[key])}"
                raise self.fault(line, f"unknown {key}", expected, token)
            self.end = stop
            return token
        dtype = "int32" if key in _INTEGERS else "float64"
        numbers, n, self.end = read_numbers(self.data, self.end, 1, dtype)
        if n == 0:
            raise number_fault(self.path, line, token, key, dtype)
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
        numbers, n, stop = read_numbers(self.data, self.end, count, dtype)
        if n < count:
            token, start, _ = token_at(self.data, stop)
            if not token:
                what = f"the file ends after {n} values of '{key}'"
                raise self.fault(line, what, expected)
            if self.line(start) != line and token in _KEYS:
                raise self.fault(line, f"'{key}' has {n} values", expected)
            finite = _FINITE_RHO if key == "rho" else "a finite number"
            of = f"value {n + 1} of {key}"
            raise number_fault(self.path, self.line(start), token, of, dtype, finite=finite)
        self.end = stop
        token, start, _ = token_at(self.data, stop)
        if token and token not in _KEYS and self.line(start) == line:
            what = f"'{key}' has more than {count} values"
            raise self.fault(line, what, expected, token)
        return numbers

    def _check_rest_of_line(self, key: str) -> None:
        """Refuse text that is not a key; LIBSVM allows another key on the same line."""
        if self.data[self.end : self.end + 1] == b"\r" and self.data[self.end + 1 : self.end + 2] not in (
            b"\n",
            b"",
        ):
            what = "a carriage return alone ends the line"
            raise self.fault(self.lines[key], what, "line ends of LF or CR LF")
        token, start, _ = token_at(self.data, self.end)
        if not token or self.line(start) != self.lines[key] or (token in _KEYS and key != "SV"):
            return
        what = f"text after '{key}'" if key == "SV" else f"text after the value of '{key}'"
        raise self.fault(self.lines[key], what, "a line end", token)

    # --- required parts of a model ---

    def _check(self) -> None:
        values = self.values
        self._need("", "svm_type", "kernel_type", "nr_class", "total_sv", "rho")
        svm_type, kernel_type = values["svm_type"], values["kernel_type"]
        self._need(f" where kernel_type is {kernel_type}", *KERNEL_PARAMETERS[kernel_type])
        if svm_type in ("c_svc", "nu_svc"):
            self._need(f" where svm_type is {svm_type}", "label", "nr_sv")
            for one, other in (("probA", "probB"), ("probB", "probA")):
                if one in values:
                    self._need(f" with {one}", other)
            self._refuse("prob_density_marks")
            self._check_labels()
            self._check_nr_sv()
        else:
            self._refuse(
                "label", "nr_sv", "probB", "probA" if svm_type == "one_class" else "prob_density_marks"
            )
            if values["nr_class"] != 2:
                what = f"wrong nr_class where svm_type is {svm_type}"
                expected, token = "2, as LIBSVM writes it", str(values["nr_class"])
                raise self.fault(self.lines["nr_class"], what, expected, token)
        if values["nr_class"] == 1 and values["total_sv"] != 0:
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
                what, expected = (
                    "a key of another svm_type",
                    f"none where svm_type is {self.values['svm_type']}",
                )
                raise self.fault(self.lines[key], what, expected, key)

    def _check_labels(self) -> None:
        labels, counts = np.unique(self.values["label"], return_counts=True)
        if len(labels) != self.values["nr_class"]:
            what, twice = "the same label twice", str(labels[counts > 1][0])
            raise self.fault(self.lines["label"], what, "labels that differ", twice)

    def _check_nr_sv(self) -> None:
        counts, total, line = self.values["nr_sv"], self.values["total_sv"], self.lines["nr_sv"]
        if (counts < 0).any():
            token = str(counts[counts < 0][0])
            raise self.fault(line, "a negative count in nr_sv", "at least 0", token)
        found = int(counts.sum(dtype=np.int64))
        if found != total:
            what = "the counts of nr_sv do not sum to total_sv"
            raise self.fault(line, what, f"a sum of {total}", str(found))
