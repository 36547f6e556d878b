"""What a method is given and what it returns: models, rows, streams, a state file, an outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from svmfast.progress import Progress, silent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmfast.models.base import Model
    from svmfast.models.scaling import Scaling
    from svmfast.rows import FloatArray, Rows
    from svmfast.solvers.training_data import TrainingSource

#: Calls both functions in turn and returns how many times as fast the second is.
Race = Callable[[Callable[[], object], Callable[[], object]], float]


@dataclass(frozen=True, kw_only=True)
class Input:
    """Something that a method reads.

    Attributes
    ----------
    name : str
        In Python and in reports.
    content : {"model", "exact model", "rows"}
        An exact model is one of LIBSVM's.
    help : str
        Of an input that is a flag.
    flag : str or None
        Its flag; None for a positional argument.
    required : bool
    many : bool
        The flag may be given several times.
    labels : {"needed", "used", "ignored"}
        Of rows: whether the method needs their labels, takes them where there are some, or looks at none.
    most : int or None
        Of rows: at most so many are used, drawn at random, so that any amount may stream by; None reads all.
    spooled : bool
        Of rows: they may be more than memory holds. They are read once, and what goes beyond half of the
        option `memory` is kept in a temporary file; the run gets a GivenStream.
    role : str or None
        Its key in JSON reports, where that is not its name.
    """

    name: str
    content: Literal["model", "exact model", "rows"]
    help: str = ""
    flag: str | None = None
    required: bool = True
    many: bool = False
    labels: Literal["needed", "used", "ignored"] = "needed"
    most: int | None = None
    spooled: bool = False
    role: str | None = None


@dataclass(frozen=True, eq=False)
class GivenModel:
    """A model that was read or passed.

    Attributes
    ----------
    model : Model
    name : str
        Its name in messages.
    identity : str
        ``sha256:`` and the hash of its content: the `source` of models made from it.
    n_bytes : int or None
        Size of its file.
    """

    model: Model
    name: str
    identity: str
    n_bytes: int | None


@dataclass(frozen=True, eq=False)
class GivenRows:
    """Rows that were read or passed.

    Attributes
    ----------
    rows : Rows of n rows
    labels : (n,) float64 or None
        None where there are none.
    name : str
        Their name in messages.
    seen : int
        How many there were; more than n where only a sample is kept.
    """

    rows: Rows
    labels: FloatArray | None
    name: str
    seen: int


@dataclass(frozen=True, eq=False)
class GivenStream:
    """Labelled rows that were read once and come back in working sets.

    Attributes
    ----------
    source : TrainingSource
    name : str
        Their name in messages.
    in_memory : bool
        Whether there is one working set, which holds all of them.
    digest : str
        Hash of rows and labels; empty unless there is a checkpoint.
    """

    source: TrainingSource
    name: str
    in_memory: bool
    digest: str


class StateFile(Protocol):
    """Where the state of a run is kept: numbers and arrays."""

    @property
    def path(self) -> str:
        """Its name."""

    def read(self) -> tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]] | None:
        """Return the state; None if there is no file yet."""

    def write(self, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the state as a whole."""


class Report(Protocol):
    """The interface of reports: plain numbers, and their printed lines."""

    def lines(self) -> list[str]:
        """Return the report as lines of text."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures under the names of docs/json.md."""


@dataclass(frozen=True)
class PredictionTime:
    """How long a prediction takes.

    Attributes
    ----------
    seconds : float
    linear_seconds : float
        A linear model's, on the same rows.
    rows : int
    """

    seconds: float
    linear_seconds: float
    rows: int

    @property
    def linear_cost(self) -> float:
        """The time over a linear model's."""
        return self.seconds / self.linear_seconds


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a run.

    Attributes
    ----------
    model : Model or None
        None where nothing is to be written: the run scores only, or refuses.
    report : Report
    refusal : str or None
        Why there is no such model: a negative answer, not an error.
    fallback_error : float or None
        The error that ``predict`` may assume of the model, to answer the other rows by the exact model
        that was converted.
    warnings : tuple of str
        Warnings to print once the model is written; if writing fails, only the error is printed.
    """

    model: Model | None
    report: Report
    refusal: str | None = None
    fallback_error: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Setting:
    """The settings that the front end passes to a run.

    Attributes
    ----------
    threads : int
    progress : Progress
    note, warn : callable
        Take one sentence.
    stored_size : callable
        Returns the bytes that a model takes as the file it will be.
    prediction_time : callable
        Times the prediction of rows by a model; None if no times are wanted.
    log : callable or None
        Takes the text that a solver prints, piece by piece and from another thread; None where nobody looks.
    status : callable or None
        Takes the name of a step and a line on how it stands; None where nobody looks.
    checkpoint : StateFile or None
        Where to keep the state of the run; None unless the caller wants that.
    should_stop : callable
        Tells whether to save the state and raise KeyboardInterrupt.
    writes : bool
        Whether the caller has a place for a model.
    race : callable or None
        Measures which of two ways to answer is faster; None where nothing may be timed.
    """

    threads: int
    progress: Progress = silent
    note: Callable[[str], None] = lambda text: None
    warn: Callable[[str], None] = lambda text: None
    stored_size: Callable[[Model], int] = field(default=lambda model: 0)
    prediction_time: Callable[[Model, Rows], PredictionTime | None] = field(default=lambda model, rows: None)
    log: Callable[[str], None] | None = None
    status: Callable[[str, str], None] | None = None
    checkpoint: StateFile | None = None
    should_stop: Callable[[], bool] = lambda: False
    writes: bool = True
    race: Race | None = None


class Inputs(dict[str, Any]):
    """The inputs of a run by name; None for those that were not given.

    Attributes
    ----------
    scaling : Scaling or None
        What all rows went through, and what the result will carry; the method sees scaled rows and models of
        scaled rows alone.
    """

    scaling: Scaling | None = None

    def rows(self, name: str) -> GivenRows:
        """Return rows that are there."""
        given = self[name]
        assert isinstance(given, GivenRows), name
        return given

    def stream(self, name: str) -> GivenStream:
        """Return spooled rows that are there."""
        given = self[name]
        assert isinstance(given, GivenStream), name
        return given

    def model(self, name: str) -> GivenModel:
        """Return a model that is there."""
        given = self[name]
        assert isinstance(given, GivenModel), name
        return given
