"""A candidate with the exact model as fallback: its file, and the commands that make and use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from svmfast.display import shell_line
from svmfast.frontiers.grid import CandidateCommand
from svmfast.methods.grid import Joiner
from svmfast.methods.method import Method
from svmfast.options import command_words

if TYPE_CHECKING:
    from svmfast.models.base import Model
    from svmfast.models.expansion import KernelExpansion


@dataclass(frozen=True)
class Places:
    """Paths in the commands of a candidate.

    Attributes
    ----------
    exact, train, choosing : str
    model : str
        The candidate alone.
    """

    exact: str
    train: str
    choosing: str
    model: str

    @property
    def joined(self) -> str:
        """The file that contains the exact model too."""
        return f"{self.model}+exact"


class Fallback(Protocol):
    """The way in which the exact model answers the rows that a candidate leaves open."""

    @property
    def allowance_percent(self) -> float | None:
        """Share of the labels that may differ, in percent; None if the other labels are proven."""

    def in_one_file(self, model: Model, exact: KernelExpansion) -> Model:
        """Return the model whose file contains both."""

    def made_by(self, candidate: CandidateCommand, at: Places) -> str:
        """Return the command line that makes both in one file."""

    def used_by(self, at: Places) -> str:
        """Return the command line that predicts with both."""


class Embedded:
    """For a candidate with a certificate: its own command keeps the exact model in the file."""

    allowance_percent = None

    def __init__(self, method: Method, switch: str) -> None:
        self._words = command_words(method.options, {switch: True})

    def in_one_file(self, model: Model, exact: KernelExpansion) -> Model:
        """Return the model whose file contains both."""
        return model.with_exact(exact)

    def made_by(self, candidate: CandidateCommand, at: Places) -> str:
        """Return the command line that makes both in one file, like the recommended copy."""
        return shell_line(["svmfast", *candidate.filled(at.exact, at.train, at.joined), *self._words])

    def used_by(self, at: Places) -> str:
        """Return the command line that predicts with both."""
        return shell_line(["svmfast", "predict", "DATA", at.model, "OUT", "--exact", at.exact])


class Joined:
    """For a candidate without a certificate: another method joins both under the limit of `joiner`."""

    def __init__(self, method: Method, joiner: Joiner) -> None:
        self._method, self._joiner = method, joiner
        self.allowance_percent = joiner.max_percent

    def in_one_file(self, model: Model, exact: KernelExpansion) -> Model:
        """Return the model whose file contains both: `model`, which is a joined one."""
        return model

    def made_by(self, candidate: CandidateCommand, at: Places) -> str:
        """Return the command lines that make the candidate and join it."""
        inputs = {"fast": at.model, "exact": at.exact, "data": at.choosing}
        words = self._method.command_words(inputs, self._joiner.options, at.joined)
        return f"{candidate.command(at.exact, at.train, at.model)} && {shell_line(['svmfast', *words])}"

    def used_by(self, at: Places) -> str:
        """Return the command line that predicts with both."""
        return shell_line(["svmfast", "predict", "DATA", at.joined, "OUT"])
