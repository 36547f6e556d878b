"""The declaration of a method: its name, inputs, options, and the location of its code.

Neither this module nor any declaration imports NumPy, so that help and completion start quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from svmfast.methods.given import Input, Inputs, Outcome, Setting
from svmfast.methods.grid import Candidate, Grid, Joiner, Joining, NotTried
from svmfast.options import command_words


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to make a model; one line in :mod:`svmfast.methods.registry` makes it a command and a function.

    Attributes
    ----------
    name : str
        The command's name; the Python function has underscores in place of hyphens.
    summary : str
        One line for ``svmfast --help``.
    description : str
        The body of the command's help and of the function's docstring.
    group : {"convert", "train"}
    inputs : tuple of Input
        Positional inputs in the order of the arguments.
    options : type
        A dataclass of options (:mod:`svmfast.options`). Its method ``check(given)``, if it has one, is called
        before anything is read. `given` holds the names of the given inputs and, where they apply,
        ``output``, ``checkpoint`` and ``unlabelled``. Its attribute `precomputed`, if it has one, is True if
        rows hold kernel values.
    run : str
        ``module:function``; the function takes ``(inputs, options, setting)`` and returns an Outcome.
    reports : tuple of str
        ``module:class`` of each kind of report that a run may return: the schema of its JSON report.
    candidates : str or None
        ``module:function``; the function takes a Grid and returns candidates and those not tried.
    color : str
        Of its marks in frontier's chart, ``#rrggbb``; color-blind readers can distinguish the colors.
    scores_alone : tuple of str
        Options, each ``name`` or ``name=value``, with which a run may only score: the command makes a model
        only if an output is named, and the Python function has the keyword `scores_only`.
    scores_instead : str or None
        An option, ``name`` or ``name=value``, with which a run only scores and never makes a model.
    svm_train_output : bool
        As with svm-train, the output may also be the last argument, and a class weight is given as
        ``-w-1 2``.
    stands_in_for_svm_train : bool
        The command prints the solver's output instead of a report, and its default output is NAME.model.
    joins : str or None
        For a method that joins `fast`, a model that another method made, and `exact` by the rows `data`:
        ``module:function``; the function takes a Joining and returns a Joiner, or None if no model can be
        joined under this limit. ``frontier`` tries it on each of the other methods' models.
    certifies : bool
        Its models can prove that a label is the exact model's.
    embeds : str or None
        The switch that keeps the exact model in the file, where it answers the rows that are not certified.
        The models are EmbeddingModels.
    checkpoints : str or None
        The help of `checkpoint`, a file with the state of a run, from which an interrupted run continues;
        None if the method has no checkpoints.
    shows_status : str or None
        The help of ``--verbose``, which prints the lines that the run passes to `status`; None if the
        method has none.
    """

    name: str
    summary: str
    description: str
    group: Literal["convert", "train"]
    inputs: tuple[Input, ...]
    options: type
    run: str
    reports: tuple[str, ...] = ()
    color: str
    candidates: str | None = None
    scores_alone: tuple[str, ...] = ()
    scores_instead: str | None = None
    svm_train_output: bool = False
    stands_in_for_svm_train: bool = False
    joins: str | None = None
    certifies: bool = False
    embeds: str | None = None
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
        return [*words, *command_words(self.options, options), *reading, "-o", output]

    def makes_no_model(self, options: Mapping[str, Any]) -> bool:
        """Return whether a run with these options makes no model unless an output is named."""
        return self.only_scores(options) or any(_holds(word, options) for word in self.scores_alone)

    def only_scores(self, options: Mapping[str, Any]) -> bool:
        """Return whether a run with these options only scores and never makes a model."""
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

    def joiner(self, given: Joining) -> Joiner | None:
        """Return what joins models with the exact one; None if none can be joined under this limit."""
        found: Joiner | None = None if self.joins is None else imported(self.joins)(given)
        return found


def _holds(word: str, options: Mapping[str, Any]) -> bool:
    """Return whether an option is set (``name``), or has a certain value (``name=value``)."""
    name, equals, value = word.partition("=")
    return str(options.get(name)) == value if equals else bool(options.get(name))


def imported(place: str) -> Any:
    """Return the object that ``module:name`` names."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
