"""LIBSVM data text against the slow twin, float() and scikit-learn."""

from __future__ import annotations

import functools
import io
import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from reading import arguments
from svmlight_twin import TwinError, parse

from svmfast.errors import DataFormatError, EmptyDataError
from svmfast.formats.svmlight import Dataset, read_svmlight, stream_svmlight, write_svmlight
from svmfast.options import Reading
from svmfast.rows import Rows

#: Longer than what the native reader indexes at a time, so that every case also crosses its seams.
STRETCH = 1 << 14


def bits(values: np.ndarray) -> bytes:
    return np.asarray(values, dtype=np.float64).tobytes()


def joined(parts: list[Dataset]) -> tuple[bytes, bytes, bytes, bytes, int]:
    rows = Rows.concatenate([p.rows for p in parts])
    labels = np.concatenate([p.labels for p in parts])
    return bits(labels), rows.indptr.tobytes(), rows.indices.tobytes(), bits(rows.values), rows.n_columns


def as_twin(labels: list[float], rows: list[list[tuple[int, float]]], width: int) -> tuple[Any, ...]:
    indptr = np.cumsum([0, *(len(r) for r in rows)]).astype(np.int64)
    columns = np.array([c for r in rows for c, _ in r], dtype=np.int32)
    return (
        bits(np.array(labels)),
        indptr.tobytes(),
        columns.tobytes(),
        bits(np.array([v for r in rows for _, v in r])),
        width,
    )


def outcome(read: Any) -> tuple[Any, ...]:
    try:
        return joined(read())
    except EmptyDataError:
        return ("empty",)
    except DataFormatError as error:
        return ("error", error.line)


def twin_outcome(text: bytes, **options: bool) -> tuple[Any, ...]:
    try:
        labels, rows, width = parse(text, **options)
    except TwinError as error:
        return ("error", error.line)
    return as_twin(labels, rows, width) if rows else ("empty",)


# --- numbers

finite = st.floats(allow_nan=False, allow_infinity=False)
decimal = st.builds(
    lambda sign, whole, fraction, exponent: f"{sign}{whole}{fraction}{exponent}",
    st.sampled_from(["", "-", "+"]),
    st.text("0123456789", min_size=1, max_size=25),
    st.one_of(st.just(""), st.text("0123456789", max_size=25).map(lambda s: "." + s)),
    st.one_of(st.just(""), st.integers(-400, 290).map(lambda e: f"e{e}")),
)


@given(st.lists(decimal, min_size=1, max_size=50))
@example(
    ["9007199254740993", "9007199254740992.5", "0.30000000000000004", "5e-324", "2.4703282292062328e-324"]
)
@example(
    ["2.4703282292062327e-324", "1e-400", "-1e-400", "-0", "-0.0", "1.7976931348623157e308", "00000000001.5"]
)
@example(["0.000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001e90"])
def test_numbers_are_what_float_says(numbers: list[str]) -> None:
    kept = [n for n in numbers if not math.isinf(float(n))]
    text = "0\n1" + "".join(f" {i}:{n}" for i, n in enumerate(kept, start=1)) + "\n"
    assert bits(read_svmlight(text.encode()).rows.values) == bits(np.array([float(n) for n in kept]))


def test_short_decimals_are_exact() -> None:
    # Every sign, whole digit and number of decimals that takes the shortest way.
    rng = np.random.default_rng(0)
    numbers = [
        f"{sign}{whole}.{rng.integers(10**places):0{places}d}"
        for sign in ("", "-")
        for whole in range(10)
        for places in range(1, 18)
        for _ in range(20)
    ]
    text = "0\n" + "".join(f"{n} 1:{n} 22:{n}\n" for n in numbers)
    data = read_svmlight(text.encode())
    expected = np.array([float(n) for n in numbers])
    assert bits(data.labels[1:]) == bits(expected)
    assert bits(data.rows.values) == bits(np.repeat(expected, 2))


