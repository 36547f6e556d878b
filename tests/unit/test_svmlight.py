"""LIBSVM data text against the slow twin, float() and scikit-learn: read, streamed, refused and written."""

import io
import math
import re
import struct
from functools import cache
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from reading import arguments
from sklearn.datasets import load_svmlight_file
from svmlight_twin import TwinError, parse

from svmfast import errors
from svmfast.formats import svmlight
from svmfast.formats.svmlight import Dataset, Notes, read_svmlight, stream_svmlight, write_svmlight
from svmfast.options import Reading
from svmfast.rows import Rows

#: Longer than what the native reader indexes at a time, so that every case also crosses its seams.
STRETCH = 1 << 14


def bits(values):
    return np.asarray(values, dtype=np.float64).tobytes()


def joined(parts):
    rows = Rows.concatenate([p.rows for p in parts])
    labels = np.concatenate([p.labels for p in parts])
    return bits(labels), rows.indptr.tobytes(), rows.indices.tobytes(), bits(rows.values), rows.n_columns


def outcome(read):
    try:
        return joined(read())
    except (errors.DataFormatError, TwinError) as error:
        return error.line  # None if there are no rows


def as_rows(rows, width):
    columns, values = ([entry[i] for row in rows for entry in row] for i in (0, 1))
    starts = np.cumsum([0, *map(len, rows)])
    return Rows(starts, np.array(columns, dtype=np.int32), np.array(values, dtype=np.float64), width)


def twins(text, **options):
    labels, rows, width = parse(text, **options)
    if not rows:
        raise TwinError(None, "empty")
    return [Dataset(as_rows(rows, width), np.array(labels), "", 1, Notes())]


# --- numbers

KNOWN = (
    b"9007199254740993 9007199254740992.5 0.30000000000000004 5e-324 2.4703282292062328e-324 1e-400 -1e-400 "
    b"2.4703282292062327e-324 -0 -0.0 1.7976931348623157e308 00000000001.5 0.%s1e90 "
    b"0.%s1e20" % (b"0" * 89, b"0" * 400)
)


def short_decimals():
    """Every sign, whole digit and number of decimals that takes the shortest way."""
    rng = np.random.default_rng(0)
    every = product(("", "-"), range(10), range(1, 18), range(20))
    return [f"{sign}{whole}.{rng.integers(10**n):0{n}d}" for sign, whole, n, _ in every]


def numbers_of_every_magnitude():
    rng, found = np.random.default_rng(2), []
    for exponent in range(-345, 309):
        for digits in (1, 2, 8, 15, 16, 17, 18, 19, 20, 25):
            mantissa = "".join(map(str, rng.integers(0, 10, digits)))
            point = int(rng.integers(0, digits + 1))
            found.append(f"{mantissa[:point]}.{mantissa[point:]}e{exponent - point}")
            found.append(f"0.{'0' * int(rng.integers(0, 8))}{mantissa}")
    return [number for number in found if not math.isinf(float(number))]


def numbers_between_two_doubles():
    """Exactly halfway, and a hair to either side: the hard cases of rounding."""
    rng, found = np.random.default_rng(1), []
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
        found += [f"{digits}e-{shift}", f"{digits}1e-{shift + 1}", f"{int(digits) - 1}e-{shift}"]
    return found


@pytest.mark.parametrize("kind", [short_decimals, numbers_of_every_magnitude, numbers_between_two_doubles])
def test_numbers_are_what_float_says(kind):
    texts = kind() + KNOWN.decode().split()
    data = read_svmlight("".join(f"{text} 1:{text} 22:{text}\n" for text in texts).encode())
    expected = np.array([float(text) for text in texts])
    assert bits(data.labels) == bits(expected)
    assert bits(data.rows.values) == bits(np.repeat(expected, 2))


# --- the grammar

