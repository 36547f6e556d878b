"""What a method declares, what its run is given, and what it returns.

Neither this module nor any declaration imports NumPy, so that help and completion start quickly.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol

from svmfast.caches import cached
from svmfast.command import LAST, QUIET, Command, common
from svmfast.options import FilesFrom, Option, command_words, options_of
from svmfast.progress import Progress, silent
from svmfast.values import InputFile, OutputFile, in_this_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmfast.models.base import Model
    from svmfast.models.scaling import Scaling
    from svmfast.rows import FloatArray, Rows
    from svmfast.solvers.row_blocks import TrainingSource

#: Endings that are removed from an input's name to form the output's default name.
_ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".txt", ".model")
#: Calls two functions in turn and returns how many times as fast the second one is.
Race = Callable[[Callable[[], object], Callable[[], object]], float]
#: The end of the line in which a command states a refusal.
NOTHING_WRITTEN = "; nothing was written"


@dataclass(frozen=True, kw_only=True)
class Input:
    """Something that a method reads."""

    #: Its name in Python and in reports.
    name: str
    #: An exact model is a LIBSVM model.
    content: Literal["model", "exact model", "rows"]
    help: str = ""
    #: None for a positional argument.
    flag: str | None = None
    required: bool = True
    #: For rows: whether the method needs their labels, uses them if there are any, or ignores them.
    labels: Literal["needed", "used", "ignored"] = "needed"
    #: For rows: the most that are used, drawn at random from files of any length; the flag may then be given
    #: several times. None uses all rows of one file.
    most: int | None = None
    #: For rows: whether they may exceed memory. They are then read once, and those that do not fit into half
    #: of the option `memory` are kept in a temporary file; the run gets a GivenStream, or GivenRows
    #: if the options have an `in_memory` that is true.
    spooled: bool = False
    #: For rows: whether several files may be given, whose rows follow one another.
    files: bool = False
    #: For rows: how many times the memory of the scaled rows a run takes, where a scaling turns zeros into
    #: values. 0: the run gets the rows as read, and scales them in blocks.
    copies: float = 1
    #: Its key in JSON reports, if that differs from its name.
    role: str | None = None

    @property
    def many(self) -> bool:
        """Whether several files may be given."""
        return self.files or self.most is not None

    @property
    def option(self) -> Option:
        """The command's argument or option for it."""
        kind = InputFile("data" if self.content == "rows" else "model", role=self.role or self.name)
        if self.files:  # the last word may be taken for another argument, and a list may have the names
            return Option(self.name, kind, metavar="DATA...", many=True)
        if self.flag is None:
            return Option(self.name, kind, required=self.required)
        text = self.help + (" May be given several times." if self.many else "")
        flags = (self.flag,)
        return Option(self.name, kind, None, text, flags, "FILE", required=self.required, many=self.many)


@dataclass(frozen=True, eq=False)
class GivenModel:
    """A model that was read or passed."""

    model: Model
    #: In messages.
    name: str
    #: Computes its identity.
    identify: Callable[[Model], str]
    #: Size of its file.
    n_bytes: int | None

    @cached
    def identity(self) -> str:
        """``sha256:`` and the hash of its text as svmfast writes it: the `source` of models made from it."""
        return self.identify(self.model)


@dataclass(frozen=True, eq=False)
class GivenRows:
    """Rows that were read or passed."""

    rows: Rows
    #: (n,); None if the rows have no labels.
    labels: FloatArray | None
    #: In messages.
    name: str


@dataclass(frozen=True, eq=False)
class GivenStream:
    """Labelled rows that were read once and are served in working sets."""

    source: TrainingSource
    #: In messages.
    name: str


