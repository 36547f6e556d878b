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
from pathlib import Path

import numpy as np
import pytest
from meaning import DAMAGE, FROZEN, alike, meaning
from program import FIXTURES
from sealing import resealed

from svmfast import errors
from svmfast.formats.detect import load_model, model_bytes, open_model
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
CUT = r"ends|empty|cut short|no array|no key|end with|fewer|has \d+"
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
    written, read = meaning(model_bytes(loaded.model, loaded.provenance)), meaning(text)
    assert alike(written, read) if re.search(rb"\bSV\b", text) else written == read
    if isinstance(loaded.model, KernelExpansion) and loaded.model.kernel.kind == "precomputed":
        return True
    assert loaded.model.decision_values(ROWS).shape == (3, loaded.model.head.n_functions)
    return True


@pytest.mark.parametrize("path", OWN, ids=lambda p: p.stem)
def test_cut_after_every_line(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    for kept in range(len(lines)):
        with pytest.raises(errors.ModelFormatError, match=CUT):
            load_model(b"".join(lines[:kept]))


@pytest.mark.parametrize("path", OWN, ids=lambda p: p.stem)
def test_every_line_missing_or_twice(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    embedded = next((i for i, line in enumerate(lines) if line.startswith(b"embedded")), len(lines))
    for i in range(len(lines)):
        for text in (b"".join(lines[:i] + lines[i + 1 :]), b"".join([*lines[:i], lines[i], *lines[i:]])):
            # Optional parts may be missing; an embedded model follows LIBSVM's rules.
            accepted = check(text)
            assert not accepted or (i < embedded and text.count(b"\n") < len(lines))


@pytest.mark.parametrize("path", SMALL, ids=lambda p: p.stem)
def test_every_byte_damaged(path: Path) -> None:
    text = path.read_bytes()
    accepted = 0
    for at in range(len(text)):
        for piece in (DAMAGE[at % len(DAMAGE)], bytes([text[at] ^ (1 << at % 8)])):
            accepted += check(text[:at] + piece + text[at + 1 :])
    # Another digit gives another model; most other damage gives none.
    assert 0 < accepted < len(text)


@pytest.mark.parametrize("path", OWN, ids=lambda p: p.stem)
def test_every_number_of_the_head_and_every_size_replaced(path: Path) -> None:
    text = path.read_bytes()
    sizes = [m for m in re.finditer(rb"(?<=[ .])\d+(?=[ .\n])", text) if is_size(text, m.start())]
    # A cascade has no arrays of its own.
    assert len(sizes) >= (4 if b"\nkind cascade\n" in text else 5)
    for match in sizes:
        for number in (b"0", b"1", b"7", b"-1", b"65536", b"2147483647", b"4294967297", b"9" * 18, b"9" * 40):
            check(text[: match.start()] + number + text[match.end() :])


def is_size(text: bytes, at: int) -> bool:
    line = text[text.rfind(b"\n", 0, at) + 1 : at]
    return line.startswith((b"array ", b"embedded ", b"n_features", b"svmfast-model"))


@no_limits_here
def test_an_absurd_width_takes_no_memory_and_changes_no_value() -> None:
    """In a process limited to two gigabytes: columns that no landmark uses take no memory."""
    for name in ("routed_laplacian", "routed_meka"):
        path = FROZEN / "1.0" / f"{name}.model"
        text = resealed(re.sub(rb"n_features \d+", b"n_features 2147483647", path.read_bytes()))
        code = (
            "import sys, resource, numpy as np\n"
            "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
            "from svmfast.formats.detect import load_model\n"
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


@pytest.mark.parametrize("name", ["tie_votes", "single_class", "normal_one_linear", "tie_votes_prob"])
def test_every_byte_of_libsvm_text_damaged(name: str) -> None:
    text = (FIXTURES / "models" / f"{name}.model").read_bytes()[:3000]
    text = text[: text.rindex(b"\n") + 1]
    for at in range(len(text)):
        for piece in (DAMAGE[at % len(DAMAGE)], bytes([text[at] ^ (1 << at % 8)])):
            check(text[:at] + piece + text[at + 1 :])


@no_limits_here
def test_memory_stays_in_proportion_to_the_file() -> None:
    """Every size in every file replaced by huge ones, in a process with little memory."""
    damaged = []
    for path in OWN[:6]:
        text = path.read_bytes()
        for match in re.finditer(rb"(?<= )\d+(?=[ \n])", text):
            if is_size(text, match.start()):
                for number in (b"100000000", b"2000000000", b"9" * 18):
                    damaged.append(text[: match.start()] + number + text[match.end() :])
    code = (
        "import contextlib, pickle, resource, sys\n"
        "from pathlib import Path\n"
        "from svmfast import errors\n"
        "from svmfast.formats.detect import load_model\n"
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
