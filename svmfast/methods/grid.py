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


#: Seconds to import SciPy and scikit-learn.
IMPORTS = 1.0
#: Multiply-adds per second, on one core, of kernel values with their exponentials, and of the exact model.
RATE, EXACT_RATE = 2e9, 2e9


@dataclass(frozen=True)
class Candidate:
    """A method with options, for ``frontier`` to try.

    Attributes
    ----------
    name : str
        Unique; also names the model's file.
    level : int
        Among a method's candidates, a lower level takes less work to make.
    options : mapping
        Options that differ from their defaults.
    inputs : tuple of str
        Names of the inputs it takes.
    most_bytes : int or None
        Upper bound on the size of its file; None if there is no limit on the size, or if none can be
        computed.
    sized : bool
        Whether it is sized to the limit.
    seconds : float
        The processor time that the run is expected to take, besides the start of a process. Rough: measured
        times correct it, so that the ratios count.
    """

    name: str
    level: int
    options: Mapping[str, Any]
    inputs: tuple[str, ...]
    most_bytes: int | None = None
    sized: bool = False
    seconds: float = 1.0


@dataclass(frozen=True)
class NotTried:
    """A candidate that ``frontier`` leaves out, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Grid:
    """The quantities from which a method derives its candidates.

    Attributes
    ----------
    exact : KernelExpansion
    seed : int
    max_bytes : int or None
        Limit on the size of the resulting model's file. A method whose sizes have a known bound adds a
        candidate that just fits.
    size_of : callable or None
        Returns the size in bytes of a model's file; None if no sizes are wanted.
    columns : int or None
        Number of columns of the training rows, if known.
    rows : int
        Number of training rows.
    """

    exact: KernelExpansion
    seed: int
    max_bytes: int | None = None
    size_of: Callable[[Model], int] | None = None
    columns: int | None = None
    rows: int = 10_000

    @property
    def width(self) -> int:
        """Number of columns of dense vectors that are fitted to the rows."""
        return max(1, self.columns or 0, self.exact.n_features)

    @property
    def exact_seconds(self) -> float:
        """The time of the exact model for the training rows."""
        return self.rows * self.exact.sv.nnz / EXACT_RATE


@dataclass(frozen=True, eq=False)
class Joining:
    """The quantities with which a method joins models with the exact one.

    Attributes
    ----------
    exact : KernelExpansion
    source : str
        ``sha256:`` and the hash of its file.
    rows : Rows
        n rows, drawn like those to be predicted.
    labels : (n,) float64
        The exact model's labels of `rows`.
    max_percent : float or None
        Share of the labels that may differ, in percent; None if there is no limit.
    seed, threads : int
    scaling : Scaling or None
        The scaling that the rows still need.
    """

    exact: KernelExpansion
    source: str
    rows: Rows
    labels: FloatArray
    max_percent: float | None
    seed: int
    threads: int
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
        """Return `fast` with the exact model as fallback; None if that is not faster.

        Raises
        ------
        OptionError
            There are too few rows to show that any model meets the limit.
        UnsupportedError
            The models do not answer the same question.
        """
