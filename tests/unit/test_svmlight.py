"""LIBSVM data text: reading, streaming, writing, and what is refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
from reading import arguments

from svmfast import errors
from svmfast._core import TEXT_PADDING, SvmlightTokenizer, write_rows
from svmfast.formats import svmlight
from svmfast.formats.svmlight import Notes, read_svmlight, stream_svmlight, write_svmlight
from svmfast.options import Reading
from svmfast.rows import Rows


def test_options_that_contradict() -> None:
    for other in ({"zero_based": True}, {"precomputed": True}):
        with pytest.raises(errors.OptionError, match=r"^dense rows have no indices: "):
            read_svmlight(b"1 0.5\n", **arguments(dense=True, **other))


def test_a_blank_line_without_labels_is_a_row_of_zeros() -> None:
    text = b"\n1:1\n \t\r\n# comment\n2:2\n\n"
    data = read_svmlight(text, Reading(unlabelled=True))
    assert data.rows.to_dense().tolist() == [[0, 0], [1, 0], [0, 0], [0, 2], [0, 0]]
    assert (data.first_line, data.notes) == (1, Notes(comment_lines=1, blank_rows=3))
    assert data.notes.messages()[-1] == "3 blank lines read as rows of zeros"
    for chunk in (1, 2, 1000):
        parts = list(stream_svmlight(text, Reading(unlabelled=True), chunk_bytes=chunk))
        assert sum(map(len, parts)) == 5
    # The shortest rows there are:
    many = read_svmlight(b"\n" * 1_000_000, Reading(unlabelled=True), threads=2)
    assert (len(many), many.rows.nnz, many.notes.blank_rows) == (1_000_000, 0, 1_000_000)
    skipped = read_svmlight(text, Reading(unlabelled=True, lenient=True))
    assert (len(skipped), skipped.notes.blank_lines) == (2, 3)
    with pytest.raises(errors.EmptyDataError, match=r"expected 'index:value \.\.\.' on each line$"):
        read_svmlight(b"# nothing\n", Reading(unlabelled=True))


@pytest.mark.parametrize("start", [b"svm_type c_svc\n", b"svmfast-model 1 0\n", b"kernel_type rbf\n"])
@pytest.mark.parametrize("how", [{}, {"labelled": False}, {"dense": True}, {"lenient": True}])
def test_a_model_is_no_data(start: bytes, how: dict[str, bool]) -> None:
    with pytest.raises(errors.DataFormatError, match=r"^<bytes>:1: a model, not data \('"):
        read_svmlight(start + b"x\n", **arguments(**how))
    with pytest.raises(errors.DataFormatError) as caught:
        read_svmlight(b"# no model\n" + start, **arguments(**how))
    assert "a model, not data" not in str(caught.value)


def test_notes_add_up_and_speak() -> None:
    text = b"\xef\xbb\xbf# one\n# two\n1 qid:3 1:1 # three\n\n1 2:1 1:1\n"
    stream = stream_svmlight(text, Reading(lenient=True), chunk_bytes=12)
    assert len(list(stream)) >= 2
    assert stream.notes == read_svmlight(text, Reading(lenient=True)).notes
    assert stream.notes == Notes(2, 1, 1, 1, 1, 0, 1)
    assert stream.notes.messages() == [
        "2 comment lines skipped",
        "1 comment at the end of a row ignored",
        "1 qid: token ignored",
        "1 blank line skipped",
        "1 row with unsorted indices sorted",
        "1 UTF-8 byte order mark dropped",
    ]


def test_rows_before_a_fault_come_first() -> None:
    for chunk in (4, 10, 1000):
        stream = stream_svmlight(b"1 1:1\n2 1:1\n3 oops\n4 1:1\n", chunk_bytes=chunk)
        seen = []
        with pytest.raises(errors.DataFormatError, match=r"^<bytes>:3: "):  # noqa: PT012
            for part in stream:
                seen += part.labels.tolist()
        assert seen == [1, 2]


def test_width_is_the_widest_so_far() -> None:
    parts = list(stream_svmlight(b"1 9:1\n1 3:1\n1 12:1\n", chunk_bytes=6))
    assert [part.rows.n_columns for part in parts] == [9, 9, 12]


def test_a_line_of_many_megabytes() -> None:
    n = 600_000
    line = b"1 " + b" ".join(b"%d:%d.25" % (i, i % 10) for i in range(1, n + 1))
    text = b"-1 1:1\n" + line + b"\n-1 2:1\n"
    assert len(line) > 5 << 20
    for chunk in (1000, 1 << 20):
        parts = list(stream_svmlight(text, chunk_bytes=chunk))
        rows = Rows.concatenate([part.rows for part in parts])
        assert np.diff(rows.indptr).tolist() == [1, n, 1]
        assert np.array_equal(rows.values[1:-1], np.arange(1, n + 1) % 10 + 0.25)


def test_very_long_tokens() -> None:
    zeros = b"0" * 3_000_000
    data = read_svmlight(b"1 1:" + zeros + b"1." + zeros + b"1e0 " + zeros + b"2:1e-" + zeros + b"1\n")
    assert data.rows.values.tolist() == [1, 0.1]
    with pytest.raises(errors.DataFormatError) as caught:
        read_svmlight(b"1 1:" + zeros + b"x\n")
    assert str(caught.value) == (
        "<bytes>:1: the value is not a number ('1:" + "0" * 55 + "...'); expected a decimal number"
    )


@pytest.mark.parametrize(
    ("filler", "message"),
    [
        (b"1 1:1\r", ":1: carriage return inside a line; expected \\n or \\r\\n"),
        (b"\0" * 6, ":1: NUL byte "),
        (b"#\0xyz ", ": NUL bytes in a line; expected text"),
        (b"1:1234 ", ": the line is longer than 10,000 bytes; expected one row per line"),
    ],
)
def test_endless_lines_end(filler: bytes, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        given = 0

        def readinto(self, view: bytearray) -> int:
            count = min(len(view), len(filler))
            view[:count] = filler[:count]
            self.given += count
            assert self.given < 200_000, "read on without need"
            return count

    monkeypatch.setattr(svmlight, "_SUSPICIOUS_LINE", 5_000)
    monkeypatch.setattr(svmlight, "MAX_LINE_BYTES", 10_000)
    with pytest.raises(errors.DataFormatError) as caught:
        list(stream_svmlight(Endless(), Reading(unlabelled=not filler.startswith(b"1 ")), chunk_bytes=1000))
    assert message in str(caught.value)


def test_written_text_is_plain() -> None:
    rows = Rows.from_dense([[1.0, 0.5], [0.0, -2e-9]])
    file = io.BytesIO()
    write_svmlight(file, rows, [1, -1])
    assert file.getvalue() == b"1 1:1 2:0.5\n-1 2:-2e-09\n"
    file = io.BytesIO()
    write_svmlight(file, rows[1:], [-1], zero_based=True)
    assert file.getvalue() == b"-1 1:-2e-09\n"


def test_writing_refuses_what_could_not_be_read() -> None:
    rows = Rows.from_dense([[1.0]])
    with pytest.raises(errors.OptionError, match="1 rows need as many labels, got an array of shape"):
        write_svmlight(io.BytesIO(), rows, [1, 2])
    with pytest.raises(errors.OptionError, match="must be finite"):
        write_svmlight(io.BytesIO(), rows, [np.nan])
    with pytest.raises(errors.OptionError, match="must be finite"):
        write_svmlight(io.BytesIO(), Rows(rows.indptr, rows.indices, np.array([np.inf]), 1), [1])


def test_the_core_checks_what_it_is_given() -> None:
    tokenizer = SvmlightTokenizer(False, False, False, False, 1)
    with pytest.raises(IndexError, match="no padding"):
        tokenizer.feed(bytearray(b"1 1:1\n"), 0, 6, 1)
    with pytest.raises(ValueError, match="the last line has no end"):
        tokenizer.feed(bytearray(b"1 1:1") + bytearray(TEXT_PADDING), 0, 5, 1)
    one, indptr, column = np.ones(1), np.array([0, 1]), np.zeros(1, np.int32)
    for bad in (indptr[:1], column, one), (indptr, column[:0], one), (indptr * 7, column, one):
        with pytest.raises(ValueError, match="rows are inconsistent"):
            write_rows(one[np.newaxis], *bad, 1, 0)
