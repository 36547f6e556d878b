"""Compressed files: recognized by their first bytes on input, selected by the file extension on output.

gzip, bzip2 and xz come with Python; zstd needs Python 3.14, or one of the modules ``backports.zstd`` and
``zstandard``.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from svmfast.errors import OptionError

MAGIC = {
    "gzip": b"\x1f\x8b",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zstd": b"\x28\xb5\x2f\xfd",
}
#: The first bytes of formats that are not read.
FOREIGN_MAGIC = {
    "zip": b"PK\x03\x04",
    "lz4": b"\x04\x22\x4d\x18",
    "compress (.Z)": b"\x1f\x9d",
}
#: The compression format for each file extension.
ENDINGS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}

#: Memory limit for an xz file: its header sets the size of the dictionary (xz -9: 64 MiB).
XZ_MEMORY = 136 << 20
#: Bytes that :class:`Packer` compresses at a time, so that the output does not depend on how it is fed.
_PIECE = 1 << 20
#: Compressed bytes passed to the module zstandard at a time: they unpack to at most 32 MiB.
_ZSTD_SLICE = 1 << 10


class _GzipDecoder:
    """``zlib`` with the interface of ``bz2`` and ``lzma``, which keep the input that they have not used."""

    def __init__(self) -> None:
        import zlib

        self._inflate = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._inflate.unconsumed_tail

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)


class _ZstandardDecoder:
    """The module ``zstandard`` with the same interface; its own has no `max_length`."""

    def __init__(self, module: Any) -> None:
        self._inflate = module.ZstdDecompressor().decompressobj()
        self._packed = self._out = memoryview(b"")  # input not yet unpacked, output not yet returned

    @property
    def eof(self) -> bool:
        return bool(self._inflate.eof) and not self._out

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inflate.unused_data) + bytes(self._packed)

    @property
    def needs_input(self) -> bool:
        return not self._packed and not self._out

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if data:
            self._packed = memoryview(bytes(self._packed) + data)
        while not self._out and self._packed and not self._inflate.eof:
            piece, self._packed = self._packed[:_ZSTD_SLICE], self._packed[_ZSTD_SLICE:]
            self._out = memoryview(self._inflate.decompress(piece))
        most = len(self._out) if max_length < 0 else max_length
        out, self._out = bytes(self._out[:most]), self._out[most:]
        return out


def zstd_module() -> Any:
    """The module that reads and writes zstd; None if there is none."""
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return None


def new_decoder(packing: str) -> Any:
    """A decoder for one member of a file, with the interface of ``bz2.BZ2Decompressor``.

    None for zstd if no module for it is installed.
    """
    if packing == "gzip":
        return _GzipDecoder()
    if packing == "bzip2":
        import bz2

        return bz2.BZ2Decompressor()
    if packing == "zstd":
        module = zstd_module()
        if module is None:
            return None
        return _ZstandardDecoder(module) if module.__name__ == "zstandard" else module.ZstdDecompressor()
    import lzma

    return lzma.LZMADecompressor(memlimit=XZ_MEMORY)


def packing_of(name: str) -> str | None:
    """The format in which a file of this name is compressed on output; None if it is not."""
    return ENDINGS.get(os.path.splitext(name)[1])


class Packer:
    """Compresses text; the same text gives the same bytes, however it is divided into pieces.

    The output contains neither a time nor a file name. An OptionError: the format is zstd and no module for
    it is installed.
    """

    def __init__(self, packing: str) -> None:
        self._encoder = _new_encoder(packing)
        self._held = bytearray()

    def pack(self, data: Any) -> bytes:
        """Add text; return the compressed bytes that are ready, possibly none."""
        self._held += data
        out = b""
        while len(self._held) >= _PIECE:
            out += self._encoder.compress(bytes(self._held[:_PIECE]))
            del self._held[:_PIECE]
        return out

    def finish(self) -> bytes:
        """The remaining compressed bytes, at the end of the text."""
        return bytes(self._encoder.compress(bytes(self._held)) + self._encoder.flush())


def _new_encoder(packing: str) -> Any:
    if packing == "gzip":
        import zlib

        return zlib.compressobj(wbits=31)  # its header has no name, and 0 for the time
    if packing == "bzip2":
        import bz2

        return bz2.BZ2Compressor()
    if packing == "xz":
        import lzma

        return lzma.LZMACompressor()
    module = zstd_module()
    if module is None:
        raise OptionError(
            "a name that ends in .zst selects zstd, for which no module is installed; "
            "pip install 'svmfast[zstd]', or write .gz, .xz or .bz2"
        )
    encoder = module.ZstdCompressor()
    return encoder.compressobj() if module.__name__ == "zstandard" else encoder
