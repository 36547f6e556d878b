"""What a method tells ``frontier``: candidates, what it joins with the exact model, and how it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling
    from svmfast.rows import FloatArray, Rows


#: About the bytes of a number and of all but the vectors in a model's file.
NUMBER_BYTES, HEADER_BYTES = 20, 600


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


@dataclass(frozen=True)
class NotTried:
    """A candidate that ``frontier`` leaves out, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Grid:
    """The quantities from which a method derives its candidates."""

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
        head = self.exact.head
        return min(
            vectors_that_fit(self.max_bytes, self.exact.n_features, head.n_functions), len(self.exact.sv) - 1
        )


def vectors_that_fit(max_bytes: int, features: int, functions: int) -> int:
    """About how many dense vectors a file of this size holds, with a coefficient for each function."""
    return max(0, max_bytes - HEADER_BYTES) // (NUMBER_BYTES * max(1, features + functions))


@dataclass(frozen=True, eq=False)
class Joining:
    """The quantities with which a method joins models with the exact one."""

    exact: KernelExpansion
    #: ``sha256:`` and the hash of its file.
    source: str
    #: n rows, drawn like those to be predicted, and the exact model's labels of them.
    rows: Rows
    labels: FloatArray
    #: Share of the labels that may differ, in percent; None if there is no limit.
    max_percent: float | None
    seed: int
    threads: int
    #: The scaling that the rows still need.
    scaling: Scaling | None = None


class Joiner(Protocol):
    """Joins models with the exact one, as the method's command does with the files."""

    @property
    def max_percent(self) -> float:
        """Share of the labels that may differ, in percent."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The command's options that differ from their defaults."""

    def join(self, fast: Model) -> Model | None:
        """`fast` with the exact model as fallback; None if that is not faster.

        OptionError: too few rows to show that any model meets the limit. UnsupportedError: the models do not
        answer the same question.
        """
