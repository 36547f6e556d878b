"""The content of a model file regardless of its form: the oracle for damaged files that are accepted."""

from pathlib import Path

import numpy as np
from sealing import unpacked

KEYS = {
    *b"svm_type kernel_type degree gamma coef0 nr_class total_sv rho label probA probB".split(),
    *b"prob_density_marks nr_sv".split(),
}
FROZEN = Path(__file__).resolve().parents[2] / "fixtures" / "frozen"

#: Replacements of a byte that are most likely to be misread.
DAMAGE = (b"", *(bytes([byte]) for byte in b" \n\t\r09-+.e:#x\0\x80\xff"))


def meaning(text):
    """Return the words of a file, numbers by value: of our own files the parts of the tree, sorted by name.

    In LIBSVM's text the order of keys means nothing, nor do line ends before the support vectors.
    """
    if text.startswith(b"svmfast-model"):
        return parts(unpacked(text))
    groups = [()]
    words = text.removeprefix(b"\xef\xbb\xbf").split()
    start = words.index(b"SV")
    for word in words[:start]:
        groups = [*groups, (word,)] if word in KEYS else [*groups[:-1], (*groups[-1], value(word))]
    return [*sorted(groups, key=repr), *(value(part) for word in words[start:] for part in word.split(b":"))]


def parts(tree):
    """Return a tree as a flat list; False and an empty object are as if they were left out."""
    if isinstance(tree, bytes):
        return meaning(tree)
    if isinstance(tree, np.ndarray):
        return [tree.dtype.name, tree.shape, *tree.ravel().tolist()]
    if isinstance(tree, dict):
        kept = {name: one for name, one in tree.items() if not (one is False or str(one) == "{}")}
        return [word for name in sorted(kept) for word in (name, *parts(kept[name]))]
    return [tuple(tree)] if isinstance(tree, list) else [tree]


def value(word):
    """Return the number a word stands for, or the word."""
    try:
        return float(word)
    except ValueError:
        return word


def alike(a, b):
    """Return whether two contents agree, numbers to the eight digits of values in LIBSVM's text."""
    return len(a) == len(b) and all(
        x == y
        or (isinstance(x, tuple) and isinstance(y, tuple) and alike(list(x), list(y)))
        or (isinstance(x, float) and isinstance(y, float) and abs(x - y) <= 6e-8 * abs(y))
        for x, y in zip(a, b, strict=True)
    )
