"""Memory is bounded: models state their need; wrong and endless inputs are refused by their first bytes;
compressed files cannot expand to more than a model could need. tests/refusals.tsv: models above --memory.
"""

from __future__ import annotations

import ctypes
import gzip
import lzma
import os
import struct
import subprocess
import sys
import tracemalloc
import zlib
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from model_examples import EXAMPLES, NAMES
from nightly import nightly_but
from program import PROGRAM, data, metered, model, started

import svmfast as package
from svmfast.errors import InputError, MemoryLimitError, ModelFormatError
from svmfast.exports import reference
from svmfast.exports.computation import computation_of
from svmfast.formats.model_files import load_model, model_bytes, open_model
from svmfast.models.expansion import Kernel
from svmfast.models.head import Head
from svmfast.models.routed import RoutedModel
from svmfast.rows import as_rows

no_limits_here = pytest.mark.skipif(
    "SVMFAST_SANITIZED" in os.environ, reason="sanitizers take memory of their own"
)
IRIS, PROBABLE = data("iris.train"), model("iris_c_rbf_prob")


def test_python_takes_a_limit_too() -> None:
    with pytest.raises(MemoryLimitError, match=r"^the model .* needs [\d,]+ bytes, the limit is 10,240"):
        package.load_model(PROBABLE, memory=10 << 10)
    loaded, rows = package.load_model(PROBABLE), package.read_svmlight(IRIS)
    for given in (PROBABLE, loaded):
        with pytest.raises(MemoryLimitError):
            package.predict(given, rows, memory=1000)
        with pytest.raises(MemoryLimitError):
            package.compare({"exact": given}, rows, memory=1000)
        with pytest.raises(MemoryLimitError):
            package.bound_check(rows, model=given, memory=1000)
        with pytest.raises(MemoryLimitError):
            package.compress(given, sv=6, memory=1000)
        with pytest.raises(MemoryLimitError):
            package.cascade(given, given, rows, memory=1000)