FRAGMENTS = [
    *b"1 -1 +1 2.5 1:0.5 2:1 3:-1e-5 7:12345678.25 10:0.123456789012345678 # qid:3 0:1 0:? -3:1".split(),
    *b"2147483647:1 2147483648:1 99999999999999999999:1 3:nan 4:1e999 5:0x10 : 6: :6 8:1:2 9:1,5 ,".split(),
    *b"0.5 qid:x 0 ? +3:1 007:1 4:.5 4:5. 4:. 4:1e 4:+-1 inf".split(),
    *(b" ", b" ", b" ", b" ", b"\t", b"  ", b"\n", b"\n", b"\r\n", b"\n", b"# note: 1:2", b"\r", b"\0"),
    *(b"\xef\xbb\xbf", b"\x85", b"\xc2\xa0", b"\x0b", b"\x1c"),
]
ROWS = b"1 1:0.5 2:1\n-1 3:-0.25\n2\n1 1:1 10:1e-3 \n+1 2:0.125 12345678:1\r\n0 0:1 1:2\n".splitlines(True)
DENSE = b"1 0.5 0\n-1,0.25,3\n2 0 0\r\n1\t1\t2 # x\n+1 , 0.5 , 1\n0 -0.0 1\n1 2\n".splitlines(True)


@cache
def plain_text(seed, size):
    rng, text = np.random.default_rng(seed), ""
    while len(text) < size:
        columns = np.flatnonzero(rng.random(40) < rng.random()) * int(rng.integers(1, 3000)) + 1
        entries = [f" {c}:{rng.standard_normal():.{rng.integers(0, 19)}g}" for c in columns]
        end = rng.choice(["\n", " \n", "\r\n"], p=[0.6, 0.2, 0.2])
        text += f"{rng.integers(-1, 3)}{''.join(entries)}{end}"
    return text.encode()


@st.composite
def broken_text(draw):
    text = bytearray(plain_text(draw(st.integers(0, 5)), 3 * STRETCH))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    assume(text[:2] not in (b"\x1f\x8b", b"\x1f\x9d"))  # gzip, compress: the twin reads text alone
    return bytes(text)


def pieces(*of):
    parts = (st.lists(st.sampled_from(one), max_size=12).map(b"".join) for one in of)
    return st.tuples(*parts).map(b"".join)


def options(*names, **fixed):
    known = {name: st.just(value) for name, value in fixed.items()}
    return st.fixed_dictionaries({**dict.fromkeys(names, st.booleans()), **known})


@settings(max_examples=12 * settings.default.max_examples)
@given(
    st.one_of(
        st.tuples(pieces(ROWS, FRAGMENTS, ROWS), options("zero_based", "lenient", "labelled", "precomputed")),
        st.tuples(pieces([*ROWS, b"# c\n", b"\n"], FRAGMENTS[:30]), options("lenient")),
        st.tuples(pieces([*DENSE, *FRAGMENTS]), options("lenient", "labelled", dense=True)),
        st.tuples(broken_text(), options("lenient")),
    ),
    st.integers(1, 60),
)
@example((b"\x0b", {"labelled": False}), 1)
@example((b"\xef\xbb\xbf", {"dense": True, "labelled": False}), 1)
def test_any_text_reads_as_the_twin_reads_it(given, chunk):
    text, how = given
    expected = outcome(lambda: twins(text, **how))
    assert outcome(lambda: [read_svmlight(text, **arguments(**how))]) == expected
    chunk = chunk if len(text) < STRETCH else 100 * chunk
    assert outcome(lambda: [*stream_svmlight(text, chunk_bytes=chunk, **arguments(**how))]) == expected


def test_seams_between_stretches_do_not_show():
    row = b"1 1:0.5 22:-1.25 333:7e-3\r\n-1 \n2 4444:3.0 55555:1\n"
    tail = row * 3
    expected = joined(twins(b"0\n" + tail))
    for shift in range(len(row) + 70):
        text = b"0 1:" + b"0" * (STRETCH - len(row) - 40 + shift) + b"\n" + tail
        got = joined([read_svmlight(text)])
        assert (got[0], got[3]) == (expected[0], bits(np.zeros(1)) + expected[3])


# --- pieces and threads


