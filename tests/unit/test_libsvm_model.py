"""LIBSVM model text against LIBSVM itself: the same bytes out, the same numbers in."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libsvm import svm as libsvm
from numpy.typing import NDArray

from svmfast import _core
from svmfast.errors import UnsupportedError
from svmfast.formats._model_text import ModelText
from svmfast.formats.libsvm_model import libsvm_model_bytes, parse_libsvm_model
from svmfast.formats.model_files import load_model, open_model
from svmfast.kernels import Kernel
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows

MODELS = Path(__file__).parents[2] / "fixtures" / "models"
# Written by hand, in an order or form that LIBSVM's writer does not use: writing them again changes the text.
NOT_AS_LIBSVM_WRITES = {"crlf", "no_last_newline", "thunder_order_prob", "tie_votes_prob"}


def read(text: bytes) -> KernelExpansion:
    return parse_libsvm_model(text, "m")[0]


def numbers(pointer: Any, count: int) -> NDArray[np.float64]:
    return np.array([pointer[i] for i in range(count)], dtype=np.float64)


def assert_same_as_libsvm(ours: KernelExpansion, theirs: Any) -> None:
    """Compare with an svm_model in LIBSVM's memory, number by number."""
    head, k = ours.head, theirs.nr_class
    assert (theirs.l, k) == (len(ours.sv), head.n_classes)
    names = ["c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"]
    assert names[theirs.param.svm_type] == head.svm_type
    kernels = ["linear", "polynomial", "rbf", "sigmoid", "precomputed"]
    assert kernels[theirs.param.kernel_type] == ours.kernel.kind
    if ours.kernel.kind in ("polynomial", "rbf", "sigmoid"):
        assert theirs.param.gamma == ours.kernel.gamma
    if ours.kernel.kind in ("polynomial", "sigmoid"):
        assert theirs.param.coef0 == ours.kernel.coef0
    if ours.kernel.kind == "polynomial":
        assert theirs.param.degree == ours.kernel.degree
    pairs = k * (k - 1) // 2
    np.testing.assert_array_equal(ours.rho, numbers(theirs.rho, pairs))
    for mine, pointer, count in (
        (head.labels, theirs.label, k),
        (ours.nr_sv, theirs.nSV, k),
        (head.prob_a, theirs.probA, pairs),
        (head.prob_b, theirs.probB, pairs),
        (head.density_marks, theirs.prob_density_marks, 10),
    ):
        assert (mine is None) == (not pointer)
        if mine is not None:
            np.testing.assert_array_equal(mine, numbers(pointer, count))
    for row in range(k - 1):
        np.testing.assert_array_equal(ours.sv_coef[row], numbers(theirs.sv_coef[row], theirs.l))
    for i in range(theirs.l):
        a, b = ours.sv.indptr[i], ours.sv.indptr[i + 1]
        shift = 0 if ours.kernel.kind == "precomputed" else 1
        for j, (index, value) in enumerate(zip(ours.sv.indices[a:b], ours.sv.values[a:b], strict=True)):
            assert (theirs.SV[i][j].index, theirs.SV[i][j].value) == (index + shift, value)
        assert theirs.SV[i][b - a].index == -1


def load_in_libsvm(path: Path) -> Any:
    model = libsvm.libsvm.svm_load_model(str(path).encode())
    assert model, "LIBSVM refuses the model"
    return model.contents


def training_rows(rng: np.random.Generator, n: int, kernel: int) -> list[dict[int, float]]:
    if kernel == 4:  # a linear kernel, precomputed, with serial numbers
        x = rng.normal(size=(n, 3))
        return [{0: i + 1, **dict(enumerate(map(float, x @ x[i]), 1))} for i in range(n)]
    dense = rng.normal(size=(n, 6)) * [1, 1, 1e-2, 1e-4, 1e-6, 1e-8]
    dense[rng.random((n, 6)) < 0.4] = 0
    return [{j + 1: float(v) for j, v in enumerate(row) if v or rng.random() < 0.1} for row in dense]


