"""The question of ``frontier`` to a method, a CandidateRequest, and the answer: which candidates to try.

The candidates themselves are in each method's function ``candidates``, in the module that its Method names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from svmfast.models.expansion import KernelExpansion

#: About the bytes of a number and of all but the vectors in a model's file.
NUMBER_BYTES, HEADER_BYTES = 24, 800


@dataclass(frozen=True)
class Candidate:
    """A method with options, for ``frontier`` to try."""

    #: Unique; also names the model's file.
    name: str
    #: Among a method's candidates, a lower level takes less work to make.
    level: int
    #: Options that differ from their defaults.
    options: Mapping[str, Any]
    #: Names of the inputs it takes.
    inputs: tuple[str, ...]
    #: Made for the limit on bytes: tried first, and may take all the time of its method.
    sized: bool = False


@dataclass(frozen=True)
class NotTried:
    """A candidate that ``frontier`` leaves out, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class CandidateRequest:
    """The exact model, the seed and a limit on size, from which a method derives its candidates."""

    exact: KernelExpansion
    seed: int
    #: Limit on the size of the resulting model's file, if the exact model's is larger. A method adds a
    #: candidate of about this size, early enough that a time limit does not leave it out.
    max_bytes: int | None = None

    @property
    def vectors(self) -> int:
        """Number of dense vectors in a model of about the wanted size; 0 if none is wanted."""
        if self.max_bytes is None:
            return 0
        # With one function for each class, as the candidates have.
        numbers = max(1, self.exact.n_features + self.exact.head.linear_functions)
        fit = max(0, self.max_bytes - HEADER_BYTES) // (NUMBER_BYTES * numbers)
        return min(fit, len(self.exact.sv) - 1)
