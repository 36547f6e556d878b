"""The content of a model file regardless of its form: the oracle for damaged files that are accepted."""

from __future__ import annotations

import re
from pathlib import Path

KEYS = {
    *b"svm_type kernel_type degree gamma coef0 nr_class total_sv rho label probA probB".split(),
    *b"prob_density_marks nr_sv".split(),
}
FROZEN = Path(__file__).resolve().parents[2] / "fixtures" / "frozen"

#: Replacements of a byte that are most likely to be misread.
DAMAGE = (b"", *(bytes([byte]) for byte in b" \n\t\r09-+.e:#x\0\x80\xff"))


def meaning(text: bytes) -> list[object]:
    """Return the words of a file, numbers by value.

    The first line of our own files and the checksum, also of one inside another and with its size, are left
    out. In LIBSVM's text the order of keys means nothing, nor do line ends before the support vectors.
    """
    if text.startswith(b"svmfast-model"):
        text = re.sub(rb"(?m)^(embedded \w+ bytes) \d+(?=\r?\nsvmfast-model)", rb"\1", text)
        text = re.sub(rb"(?m)^(svmfast-model|checksum)\s.*$", b"", text)
        return [value(word) for word in text.split()]
    groups: list[tuple[object, ...]] = [()]
    words = text.removeprefix(b"\xef\xbb\xbf").split()
    start = words.index(b"SV")
    for word in words[:start]:
        groups = [*groups, (word,)] if word in KEYS else [*groups[:-1], (*groups[-1], value(word))]
    return [*sorted(groups, key=repr), *(value(part) for word in words[start:] for part in word.split(b":"))]


def value(word: bytes) -> object:
    """Return the number a word stands for, or the word."""
    try:
        return float(word)
    except ValueError:
        return word


def alike(a: list[object], b: list[object]) -> bool:
    """Return whether two contents agree, numbers to the eight digits of values in LIBSVM's text."""
    return len(a) == len(b) and all(
        x == y
        or (isinstance(x, tuple) and isinstance(y, tuple) and alike(list(x), list(y)))
        or (isinstance(x, float) and isinstance(y, float) and abs(x - y) <= 6e-8 * abs(y))
        for x, y in zip(a, b, strict=True)
    )