@pytest.mark.parametrize("chunk", [1000, 65536, 10**6])
def test_streamed_blocks_know_their_lines(chunk):
    text = b"# head\n" + plain_text(3, 200_000).replace(b" \n", b"\n# between\n")
    whole, parts = read_svmlight(text), list(stream_svmlight(text, chunk_bytes=chunk))
    assert joined(parts) == joined([whole])
    assert sum(p.notes.comment_lines for p in parts) == whole.notes.comment_lines == text.count(b"#")
    lines = [i for i, line in enumerate(text.splitlines(), start=1) if not line.startswith(b"#")]
    starts = np.cumsum([0, *map(len, parts[:-1])])
    assert [part.first_line for part in parts] == [lines[at] for at in starts]


def test_threads_change_nothing_and_scikit_learn_agrees():
    text = plain_text(4, 1_400_000)
    theirs, labels = load_svmlight_file(io.BytesIO(text), zero_based=False)
    columns = np.asarray(theirs.indices, dtype=np.int32)
    rows = Rows(theirs.indptr, columns, theirs.data, theirs.shape[1])
    expected = joined([Dataset(rows, labels, "", 1, Notes())])
    for threads in (1, 2, 3, 5):
        got = read_svmlight(text, Reading(lenient=threads == 3), threads=threads)
        assert (joined([got]), got.first_line, got.notes) == (expected, 1, Notes())


@pytest.mark.parametrize("where", [0.001, 0.05, 0.45, 0.5, 0.9])
def test_threads_name_the_same_line(where):
    lines, rows = plain_text(5, 1_100_000).splitlines(keepends=True), [b"1" + b" 0.5" * 50 + b"\n"] * 6000
    at, middle = int(where * len(lines)), int(where * len(rows))
    lines[at], lines[-1], rows[middle] = b"1 1:0.5 oops\n", b"1 later fault\n", b"1 0.5\n"
    for threads in (1, 2, 4):
        with pytest.raises(errors.DataFormatError, match=rf"^<bytes>:{at + 1}: .* \('oops'\)"):
            read_svmlight(b"".join(lines), threads=threads)
        with pytest.raises(errors.DataFormatError, match=f"^<bytes>:{middle + 1}: 1 value in the row; .* 50"):
            read_svmlight(b"".join(rows), Reading(dense=True), threads=threads)
        assert len(read_svmlight(b"".join(rows[:middle]), Reading(dense=True), threads=threads)) == middle


def test_blocks_are_as_wide_as_the_widest_so_far_and_come_before_a_fault():
    parts = list(stream_svmlight(b"1 9:1\n1 3:1\n1 12:1\n", chunk_bytes=6))
    assert [part.rows.n_columns for part in parts] == [9, 9, 12]
    for chunk in (4, 10, 1000):
        stream, seen = stream_svmlight(b"1 1:1\n2 1:1\n3 oops\n4 1:1\n", chunk_bytes=chunk), []
        with pytest.raises(errors.DataFormatError, match=r"^<bytes>:3: "):
            seen.extend(label for part in stream for label in part.labels)
        assert seen == [1, 2]


def test_long_lines_and_tokens():
    n, zeros = 600_000, b"0" * 3_000_000
    line = b"1 " + b" ".join(b"%d:%d.25" % (i, i % 10) for i in range(1, n + 1))
    assert len(line) > 5 << 20
    for chunk in (1000, 1 << 20):
        parts = stream_svmlight(b"-1 1:1\n" + line + b"\n-1 2:1\n", chunk_bytes=chunk)
        rows = Rows.concatenate([part.rows for part in parts])
        assert np.diff(rows.indptr).tolist() == [1, n, 1]
        assert np.array_equal(rows.values[1:-1], np.arange(1, n + 1) % 10 + 0.25)
    data = read_svmlight(b"1 1:%s1.%s1e0 %s2:1e-%s1\n" % ((zeros,) * 4))
    assert data.rows.values.tolist() == [1, 0.1]
    with pytest.raises(errors.DataFormatError, match=rf"^<bytes>:1: .* number \('1:{'0' * 55}\.\.\.'\); "):
        read_svmlight(b"1 1:" + zeros + b"x\n")


