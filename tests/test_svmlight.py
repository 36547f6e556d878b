"""LIBSVM data text: reading, streaming, writing."""

from __future__ import annotations

import numpy as np
import pytest

from svmfast import errors
from svmfast.formats.svmlight import read_svmlight, stream_svmlight, write_svmlight
from svmfast.rows import Rows


def test_reads_rows_labels_and_width() -> None:
    data = read_svmlight(b"+1 1:0.5 3:-2\n-1\n2.5 2:1e-3\n")
    assert data.labels.tolist() == [1.0, -1.0, 2.5]
    assert data.rows.to_dense().tolist() == [[0.5, 0, -2], [0, 0, 0], [0, 1e-3, 0]]
    assert (data.path, data.first_line, bool(data.notes)) == ("<bytes>", 1, False)


def test_error_has_the_form_of_the_house() -> None:
    with pytest.raises(errors.UnsortedIndexError) as caught:
        read_svmlight(b"1 1:1\n1 3:1 2:1\n")
    assert str(caught.value) == (
        "<bytes>:2: index 2 behind 3 ('2:1'); expected ascending indices; --lenient sorts"
    )


def test_stream_is_the_file_in_pieces() -> None:
    text = b"".join(b"%d %d:%d.5\n" % (i, i + 1, i) for i in range(1000))
    whole = read_svmlight(text)
    parts = list(stream_svmlight(text, chunk_bytes=100))
    assert len(parts) > 10
    rows = Rows.concatenate([p.rows for p in parts])
    assert np.array_equal(rows.values, whole.rows.values)
    assert np.array_equal(rows.indices, whole.rows.indices)
    assert np.array_equal(np.concatenate([p.labels for p in parts]), whole.labels)
    starts = np.cumsum([1, *(len(p) for p in parts[:-1])])
    assert [p.first_line for p in parts] == starts.tolist()


def test_written_rows_read_back(tmp_path) -> None:  # type: ignore[no-untyped-def]
    rows = Rows.from_dense([[0.1, 0, 1 / 3], [0, 0, 0], [5e-324, -1.7976931348623157e308, 0]])
    write_svmlight(tmp_path / "data", rows, [1, -1, 0.25])
    assert (tmp_path / "data").read_text().startswith("1 1:0.1 3:0.3333333333333333\n-1\n0.25 1:5e-324")
    again = read_svmlight(tmp_path / "data")
    assert again.rows.to_dense().tolist() == rows.to_dense().tolist()
