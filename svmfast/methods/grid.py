"""What a method tells ``frontier``: candidates, what it joins with the exact model, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling
    from svmfast.rows import FloatArray, Rows


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
    #: Upper bound on the size of its file; None without a limit on the size, or if none can be computed.
    most_bytes: int | None = None
    #: Whether it is sized to the limit.
    sized: bool = False


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
    #: Limit on the size of the resulting model's file. A method whose sizes have a known bound adds a
    #: candidate that just fits.
    max_bytes: int | None = None
    #: The size in bytes of a model's file; None if no sizes are wanted.
    size_of: Callable[[Model], int] | None = None
    #: Columns of the training rows, if known, and their number.
    columns: int | None = None

    @property
    def width(self) -> int:
        """Number of columns of dense vectors that are fitted to the rows."""
        return max(1, self.columns or 0, self.exact.n_features)


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
