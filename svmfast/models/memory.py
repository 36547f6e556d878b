"""Limits on the memory of a model, checked before the memory is allocated."""

from __future__ import annotations

from svmfast.errors import MemoryLimitError
from svmfast.models.base import Model
from svmfast.options import MEMORY as MEMORY

_INSTEAD = "allow more memory"


class Allowance:
    """The memory that reading one file, by default a model, may take: at most `limit` bytes."""

    def __init__(self, limit: int, name: str, kind: str = "model") -> None:
        self.limit, self.name, self.kind = limit, name, kind
        #: Bytes that are held for what has been read so far.
        self.held = 0

    def has_room(self, count: int) -> bool:
        """Whether there is room for `count` more bytes."""
        return self.held + count <= self.limit

    def check(self, count: int) -> None:
        """Raise MemoryLimitError unless there is room for `count` more bytes."""
        if not self.has_room(count):
            raise MemoryLimitError(f"the {self.kind} {self.name}", self.held + count, self.limit, _INSTEAD)

    def take(self, count: int) -> None:
        """Add `count` bytes to those held; raise MemoryLimitError if there is no room for them."""
        self.check(count)
        self.held += count


def require_memory(model: Model, limit: int) -> None:
    """Raise MemoryLimitError if a prediction needs more than `limit` bytes besides the model's arrays."""
    needed = model.working_bytes
    if needed > limit:
        raise MemoryLimitError(f"predicting with this {model.kind} model", needed, limit, _INSTEAD)
