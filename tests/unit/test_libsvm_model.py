"""LIBSVM model text against LIBSVM itself: the same bytes out, the same numbers in."""

import bz2
import gzip
import lzma
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libsvm import svm as libsvm
from program import FIXTURES

from svmfast import _core
from svmfast.formats._model_text import ModelText
from svmfast.formats.libsvm_model import libsvm_model_bytes, parse_libsvm_model
from svmfast.formats.model_files import load_model, open_model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.head import Head
from svmfast.rows import Rows

MODELS = FIXTURES / "models"
# Written by hand, in an order or form that LIBSVM's writer does not use: writing them again changes the text.
NOT_AS_LIBSVM_WRITES = {"crlf", "no_last_newline", "thunder_order_prob", "tie_votes_prob"}


def read(text):
    return parse_libsvm_model(text, "m")[0]


def assert_same_as_libsvm(ours, path):
    """Compare with LIBSVM's own svm_model of a file, number by number."""
    pointer = libsvm.libsvm.svm_load_model(str(path).encode())
    assert pointer, "LIBSVM refuses the model"
    theirs, head, kind = pointer.contents, ours.head, ours.kernel.kind
    k = theirs.nr_class
    assert (theirs.l, k) == (len(ours.sv), head.n_classes)
    assert ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")[theirs.param.svm_type] == head.svm_type
    assert ("linear", "polynomial", "rbf", "sigmoid", "precomputed")[theirs.param.kernel_type] == kind
    used = {"polynomial": ("gamma", "coef0", "degree"), "rbf": ("gamma",), "sigmoid": ("gamma", "coef0")}
    for name in used.get(kind, ()):
        assert getattr(theirs.param, name) == getattr(ours.kernel, name)
    pairs = k * (k - 1) // 2
    for mine, values, count in (
        (ours.rho, theirs.rho, pairs),
        (head.labels, theirs.label, k),
        (ours.nr_sv, theirs.nSV, k),
        (head.prob_a, theirs.probA, pairs),
        (head.prob_b, theirs.probB, pairs),
        (head.density_marks, theirs.prob_density_marks, 10),
        *((ours.sv_coef[row], theirs.sv_coef[row], theirs.l) for row in range(k - 1)),
    ):
        assert (mine is None) == (not values)
        if mine is not None:
            np.testing.assert_array_equal(mine, [values[i] for i in range(count)])
    for i in range(theirs.l):
        a, b = ours.sv.indptr[i], ours.sv.indptr[i + 1]
        entries = [(theirs.SV[i][j].index, theirs.SV[i][j].value) for j in range(b - a)]
        columns = ours.sv.indices[a:b] + (kind != "precomputed")
        assert entries == list(zip(columns, ours.sv.values[a:b], strict=True))
        assert theirs.SV[i][b - a].index == -1


def training_rows(rng, n, kernel):
    if kernel == 4:  # a linear kernel, precomputed, with serial numbers
        x = rng.normal(size=(n, 3))
        return [{0: i + 1, **dict(enumerate(map(float, x @ x[i]), 1))} for i in range(n)]
    dense = rng.normal(size=(n, 6)) * [1, 1, 1e-2, 1e-4, 1e-6, 1e-8]
    dense[rng.random((n, 6)) < 0.4] = 0
    return [{j + 1: float(v) for j, v in enumerate(row) if v or rng.random() < 0.1} for row in dense]


@pytest.mark.parametrize("probability", [0, 1])
@pytest.mark.parametrize("kernel", range(5))
@pytest.mark.parametrize(("svm_type", "k"), [(0, 2), (0, 4), (1, 2), (1, 3), (2, 1), (3, 2), (4, 2), (0, 1)])
def test_libsvms_own_files_round_trip_byte_for_byte(svm_type, k, kernel, probability, tmp_path):
    rng = np.random.default_rng(100 * svm_type + 10 * k + kernel)
    rows = training_rows(rng, 36, kernel)
    y = rng.normal(size=36) if svm_type >= 3 else np.array([7 * (i % k) - 10 for i in range(36)])
    options = f"-q -s {svm_type} -t {kernel} -b {probability} -n 0.3 -g 0.37 -r -0.1 -d 3 -c 0.7"
    problem = libsvm.svm_problem(list(map(float, y)), rows, isKernel=kernel == 4)
    trained = libsvm.libsvm.svm_train(problem, libsvm.svm_parameter(options))
    path = tmp_path / "m"
    assert libsvm.libsvm.svm_save_model(str(path).encode(), trained) == 0
    model = load_model(path)
    assert isinstance(model, KernelExpansion)
    assert model.head.has_probability == bool(probability)
    assert libsvm_model_bytes(model) == path.read_bytes()
    assert_same_as_libsvm(model, path)


@pytest.mark.parametrize("path", sorted(MODELS.glob("*.model")), ids=lambda p: p.stem)
def test_fixture_models_are_read_as_libsvm_reads_them(path, tmp_path):
    model, again = load_model(path), tmp_path / "again"
    assert isinstance(model, KernelExpansion)
    again.write_bytes(libsvm_model_bytes(model))
    assert (again.read_bytes() == path.read_bytes()) == (path.stem not in NOT_AS_LIBSVM_WRITES)
    for place in (path, again):
        assert_same_as_libsvm(model, place)