@pytest.mark.parametrize("name", NAMES)
def test_the_stated_memory_suffices_and_less_does_not(name: str) -> None:
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
"""
EXPANSIONS = """
def expansion(n, d, density, k, kernel, apart=1):
    sv = Rows.from_dense(np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0))
    sv = sv.renumbered(sv.indices * np.int32(apart), d * apart)
    sizes = np.diff([0, *sorted(rng.integers(0, n + 1, k - 1)), n])
    coef, rho = rng.normal(size=(k - 1, n)), rng.normal(size=k * (k - 1) // 2)
    made = KernelExpansion(Head("c_svc", np.arange(k)), Kernel(kernel, 0.5, 0.0, 3), sv, coef, rho, sizes)
    stated, before = made.working_bytes, in_use()
    made.decision_values(sv[:1])
    made._engine.labels(sv[:1])
    return in_use() - before, stated
expansion(3, 4, 1.0, 2, "rbf")
for case in [
    (500, 60, 1.0, 2), (500, 60, 0.1, 3), (800, 3000, 0.02, 2), (300, 5000, 0.005, 5), (40, 7, 0.5, 20),
    (1000, 1, 1.0, 2),
]:
    for kernel in ("rbf", "linear", "polynomial"):
        print(*expansion(*case, kernel))
print(*expansion(300, 5000, 0.0005, 2, "rbf", 1000))
"""


@no_limits_here
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the C library cannot be asked")
def test_expansions_take_no_more_than_they_state() -> None:
    done = subprocess.run([sys.executable, "-c", MEASURED + EXPANSIONS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cases = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(cases) == 19
    for taken, stated in cases:
        assert taken <= stated < 60 * taken + (1 << 20)


LARGE = """
def routed(kernel, m, d, density, cells=4):
    dense = np.where(rng.random((m, d)) < density, rng.integers(-9, 9, (m, d)), 0)
    sizes = np.full(cells, m // cells)
    return RoutedModel(Head("epsilon_svr"), kernel, np.full(cells, 0.1), flat_tree(cells), np.eye(cells, d),
        Rows.from_dense(dense), sizes, np.ones((1, m)), np.zeros((cells, 1)))
"""


@no_limits_here
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the C library cannot be asked")
@pytest.mark.parametrize(
    ("kernel", "m", "d", "density"),
    nightly_but(
        [("rbf", 4000, 500, 1.0)],
        [("rbf", 4000, 500, 1.0), ("rbf", 8000, 4000, 0.03), ("laplacian", 4000, 500, 1.0)],
    ),
)
def test_routed_models_take_no_more_than_they_state(
    kernel: str, m: int, d: int, density: float, tmp_path: Path
) -> None:
    code = (
        MEASURED
        + LARGE
        + f"model = routed({kernel!r}, {m}, {d}, {density})\n"
        + """
rows = Rows.from_dense(20 * np.eye(4))  # one for each cell
stated, before = model.working_bytes, in_use()
model.decision_values(rows)
print(in_use() - before, stated)
"""
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    taken, stated = map(int, done.stdout.split())
    assert (1 << 20) < taken <= stated < 12 * taken


# --- the kind of a file is known from its first bytes


@no_limits_here
def test_a_wrong_file_is_not_read_whole(tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.write(b"1 1:0.5\n")
        file.truncate(10 << 30)
    done, peak = metered(tmp_path, "predict", IRIS, huge)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(f"{huge}:1: not a model ('1')")
    assert peak < 60


@no_limits_here
def test_a_model_that_is_larger_than_the_memory_is_not_read(tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    with huge.open("wb") as file:
        file.write(b"svm_type c_svc\n")
        file.truncate(10 << 30)
    done, peak = metered(tmp_path, "info", huge)
    assert done.returncode == 2
    assert "needs 21,474,836,480 bytes, the limit is 2,147,483,648" in done.stderr.decode()
    assert peak < 60


@no_limits_here
def test_endless_devices(tmp_path: Path) -> None:
    for words in (("predict", IRIS, "/dev/zero"), ("bound-check", "/dev/zero")):  # as a model, as rows
        done, peak = metered(tmp_path, *words)
        assert done.returncode == 2
        assert done.stderr.startswith(b"/dev/zero")
        assert done.stderr.count(b"\n") == 1
        assert peak < 80


def endless(piece: bytes, *words: str | Path) -> tuple[int, bytes]:
    """Run svmfast with `piece` repeated endlessly on standard input, and return how it ended."""
    with started(*words) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        written = 0
        with suppress(BrokenPipeError):
            while written < 1 << 30:
                written += process.stdin.write(piece)
        assert written < 1 << 29  # the reader has gone
        return process.wait(), process.stderr.read()


def test_endless_pipes() -> None:
    status, stderr = endless(b"y\n" * 4096, "predict", IRIS, "-")
    assert (status, stderr.splitlines()[0][:23]) == (2, b"-:1: not a model ('y');")
    status, stderr = endless(b" \n" * 4096, "predict", IRIS, "-")
    assert (status, stderr[:17]) == (2, b"-:1: not a model;")
    status, stderr = endless(b"svm_type " * 4096, "predict", IRIS, "-", "--memory", "20M")
    assert (status, stderr.count(b"\n")) == (2, 1)
    assert stderr.endswith(b"bytes, the limit is 20,971,520; allow more memory\n")


# --- packed files


def xz_with_dictionary(text: bytes, code: int) -> bytes:
    """Return an xz file whose header requests the dictionary size with this code (40: 4 GiB minus 1 byte)."""
    packed = bytearray(lzma.compress(text, preset=0))
    size = (packed[12] + 1) * 4  # of the block's header, which follows 12 bytes of the stream's
    assert packed[14:16] == b"\x21\x01"  # LZMA2, one byte of properties
    packed[16] = code
    packed[12 + size - 4 : 12 + size] = struct.pack("<I", zlib.crc32(packed[12 : 12 + size - 4]))
    return bytes(packed)


@no_limits_here
def test_an_xz_file_cannot_ask_for_gigabytes(tmp_path: Path) -> None:
    path = tmp_path / "model.xz"
    text = PROBABLE.read_bytes()
    path.write_bytes(xz_with_dictionary(text, 40))
    done, peak = metered(tmp_path, "info", path)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"{path}: unpacking the xz data takes more than 136 MiB; expected a dictionary of at most 128 MiB "
        "(xz -9 has 64)\n"
    )
    assert peak < 100
    path.write_bytes(xz_with_dictionary(text, 30))  # 128 MiB
    assert open_model(path).text == text


@no_limits_here
def test_a_packed_model_cannot_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "model.gz"
    path.write_bytes(gzip.compress(b"svm_type c_svc\n" + bytes(200 << 20), compresslevel=1))
    done, peak = metered(tmp_path, "info", path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == (
        f"{path}: the gzip data unpacks to more than 100 times its size; unpack the file first\n"
    )
    assert peak < 250
    with pytest.raises(InputError):
        load_model(path)


def test_the_first_word_decides_wherever_it_is_cut() -> None:
    """A pipe may deliver a model byte by byte."""
    text = PROBABLE.read_bytes()
    for piece in (1, 7, 1000):
        assert open_model(Trickle(text, piece)).text == text
        with pytest.raises(ModelFormatError):
            open_model(Trickle(b"words that are no model\n", piece))


class Trickle:
    """A file object that returns few bytes at a time."""

    def __init__(self, rest: bytes, most: int) -> None:
        self.rest, self.most = rest, most

    def read(self, size: int) -> bytes:
        size = min(size, self.most)
        piece, self.rest = self.rest[:size], self.rest[size:]
        return piece


@no_limits_here
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's heap")
def test_blocks_of_rows_use_the_same_memory_again(tmp_path: Path) -> None:
    """Four times the rows take few more pages from the system, although every block is freed."""

    def faults(copies: int) -> int:
        rows = tmp_path / "rows"
        rows.write_bytes(data("breast.test").read_bytes() * copies)
        count = (
            "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=-3);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt)"
        )
        words = [PROGRAM, "predict", "-q", "-j", "1", rows, model("breast_c_linear"), tmp_path / "out"]
        return int(subprocess.check_output([sys.executable, "-c", count, *words]))

    few, many = faults(200), faults(800)
    read = 600 * data("breast.test").stat().st_size / os.sysconf("SC_PAGE_SIZE")
    assert many - few < read / 2


@pytest.mark.parametrize(
    ("functions", "features", "n"),
    nightly_but([(100, 3, 4096)], [(100, 3, 4096), (100, 3, 50_000), (3, 200, 30_000)]),
)
def test_the_values_of_an_export_are_bounded(functions: int, features: int, n: int) -> None:
    """4,096 rows and 100 functions: a product for each vector took 318 MiB."""
    rng = np.random.default_rng(0)
    head = Head("c_svc", np.arange(1, functions + 1), one_vs_rest=True)
    vectors, rows = (as_rows(rng.random((count, features))) for count in (32, n))
    coef, rho = rng.normal(size=(functions, 32)), np.zeros((1, functions))
    made = RoutedModel.flat(head, Kernel("rbf", 0.5), np.zeros((1, features)), [vectors], [coef], rho)
    computation = computation_of(made)
    tracemalloc.start()
    try:
        values = reference.evaluate(computation, rows, np.float64)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.allclose(values, made.decision_values(rows), rtol=1e-12, atol=1e-12)
    assert peak < values.nbytes + (100 << 20)
