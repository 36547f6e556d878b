"""The heap of a process that processes many blocks of the same size."""

from __future__ import annotations

from svmfast._core import keep_freed_memory


def reuse_memory() -> None:
    """Keep the memory of a block for the next one, until the process ends.

    Otherwise every block's pages are returned to the system and cleared again, which takes a third of the
    time of a fast model's predictions. The setting applies to the whole process, so only programs make it,
    not the library. It does nothing on systems without glibc.
    """
    keep_freed_memory()