def awkward_floats(rng):
    """Return finite doubles of kinds that stress number text."""
    uniform, n = rng.uniform(-1, 1, 50), range(50)
    values = np.array([
        *np.frombuffer(rng.bytes(400)),
        *(0.0, -0.0, 5e-324, -2.2250738585072014e-308, 1.7976931348623157e308, 1e8, -1e15),
        *(round(100 * uniform[i], i % 10) for i in n),
        *(float(f"{rng.integers(10**7, 10**8)}5e{rng.integers(-14, 6)}") for _ in n),  # halfway
        *(rng.integers(-(10**9), 10**9, 50) * 10.0 ** rng.integers(-15, 15, 50)),
        *(float(f"{uniform[i]:.{1 + i % 9}f}e{rng.integers(-12, 12)}") for i in n),
    ])  # fmt: skip
    return values[np.isfinite(values)]


def tokens(text):
    """Return what the native reader finds in a text: labels, three arrays of rows, and more."""
    tokenizer = _core.SvmlightTokenizer(False, False, False, False, 1)
    tokenizer.feed(bytearray(text + bytes(_core.TEXT_PADDING)), 0, len(text), 1)
    return tokenizer.take()


def read_alone(token):
    """Return the labels that the native reader finds in a line with this token, and that of models."""
    return [tokens(token.encode() + b"\n")[0], ModelText(token.encode(), "").numbers_at(0, 1, "float64")[0]]


@settings(max_examples=3 * settings.default.max_examples)
@given(st.integers(0, 2**32 - 1))
def test_numbers_are_printed_as_c_prints_them(seed):
    values = awkward_floats(np.random.default_rng(seed))
    n = len(values)
    text = _core.write_rows(values[None, :], np.arange(n + 1), np.zeros(n, np.int32), values, 1, 8)
    # A support vector's value with eight digits, as LIBSVM writes it, if they suffice; else with all digits.
    for line, value in zip(text.decode().splitlines(), values, strict=True):
        coefficient, _, written = line.partition(" 1:")
        short = "%.8g" % value  # noqa: UP031 (this is C's printf)
        assert coefficient == "%.17g" % value  # noqa: UP031
        assert (written == f"{short} ") == (float(short) == value)
    coef, _, _, read, *_ = tokens(text)
    assert coef.tobytes() == read.tobytes() == values.tobytes()
    eight_digits = np.array([float(f"{v:.8g}") for v in values])
    assert _core.round_digits(values, 8).tobytes() == eight_digits.tobytes()


OTHERS = f"nan inf -inf infinity 0x10 1_0 1e 1e+ --1 +-1 1f 1.2.3 \u0661 1{'0' * 400}e-20"


@settings(max_examples=6 * settings.default.max_examples)
@given(st.from_regex(r"[+-]?[0-9]{0,30}\.?[0-9]{0,30}([eE][+-]?[0-9]{1,4})?", fullmatch=True))
def test_numbers_are_read_as_python_reads_them(token):
    for other in OTHERS.split():
        assert [len(found) for found in read_alone(other)] == [0, 0], other
    try:
        expected = float(token)
    except ValueError:
        expected = np.inf
    for found in read_alone(token):
        assert len(found) == np.isfinite(expected)
        if len(found):
            assert found.tobytes() == np.array([expected]).tobytes()


TEXT = (MODELS / "iris_c_rbf_prob.model").read_bytes()
HEADER, VECTORS = TEXT.split(b"SV\n")
KEYS = HEADER.splitlines(keepends=True)
FORMS = [
    TEXT,
    TEXT.replace(b"\n", b"\r\n"),
    TEXT.replace(b" \n", b"\n"),
    TEXT.replace(b"\n", b" \t\n"),
    HEADER.replace(b"\n", b" ") + b"\nSV\n" + VECTORS,
    TEXT + b"\n \r\n",
    b"\n" + TEXT,
    # Any order that LIBSVM reads: the number of classes first. Parameters that the kernel lacks.
    b"".join([KEYS[3], *reversed(KEYS[:3] + KEYS[4:])]) + b"SV\n" + VECTORS,
    TEXT.replace(b"kernel_type rbf\n", b"kernel_type rbf\ndegree 3\ncoef0 0\n"),
    # The last line end is missing, or half of it: this is reported.
    *(TEXT[:-1] + end for end in (b"", b"\r", b"\n\r", b"\n \r", b"\n\r\n\r")),
]


@pytest.mark.parametrize("text", FORMS)
def test_other_forms_of_a_text_are_read(text):
    model, warnings = parse_libsvm_model(text, "m")
    assert libsvm_model_bytes(model) == TEXT
    line = text.count(b"\n") + 1
    last = f"m:{line}: the last line has no line end; check that the file is complete"
    assert warnings == ([] if text.endswith(b"\n") else [last])
    for pack in (gzip, bz2, lzma):  # a packed model is known by its content
        loaded = open_model(pack.compress(text))
        assert (loaded.format, loaded.text) == ("libsvm-model", text)


def test_no_features_and_no_support_vectors():
    for text in (
        # As svm-train writes for rows that have only labels.
        b"svm_type epsilon_svr\nkernel_type rbf\ngamma 0\nnr_class 2\ntotal_sv 1\nrho -2.5\nSV\n0 \n",
        b"svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 0\nrho -2.5\nSV\n",
    ):
        model = read(text)
        assert libsvm_model_bytes(model) == text
        assert model.decision_values(Rows.from_dense([[1.0, 2.0]])).tolist() == [[2.5]]


def test_the_largest_labels_that_libsvm_reads():
    labels = np.array([2**31 - 1, -(2**31)])
    one = read((MODELS / "breast_c_rbf.model").read_bytes())
    model = read(libsvm_model_bytes(replace(one, head=Head("c_svc", labels))))
    np.testing.assert_array_equal(model.head.labels, labels)
