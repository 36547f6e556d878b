"""Reads an input in blocks of whole lines, so that tokenizers never see part of a line."""

from __future__ import annotations

from svmfast._core import TEXT_PADDING
from svmfast.formats.source import Source

#: Longer lines are refused: they are unlikely to be data, or need a larger machine.
MAX_LINE_BYTES = 1 << 30
#: Lines from this length on are checked for signs of a binary file before more memory is allocated for them.
_SUSPICIOUS_LINE = 1 << 20
#: Length from which a line of compressed data is refused if it is more than 100 times the data's size.
_UNPACKED_LINE = 1 << 24
_BEHIND = TEXT_PADDING + 1  # room for a missing last line end, and for what the tokenizer reads ahead


class Lines:
    """Whole lines of a source, block by block, in one buffer that is reused."""

    def __init__(self, source: Source, chunk_bytes: int) -> None:
        self.source = source
        self.chunk_bytes = max(1, chunk_bytes)
        self.buffer = bytearray(self.chunk_bytes + _BEHIND)
        self.begin = self.end = 0  # the block: whole lines
        self.filled = 0  # the end of the text; what follows the block belongs to the next one
        self.ended = False
        self.most = MAX_LINE_BYTES  # bytes of a line
        self.line_too_long = self.binary = False  # why reading stopped early

    def next(self) -> bool:
        """Move to the next block of lines; return False at the end.

        A block is all lines that are available without waiting, up to about `chunk_bytes`, but at least one.
        """
        if self.ended:
            return False
        rest = self.filled - self.end
        self.buffer[:rest] = self.buffer[self.end : self.filled]
        self.begin = self.end = 0
        self.filled = rest
        while True:
            capacity = len(self.buffer) - _BEHIND
            if self.filled == capacity:
                if self.end:
                    return True
                if self._is_hopeless():
                    break
                self.buffer.extend(bytes(min(capacity, MAX_LINE_BYTES)))
                continue
            with memoryview(self.buffer) as view, view[self.filled : capacity] as room:
                count = self.source.readinto(room, wait=not self.end)
            if count is None:
                return True
            if count == 0:
                break
            newline = self.buffer.rfind(b"\n", self.filled, self.filled + count)
            self.filled += count
            if newline >= 0:
                self.end = newline + 1
        self.ended = True
        self.end = self.filled
        if self.filled and self.buffer[self.filled - 1] != 0x0A:
            self.buffer[self.filled] = 0x0A
            self.end += 1
        return self.end > 0

    def _is_hopeless(self) -> bool:
        """Return whether a line that fills the buffer cannot be valid; parsing its start gives the reason."""
        if self.filled < _SUSPICIOUS_LINE:
            return False
        self.most = MAX_LINE_BYTES
        if self.source.packing:  # a line of gigabytes packs into a few kilobytes
            self.most = min(self.most, max(_UNPACKED_LINE, 100 * self.source.consumed))
        self.line_too_long = self.filled >= self.most
        self.binary = self.buffer.find(b"\0", 0, self.filled) >= 0
        return self.line_too_long or self.binary or self.buffer.find(b"\r", 0, self.filled - 1) >= 0