class Inputs(dict[str, Any]):
    """The inputs of a run by name; None for those that were not given."""

    #: The scaling that was applied to all rows and that the result will contain; the method sees only scaled
    #: rows (but see :attr:`Input.copies`), and models of scaled rows.
    scaling: Scaling | None = None

    def rows(self, name: str) -> GivenRows:
        given = self[name]
        assert isinstance(given, GivenRows), name
        return given

    def stream(self, name: str) -> GivenStream:
        given = self[name]
        assert isinstance(given, GivenStream), name
        return given

    def model(self, name: str) -> GivenModel:
        given = self[name]
        assert isinstance(given, GivenModel), name
        return given


class Report(Protocol):
    """The interface of reports: declared figures (:mod:`svmfast.figures`), and their printed lines."""

    def lines(self) -> list[str]:
        """The report as lines of text."""

    def to_dict(self) -> dict[str, Any]:
        """The figures under the names of docs/command-line.md."""

    def html(self) -> list[str]:
        """The parts of the report in a notebook."""


@dataclass(frozen=True, eq=False)
class Outcome:
    #: None if there is nothing to write: the run only scores, or it refuses to make a model.
    model: Model | None
    report: Report
    #: The reason for refusing: a negative answer, not an error.
    refusal: str | None = None
    #: Printed once the model is written; if writing fails, only the error is printed.
    warnings: tuple[str, ...] = ()
    #: What may help after a refusal, on a separate line. `frontier` shows only the reason, since it tries
    #: other options and methods itself.
    advice: str | None = None
    #: The scaling that the run has learned from its rows: the model takes scaled rows.
    learned: Scaling | None = None


class Kept(Protocol):
    """Results that a run keeps, by name, so that the same run can continue."""

    def load(self, name: str) -> dict[str, NDArray[Any]] | None:
        """The arrays that were saved under a name; None if there are none."""

    def save(self, name: str, **arrays: Any) -> None:
        """Keep arrays."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What the front end passes to a run."""

    threads: int
    progress: Progress = silent
    #: Called with one sentence, a remark or a warning.
    note: Callable[[str], None] = lambda text: None
    warn: Callable[[str], None] = lambda text: None
    #: The size in bytes of the file of a model.
    stored_size: Callable[[Model], int] = lambda model: 0
    #: The bytes of its tables in C, in single precision.
    table_size: Callable[[Model], int] = lambda model: 0
    #: Whether that file will be compressed.
    compressed: bool = False
    #: Called from another thread with pieces of the text that a solver prints; None if it is not wanted.
    log: Callable[[str], None] | None = None
    #: Whether the caller will write a model.
    writes: bool = True
    #: None if nothing may be timed.
    race: Race | None = None
    #: Makes the checkpoint of a run, given a text that says which run it is; None if none is wanted.
    checkpoint: Callable[[str], Kept] | None = None
    #: The name of each label once the rows are read; None if classes have no names.
    names_of_labels: Callable[[], Mapping[float, str] | None] = lambda: None


#: A run from Python, on one thread and without messages.
ALONE = Setting(threads=1)


