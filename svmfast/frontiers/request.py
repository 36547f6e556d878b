"""What the caller of ``svmfast frontier`` wants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svmfast.models.scaled import with_scaling

if TYPE_CHECKING:
    from svmfast.frontiers.pareto import Limits
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling


@dataclass(frozen=True)
class Request:
    """What the caller wants.

    Attributes
    ----------
    exact : str
        Path of the exact model.
    model : KernelExpansion
    sha256 : str
        Hash of its file.
    methods : tuple of str
    limits : Limits
    deadline, end : float
        In the time of ``time.monotonic``: no candidate is made after `deadline`, and no round of timing
        begins after `end`.
    seed, threads, memory : int
    scaling : Scaling or None
        The scaling of `model`, and of all models made from it. In this module rows are scaled, and models
        take scaled rows.
    labelled : bool
        Whether the training rows have labels.
    """

    exact: str
    model: KernelExpansion
    sha256: str
    methods: tuple[str, ...]
    limits: Limits
    deadline: float
    end: float
    seed: int
    threads: int
    memory: int
    scaling: Scaling | None = None
    labelled: bool = True

    def stored(self, model: Model) -> bytes:
        """Return the content of a model's file, including the scaling."""
        from svmfast.formats.detect import model_bytes

        return model_bytes(with_scaling(model, self.scaling))