def test_long_numbers_of_every_magnitude() -> None:
    rng = np.random.default_rng(2)
    numbers = []
    for exponent in range(-345, 309):
        for digits in (1, 2, 8, 15, 16, 17, 18, 19, 20, 25):
            mantissa = "".join(map(str, rng.integers(0, 10, digits)))
            point = int(rng.integers(0, digits + 1))
            numbers.append(f"{mantissa[:point]}.{mantissa[point:]}e{exponent - point}")
            numbers.append(f"0.{'0' * int(rng.integers(0, 8))}{mantissa}")
    numbers = [n for n in numbers if not math.isinf(float(n))]
    text = "".join(f"{n} 5:-{n}\n" for n in numbers)
    data = read_svmlight(text.encode())
    assert bits(data.labels) == bits(np.array([float(n) for n in numbers]))
    assert bits(data.rows.values) == bits(np.array([-float(n) for n in numbers]))


def test_halfway_numbers_round_to_even() -> None:
    # Decimals exactly between two doubles, and a hair to either side: the hard cases of rounding.
    rng = np.random.default_rng(1)
    texts = []
    for pattern in rng.integers(1, 2**62, 400, dtype=np.uint64):
        (x,) = struct.unpack("<d", struct.pack("<Q", int(pattern)))
        if not 1e-30 < x < 1e30:
            x = math.frexp(x)[0] * 10.0 ** int(rng.integers(-8, 12))
        numerator, denominator = x.as_integer_ratio()
        upper, lower = math.nextafter(x, math.inf).as_integer_ratio()
        # x + ulp/2 as an exact decimal: its denominator is a power of two.
        top, bottom = numerator * lower + upper * denominator, 2 * denominator * lower
        shift = bottom.bit_length() - 1
        digits = str(top * 5**shift)
        texts += [f"{digits}e-{shift}", f"{digits}1e-{shift + 1}", f"{int(digits) - 1}e-{shift}"]
    data = read_svmlight(("0\n1" + "".join(f" {i}:{t}" for i, t in enumerate(texts, 1)) + "\n").encode())
    assert bits(data.rows.values) == bits(np.array([float(t) for t in texts]))


# --- the grammar

FRAGMENTS = [
    *b"1 -1 +1 2.5 1:0.5 2:1 3:-1e-5 7:12345678.25 10:0.123456789012345678 # qid:3 0:1 0:? -3:1".split(),
    *b"2147483647:1 2147483648:1 99999999999999999999:1 3:nan 4:1e999 5:0x10 : 6: :6 8:1:2 9:1,5 ,".split(),
    *b"0.5 qid:x 0 ? +3:1 007:1 4:.5 4:5. 4:. 4:1e 4:+-1 inf".split(),
    *(b" ", b" ", b" ", b" ", b"\t", b"  ", b"\n", b"\n", b"\r\n", b"\n", b"# note: 1:2", b"\r", b"\0"),
    *(b"\xef\xbb\xbf", b"\x85", b"\xc2\xa0", b"\x0b", b"\x1c"),
]
ROWS = [
    b"1 1:0.5 2:1\n",
    b"-1 3:-0.25\n",
    b"2\n",
    b"1 1:1 10:1e-3 \n",
    b"+1 2:0.125 12345678:1\r\n",
    b"0 0:1 1:2\n",
]
DENSE = [
    b"1 0.5 0\n",
    b"-1,0.25,3\n",
    b"2 0 0\r\n",
    b"1\t1\t2 # x\n",
    b"+1 , 0.5 , 1\n",
    b"0 -0.0 1\n",
    b"1 2\n",
]
options = st.fixed_dictionaries(
    {name: st.booleans() for name in ("zero_based", "lenient", "labelled")},
    optional={"precomputed": st.booleans()},
)


