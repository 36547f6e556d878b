"""What a method is given and what it returns: models, rows, streams, a state file, an outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from svmfast.options import Option
from svmfast.progress import Progress, silent
from svmfast.values import InputFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmfast.models.base import Model
    from svmfast.models.scaling import Scaling
    from svmfast.rows import FloatArray, Rows
    from svmfast.solvers.training_data import TrainingSource

#: Calls two functions in turn and returns how many times as fast the second one is.
Race = Callable[[Callable[[], object], Callable[[], object]], float]
#: The end of the line in which a command states a refusal.
NOTHING_WRITTEN = "; nothing was written"


@dataclass(frozen=True, kw_only=True)
class Input:
    """Something that a method reads.

    Attributes
    ----------
    name : str
        Its name in Python and in reports.
    content : {"model", "exact model", "rows"}
        An exact model is a LIBSVM model.
    help : str
        Its help text, if it has a flag.
    flag : str or None
        Its flag; None for a positional argument.
    required : bool
    many : bool
        The flag may be given several times.
    labels : {"needed", "used", "ignored"}
        For rows: whether the method needs their labels, uses them if there are any, or ignores them.
    most : int or None
        For rows: the most that are used, drawn at random from a stream of any length; None uses all.
    spooled : bool
        For rows: whether they may exceed memory. They are then read once, and those that do not fit into
        half of the option `memory` are kept in a temporary file; the run gets a GivenStream.
    copies : float
        For rows: how many times the memory of the scaled rows a run takes, where a scaling turns zeros into
        values. 0: the run gets the rows as read, and scales them in blocks.
    role : str or None
        Its key in JSON reports, if that differs from its name.
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
    copies: float = 1
    role: str | None = None

    @property
    def option(self) -> Option:
        """The command's argument or option for it."""
        kind = InputFile("data" if self.content == "rows" else "model", role=self.role or self.name)
        if self.flag is None:
            return Option(self.name, kind, required=self.required)
        text = self.help + (" May be given several times." if self.many else "")
        flags = (self.flag,)
        return Option(self.name, kind, None, text, flags, "FILE", required=self.required, many=self.many)


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
    rows : Rows
        n rows.
    labels : (n,) float64 or None
        None if the rows have no labels.
    name : str
        Their name in messages.
    seen : int
        The number of rows that were read; more than n if only a sample was kept.
    """

    rows: Rows
    labels: FloatArray | None
    name: str
    seen: int


@dataclass(frozen=True, eq=False)
class GivenStream:
    """Labelled rows that were read once and are served in working sets.

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
    """A file that holds the state of a run: numbers and arrays."""

    @property
    def path(self) -> str:
        """Its name."""

    def read(self) -> tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]] | None:
        """Return the state; None if there is no file yet."""

    def write(self, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Replace the whole state."""


class Report(Protocol):
    """The interface of reports: plain numbers, and their printed lines."""

    def lines(self) -> list[str]:
        """Return the report as lines of text."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures under the names of docs/json.md."""


@dataclass(frozen=True)
class PredictionTime:
    """The measured time of a prediction.

    Attributes
    ----------
    seconds : float
    linear_seconds : float
        The time of a linear model on the same rows.
    rows : int
    """

    seconds: float
    linear_seconds: float
    rows: int

    @property
    def linear_cost(self) -> float:
        """The time as a multiple of a linear model's."""
        return self.seconds / self.linear_seconds


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a run.

    Attributes
    ----------
    model : Model or None
        None if there is nothing to write: the run only scores, or it refuses to make a model.
    report : Report
    refusal : str or None
        The reason for refusing: a negative answer, not an error.
    advice : str or None
        With `refusal`: what may help, on a separate line. `frontier` shows only the reason, since it tries
        other options and methods itself.
    fallback_error : float or None
        The error of the decision values that ``predict`` may assume; rows whose label could change within
        it are left to the exact model that was converted.
    warnings : tuple of str
        Warnings to print once the model is written; if writing fails, only the error is printed.
    """

    model: Model | None
    report: Report
    refusal: str | None = None
    fallback_error: float | None = None
    warnings: tuple[str, ...] = ()
    advice: str | None = None


@dataclass(frozen=True, eq=False)
class Setting:
    """What the front end passes to a run.

    Attributes
    ----------
    threads : int
    progress : Progress
    note, warn : callable
        Called with one sentence, a remark or a warning.
    stored_size : callable
        Returns the size in bytes of the file of a model.
    prediction_time : callable
        Times a model's prediction of rows; returns None if no times are wanted.
    log : callable or None
        Called from another thread with pieces of the text that a solver prints; None if it is not wanted.
    status : callable or None
        Called with the name of a step and a line about its state; None if these are not wanted.
    checkpoint : StateFile or None
        The file for the state of the run; None if the caller wants no checkpoints.
    should_stop : callable
        Returns whether to save the state and raise KeyboardInterrupt.
    writes : bool
        Whether the caller will write a model.
    race : callable or None
        Measures which of two functions is faster; None if nothing may be timed.
    names_of_labels : callable
        Returns the name of each label once the rows are read; None if classes have no names.
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
    names_of_labels: Callable[[], Mapping[float, str] | None] = lambda: None


#: A run from Python, on one thread and without messages.
ALONE = Setting(threads=1)


class Inputs(dict[str, Any]):
    """The inputs of a run by name; None for those that were not given.

    Attributes
    ----------
    scaling : Scaling or None
        The scaling that was applied to all rows and that the result will contain; the method sees only
        scaled rows (but see :attr:`Input.copies`), and models of scaled rows.
    """

    scaling: Scaling | None = None

    def rows(self, name: str) -> GivenRows:
        """Return rows that were given."""
        given = self[name]
        assert isinstance(given, GivenRows), name
        return given

    def stream(self, name: str) -> GivenStream:
        """Return spooled rows that were given."""
        given = self[name]
        assert isinstance(given, GivenStream), name
        return given

    def model(self, name: str) -> GivenModel:
        """Return a model that was given."""
        given = self[name]
        assert isinstance(given, GivenModel), name
        return given
