"""The task of a run of ``svmfast frontier``: the exact model, the rows, the limits, what may be spent.

It also completes the command line of a candidate with the paths of the run.
"""

from __future__ import annotations

from dataclasses import dataclass

from svmfast.display import shell_line
from svmfast.formats.model_files import model_bytes
from svmfast.frontiers.choice import Limits
from svmfast.frontiers.comparing import Comparing
from svmfast.frontiers.folder import RunFolder
from svmfast.frontiers.plan import CandidateCommand
from svmfast.frontiers.row_sets import Origin, RowSets
from svmfast.models.base import Model
from svmfast.models.expansion import KernelExpansion
from svmfast.models.scaled import with_scaling
from svmfast.models.scaling import Scaling


@dataclass(frozen=True)
class RunRequest:
    """The arguments of a run, once files are read and limits are known; times are of ``time.monotonic``."""

    exact_path: str
    #: Without its scaling, and the hash of its text (`identity_of` of svmfast.formats.model_files).
    exact: KernelExpansion
    exact_identity: str
    #: The size of its file.
    exact_bytes: int
    folder: RunFolder
    sets: RowSets
    comparing: Comparing
    origin: Origin
    methods: tuple[str, ...]
    limits: Limits
    #: Candidates are made until `deadline`; models are timed until `end`, or some seconds longer (racing).
    deadline: float
    end: float
    seed: int
    threads: int
    memory: int
    #: Of `exact` and all models made from it: here rows are scaled, and models take scaled rows.
    scaling: Scaling | None
    #: The rows were read as rows without labels.
    unlabelled: bool

    def stored(self, model: Model) -> bytes:
        """The content of a model's file, including the scaling."""
        return model_bytes(with_scaling(model, self.scaling))

    def arguments(self, candidate: CandidateCommand, out: str | None = None) -> list[str]:
        """The arguments of ``svmfast`` that make a candidate, as its model in the folder or as `out`."""
        return candidate.filled(self.exact_path, self.sets.train, out or self.folder.model(candidate))

    def command(self, candidate: CandidateCommand) -> str:
        """The command line that makes a candidate."""
        return shell_line(["svmfast", *self.arguments(candidate)])