@settings(max_examples=6 * settings.default.max_examples)
@given(
    st.lists(st.sampled_from(ROWS), max_size=8),
    st.lists(st.sampled_from(FRAGMENTS), max_size=12),
    st.lists(st.sampled_from(ROWS), max_size=8),
    options,
)
@example([], [b"\x0b"], [], {"zero_based": False, "lenient": False, "labelled": False})
def test_any_text_reads_as_the_twin_reads_it(
    before: list[bytes], middle: list[bytes], after: list[bytes], how: dict[str, bool]
) -> None:
    text = b"".join(before) + b"".join(middle) + b"".join(after)
    assert outcome(lambda: [read_svmlight(text, **arguments(**how))]) == twin_outcome(text, **how)


@settings(max_examples=6 * settings.default.max_examples)
@given(st.lists(st.sampled_from(DENSE + FRAGMENTS), max_size=12), st.booleans(), st.booleans())
@example([b"\xef\xbb\xbf"], False, False)
def test_dense_text_reads_as_the_twin_reads_it(parts: list[bytes], lenient: bool, labelled: bool) -> None:
    text, how = b"".join(parts), {"dense": True, "lenient": lenient, "labelled": labelled}
    assert outcome(lambda: [read_svmlight(text, **arguments(**how))]) == twin_outcome(text, **how)


@functools.cache
def plain_text(seed: int, size: int) -> bytes:
    rng = np.random.default_rng(seed)
    lines = []
    total = 0
    while total < size:
        columns = np.flatnonzero(rng.random(40) < rng.random()) * int(rng.integers(1, 3000)) + 1
        values = [f"{v:.{rng.integers(0, 19)}g}" for v in rng.standard_normal(len(columns))]
        end = rng.choice(["\n", " \n", "\r\n"], p=[0.6, 0.2, 0.2])
        lines.append(
            f"{rng.integers(-1, 3)}"
            + "".join(f" {c}:{v}" for c, v in zip(columns, values, strict=True))
            + end
        )
        total += len(lines[-1])
    return "".join(lines).encode()


@given(
    st.integers(0, 5),
    st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=2), st.integers(0, 2)), max_size=3),
    st.booleans(),
)
def test_damaged_files_read_as_the_twin_reads_them(
    seed: int, damage: list[tuple[float, bytes, int]], lenient: bool
) -> None:
    text = bytearray(plain_text(seed, 3 * STRETCH))
    for where, insert, cut in damage:
        at = int(where * len(text))
        text[at : at + cut] = insert
    whole = bytes(text)
    assume(whole[:2] not in (b"\x1f\x8b", b"\x1f\x9d"))  # gzip, compress: the twin reads text alone
    assert outcome(lambda: [read_svmlight(whole, Reading(lenient=lenient))]) == twin_outcome(
        whole, lenient=lenient
    )


def test_seams_between_stretches_do_not_show() -> None:
    # Slide a text over the seam, one character at a time.
    row = b"1 1:0.5 22:-1.25 333:7e-3\r\n-1 \n2 4444:3.0 55555:1\n"
    tail = row * 3
    expected = twin_outcome(b"0\n" + tail)
    for shift in range(len(row) + 70):
        filler = STRETCH - len(row) - 40 + shift
        text = b"0 1:" + b"0" * filler + b"\n" + tail
        got = joined([read_svmlight(text)])
        assert got[0] == expected[0]
        assert got[3] == bits(np.zeros(1)) + expected[3]


# --- pieces, threads, round trips


@given(
    st.lists(st.sampled_from([*ROWS, b"# c\n", b"\n"]), max_size=12),
    st.lists(st.sampled_from(FRAGMENTS), max_size=4),
    st.integers(1, 60),
    st.booleans(),
)
def test_streamed_is_whole(lines: list[bytes], end: list[bytes], chunk: int, lenient: bool) -> None:
    text = b"".join(lines) + b"".join(end)

    def streamed() -> list[Dataset]:
        return list(stream_svmlight(io.BytesIO(text), Reading(lenient=lenient), chunk_bytes=chunk))

    assert outcome(streamed) == outcome(lambda: [read_svmlight(text, Reading(lenient=lenient))])


