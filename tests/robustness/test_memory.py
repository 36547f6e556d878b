"""Memory is bounded: models state their need; wrong, endless and hostile inputs (attacks/) take little."""

import ctypes
import gzip
import lzma
import os
import re
import struct
import subprocess
import sys
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from cell_models import one_function
from model_examples import EXAMPLES, NAMES
from nightly import nightly_but
from program import data, metered, model, started, svmfast, traced

from svmfast.errors import MemoryLimitError
from svmfast.exports import reference
from svmfast.exports.computation import computation_of
from svmfast.formats.model_files import model_bytes, open_model
from svmfast.models.expansion import Kernel
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.routing import flat_tree
from svmfast.rows import Rows, as_rows

no_limits_here = pytest.mark.skipif("SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory too")
IRIS, PROBABLE = data("iris.train"), model("iris_c_rbf_prob")


@pytest.mark.parametrize("name", NAMES)
def test_the_stated_memory_suffices_and_less_does_not(name):
    """Every limit below the stated need is refused, and the need is in proportion to the file."""
    text = model_bytes(EXAMPLES[name]())
    low, high = 0, 1 << 30
    while low < high:
        middle = (low + high) // 2
        try:
            open_model(text, memory=middle)
            high = middle
        except MemoryLimitError:
            low = middle + 1
    loaded = open_model(text, memory=low)
    assert low >= max(2 * len(text), len(text) + loaded.model.working_bytes)
    assert low < 100 * len(text), f"working_bytes is {loaded.model.working_bytes:,}"


MEASURED = """
import ctypes, sys
import numpy as np
from svmfast.models.expansion import Kernel, KernelExpansion
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.routing import flat_tree
from svmfast.rows import Rows
class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
        "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
def in_use():
    info = ctypes.CDLL(None).mallinfo2
    info.restype = Mallinfo
    return info().uordblks + info().hblkhd
rng = np.random.default_rng(0)
def expansion(n, d, density, k, kernel, apart=1):
    sv = Rows.from_dense(np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0))
    sv = sv.renumbered(sv.indices * np.int32(apart), d * apart)
    sizes = np.diff([0, *sorted(rng.integers(0, n + 1, k - 1)), n])
    coef, rho = rng.normal(size=(k - 1, n)), rng.normal(size=k * (k - 1) // 2)
    made = KernelExpansion(Head("c_svc", np.arange(k)), Kernel(kernel, 0.5, 0.0, 3), sv, coef, rho, sizes)
    stated, before = made.working_bytes, in_use()
    made.decision_values(sv[:1])
    made._engine.labels(sv[:1])
    print(in_use() - before, stated)
def routed(kernel, m, d, density, cells=4):
    dense = np.where(rng.random((m, d)) < density, rng.integers(-9, 9, (m, d)), 0)
    sizes = np.full(cells, m // cells)
    model = RoutedModel(Head("epsilon_svr"), kernel, np.full(cells, 0.1), flat_tree(cells), np.eye(cells, d),
        Rows.from_dense(dense), sizes, np.ones((1, m)), np.zeros((cells, 1)))
    rows = Rows.from_dense(20 * np.eye(4))  # one for each cell
    stated, before = model.working_bytes, in_use()
    model.decision_values(rows)
    print(in_use() - before, stated)
def expansions():
    for case in [(500, 60, 1.0, 2), (500, 60, 0.1, 3), (800, 3000, 0.02, 2), (300, 5000, 0.005, 5),
                 (40, 7, 0.5, 20), (1000, 1, 1.0, 2)]:
        for kernel in ("rbf", "linear", "polynomial"):
            expansion(*case, kernel)
    expansion(300, 5000, 0.0005, 2, "rbf", 1000)
"""


#: Models, and the most that they may state, as a multiple of what they take, and so many bytes more.
STATED = [
    ("expansion(3, 4, 1.0, 2, 'rbf'); expansions()", 60, 1 << 20),
    ("routed('rbf', 4000, 500, 1.0)", 12, 0),
    ("routed('rbf', 8000, 4000, 0.03)", 12, 0),
    ("routed('laplacian', 4000, 500, 1.0)", 12, 0),
]


