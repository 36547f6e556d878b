"""Where bytes come from: every form of input."""

import bz2
import contextlib
import gzip
import io
import lzma
import os
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import zstandard
from blocks import everything
from program import model

from svmfast import errors
from svmfast.formats.model_files import open_model
from svmfast.formats.source import open_source
from svmfast.formats.svmlight import read_svmlight, stream_svmlight

TEXT = b"".join(b"%d %d:%d.5 77:1\n" % (i % 3, i % 50 + 1, i) for i in range(5000))


def zstd(data):
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd}


class Trickle(io.RawIOBase):
    """A raw stream that gives at most `step` bytes at a time."""

    def __init__(self, data, step):
        self.rest, self.step = data, step

    def readable(self):
        return True

    def readinto(self, view):
        piece = self.rest[: min(self.step, len(view))]
        view[: len(piece)] = piece
        self.rest = self.rest[len(piece) :]
        return len(piece)


@pytest.mark.parametrize("packing", [None, *PACKERS])
def test_every_form_gives_the_same_bytes(packing, tmp_path):
    data = TEXT[:3000] if packing is None else PACKERS[packing](TEXT[:3000])
    path = tmp_path / "no-telling-name"
    path.write_bytes(data)
    with path.open("rb") as file, path.open(encoding="ascii") as text:
        least = SimpleNamespace(read=io.BytesIO(data).read)  # the least a file object can be
        given = [path, str(path), data, bytearray(data), io.BytesIO(data), file, text, least]
        for source in [*given, Trickle(data, 1), Trickle(data, 7)]:
            assert everything(source) == TEXT[:3000], source


def test_a_pipe_may_deliver_a_model_byte_by_byte():
    text = model("iris_c_rbf_prob").read_bytes()
    assert open_model(Trickle(text, 1)).text == text
    with pytest.raises(errors.ModelFormatError):
        open_model(Trickle(b"words that are no model\n", 1))


@pytest.mark.parametrize("packing", PACKERS)
def test_packed_data_are_whole_or_refused(packing):
    """Members one after another, data that end anywhere, and damage."""
    pack, harmless = PACKERS[packing], 0
    padding = b"\0" * 8  # tape blocks; xz allows multiples of four
    members = pack(TEXT[:100]) + pack(b"") + padding + pack(TEXT[100:200]) + padding
    for step in (1, 5, 10**6):
        assert everything(Trickle(members, step)) == TEXT[:200]
    data = pack(TEXT[:2000])
    for end in range(6, len(data), 7):
        with pytest.raises(errors.InputError, match="ends early"):
            everything(data[:end])
    for at in range(6, len(data)):
        changed = bytearray(data)
        changed[at] ^= 0x10
        with contextlib.suppress(errors.InputError):
            assert everything(bytes(changed)) == TEXT[:2000]
            harmless += 1
    assert harmless < 8  # time and system in a gzip header, a few bits that pad bzip2's last byte


def test_what_cannot_be_read(tmp_path, monkeypatch):
    class Broken(Trickle):
        def readinto(self, view):
            if not self.rest:
                raise OSError(5, "Input/output error")
            return super().readinto(view)

    monkeypatch.setattr(sys, "stdin", None)
    none = tmp_path / "none"
    for source, message in (
        (none, f"{none}: cannot be read: No such file or directory"),
        (3, "the source is an int; expected a path, bytes or a binary file object"),
        (io.StringIO("1 1:1\n"), "the file object gives text; open it in binary mode"),
        (Broken(b"1 1:1\n", 100), "<stream>: cannot be read: Input/output error"),
        ("-", "-: standard input is closed"),
    ):
        with pytest.raises(errors.SvmfastError) as caught:
            everything(source)
        assert str(caught.value) == message


def test_handed_in_files_stay_open_and_ours_are_closed(tmp_path):
    file, path = io.BytesIO(b"1 1:1\n"), tmp_path / "data"
    read_svmlight(file)
    assert not file.closed
    path.write_bytes(TEXT)
    with stream_svmlight(path, chunk_bytes=100) as stream:
        next(stream)
        inner = stream._source._file
        assert not inner.closed
    assert inner.closed
    # In one that becomes shorter, what was read of the last line may look like a whole one.
    view = memoryview(bytearray(100))
    for left in (100, len(TEXT) - 1):
        path.write_bytes(TEXT)
        with open_source(path) as source:
            assert 100 < source.readinto(view) + source.readinto(view) < len(TEXT) - 1
            os.truncate(path, left)
            with pytest.raises(errors.FileAccessError, match="became shorter while it was read"):
                [*iter(lambda: source.readinto(view), 0)]


@pytest.fixture
def pipe():
    reading, writing = os.pipe()
    with io.FileIO(reading, "rb") as file:
        yield file, writing


def test_a_line_on_a_pipe_is_answered_at_once_and_half_a_line_waits(pipe):
    file, writing = pipe
    with stream_svmlight(file) as stream:
        os.write(writing, b"1 1:1\n" * 10)
        assert len(next(stream)) == 10  # all that has arrived
        for i in range(5):
            os.write(writing, b"%d 1:1\n" % i)
            part = next(stream)
            assert (part.labels.tolist(), part.first_line) == ([i], i + 11)
        os.write(writing, b"1 1:0.5\n2 1:0")
        assert next(stream).labels.tolist() == [1]
        os.write(writing, b".25 2:1\n3")
        part = next(stream)
        assert (part.labels.tolist(), part.rows.values.tolist(), part.first_line) == ([2], [0.25, 1], 17)
        os.close(writing)
        assert next(stream).labels.tolist() == [3]
        assert list(stream) == []


@pytest.mark.parametrize("packing", PACKERS)
def test_packed_pipes_do_not_wait_either(packing, pipe):
    file, writing = pipe
    with stream_svmlight(file) as stream:
        for text, label in ((b"1 1:0.5\n2 1", 1), (b":3\n", 2)):
            os.write(writing, PACKERS[packing](text))
            assert next(stream).labels.tolist() == [label]
        os.close(writing)
        assert list(stream) == []


def test_fast_and_non_blocking_pipes(pipe):
    text, (file, writing) = TEXT * 20, pipe
    os.set_blocking(file.fileno(), False)

    def write():
        time.sleep(0.1)  # the reader waits
        with os.fdopen(writing, "wb") as out:
            out.write(text)

    writer = threading.Thread(target=write)
    writer.start()
    values = [part.rows.values for part in stream_svmlight(file, chunk_bytes=1 << 20)]
    writer.join()
    assert np.array_equal(np.concatenate(values), read_svmlight(text).rows.values)