@pytest.mark.parametrize("probability", [0, 1])
@pytest.mark.parametrize("kernel", range(5))
@pytest.mark.parametrize(("svm_type", "k"), [(0, 2), (0, 4), (1, 2), (1, 3), (2, 1), (3, 2), (4, 2), (0, 1)])
def test_libsvms_own_files_round_trip_byte_for_byte(
    svm_type: int, k: int, kernel: int, probability: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(100 * svm_type + 10 * k + kernel)
    rows = training_rows(rng, 36, kernel)
    y = rng.normal(size=36) if svm_type >= 3 else np.array([7 * (i % k) - 10 for i in range(36)])
    options = f"-q -s {svm_type} -t {kernel} -b {probability} -n 0.3 -g 0.37 -r -0.1 -d 3 -c 0.7"
    parameter = libsvm.svm_parameter(options)
    problem = libsvm.svm_problem(list(map(float, y)), rows, isKernel=kernel == 4)
    trained = libsvm.libsvm.svm_train(problem, parameter)
    path = tmp_path / "m"
    assert libsvm.libsvm.svm_save_model(str(path).encode(), trained) == 0
    model = load_model(path)
    assert isinstance(model, KernelExpansion)
    assert model.head.has_probability == bool(probability)
    assert libsvm_model_bytes(model) == path.read_bytes()
    assert_same_as_libsvm(model, load_in_libsvm(path))


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.model")), ids=lambda p: p.stem)
def test_fixture_models_are_read_as_libsvm_reads_them(path: Path, tmp_path: Path) -> None:
    model = load_model(path)
    assert isinstance(model, KernelExpansion)
    assert_same_as_libsvm(model, load_in_libsvm(path))
    text = libsvm_model_bytes(model)
    assert (text == path.read_bytes()) == (path.stem not in NOT_AS_LIBSVM_WRITES)
    (tmp_path / "again").write_bytes(text)
    assert_same_as_libsvm(model, load_in_libsvm(tmp_path / "again"))


def awkward_float(rng: np.random.Generator) -> float:
    """Return a finite double of a kind that stresses number text."""
    kind = rng.integers(6)
    if kind == 0:
        value = struct.unpack("d", rng.bytes(8))[0]
        return float(value) if np.isfinite(value) else 0.0
    if kind == 1:
        return float(
            rng.choice([0.0, -0.0, 5e-324, -2.2250738585072014e-308, 1.7976931348623157e308, 1e8, -1e15])
        )
    if kind == 2:
        return round(float(rng.uniform(-100, 100)), int(rng.integers(10)))
    if kind == 3:  # halfway cases of the eighth digit
        return float(f"{rng.integers(10**7, 10**8)}5e{rng.integers(-14, 6)}")
    if kind == 4:
        return float(rng.integers(-(10**9), 10**9)) * 10.0 ** rng.integers(-15, 15)
    return float(f"{rng.uniform(-1, 1):.{rng.integers(1, 10)}f}e{rng.integers(-12, 12)}")


@settings(max_examples=3 * settings.default.max_examples)
@given(st.integers(0, 2**32 - 1))
def test_numbers_are_printed_as_c_prints_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.array([awkward_float(rng) for _ in range(300)])
    n = len(values)
    zeros = np.zeros(n, np.int32)
    text = _core.write_rows(values[None, :], np.arange(n + 1), zeros, values, 1, 8)
    # A support vector's value with eight digits, as LIBSVM writes it, if they suffice; else with all digits.
    for line, value in zip(text.decode().splitlines(), values, strict=True):
        coefficient, _, written = line.partition(" 1:")
        short = "%.8g" % value  # noqa: UP031 (this is C's printf)
        assert coefficient == "%.17g" % value  # noqa: UP031
        assert (written == f"{short} ") == (float(short) == value)
    tokenizer = _core.SvmlightTokenizer(False, False, False, False, 1)
    padded = bytearray(text + bytes(_core.TEXT_PADDING))
    assert tokenizer.feed(padded, 0, len(text), 1) is None
    coef, _, _, read, *_ = tokenizer.take()
    assert coef.tobytes() == values.tobytes()
    assert read.tobytes() == values.tobytes()
    eight_digits = np.array([float(f"{v:.8g}") for v in values])
    assert _core.round_digits(values, 8).tobytes() == eight_digits.tobytes()


def read_as_label(token: str) -> np.ndarray:
    """Return the labels that the native reader finds in a line with this token."""
    tokenizer, line = _core.SvmlightTokenizer(False, False, False, False, 1), token.encode() + b"\n"
    tokenizer.feed(bytearray(line + bytes(_core.TEXT_PADDING)), 0, len(line), 1)
    return tokenizer.take()[0]


@settings(max_examples=6 * settings.default.max_examples)
@given(st.from_regex(r"[+-]?[0-9]{0,30}\.?[0-9]{0,30}([eE][+-]?[0-9]{1,4})?", fullmatch=True))
def test_numbers_are_read_as_python_reads_them(token: str) -> None:
    try:
        expected = float(token)
    except ValueError:
        expected = np.inf
    for found in read_as_label(token), ModelText(token.encode(), "").numbers_at(0, 1, "float64")[0]:
        assert len(found) == np.isfinite(expected)
        if len(found):
            assert found.tobytes() == np.array([expected]).tobytes()


@pytest.mark.parametrize("token", ["nan", "inf", "-inf", "infinity", "0x10", "1_0", "1e", "1e+", "--1", "+-1", "1f", "1.2.3", "١"])  # fmt: skip # noqa: E501
def test_other_spellings_are_not_numbers(token: str) -> None:
    assert len(read_as_label(token)) == 0
    assert ModelText(token.encode(), "").numbers_at(0, 1, "float64")[1] == 0


TEXT = (MODELS / "iris_c_rbf_prob.model").read_bytes()


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_model_is_known_by_its_content(pack: Any, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(pack(TEXT))
    loaded = open_model(tmp_path / "m")
    assert (loaded.format, loaded.text, loaded.warnings) == ("libsvm-model", TEXT, ())


def test_line_ends_and_blanks_do_not_matter() -> None:
    header, vectors = TEXT.split(b"SV\n")
    for text in (
        TEXT.replace(b"\n", b"\r\n"),
        TEXT.replace(b" \n", b"\n"),
        TEXT.replace(b"\n", b" \t\n"),
        header.replace(b"\n", b" ") + b"\nSV\n" + vectors,
        TEXT + b"\n \r\n",
        b"\n" + TEXT,
    ):
        assert libsvm_model_bytes(read(text)) == TEXT


def test_keys_may_be_in_any_order_that_libsvm_reads() -> None:
    lines = TEXT[: TEXT.index(b"SV\n")].splitlines(keepends=True)
    vectors = TEXT[TEXT.index(b"SV\n") :]
    lines.insert(0, lines.pop(3))  # nr_class
    assert libsvm_model_bytes(read(b"".join([lines[0], *reversed(lines[1:])]) + vectors)) == TEXT


def test_a_missing_last_line_end_is_reported() -> None:
    assert parse_libsvm_model(TEXT, "m")[1] == []
    model, warnings = parse_libsvm_model(TEXT[:-1], "m")
    n = TEXT.count(b"\n")
    assert warnings == [f"m:{n}: the last line has no line end; check that the file is complete"]
    assert libsvm_model_bytes(model) == TEXT


@pytest.mark.parametrize("end", [b"\r", b"\n\r", b"\n \r", b"\n\r\n\r"])
def test_half_a_line_end_at_the_end_is_reported(end: bytes) -> None:
    text = TEXT[:-1] + end
    model, warnings = parse_libsvm_model(text, "m")
    n = text.count(b"\n") + 1
    assert warnings == [f"m:{n}: the last line has no line end; check that the file is complete"]
    assert libsvm_model_bytes(model) == TEXT


def test_parameters_that_the_kernel_lacks_are_accepted() -> None:
    model = read(TEXT.replace(b"kernel_type rbf\n", b"kernel_type rbf\ndegree 3\ncoef0 0\n"))
    assert libsvm_model_bytes(model) == TEXT


def test_gamma_may_be_zero_without_features() -> None:
    # As svm-train writes for rows that have only labels.
    text = b"svm_type epsilon_svr\nkernel_type rbf\ngamma 0\nnr_class 2\ntotal_sv 1\nrho -1\nSV\n1 \n"
    assert libsvm_model_bytes(read(text)) == text


def test_a_model_without_support_vectors() -> None:
    text = b"svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho -2.5\nSV\n"
    model = read(text)
    assert libsvm_model_bytes(model) == text
    np.testing.assert_array_equal(model.decision_values(Rows.from_dense([[1.0, 2.0]])), [[2.5]])


def expansion(**changes: Any) -> KernelExpansion:
    parts: dict[str, Any] = {
        "labels": np.array([1, -1]), "gamma": 0.5, "values": [[1.0, 0.0]], "coef": [[0.5]], "rho": [0.25],
    } | changes  # fmt: skip
    head = Head("c_svc", parts["labels"])
    dense = np.array(parts["values"])
    sv = Rows(np.array([0, 2]), np.array([0, 1], np.int32), dense[0], 2)
    kernel = Kernel("rbf", parts["gamma"])
    return KernelExpansion(
        head, kernel, sv, np.array(parts["coef"]), np.array(parts["rho"]), np.array([1, 0])
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": [[1.0, np.nan]]}, "a model with nan or inf in SV cannot be saved"),
        ({"coef": [[np.inf]]}, "a model with nan or inf in sv_coef cannot be saved"),
        ({"rho": [np.nan]}, "a model with nan or inf in rho cannot be saved"),
        ({"gamma": np.nan}, "a model with nan or inf in gamma or coef0 cannot be saved"),
        ({"labels": np.array([2**31, 0])}, "LIBSVM's labels are 32-bit integers; choose smaller labels"),
        (
            {"labels": np.array([-(2**31) - 1, 0])},
            "LIBSVM's labels are 32-bit integers; choose smaller labels",
        ),
    ],
)
def test_models_that_libsvm_cannot_read_are_not_written(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        libsvm_model_bytes(expansion(**changes))
    assert str(caught.value) == message


def test_the_largest_labels_fit() -> None:
    labels = np.array([2**31 - 1, -(2**31)])
    model = read(libsvm_model_bytes(expansion(labels=labels)))
    np.testing.assert_array_equal(model.head.labels, labels)
