"""How a fit runs, and where its model comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from svmfast.progress import Progress, silent


@dataclass(frozen=True)
class Execution:
    """How a fit runs, and what its model's file records of where it comes from.

    Attributes
    ----------
    threads : int
    provenance : mapping of str to str
        Keys and values for the model's file.
    progress : Progress
    """

    threads: int = 1
    provenance: Mapping[str, str] = field(default_factory=dict)
    progress: Progress = silent
