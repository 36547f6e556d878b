"""How much memory a model takes: known before it is taken, and held against a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svmfast.errors import MemoryLimitError
from svmfast.options import MEMORY as MEMORY

if TYPE_CHECKING:
    from svmfast.models.base import Model

_INSTEAD = "allow more memory"


class Allowance:
    """The memory of reading one model.

    Parameters
    ----------
    limit : int
        Most bytes.
    name : str
        What messages call the model.

    Attributes
    ----------
    held : int
        Bytes of what has been read so far and is kept.
    """

    def __init__(self, limit: int, name: str) -> None:
        self.limit, self.name, self.held = limit, name, 0

    def has_room(self, count: int) -> bool:
        """Return whether there is room for `count` bytes beside what is held."""
        return self.held + count <= self.limit

    def check(self, count: int) -> None:
        """Raise MemoryLimitError unless there is room for `count` bytes beside what is held."""
        if not self.has_room(count):
            raise MemoryLimitError(f"the model {self.name}", self.held + count, self.limit, _INSTEAD)

    def take(self, count: int) -> None:
        """Count `count` bytes as held; raises as :meth:`check`."""
        self.check(count)
        self.held += count


def require_memory(model: Model, limit: int) -> None:
    """Raise MemoryLimitError where predicting takes more than `limit` bytes beside the model's arrays."""
    needed = model.working_bytes
    if needed > limit:
        raise MemoryLimitError(f"predicting with this {model.kind} model", needed, limit, _INSTEAD)
