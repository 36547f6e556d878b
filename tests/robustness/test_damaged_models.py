"""Model files damaged everywhere: refused with a clear error, or read with their new content.

The oracle knows nothing of the readers: what a damaged file that is accepted says, word for word and number
by number, must be what the model read from it writes.
"""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from meaning import DAMAGE, FROZEN, alike, meaning
from program import FIXTURES
from sealing import packed, resealed, unpacked

from svmfast import errors
from svmfast.formats.model_files import load_model, model_bytes, open_model
from svmfast.models.expansion import KernelExpansion
from svmfast.rows import Rows

OWN = sorted(p for p in FROZEN.glob("*/*.model") if p.read_bytes().startswith(b"svmfast-model"))
#: Small models that together contain everything a file can hold.
SMALL = [
    FROZEN / "1.0" / f"{name}.model"
    for name in ("polynomial_one_class", "routed_meka", "routed_pseudo_poly", "libsvm_compressed")
]
no_limits_here = pytest.mark.skipif(
    "SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory of their own"
)
ROWS = Rows.from_dense(np.random.default_rng(4).normal(0, 0.5, (3, 12)))


def check(text: bytes) -> bool:
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


@pytest.mark.parametrize("places", [400])
@pytest.mark.parametrize("path", OWN, ids=lambda p: p.stem)
def test_cut_anywhere(path: Path, places: int) -> None:
    text = path.read_bytes()
    for kept in range(1, len(text), 1 + len(text) // places):
        with pytest.raises(errors.ModelFormatError):
            load_model(text[:kept])
        assert not check(text[:kept])


#: Every so manieth byte; a prime number, so that bits and pieces take turns.
STEPS = [7, pytest.param(1, marks=pytest.mark.nightly)]


def damaged(text: bytes, step: int) -> Iterator[bytes]:
    """Yield a text with one byte replaced by a piece of damage, or with one bit flipped."""
    for at in range(0, len(text), step):
        for piece in (DAMAGE[at % len(DAMAGE)], bytes([text[at] ^ (1 << at % 8)])):
            yield text[:at] + piece + text[at + 1 :]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("path", SMALL, ids=lambda p: p.stem)
def test_every_byte_damaged(path: Path, step: int) -> None:
    accepted = [check(text) for text in damaged(path.read_bytes(), step)]
    # Another byte of a number gives another model; most other damage gives none.
    assert 0 < sum(accepted) < len(accepted)


def with_other_numbers(text: bytes, others: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a file with each whole number of its JSON, such as sizes and shapes, replaced by others."""
    first, header, rest = text.split(b"\n", 2)
    for match in re.finditer(rb"(?<=[:\[,])\d+(?=[,\]}])", header):
        for number in others:
            again = header[: match.start()] + number + header[match.end() :]
            yield resealed(b"\n".join((first, again, rest)))


@pytest.mark.parametrize("path", OWN, ids=lambda p: p.stem)
def test_every_number_of_the_header_replaced(path: Path) -> None:
    others = (b"0", b"1", b"7", b"-1", b"65536", b"2147483647", b"4294967297", b"9" * 18, b"9" * 40, b"1e999")
    tried = [check(text) for text in with_other_numbers(path.read_bytes(), others)]
    assert len(tried) >= 2 * len(others)


@no_limits_here
def test_an_absurd_width_takes_no_memory_and_changes_no_value() -> None:
    """In a process limited to two gigabytes: columns that no landmark uses take no memory."""
    for name in ("routed_laplacian", "routed_meka"):
        path = FROZEN / "1.0" / f"{name}.model"
        tree = unpacked(path.read_bytes())
        tree["landmarks"]["n_columns"] = 2147483647
        text = packed(tree)
        code = (
            "import sys, resource, numpy as np\n"
            "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
            "from svmfast.formats.model_files import load_model\n"
            "from svmfast.rows import Rows\n"
            "rows = Rows.from_dense(np.linspace(-1, 1, 60).reshape(5, 12))\n"
            "print(*load_model(sys.stdin.buffer.read()).decision_values(rows).ravel().tolist())\n"
        )
        done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        rows = Rows.from_dense(np.linspace(-1, 1, 60).reshape(5, 12))
        expected = load_model(path).decision_values(rows).ravel()
        assert np.allclose(np.array(done.stdout.split(), float), expected, rtol=1e-12, atol=1e-13)


def test_libsvm_text_cut_after_every_line() -> None:
    for name in ("iris_c_rbf_prob", "diabetes_eps_rbf_prob", "normal_one_rbf_prob", "iris_precomputed"):
        lines = (FIXTURES / "models" / f"{name}.model").read_bytes().splitlines(keepends=True)
        for kept in range(len(lines)):
            with pytest.raises(errors.ModelFormatError):
                load_model(b"".join(lines[:kept]))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["tie_votes", "single_class", "normal_one_linear", "tie_votes_prob"])
def test_every_byte_of_libsvm_text_damaged(name: str, step: int) -> None:
    text = (FIXTURES / "models" / f"{name}.model").read_bytes()[:3000]
    for other in damaged(text[: text.rindex(b"\n") + 1], step):
        check(other)


@no_limits_here
def test_memory_stays_in_proportion_to_the_file() -> None:
    """Every size in every file replaced by huge ones, in a process with little memory."""
    others = (b"100000000", b"2000000000", b"9" * 18)
    damaged = [text for path in OWN[:6] for text in with_other_numbers(path.read_bytes(), others)]
    code = (
        "import contextlib, pickle, resource, sys\n"
        "from pathlib import Path\n"
        "from svmfast import errors\n"
        "from svmfast.formats.model_files import load_model\n"
        "whole, damaged = pickle.load(sys.stdin.buffer)\n"
        "for text in whole: load_model(text)\n"
        "pages = int(Path('/proc/self/statm').read_text().split()[0])\n"
        "limit = pages * resource.getpagesize() + (200 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "for text in damaged:\n"
        "    with contextlib.suppress(errors.ModelFormatError): load_model(text)\n"
        "print(len(damaged))\n"
    )
    given = pickle.dumps(([path.read_bytes() for path in OWN[:6]], damaged))
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert int(done.stdout) == len(damaged) > 100
