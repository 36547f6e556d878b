"""The request of a run of ``svmfast frontier``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svmfast.models.scaled import with_scaling

if TYPE_CHECKING:
    from svmfast.frontiers.folder import Folder
    from svmfast.frontiers.measuring import Measuring
    from svmfast.frontiers.pareto import Limits
    from svmfast.frontiers.report import Origin
    from svmfast.frontiers.row_sets import RowSets
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling


@dataclass(frozen=True)
class Request:
    """The exact model, the rows, the limits, and what may be spent; times are those of ``time.monotonic``."""

    #: Path of the exact model, without its scaling, and the hash of its file.
    exact: str
    model: KernelExpansion
    sha256: str
    #: Where models and reports are kept; the rows, by their use; and what compares models on them.
    folder: Folder
    sets: RowSets
    measuring: Measuring
    origin: Origin
    methods: tuple[str, ...]
    limits: Limits
    #: No candidate is made after `deadline`, and no round of timing begins after `end`.
    deadline: float
    end: float
    seed: int
    threads: int
    memory: int
    #: Of `model` and all models made from it: here rows are scaled, and models take scaled rows.
    scaling: Scaling | None = None
    #: The training rows have labels.
    labelled: bool = True

    def stored(self, model: Model) -> bytes:
        """The content of a model's file, including the scaling."""
        from svmfast.formats.detect import model_bytes

        return model_bytes(with_scaling(model, self.scaling))
