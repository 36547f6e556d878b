"""The declaration of a method: its name, inputs, options, and the location of its code.

Nothing here, nor in the declarations, imports NumPy: help and completion start at Python's own speed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from svmfast.methods.given import Input, Inputs, Outcome, Setting
from svmfast.methods.grid import Candidate, Grid, NotTried, Style
from svmfast.options import words_of


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
    certifies : bool
        Its models can prove that a label is the exact model's.
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
    certifies: bool = False
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
