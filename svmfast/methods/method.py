"""The declaration of a method: its name, inputs, options, and the location of its code.

Nothing here, nor in the declarations, imports NumPy: help and completion start at Python's own speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol

from svmfast.options import words_of
from svmfast.progress import Progress, silent

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion
    from svmfast.models.scaling import Scaling
    from svmfast.rows import FloatArray, Rows
    from svmfast.solvers.training_data import TrainingSource


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


#: Calls both functions in turn and returns how many times as fast the second is.
Race = Callable[[Callable[[], object], Callable[[], object]], float]


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
        Takes a model and rows, and returns how long it takes to predict them, or None where nobody asks.
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


@dataclass(frozen=True)
class Candidate:
    """A way to use a method that ``frontier`` tries.

    Attributes
    ----------
    name : str
        Unique; the model's file name too.
    level : int
        Of two candidates of a method, the one of the lower level is the cheaper to make.
    options : mapping
        Options other than their defaults.
    inputs : tuple of str
        The inputs it takes.
    """

    name: str
    level: int
    options: Mapping[str, Any]
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class NotTried:
    """A candidate that ``frontier`` leaves out, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Grid:
    """The inputs of a method's grid of candidates.

    Attributes
    ----------
    exact : KernelExpansion
    seed : int
    max_bytes : int or None
        A limit on the size of the result.
    """

    exact: KernelExpansion
    seed: int
    max_bytes: int | None = None


@dataclass(frozen=True)
class Style:
    """A method's color and marker in figures; the colors can be distinguished by color-blind readers."""

    color: str
    marker: str


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to make a model; one line in :mod:`svmfast.methods.registry` makes it a command and a function.

    Attributes
    ----------
    name : str
        Of the command; the Python function has underscores.
    summary : str
        One line for ``svmfast --help``.
    description : str
        The body of the command's help and of the function's docstring.
    group : {"convert", "train"}
    inputs : tuple of Input
        Positional ones in their order.
    options : type
        A dataclass of options (:mod:`svmfast.options`). Its method ``check(given)``, if it has one, is called
        with the names of the inputs that are given, ``output`` where a model is wanted, ``checkpoint`` and
        ``unlabelled`` where they are, before anything is read. `precomputed`, if it has that, says that rows
        hold kernel values.
    run : str
        ``module:function``; the function takes ``(inputs, options, setting)`` and returns an Outcome.
    candidates : str or None
        ``module:function``; the function takes a Grid and returns candidates and those not tried.
    style : Style
    scores_alone : tuple of str
        Options with which a run may do without a model, each ``name`` or ``name=value``: on the command line
        no output is named for it, and the Python function has the keyword `scores_only`.
    scores_instead : str or None
        An option, ``name`` or ``name=value``, with which a run only scores, and never makes a model.
    svm_train_output : bool
        The output may also be the last argument, and a class's weight is given as in ``-w-1 2``, as for
        svm-train.
    stands_in_for_svm_train : bool
        The command prints what the solver prints in the place of a report, and NAME.model is the default
        output.
    joins : bool
        The method joins the exact model with what other methods make; ``frontier`` tries it on each of them.
    checkpoints : str or None
        The help of `checkpoint`, a file for the state of a run, of which an interrupted one can go on; None
        where runs have none.
    shows_status : str or None
        The help of ``--verbose``, which prints the lines that the run gives to `status`; None where it has
        none.
    """

    name: str
    summary: str
    description: str
    group: Literal["convert", "train"]
    inputs: tuple[Input, ...]
    options: type
    run: str
    style: Style
    candidates: str | None = None
    scores_alone: tuple[str, ...] = ()
    scores_instead: str | None = None
    svm_train_output: bool = False
    stands_in_for_svm_train: bool = False
    joins: bool = False
    checkpoints: str | None = None
    shows_status: str | None = None

    @property
    def function_name(self) -> str:
        """The name of the Python function."""
        return self.name.replace("-", "_")

    def command_words(
        self, inputs: Mapping[str, str], options: Mapping[str, Any], output: str, reading: Sequence[str] = ()
    ) -> list[str]:
        """Return the arguments of ``svmfast`` for the same run on the command line.

        Parameters
        ----------
        inputs : mapping
            Paths by the inputs' names.
        options : mapping
        output : str
            Path.
        reading : sequence of str
            Flags of :class:`svmfast.options.Reading`.
        """
        words = [self.name]
        words += [inputs[one.name] for one in self.inputs if one.flag is None]
        for one in self.inputs:
            if one.flag is not None and one.name in inputs:
                words += [one.flag, inputs[one.name]]
        return [*words, *words_of(self.options, options), *reading, "-o", output]

    def makes_no_model(self, options: Mapping[str, Any]) -> bool:
        """Return whether a run with these options makes no model where no output is named."""
        return self.only_scores(options) or any(_holds(word, options) for word in self.scores_alone)

    def only_scores(self, options: Mapping[str, Any]) -> bool:
        """Return whether a run with these options only scores, and never makes a model."""
        return self.scores_instead is not None and _holds(self.scores_instead, options)

    def runner(self) -> Callable[[Inputs, Any, Setting], Outcome]:
        """Return the function that runs the method."""
        found: Callable[[Inputs, Any, Setting], Outcome] = imported(self.run)
        return found

    def grid(self, given: Grid) -> tuple[Sequence[Candidate], Sequence[NotTried]]:
        """Return the candidates of this method for ``frontier``."""
        if self.candidates is None:
            return (), ()
        found: tuple[Sequence[Candidate], Sequence[NotTried]] = imported(self.candidates)(given)
        return found


def _holds(word: str, options: Mapping[str, Any]) -> bool:
    """Return whether an option is there (``name``), or has a value (``name=value``)."""
    name, equals, value = word.partition("=")
    return str(options.get(name)) == value if equals else bool(options.get(name))


def imported(place: str) -> Any:
    """Return the object that ``module:name`` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
