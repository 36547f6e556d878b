"""The declaration of a method: its name, inputs, options, and the location of its code.

Neither this module nor any declaration imports NumPy, so that help and completion start quickly.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from svmfast.command import QUIET, Command, common
from svmfast.methods.given import Input, Inputs, Outcome, Setting
from svmfast.methods.grid import Candidate, Grid, Joiner, Joining, NotTried
from svmfast.options import Option, command_words, options_of
from svmfast.values import OutputFile, Switch, in_this_folder

#: The last argument of commands with svm-train's command line.
LAST = "output_as_argument"
#: Endings that are removed from an input's name to form the output's default name.
_ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".txt", ".model")


@dataclass(frozen=True, kw_only=True)
class Method(Command):
    """A way to make a model; one line in :mod:`svmfast.methods.registry` makes it a command and a function.

    A condition on options is ``name`` (it is set) or ``name=value``. A place is ``module:function``.
    """

    #: Positional inputs in the order of the arguments.
    inputs: tuple[Input, ...]
    #: A dataclass of options (:mod:`svmfast.options`). Its method ``check(given)``, if it has one, is called
    #: before anything is read, with the names of the given inputs and, where they apply, ``output``,
    #: ``checkpoint`` and ``unlabelled``. Its `precomputed`, if any, is True if rows hold kernel values.
    options: type
    #: The place of the function that takes ``(inputs, options, setting)`` and returns an Outcome.
    run: str
    #: ``module:class`` of each kind of report that a run may return: the schema of its JSON report.
    reports: tuple[str, ...] = ()
    #: Of its marks in frontier's chart, ``#rrggbb``; color-blind readers can distinguish the colors.
    color: str
    #: The place of the function that takes a Grid and returns candidates and those not tried.
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
    #: For a method that joins `fast`, a model that another method made, and `exact` by the rows `data`: the
    #: place of the function that takes a Joining and returns a Joiner, or None if no model can be joined
    #: under this limit. ``frontier`` tries it on each of the other methods' models.
    joins: str | None = None
    #: Its models can prove that a label is the exact model's.
    certifies: bool = False
    #: The switch that keeps the exact model in the file, where it answers the rows that are not certified.
    #: The models can contain the exact one (`with_exact`).
    embeds: str | None = None
    #: The help of `checkpoint`, a file with the state of a run, from which an interrupted run continues.
    checkpoints: str | None = None
    #: The help of ``--verbose``, which prints the lines that the run passes to `status`.
    shows_status: str | None = None

    @property
    def params(self) -> tuple[Option, ...]:
        rows = [one for one in self.inputs if one.content == "rows"]
        labelled = all(one.labels == "needed" for one in rows)
        without = None if not rows else ("unlabelled",) if labelled else ()
        found = [*(one.option for one in self.inputs), *self._outputs(), *options_of(self.options)]
        if self.checkpoints:
            kind = OutputFile(packed=False)
            found.append(Option("checkpoint", kind, None, self.checkpoints, ("--checkpoint",)))
        if self.shows_status:
            found.append(Option("verbose", Switch(), False, self.shows_status, ("--verbose",)))
        quiet = "Do not print the solver's output." if self.stands_in_for_svm_train else QUIET
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
            return given.get(LAST) is not None or self.makes_no_model(given)

        output = OutputFile("model", role="model", after=first, named=named, unless=unless)
        yield Option(
            "output", output, None, f"File to write (default: {usual}).", ("-o", "--output"), metavar="OUT"
        )
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