@pytest.mark.parametrize(
    ("filler", "message"),
    [
        (b"1 1:1\r", ":1: carriage return inside a line; expected \\n or \\r\\n"),
        (b"\0" * 6, ":1: NUL byte "),
        (b"#\0xyz ", ": NUL bytes in a line; expected text"),
        (b"1:1234 ", ": the line is longer than 10,000 bytes; expected one row per line"),
    ],
)
def test_endless_lines_end(filler, message, monkeypatch):
    rest = iter([filler] * 10_000)  # read on without need, it ends
    endless = SimpleNamespace(read=lambda size: next(rest)[:size])
    monkeypatch.setattr(svmlight, "_SUSPICIOUS_LINE", 5_000)
    monkeypatch.setattr(svmlight, "MAX_LINE_BYTES", 10_000)
    how = Reading(unlabelled=not filler.startswith(b"1 "))
    with pytest.raises(errors.DataFormatError, match=re.escape(message)):
        list(stream_svmlight(endless, how, chunk_bytes=1000))


# --- notes and models


def test_a_blank_line_without_labels_is_a_row_of_zeros():
    text = b"\n1:1\n \t\r\n# comment\n2:2\n\n"
    data = read_svmlight(text, Reading(unlabelled=True))
    assert data.rows.to_dense().tolist() == [[0, 0], [1, 0], [0, 0], [0, 2], [0, 0]]
    assert (data.first_line, data.notes) == (1, Notes(comment_lines=1, blank_rows=3))
    assert data.notes.messages()[-1] == "3 blank lines read as rows of zeros"
    assert sum(map(len, stream_svmlight(text, Reading(unlabelled=True), chunk_bytes=2))) == 5
    # The shortest rows there are:
    many = read_svmlight(b"\n" * 1_000_000, Reading(unlabelled=True), threads=2)
    assert (len(many), many.rows.nnz, many.notes.blank_rows) == (1_000_000, 0, 1_000_000)
    skipped = read_svmlight(text, Reading(unlabelled=True, lenient=True))
    assert (len(skipped), skipped.notes.blank_lines) == (2, 3)


@pytest.mark.parametrize("how", [{}, {"labelled": False}, {"dense": True}, {"lenient": True}])
def test_a_model_is_no_data(how):
    for start in (b"svm_type c_svc\n", b"svmfast-model 1 0\n", b"kernel_type rbf\n"):
        for text, expected in ((start + b"x\n", True), (b"# no model\n" + start, False)):
            with pytest.raises(errors.DataFormatError) as caught:
                read_svmlight(text, **arguments(**how))
            assert str(caught.value).startswith("<bytes>:1: a model, not data ('") == expected


def test_notes_add_up_and_speak():
    text = b"\xef\xbb\xbf# one\n# two\n1 qid:3 1:1 # three\n\n1 2:1 1:1\n"
    stream = stream_svmlight(text, Reading(lenient=True), chunk_bytes=12)
    assert len(list(stream)) >= 2
    assert stream.notes == read_svmlight(text, Reading(lenient=True)).notes == Notes(2, 1, 1, 1, 1, 0, 1)
    assert stream.notes.messages() == [
        "2 comment lines skipped",
        "1 comment at the end of a row ignored",
        "1 qid: token ignored",
        "1 blank line skipped",
        "1 row with unsorted indices sorted",
        "1 UTF-8 byte order mark dropped",
    ]


# --- written

finite = st.floats(allow_nan=False, allow_infinity=False)
entries = st.dictionaries(st.integers(0, 2**31 - 2), finite, max_size=6)


@given(st.lists(st.tuples(finite, entries), min_size=1, max_size=8))
def test_written_and_read_back_bit_for_bit(data):
    rows = [sorted(row.items()) for _, row in data]
    labels = np.array([label for label, _ in data])
    table = as_rows(rows, max((row[-1][0] + 1 for row in rows if row), default=0))
    file = io.BytesIO()
    write_svmlight(file, table, labels)
    assert joined([read_svmlight(file.getvalue())]) == joined([Dataset(table, labels, "", 1, Notes())])


def test_written_text_is_plain_and_can_be_read():
    rows, files = Rows.from_dense([[1.0, 0.5], [0.0, -2e-9]]), [io.BytesIO(), io.BytesIO()]
    write_svmlight(files[0], rows, [1, -1])
    write_svmlight(files[1], rows[1:], [-1], zero_based=True)
    assert [file.getvalue() for file in files] == [b"1 1:1 2:0.5\n-1 2:-2e-09\n", b"-1 1:-2e-09\n"]
