"""How a fit runs, and the provenance of its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from svmfast.progress import Progress, silent


@dataclass(frozen=True)
class Execution:
    """How a fit runs, and the provenance that the model's file records.

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
