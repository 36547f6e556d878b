"""Where bytes come from: every form of input."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from svmfast import errors
from svmfast.formats.source import open_source
from svmfast.formats.svmlight import read_svmlight, stream_svmlight

TEXT = b"".join(b"%d %d:%d.5 77:1\n" % (i % 3, i % 50 + 1, i) for i in range(5000))
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


def everything(source: Any) -> bytes:
    with open_source(source) as opened:
        out = bytearray()
        view = memoryview(bytearray(1000))
        while count := opened.readinto(view):
            out += view[:count]
        return bytes(out)


class Trickle(io.RawIOBase):
    """A raw stream that gives at most `step` bytes at a time."""

    def __init__(self, data: bytes, step: int) -> None:
        self.rest, self.step = data, step

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        piece = self.rest[: min(self.step, len(view))]
        view[: len(piece)] = piece
        self.rest = self.rest[len(piece) :]
        return len(piece)


class OnlyRead:
    """The least a file object can be."""

    def __init__(self, data: bytes) -> None:
        self.file = io.BytesIO(data)

    def read(self, size: int) -> bytes:
        return self.file.read(size)


def forms(data: bytes, path: Path) -> dict[str, Any]:
    path.write_bytes(data)
    return {
        "path": path,
        "string": str(path),
        "bytes": data,
        "bytearray": bytearray(data),
        "memory file": io.BytesIO(data),
        "open file": open(path, "rb"),
        "text file": open(path, encoding="ascii"),
        "one byte at a time": Trickle(data, 1),
        "seven bytes at a time": Trickle(data, 7),
        "only read": OnlyRead(data),
    }


@pytest.mark.parametrize("packing", [None, *PACKERS])
def test_every_form_gives_the_same_bytes(packing: str | None, tmp_path: Path) -> None:
    data = TEXT[:3000] if packing is None else PACKERS[packing](TEXT[:3000])
    for form, source in forms(data, tmp_path / "no-telling-name").items():
        assert everything(source) == TEXT[:3000], form
        if hasattr(source, "close"):
            source.close()


@pytest.mark.parametrize("packing", PACKERS)
def test_members_one_after_another(packing: str) -> None:
    pack = PACKERS[packing]
    padding = b"\0" * 8  # tape blocks; xz allows multiples of four
    data = pack(TEXT[:100]) + pack(b"") + padding + pack(TEXT[100:200]) + padding
    for step in (1, 5, 10**6):
        assert everything(Trickle(data, step)) == TEXT[:200]


@pytest.mark.parametrize("packing", PACKERS)
def test_cut_short_anywhere_is_an_error(packing: str) -> None:
    data = PACKERS[packing](TEXT[:2000])
    for end in range(6, len(data), 7):
        with pytest.raises(errors.InputError, match="ends early"):
            everything(data[:end])


@pytest.mark.parametrize("packing", PACKERS)
def test_damage_is_always_detected(packing: str) -> None:
    data = PACKERS[packing](TEXT[:2000])
    harmless = 0
    for at in range(6, len(data)):
        changed = bytearray(data)
        changed[at] ^= 0x10
        try:
            assert everything(bytes(changed)) == TEXT[:2000]
            harmless += 1
        except errors.InputError:
            pass
    assert harmless < 8  # time and system in a gzip header, a few bits that pad bzip2's last byte


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(errors.FileAccessError) as caught:
        read_svmlight(tmp_path / "none")
    assert str(caught.value) == f"{tmp_path / 'none'}: cannot be read: No such file or directory"


def test_what_is_no_file() -> None:
    with pytest.raises(errors.OptionError, match="the source is an int; expected a path, bytes or"):
        open_source(3)
    with pytest.raises(errors.OptionError, match="open it in binary mode"):
        open_source(io.StringIO("1 1:1\n"))


def test_read_error_in_the_middle() -> None:
    class Broken(Trickle):
        def readinto(self, view: Any) -> int:
            if not self.rest:
                raise OSError(5, "Input/output error")
            return super().readinto(view)

    with pytest.raises(errors.FileAccessError) as caught:
        list(stream_svmlight(Broken(b"1 1:1\n", 100)))
    assert str(caught.value) == "<stream>: cannot be read: Input/output error"


def test_handed_in_files_stay_open_and_ours_are_closed(tmp_path: Path) -> None:
    file = io.BytesIO(b"1 1:1\n")
    read_svmlight(file)
    assert not file.closed
    path = tmp_path / "data"
    path.write_bytes(TEXT)
    with stream_svmlight(path, chunk_bytes=100) as stream:
        next(stream)
        inner = stream._source._file
        assert not inner.closed
    assert inner.closed


# --- pipes


def pipe() -> tuple[io.FileIO, int]:
    reading, writing = os.pipe()
    return io.FileIO(reading, "rb"), writing


def test_a_line_on_a_pipe_is_answered_at_once() -> None:
    file, writing = pipe()
    with file, stream_svmlight(file) as stream:
        for i in range(5):
            os.write(writing, b"%d 1:1\n" % i)
            part = next(stream)
            assert (part.labels.tolist(), part.first_line) == ([i], i + 1)
        os.close(writing)


def test_half_a_line_waits_for_its_end() -> None:
    file, writing = pipe()
    with file, stream_svmlight(file) as stream:
        os.write(writing, b"1 1:0.5\n2 1:0")
        assert next(stream).labels.tolist() == [1]
        os.write(writing, b".25 2:1\n3")
        part = next(stream)
        assert (part.labels.tolist(), part.rows.values.tolist(), part.first_line) == ([2], [0.25, 1], 2)
        os.close(writing)
        assert next(stream).labels.tolist() == [3]
        with pytest.raises(StopIteration):
            next(stream)


@pytest.mark.parametrize("packing", PACKERS)
def test_packed_pipes_do_not_wait_either(packing: str) -> None:
    file, writing = pipe()
    with file, stream_svmlight(file) as stream:
        os.write(writing, PACKERS[packing](b"1 1:0.5\n2 1"))
        assert next(stream).labels.tolist() == [1]
        os.write(writing, PACKERS[packing](b":3\n"))
        assert next(stream).labels.tolist() == [2]
        os.close(writing)
        assert list(stream) == []


def test_a_fast_pipe_comes_in_large_pieces() -> None:
    file, writing = pipe()
    text = TEXT * 20

    def write() -> None:
        with os.fdopen(writing, "wb") as out:
            out.write(text)

    writer = threading.Thread(target=write)
    writer.start()
    with file:
        parts = list(stream_svmlight(file, chunk_bytes=1 << 20))
    writer.join()
    assert np.array_equal(np.concatenate([p.rows.values for p in parts]), read_svmlight(text).rows.values)


def test_non_blocking_descriptors_are_waited_for() -> None:
    file, writing = pipe()
    os.set_blocking(file.fileno(), False)
    timer = threading.Timer(0.1, lambda: (os.write(writing, b"1 1:1\n"), os.close(writing)))
    timer.start()
    with file:
        assert len(read_svmlight(file)) == 1
    timer.join()


def test_named_pipe_and_standard_input(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(TEXT))
    writer.start()
    assert len(read_svmlight(fifo)) == 5000
    writer.join()
    code = "from svmfast.formats.svmlight import *; d = read_svmlight('-'); print(d.path, len(d), d.rows.nnz)"
    for given in (TEXT, gzip.compress(TEXT)):
        ran = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, check=True)
        assert ran.stdout == b"- 5000 10000\n"
    path = tmp_path / "data"
    path.write_bytes(TEXT)
    with path.open("rb") as file:
        ran = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, check=True)
    assert ran.stdout == b"- 5000 10000\n"


def test_closed_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(errors.FileAccessError, match=r"^-: standard input is closed$"):
        open_source("-")


def test_a_file_that_becomes_shorter_is_refused(tmp_path: Path) -> None:
    """What was read of the last line may look like a whole one."""
    path = tmp_path / "rows"
    path.write_bytes(b"1 1:25\n" * 1000)
    with open_source(path) as source:
        read = sum(source.readinto(memoryview(bytearray(100))) for _ in range(2))
        os.truncate(path, read // 2)
        with pytest.raises(errors.FileAccessError, match="became shorter while it was read"):
            source.readinto(memoryview(bytearray(100)))
