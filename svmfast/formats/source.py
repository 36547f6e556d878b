"""Opens inputs: paths, ``-``, pipes, file objects, bytes, compressed files.

All decisions about how to read an input are made here. A compressed file is recognized by its content, never
by its name, and is decompressed in bounded memory.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import stat
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from svmfast.errors import FileAccessError, InputError, OptionError, WrongTypeError
from svmfast.formats.packing import FOREIGN_MAGIC, MAGIC, XZ_MEMORY, new_decoder
from svmfast.models.memory import Allowance
from svmfast.values import is_uri, without_query

Self = TypeVar("Self", bound="Closing")

#: Argument of :func:`open_source`: a path, ``-`` for standard input, the bytes themselves, a binary file.
SourceLike = Any

#: Number of bytes that identify the kind of a file.
KILOBYTE = 1024
_PACKED_BYTES = 1 << 17  # compressed bytes passed to a decompressor at a time
_LINE_BYTES = 1 << 16  # read at a time in search of a line end
_FIRST_BUFFER = 1 << 16
_REMOTE_BUFFER = 1 << 22  # of a request to a store
#: Limits on a compressed model: decompressed bytes, and their ratio to the compressed size, which no model
#: text exceeds.
_UNPACKED_BYTES, _UNPACKED_RATIO = 16 << 20, 100

_PLAIN_OR_PACKED = "expected plain text, gzip, bzip2 or xz"


def _reader_of(file: Any, name: str) -> Callable[[memoryview], int | None]:
    if isinstance(file, io.BufferedReader):
        # readinto1 into a large view waits for more data even if its buffer has some; peek does not.
        return lambda view: file.readinto1(view[: max(1, len(file.peek(1)))])
    for method in ("readinto1", "readinto"):  # readinto of a buffered pipe would wait until the view is full
        if hasattr(file, method):
            reader: Callable[[memoryview], int | None] = getattr(file, method)
            return reader
    if not hasattr(file, "read"):
        raise WrongTypeError("the source", file, "a path, bytes or a binary file object")

    def read_and_copy(view: memoryview) -> int | None:
        data = file.read(len(view))
        if data is None:
            return None
        if isinstance(data, str):
            raise OptionError(f"{name}: the file object gives text; open it in binary mode")
        view[: len(data)] = data
        return len(data)

    return read_and_copy


class Closing:
    """A context manager that closes itself."""

    def close(self) -> None:
        """Release what is open."""
        raise NotImplementedError

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Source(Closing):
    """An opened input, whose decompressed bytes are read once, in order. A context manager.

    `name` is that in messages: the path as given, ``-``, ``<bytes>`` or the file object's name. `owned`: the
    file is closed with the source.
    """

    def __init__(self, file: Any, name: str, owned: bool) -> None:
        self.name, self._file, self._owned = name, file, owned
        #: The path that was opened, except ``-``; that of a URI without its query.
        self.path: str | None = None
        #: pyarrow's file of a URI, which can be read at any place.
        self.remote: Any = None
        #: Number of stored (compressed) bytes, if it is known in advance, and that of those read so far.
        self.size: int | None = None
        self.consumed = 0
        self._read = _reader_of(file, name)
        self._never_waits = isinstance(file, io.BytesIO)
        self._descriptor: int | None = None  # set if reading may block and select() can be used
        self._packing: str | None = None
        self._decoder: Any = None
        self._head: bytes | None = None  # not read yet: opening a pipe must not wait for its data
        self._ahead = bytearray()  # decompressed and inspected, but not consumed yet
        if isinstance(file, io.BytesIO):
            self.size = file.getbuffer().nbytes
        with contextlib.suppress(OSError, AttributeError, ValueError):
            descriptor = file.fileno()
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode):
                self._never_waits, self.size = True, status.st_size
            else:
                self._descriptor = descriptor

    def _read_stored(self, view: memoryview) -> int:
        """Read available stored bytes, at least one; return their number, 0 at the end."""
        while True:
            try:
                count = self._read(view)
            except OSError as error:
                what = f"cannot be read: {error.strerror or error}"
                raise FileAccessError(self.name, None, what) from error
            if count is not None:
                if count == 0 and len(view) and self._has_shrunk():
                    # The rest of a line may be lost, and what was read of it may look like a whole one.
                    raise FileAccessError(self.name, None, "became shorter while it was read")
                self.consumed += count
                return count
            self._wait(None)  # a non-blocking descriptor without data: wait until it has some

    def _has_shrunk(self) -> bool:
        """Whether a regular file ends before the place that was read, or before its first end."""
        if self.size is None or isinstance(self._file, io.BytesIO):
            return False
        if self.remote is not None:
            return self.consumed < self.size
        with contextlib.suppress(OSError, AttributeError, ValueError):
            place = self._file.tell()
            return bool(place < self.size or place > os.fstat(self._file.fileno()).st_size)
        return False

    def _wait(self, timeout: float | None) -> bool:
        if self._descriptor is None:
            return False
        try:
            return bool(select.select([self._descriptor], [], [], timeout)[0])
        except (OSError, ValueError):  # a descriptor beyond FD_SETSIZE
            return False

    @property
    def ready(self) -> bool:
        """Whether more bytes can be read without waiting for whoever writes them."""
        if self._ahead or self._never_waits:
            return True
        if self._decoder is None:  # plain: read until a byte has shown it
            return bool(self._head) or (self._head is not None and self._wait(0))
        return not (self._decoder.eof or self._decoder.needs_input)

    @property
    def packing(self) -> str | None:
        """``gzip``, ``bzip2``, ``xz``, ``zstd`` or None, as the content shows; waits for the first bytes."""
        self._start()
        return self._packing

    def plain(self) -> Source:
        """Take the bytes as they are: a part of plain text may begin like a compressed file."""
        self._head = b""
        return self

    def _start(self) -> bytes:
        """Read until the first bytes identify the format: one byte for plain text, six for xz."""
        if self._head is not None:
            return self._head
        head, magics = b"", (*MAGIC.values(), *FOREIGN_MAGIC.values())
        while not head or any(len(head) < len(m) and m.startswith(head) for m in magics):
            buffer = bytearray(16)
            count = self._read_stored(memoryview(buffer))
            if not count:
                break
            head += buffer[:count]
        for packing, magic in FOREIGN_MAGIC.items():
            if head.startswith(magic):
                skops = "; a skops file is read where a model is, but not from a pipe" * (packing == "zip")
                raise self._damaged(f"packed with {packing}", _PLAIN_OR_PACKED + skops)
        self._packing = next((p for p, magic in MAGIC.items() if head.startswith(magic)), None)
        self._decoder = self._new_decoder() if self._packing else None
        self._head = head
        return head

    def _damaged(self, what: str, expected: str = "expected a whole file") -> InputError:
        return InputError(self.name, None, what, None, expected)

    def _new_decoder(self) -> Any:
        decoder = new_decoder(str(self._packing))
        if decoder is None:
            expected = f"{_PLAIN_OR_PACKED}; pip install 'svmfast[zstd]'"
            raise self._damaged(f"packed with {self._packing}", expected)
        return decoder

    def readinto(self, view: memoryview) -> int:
        """Copy the bytes that are available, at least one; return their number, 0 at the end of the input."""
        if self._ahead:
            count = min(len(self._ahead), len(view))
            view[:count] = self._ahead[:count]
            del self._ahead[:count]
            return count
        return self._next(view)

    def _next(self, view: memoryview) -> int:
        head = self._start()
        if self._decoder is not None:
            data = self._unpack(len(view))
        elif head:
            data, self._head = head[: len(view)], head[len(view) :]
        else:
            return self._read_stored(view)
        view[: len(data)] = data
        return len(data)

    def peek(self, least: int) -> bytes:
        """At least `least` of the next bytes, or fewer if the input ends; they are not consumed."""
        while len(self._ahead) < least and self._look(least - len(self._ahead)):
            pass
        return bytes(self._ahead)

    def peek_line(self, most: int, start: int = 0) -> bytes:
        """The next line with its end, or the first `most` bytes of it, which are not consumed.

        `start` is the number of bytes of the lines before it that were returned already.
        """
        seen, end, stop = start, 0, start + most
        while not end and seen < stop:
            end = self._ahead.find(b"\n", seen) + 1
            seen = len(self._ahead)
            if not end and not self._look(min(_LINE_BYTES, max(1, stop - seen))):
                break
        return bytes(self._ahead[start : min(end or stop, stop)])

    def first_words(self) -> bytes:
        """The start of the input up to the end of its first line with a word, which is not consumed.

        At most a kilobyte is read.
        """
        seen = b""
        while len(seen) < KILOBYTE and not seen.strip():
            line = self.peek_line(KILOBYTE - len(seen), len(seen))
            if not line:
                break
            seen += line
        return seen

    def rewind(self) -> None:
        """Go back to the start of a plain file: reads that begin at a whole page are faster."""
        if self.path is not None and self.size is not None and not (self.packing or self.remote):
            self._file.seek(0)
            self.consumed, self._head, self._ahead = 0, b"", bytearray()

    def _look(self, room: int) -> int:
        """Read at most `room` bytes that are not consumed, and return their number."""
        buffer = bytearray(room)
        count = self._next(memoryview(buffer))
        self._ahead += buffer[:count]
        return count

    def _packed(self) -> bytes:
        if self._head:
            head, self._head = self._head, b""
            return head
        buffer = bytearray(_PACKED_BYTES)
        return bytes(buffer[: self._read_stored(memoryview(buffer))])

    def _unpack(self, room: int) -> bytes:
        while True:
            data = b""
            if self._decoder.eof:
                data = self._next_member()
                if not data:
                    return data
            elif self._decoder.needs_input:
                data = self._packed()
                if not data:
                    raise self._damaged(f"the {self._packing} data ends early")
            try:
                out: bytes = self._decoder.decompress(data, room)
            except Exception as error:  # zlib.error, LZMAError, ZstdError, OSError of bz2: no common base
                if self._packing == "xz" and "limit" in str(error):  # lzma has no exception class for this
                    what = f"unpacking the xz data takes more than {XZ_MEMORY >> 20} MiB"
                    expected = "expected a dictionary of at most 128 MiB (xz -9 has 64)"
                    raise self._damaged(what, expected) from error
                raise self._damaged(f"the {self._packing} data is damaged") from error
            if out:
                return out

    def _next_member(self) -> bytes:
        """The start of the next member, after zero padding; b"" at the end."""
        magic = MAGIC[str(self._packing)]
        rest: bytes = self._decoder.unused_data.lstrip(b"\0")
        while len(rest) < len(magic) and (more := self._packed()):
            rest = (rest + more).lstrip(b"\0")
        if rest and not rest.startswith(magic):
            raise self._damaged(f"other bytes after the {self._packing} data", "expected nothing there")
        if rest:
            self._decoder = self._new_decoder()
        return rest

    def verify(self) -> None:
        """Read a compressed file to its end and so check its checksum; raise InputError if damaged.

        Does nothing for plain files, and for pipes, which may never end.
        """
        if self.packing and self.size is not None:
            scratch = memoryview(bytearray(_PACKED_BYTES))
            while self.readinto(scratch):
                pass

    def check_unpacked(self, size: int, least: int = _UNPACKED_BYTES) -> None:
        """Raise InputError if compressed data take `size` bytes of memory, far more than stored."""
        if self.packing and size > max(least, _UNPACKED_RATIO * self.consumed):
            what = f"the {self.packing} data unpacks to more than {_UNPACKED_RATIO} times its size"
            raise self._damaged(what, "unpack the file first")

    def read_whole(self, allowance: Allowance, least: int = _UNPACKED_BYTES) -> bytes:
        """The rest of the input, decompressed; its length is added to the memory that `allowance` holds.

        The text must fit twice, while it is being read. Up to `least` bytes, compressed data may unpack to
        any multiple of their size, beyond them to no more than a model could be.
        """
        known = None if self.packing else self.size
        if known is not None:
            allowance.check(2 * known)
        buffer = bytearray(_FIRST_BUFFER if known is None else known + 1)
        used = 0
        while True:
            if used == len(buffer):
                # Two copies exist while the buffer grows, and when it is converted to bytes.
                most = (allowance.limit - allowance.held) // 2
                allowance.check(2 * (used + 1))
                buffer.extend(bytes(max(1, min(len(buffer), most - used))))
            with memoryview(buffer) as view:
                count = self.readinto(view[used:])
            if not count:
                break
            used += count
            self.check_unpacked(used, least)
        with memoryview(buffer) as view:
            text = bytes(view[:used])
        allowance.take(used)
        return text

    def close(self) -> None:
        """Close the file if it was opened here; a file object given by the caller stays open."""
        if self._owned:
            self._file.close()


def open_source(source: SourceLike) -> Source:
    """Open an input of any form.

    It is a path (``-`` is standard input; devices and named pipes are paths too), a URI, the content itself,
    or a binary file object with ``readinto`` or ``read``, which is read from its current position and not
    closed.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Source(io.BytesIO(source), "<bytes>", owned=True)
    if isinstance(source, (str, os.PathLike)):
        path = os.fsdecode(source)
        if path == "-":
            if sys.stdin is None:
                raise FileAccessError("-", None, "standard input is closed")
            # Unbuffered: data that has arrived is available at once, and a thread that waits for more does
            # not hold a lock that Python needs at exit.
            buffer = getattr(sys.stdin, "buffer", sys.stdin)
            return Source(getattr(buffer, "raw", buffer), "-", owned=False)
        if is_uri(path):
            return _opened_uri(path)
        try:
            file = open(path, "rb", buffering=0)  # noqa: SIM115 (the Source owns and closes it)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise FileAccessError(path, None, f"cannot be read: {reason}") from error
        opened = Source(file, path, owned=True)
        opened.path = path
        return opened
    if isinstance(source, io.TextIOBase):
        binary = getattr(source, "buffer", None)
        if binary is None:
            raise OptionError("the file object gives text; open it in binary mode")
        source = binary
    name = getattr(source, "name", None)
    return Source(source, name if isinstance(name, str) else "<stream>", owned=False)


def _opened_uri(uri: str) -> Source:
    from svmfast.formats.remote import open_remote

    remote = open_remote(uri)
    opened = Source(io.BufferedReader(remote, _REMOTE_BUFFER), uri, owned=True)
    opened.path, opened.remote = without_query(uri), remote
    opened.size, opened._never_waits = remote.size(), True
    return opened