@dataclass(frozen=True, kw_only=True)
class Method(Command):
    """A way to make a model; one line in :mod:`svmfast.methods.registry` makes it a command and a function.

    A condition on options is ``name`` (it is set) or ``name=value``. A place is ``module:function``.
    """

    #: Positional inputs in the order of the arguments.
    inputs: tuple[Input, ...]
    #: A dataclass of options (:mod:`svmfast.options`). Its method ``check(given)``, if it has one, is called
    #: before anything is read, with the names of the given inputs and, where they apply, ``output`` and
    #: ``unlabelled``. Its `precomputed`, if any, is True if rows hold kernel values.
    options: type
    #: The place of the function that takes ``(inputs, options, setting)`` and returns an Outcome.
    run: str
    #: Of its marks in frontier's chart, ``#rrggbb``; color-blind readers can distinguish the colors.
    color: str
    #: The place of the function that takes a CandidateRequest and returns candidates and those not tried.
    candidates: str | None = None
    #: Conditions with which a run may only score: the command makes a model only if an output is named, and
    #: the Python function has the keyword `scores_only`.
    scores_alone: tuple[str, ...] = ()
    #: A condition with which a run only scores and never makes a model.
    scores_instead: str | None = None
    #: As with svm-train, the output may also be the last argument, and a class weight is ``-w-1 2``.
    svm_train_output: bool = False
    #: The command prints the solver's output instead of a report, and its default output is NAME.model.
    stands_in_for_svm_train: bool = False
    #: Its models can prove that a label is the exact model's.
    certifies: bool = False
    #: The switch that keeps the exact model in the file, where it answers the rows that are not certified.
    #: The models can contain the exact one (`with_exact`).
    embeds: str | None = None

    @property
    def params(self) -> tuple[Option, ...]:
        rows = [one for one in self.inputs if one.content == "rows"]
        labelled = all(one.labels == "needed" for one in rows)
        without = None if not rows else ("unlabelled",) if labelled else ()
        found = [*(one.option for one in self.inputs), *self._outputs(), *options_of(self.options)]
        quiet = "Do not print the solver's output." if self.stands_in_for_svm_train else QUIET
        if any(one.files for one in self.inputs):
            found += options_of(FilesFrom)
        return (*found, *common(quiet, without))

    def _outputs(self) -> Iterator[Option]:
        """``-o`` and, for svm-train's commands, the last argument."""
        first = next(one.name for one in self.inputs if one.flag is None)
        named: Callable[[str], str] = self.default_output
        data = first.upper()
        usual = f"NAME.{self.name}.model in the current folder, NAME from {data}"
        if self.stands_in_for_svm_train:
            named = in_this_folder("model")
            usual = f"{data}'s file name with .model added, in the current folder"

        def unless(given: Mapping[str, Any]) -> bool:
            scores = self.only_scores(given) or any(_holds(word, given) for word in self.scores_alone)
            return given.get(LAST) is not None or scores

        output = OutputFile("model", role="model", after=first, named=named, unless=unless)
        yield Option(
            "output", output, None, f"File to write (default: {usual}).", ("-o", "--output"), metavar="OUT"
        )
        if any(one.name == "libsvm_form" for one in options_of(self.options)):
            beside = OutputFile(
                role="map",
                after="output",
                named=lambda path: f"{path}.map",
                unless=lambda given: not given["libsvm_form"],
            )
            text = "File for the map (default: OUT.map)."
            about: dict[str, Any] = {"metavar": "FILE", "only_with": "libsvm_form"}
            yield Option("map", beside, None, text, ("--map",), **about)
        if self.svm_train_output:
            yield Option(LAST, OutputFile("model", role="model"), metavar="[MODEL]")

    def default_output(self, path: str) -> str:
        """The default output for an input: ``folder/NAME.txt`` -> ``NAME.METHOD.model``."""
        name = os.path.basename(path)
        while name.endswith(_ENDINGS) and name not in _ENDINGS:
            name = name.removesuffix(next(ending for ending in _ENDINGS if name.endswith(ending)))
        return f"{name}.{self.name}.model"

    def command_words(
        self, inputs: Mapping[str, str], options: Mapping[str, Any], output: str, reading: Sequence[str] = ()
    ) -> list[str]:
        """The arguments of ``svmfast`` for the same run; `inputs` are paths, `reading` flags of Reading."""
        words = [self.name]
        words += [inputs[one.name] for one in self.inputs if one.flag is None]
        for one in self.inputs:
            if one.flag is not None and one.name in inputs:
                words += [one.flag, inputs[one.name]]
        return [*words, *command_words(self.options, options), *reading, "-o", output]

    def only_scores(self, options: Mapping[str, Any]) -> bool:
        """Whether a run with these options only scores and never makes a model."""
        return self.scores_instead is not None and _holds(self.scores_instead, options)


def _holds(word: str, options: Mapping[str, Any]) -> bool:
    """Whether an option is set (``name``), or has a certain value (``name=value``)."""
    name, equals, value = word.partition("=")
    return str(options.get(name)) == value if equals else bool(options.get(name))


def imported(place: str) -> Any:
    """The object that ``module:name`` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
