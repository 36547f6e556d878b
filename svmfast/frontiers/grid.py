"""The candidates of ``svmfast frontier``: a small grid of command lines for each method, cheap ones first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from svmfast.display import shell_line
from svmfast.errors import OptionError
from svmfast.methods import registry
from svmfast.methods.grid import Grid
from svmfast.models.memory import MEMORY
from svmfast.options import options_of

if TYPE_CHECKING:
    from svmfast.frontiers.pareto import Limits
    from svmfast.frontiers.report import Missing
    from svmfast.models.expansion import KernelExpansion

#: Placeholders of paths in a candidate's arguments.
EXACT, TRAIN, OUT = "{exact}", "{train}", "{out}"


@dataclass(frozen=True)
class CandidateCommand:
    """A command line that makes a model.

    Attributes
    ----------
    name : str
        Unique; also names the model's file.
    method : str
    level : int
        Of two candidates of a method, the one with the lower level takes less work to make.
    arguments : tuple of str
        The arguments of ``svmfast``, with :data:`EXACT`, :data:`TRAIN` and :data:`OUT` in place of paths.
    """

    name: str
    method: str
    level: int
    arguments: tuple[str, ...]

    def in_memory(self, memory: int) -> CandidateCommand:
        """Return this command with a memory limit, unless that is the default."""
        limited = any(one.name == "memory" for one in options_of(registry.method(self.method).options))
        if memory == MEMORY or not limited:
            return self
        return replace(self, arguments=(*self.arguments, "--memory", str(memory)))

    def filled(self, exact: str, train: str, out: str) -> list[str]:
        """Return the arguments with the paths filled in."""
        paths = {EXACT: exact, TRAIN: train, OUT: out}
        return [paths.get(word, word) for word in self.arguments]

    def command(self, exact: str, train: str, out: str) -> str:
        """Return the command as a line for the shell."""
        return shell_line(["svmfast", *self.filled(exact, train, out)])


def tried_methods() -> tuple[str, ...]:
    """Return the names of all methods that are tried."""
    declared = [one.name for one in registry.methods() if one.candidates is not None]
    return (*declared, *joining_methods())


def joining_methods() -> tuple[str, ...]:
    """Return the names of the methods that join the exact model with another model."""
    return tuple(one.name for one in registry.methods() if one.joins)


def chosen_methods(text: str | None) -> tuple[str, ...]:
    """Return the methods listed in `text`, or all if it is None (OptionError for an unknown one)."""
    if text is None:
        return tried_methods()
    known = tried_methods()
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise OptionError(f"no method '{name}'; methods: {', '.join(known)}")
    if not names:
        raise OptionError(f"`methods` is empty; methods: {', '.join(known)}")
    if set(names) <= set(joining_methods()):
        raise OptionError(
            f"`methods`: {names[0]} joins the exact model with another method's model; name one of those too"
        )
    return tuple(method for method in known if method in names)


def plan(
    model: KernelExpansion, methods: Sequence[str], *, seed: int, limits: Limits, reading: Sequence[str] = ()
) -> tuple[list[CandidateCommand], list[Missing]]:
    """Return the candidates in the order in which to try them, and those that cannot be tried.

    Parameters
    ----------
    model : KernelExpansion
        The exact model.
    methods : sequence of str
    seed : int
    limits : Limits
        A size limit adds a candidate of that size.
    reading : sequence of str
        Options for reading the training data.
    """
    from svmfast.frontiers.report import Missing

    found: list[CandidateCommand] = []
    missing: list[Missing] = []
    places = {"data": TRAIN, "exact": EXACT, "model": EXACT}
    for name in methods:
        if name in joining_methods():
            continue
        method = registry.method(name)
        if limits.max_diff == 0 and not method.certifies:
            missing.append(Missing(name, name, "its models cannot prove that no label differs"))
            continue
        tried, left_out = method.grid(Grid(model, seed, limits.max_bytes))
        for one in tried:
            inputs = {given: places[given] for given in one.inputs}
            arguments = method.command_words(inputs, one.options, OUT, reading)
            found.append(CandidateCommand(one.name, name, one.level, tuple(arguments)))
        missing += [Missing(one.name, name, one.reason) for one in left_out]
    # The sort is stable: within a level the methods keep their order.
    return sorted(found, key=lambda candidate: candidate.level), missing