@no_limits_here
@pytest.mark.parametrize(("code", "most", "more"), nightly_but(STATED[:2], STATED))
def test_models_take_no_more_than_they_state(code, most, more):
    if not hasattr(ctypes.CDLL(None), "mallinfo2"):
        pytest.skip("the C library cannot be asked")
    done = subprocess.run([sys.executable, "-c", MEASURED + code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(lines) == (20 if more else 1)
    for taken, stated in lines[1:] or lines:  # the first loads what is loaded once
        assert taken <= stated < most * taken + more


# --- the kind of a file is known from its first bytes; packed files


def xz_with_dictionary(code):
    """Return a model whose xz header requests the dictionary size with this code (40: 4 GiB minus 1 byte)."""
    packed = bytearray(lzma.compress(PROBABLE.read_bytes(), preset=0))
    size = (packed[12] + 1) * 4  # of the block's header, which follows 12 bytes of the stream's
    assert packed[14:16] == b"\x21\x01"  # LZMA2, one byte of properties
    packed[16] = code
    packed[12 + size - 4 : 12 + size] = struct.pack("<I", zlib.crc32(packed[12 : 12 + size - 4]))
    return bytes(packed)


XZ = "unpacking the xz data takes more than 136 MiB; expected a dictionary of at most 128 MiB (xz -9 has 64)"
#: The command, the file ``input`` (10 GiB if it is not packed), the message, and the most memory in MB.
REFUSED = {
    "another kind": ("predict IRIS input", lambda: b"1 1:0.5\n", "input:1: not a model ('1')", 60),
    "a huge model": ("info input", lambda: b"svm_type c_svc\n", "needs 21,474,836,480 bytes, the limit", 60),
    "a device as model": ("predict IRIS /dev/zero", bytes, "/dev/zero:1: not a model", 80),
    "a device as rows": ("bound-check /dev/zero", bytes, "/dev/zero", 80),
    "a dictionary": ("info input", lambda: xz_with_dictionary(40), XZ, 100),
    "a packed model": (
        *("info input", lambda: gzip.compress(b"svm_type c_svc\n" + bytes(200 << 20), compresslevel=1)),
        *("the gzip data unpacks to more than 100 times its size; unpack the file first", 250),
    ),
}


@no_limits_here
@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_or_hostile_file_is_not_read_whole(name, tmp_path):
    line, content, message, most = REFUSED[name]
    (tmp_path / "input").write_bytes(content())
    if "pack" not in message:
        os.truncate(tmp_path / "input", 10 << 30)
    places = {"IRIS": IRIS, "input": tmp_path / "input"}
    done, peak = metered(tmp_path, *(places.get(word, word) for word in line.split()))
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert message in done.stderr.decode()
    assert peak < most


def test_a_dictionary_of_128_mib_is_unpacked():
    assert open_model(xz_with_dictionary(30)).text == PROBABLE.read_bytes()


@pytest.mark.parametrize(
    ("piece", "words", "message"),
    [
        (b"y\n", (), r"-:1: not a model \('y'\); .*\n"),
        (b" \n", (), r"-:1: not a model; .*\n"),
        (b"svm_type ", ("--memory", "20M"), r"svmfast: .* the limit is 20,971,520; allow more memory\n"),
    ],
)
def test_endless_pipes(piece, words, message):
    with started("predict", IRIS, "-", *words) as process:
        written = 0
        with suppress(BrokenPipeError):
            while written < 1 << 30:
                written += process.stdin.write(piece * 4096)
        assert written < 1 << 29  # the reader has gone
        assert process.wait() == 2
        assert re.fullmatch(message, process.stderr.read().decode())


SHAPES = [(100, 3, 4096), (100, 3, 50_000), (3, 200, 30_000)]


@pytest.mark.parametrize(("functions", "features", "n"), nightly_but(SHAPES[:1], SHAPES))
def test_the_values_of_an_export_are_bounded(functions, features, n):
    """4,096 rows and 100 functions: a product for each vector took 318 MiB."""
    rng = np.random.default_rng(0)
    head = Head("c_svc", np.arange(1, functions + 1), one_vs_rest=True)
    vectors, rows = (as_rows(rng.random((count, features))) for count in (32, n))
    coef, rho = rng.normal(size=(functions, 32)), np.zeros((1, functions))
    made = RoutedModel.flat(head, Kernel("rbf", 0.5), np.zeros((1, features)), [vectors], [coef], rho)
    computation = computation_of(made)
    values, peak = traced(lambda: reference.evaluate(computation, rows, np.float64))
    assert np.allclose(values, made.decision_values(rows), rtol=1e-12, atol=1e-12)
    assert peak < values.nbytes + (100 << 20)


ATTACKS = Path(__file__).parent / "attacks"
MUTATED = sorted(path.stem for path in ATTACKS.glob("mutated-*.model"))


@pytest.mark.parametrize("name", MUTATED)
def test_mutated_models_are_refused_or_answered(name):
    path = ATTACKS / f"{name}.model"
    for words in (("info", path), ("predict", ATTACKS / "three.data", path)):
        done = svmfast(*words)
        assert done.returncode in (0, 2)
        if done.returncode == 2:
            assert re.fullmatch(rf"{re.escape(str(path))}: .*; expected .*\n", done.stderr.decode())


def one_hot(kernel, n, cells=1):
    """Return the file of a routed model with `n` landmarks, each with one feature of its own, far apart."""
    landmarks = Rows(np.arange(n + 1), np.arange(n) * 400_000 % 2**31, np.ones(n), 2**31 - 1)
    centers, rho = np.zeros((2, cells, 1))
    parts = flat_tree(cells), centers, landmarks, np.full(cells, n // cells), np.ones((1, n)), rho
    return model_bytes(RoutedModel(Head("epsilon_svr"), kernel, np.ones(cells), *parts))


#: A polynomial of two features far apart, with two cells.
WIDE = {"gamma": 0.5, "n_features": 2**31 - 1, "features": np.array([0, 2**31 - 2])}
WIDE = one_function(2, 2, np.tile(np.arange(6.0), 2), "zero", np.array([[0.0, 0], [1, 1]]), **WIDE)
#: 230 MB for a 900 KB file, whatever --memory was: each thread held 16 kernel values of every vector.
MANY = "svm_type epsilon_svr\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 300000\nrho 0\nSV\n"
#: What is run, the model, the lines of its answer (-1: it may be refused), and the most memory in MB.
CASES = {
    **{
        f"{name}, {rows}": (f"predict {rows}.data", (ATTACKS / f"{name}.model").read_bytes, lines, 60)
        for name in ("A1", "A3", "C20", "C100")
        for rows, lines in (("three", 3), ("hundred", 100))
    },
    **{
        f"{words}, {kernel}": (words, lambda kernel=kernel: one_hot(kernel, 5_000), -1, 80)
        for words in ("info", "predict three.data", "bound-check")
        for kernel in ("laplacian", "rbf")
    },
    "many cells": ("predict three.data", lambda: one_hot("rbf", 4_000, 4_000), 3, 80),
    "one cell": ("predict three.data", lambda: one_hot("rbf", 100_000), 3, 120),
    "the paper's bound": ("predict --bound three.data", lambda: model_bytes(WIDE), 4, 60),
    "many vectors": ("predict -j 4 hundred.data", lambda: (MANY + "1 \n" * 300_000).encode(), 100, 100),
}
ALWAYS = ["C100, hundred", "predict three.data, laplacian", *[*CASES][-4:]]


@no_limits_here
@pytest.mark.parametrize("name", nightly_but(ALWAYS, CASES))
def test_a_small_model_takes_little_memory(name, tmp_path):
    line, made, lines, most = CASES[name]
    (tmp_path / "model").write_bytes(made())
    words = [ATTACKS / word if word.endswith(".data") else word for word in line.split()]
    done, peak = metered(tmp_path, *words, tmp_path / "model")
    assert done.returncode == 0 or (lines < 0 and done.returncode == 2)
    assert lines < 0 or done.stdout.count(b"\n") == lines
    assert peak < most