@pytest.mark.parametrize("chunk", [1000, 4096, 65536, 10**6])
def test_streamed_is_whole_with_right_lines(chunk: int) -> None:
    text = b"# head\n" + plain_text(3, 200_000).replace(b" \n", b"\n# between\n")
    whole = read_svmlight(text)
    parts = list(stream_svmlight(text, chunk_bytes=chunk))
    assert joined(parts) == joined([whole])
    assert sum((p.notes.comment_lines for p in parts), 0) == whole.notes.comment_lines == text.count(b"#")
    lines = text.splitlines()
    number_of_row = [i for i, line in enumerate(lines, start=1) if not line.startswith(b"#")]
    row = 0
    for part in parts:
        assert part.first_line == number_of_row[row]
        row += len(part)


@pytest.mark.parametrize("options", [{}, {"lenient": True}, {"zero_based": True}])
def test_threads_change_nothing(options: dict[str, bool]) -> None:
    text = plain_text(4, 1_400_000)
    expected = read_svmlight(text, **arguments(**options))
    for threads in (2, 3, 5):
        got = read_svmlight(text, threads=threads, **arguments(**options))
        assert joined([got]) == joined([expected])
        assert (got.first_line, got.notes) == (expected.first_line, expected.notes)


@pytest.mark.parametrize("where", [0.05, 0.45, 0.9])
def test_threads_name_the_same_line(where: float) -> None:
    lines = plain_text(5, 1_100_000).splitlines(keepends=True)
    at = int(where * len(lines))
    lines[at] = b"1 1:0.5 oops\n"
    lines[-1] = b"1 later fault\n"
    text = b"".join(lines)
    messages = set()
    for threads in (1, 2, 4):
        with pytest.raises(DataFormatError) as caught:
            read_svmlight(text, threads=threads)
        assert caught.value.line == at + 1
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_threads_keep_the_row_width() -> None:
    row = b"1" + b" 0.5" * 50 + b"\n"
    text = row * 6000
    for broken in (1, 2999, 3000, 4500, 5999):
        changed = row * broken + b"1 0.5\n" + row * (6000 - broken - 1)
        for threads in (1, 2, 4):
            with pytest.raises(
                DataFormatError, match=f"^<bytes>:{broken + 1}: 1 value in the row; expected 50 as in"
            ):
                read_svmlight(changed, Reading(dense=True), threads=threads)
    assert len(read_svmlight(text, Reading(dense=True), threads=4)) == 6000


entries = st.dictionaries(st.integers(0, 2**31 - 2), finite, max_size=6)


@given(st.lists(st.tuples(finite, entries), min_size=1, max_size=8))
def test_written_and_read_back_bit_for_bit(data: list[tuple[float, dict[int, float]]]) -> None:
    labels, rows = [label for label, _ in data], [sorted(r.items()) for _, r in data]
    width = max((r[-1][0] + 1 for r in rows if r), default=0)
    table = Rows(
        np.cumsum([0, *map(len, rows)]).astype(np.int64),
        np.array([c for r in rows for c, _ in r], dtype=np.int32),
        np.array([v for r in rows for _, v in r], dtype=np.float64),
        width,
    )
    file = io.BytesIO()
    write_svmlight(file, table, labels)
    assert joined([read_svmlight(file.getvalue())]) == as_twin(labels, rows, width)


def test_agrees_with_scikit_learn() -> None:
    from sklearn.datasets import load_svmlight_file

    text = plain_text(4, 1_400_000)
    data = read_svmlight(text)
    theirs, labels = load_svmlight_file(io.BytesIO(text), zero_based=False, n_features=data.rows.n_columns)
    assert bits(theirs.data) == bits(data.rows.values)
    assert np.array_equal(theirs.indices, data.rows.indices)
    assert np.array_equal(theirs.indptr, data.rows.indptr)
    assert np.array_equal(labels, data.labels)
