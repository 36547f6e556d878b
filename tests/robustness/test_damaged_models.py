"""Model files damaged everywhere: refused with a clear error, or read with their new content.

The oracle knows nothing of the readers: what a damaged file that is accepted says, word for word and number
by number, must be what the model read from it writes.
"""

import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from meaning import DAMAGE, FROZEN, alike, meaning
from program import FIXTURES
from sealing import resealed

from svmfast import errors
from svmfast.formats.libsvm_model import parse_libsvm_model
from svmfast.formats.model_files import load_model, model_bytes, open_model
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import Rows

OWN = sorted(p for p in FROZEN.glob("*/*.model") if p.read_bytes().startswith(b"svmfast-model"))
#: Small models that together contain everything a file can hold.
SMALL = [
    FROZEN / "1.0" / f"{name}.model"
    for name in ("polynomial_one_class", "routed_meka", "routed_pseudo_poly", "libsvm_compressed")
]
no_limits_here = pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory too")
ROWS = Rows.from_dense(np.random.default_rng(4).normal(0, 0.5, (3, 12)))


def check(text):
    """Return whether `text` was accepted; if so, the model must have the content of the text, and predict."""
    text = resealed(text)
    try:
        loaded = open_model(text)
    except errors.ModelFormatError as error:
        if error.exit_code != 2 or "\n" in str(error):
            raise AssertionError(f"not one line with status 2: {error}") from error
        return False
    written, read = meaning(model_bytes(loaded.model)), meaning(text)
    assert alike(written, read) if re.search(rb"\bSV\b", text) else written == read
    if isinstance(loaded.model, KernelExpansion) and loaded.model.kernel.kind == "precomputed":
        return True
    assert loaded.model.decision_values(ROWS).shape == (3, loaded.model.head.n_functions)
    return True


@pytest.mark.parametrize("path", OWN, ids=lambda p: p.stem)
def test_cut_anywhere(path):
    text = path.read_bytes()
    for kept in range(1, len(text), 1 + len(text) // 400):
        with pytest.raises(errors.ModelFormatError):
            load_model(text[:kept])
        assert not check(text[:kept])


#: Every so manieth byte; a prime number, so that bits and pieces take turns.
STEPS = [7, pytest.param(1, marks=pytest.mark.nightly)]


def damaged(text, step):
    """Yield a text with one byte replaced by a piece of damage, or with one bit flipped."""
    for at in range(0, len(text), step):
        for piece in (DAMAGE[at % len(DAMAGE)], bytes([text[at] ^ (1 << at % 8)])):
            yield text[:at] + piece + text[at + 1 :]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("path", SMALL, ids=lambda p: p.stem)
def test_every_byte_damaged(path, step):
    accepted = [check(text) for text in damaged(path.read_bytes(), step)]
    # Another byte of a number gives another model; most other damage gives none.
    assert 0 < sum(accepted) < len(accepted)


def with_other_numbers(text, others):
    """Yield a file with each whole number of its JSON, such as sizes and shapes, replaced by others."""
    first, header, rest = text.split(b"\n", 2)
    for match in re.finditer(rb"(?<=[:\[,])\d+(?=[,\]}])", header):
        for number in others:
            again = header[: match.start()] + number + header[match.end() :]
            yield resealed(b"\n".join((first, again, rest)))


@pytest.mark.parametrize("path", OWN, ids=lambda p: p.stem)
def test_every_number_of_the_header_replaced(path):
    others = (b"0", b"1", b"7", b"-1", b"65536", b"2147483647", b"4294967297", b"9" * 18, b"9" * 40, b"1e999")
    tried = [check(text) for text in with_other_numbers(path.read_bytes(), others)]
    assert len(tried) >= 2 * len(others)


#: Loads what is pickled on standard input, in a process with 200 MiB more than it has.
LIMITED = """
import contextlib, pickle, resource, sys
from pathlib import Path
from svmfast import errors
from svmfast.formats.model_files import load_model
whole, damaged = pickle.load(sys.stdin.buffer)
for text in whole: load_model(text)
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (200 << 20),) * 2)
for text in damaged:
    with contextlib.suppress(errors.ModelFormatError):
        load_model(text)
"""


@no_limits_here
def test_memory_stays_in_proportion_to_the_file():
    """Every size in every file replaced by huge ones, in a process with little memory."""
    whole, others = [path.read_bytes() for path in OWN[:6]], (b"100000000", b"2000000000", b"9" * 18)
    damaged = [other for text in whole for other in with_other_numbers(text, others)]
    assert len(damaged) > 100
    given = pickle.dumps((whole, damaged))
    done = subprocess.run([sys.executable, "-c", LIMITED], input=given, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    "name", ["iris_c_rbf_prob", "diabetes_eps_rbf_prob", "normal_one_rbf_prob", "iris_precomputed"]
)
def test_libsvm_text_cut_anywhere(name):
    """An error at every line end, and elsewhere at least a warning."""
    text = (FIXTURES / "models" / f"{name}.model").read_bytes()
    for kept in (found.end() for found in re.finditer(rb"\n", text[:-1])):
        with pytest.raises(errors.ModelFormatError):
            load_model(text[:kept])
    for kept in range(0, len(text) - 1, 1 + len(text) // 400):
        try:
            assert parse_libsvm_model(text[:kept], "m")[1]
        except errors.ModelFormatError:
            continue


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["tie_votes", "single_class", "normal_one_linear", "tie_votes_prob"])
def test_every_byte_of_libsvm_text_damaged(name, step):
    text = (FIXTURES / "models" / f"{name}.model").read_bytes()[:3000]
    for other in damaged(text[: text.rindex(b"\n") + 1], step):
        check(other)
