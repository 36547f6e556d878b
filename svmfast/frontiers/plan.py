"""Makes a command line of each candidate of ``svmfast frontier``, in the order in which they are tried.

The candidates and their options come from each method's function ``candidates``, whose place ``Method`` has.
They share the time as :class:`Schedule` says.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from svmfast.errors import OptionError
from svmfast.figures import Figures, figure
from svmfast.methods import registry
from svmfast.methods.candidates import Candidate, CandidateRequest
from svmfast.methods.method import Method, imported
from svmfast.models.memory import MEMORY
from svmfast.options import options_of

#: Placeholders of paths in a candidate's arguments.
EXACT, TRAIN, OUT = "{exact}", "{train}", "{out}"
#: The method that joins the exact model with the other methods' models. It has no candidates of its own here:
#: frontiers.measured joins each model once it is measured.
CASCADE = "cascade"


@dataclass(frozen=True)
class CandidateCommand:
    """A command line that makes a model; the other fields are those of a Candidate."""

    name: str
    method: str
    level: int
    #: Of ``svmfast``, with :data:`EXACT`, :data:`TRAIN` and :data:`OUT` in place of paths.
    arguments: tuple[str, ...]
    sized: bool = False

    def filled(self, exact: str, train: str, out: str) -> list[str]:
        """The arguments with the paths filled in."""
        paths = {EXACT: exact, TRAIN: train, OUT: out}
        return [paths.get(word, word) for word in self.arguments]


@dataclass(frozen=True)
class Missing(Figures):
    """A candidate without a point, and why."""

    name: str = figure("The candidate's name.")
    method: str = figure("Its method.")
    reason: str = figure("Why there are no figures.")
    command: str | None = figure("The command that was to make it.", default=None)
    late: bool = figure("Whether the reason is the time limit.", default=False)


def tried_methods() -> tuple[str, ...]:
    """Names of all methods that are tried: those that declare candidates, and cascade."""
    declared = [one.name for one in registry.methods() if one.candidates is not None]
    return (*declared, CASCADE)


def chosen_methods(text: str | None) -> tuple[str, ...]:
    """The methods listed in `text`, or all if it is None (OptionError for an unknown one)."""
    if text is None:
        return tried_methods()
    known = tried_methods()
    names = [name.strip() for name in text.split(",") if name.strip()] or [""]
    for name in names:
        if name not in known:
            raise OptionError(f"no method '{name}'; methods: {', '.join(known)}")
    if set(names) == {CASCADE}:
        raise OptionError(
            f"`methods`: {CASCADE} joins the exact model with another method's model; name one of those too"
        )
    return tuple(method for method in known if method in names)


def plan(
    request: CandidateRequest,
    methods: Sequence[str],
    *,
    proven: bool = False,
    unlabelled: bool = False,
    reading: Sequence[str] = (),
    memory: int = MEMORY,
) -> tuple[list[CandidateCommand], list[Missing]]:
    """The candidates in the order in which to try them, cheap ones first, and those that are not tried.

    `proven`: only methods whose models prove their labels are tried. If the rows are `unlabelled`, methods
    that train on labels are not. `reading` are the options for reading the training data, `memory` is the
    limit of each command.
    """
    found: list[CandidateCommand] = []
    missing: list[Missing] = []
    for name in methods:
        if name == CASCADE:
            continue
        method = registry.method(name)
        if proven and not method.certifies:
            missing.append(Missing(name, name, "its models cannot prove that no label differs"))
            continue
        assert method.candidates is not None, "tried_methods has no others"
        tried, left_out = imported(method.candidates)(request)
        if unlabelled and any(map(_trains_on_labels, tried)):
            missing.append(Missing(name, name, "it trains on labels, and the rows have none"))
            tried = [one for one in tried if not _trains_on_labels(one)]
        found += [_command(method, one, reading, memory) for one in tried]
        missing += [Missing(one.name, name, one.reason) for one in left_out]

    # The sort is stable: within a level the methods keep their order.
    return sorted(found, key=lambda one: (not one.sized, one.level)), missing


def _trains_on_labels(one: Candidate) -> bool:
    """Whether a candidate is trained on rows alone, without the exact model's values."""
    return "data" in one.inputs and not {"model", "exact"} & set(one.inputs)


def _command(method: Method, one: Candidate, reading: Sequence[str], memory: int) -> CandidateCommand:
    places = {"data": TRAIN, "exact": EXACT, "model": EXACT}
    inputs = {given: places[given] for given in one.inputs}
    limited = memory != MEMORY and any(known.name == "memory" for known in options_of(method.options))
    options = {**one.options, **({"memory": memory} if limited else {})}
    arguments = method.command_words(inputs, options, OUT, reading)
    return CandidateCommand(one.name, method.name, one.level, tuple(arguments), one.sized)


#: A candidate may take this many equal shares of the remaining time, since cheap ones leave most of theirs.
SHARES = 3.0
#: No candidate starts with fewer seconds left, since starting a program takes a good part of a second.
LEAST_SHARE = 2.0
#: While other methods wait, a method may use at most this share of its time so far and the remaining time.
OF_A_METHOD = 0.5


class Schedule:
    """The order of candidates, and the seconds that each may take.

    If a candidate exceeds its share of the time, more expensive ones of its method would too, so they are
    postponed with it. The time that is left at the end is given to postponed candidates, in order. A
    candidate that is made for a limit on bytes may take all the time of its method. The deadline is in the
    time of ``time.monotonic``.
    """

    def __init__(self, candidates: Sequence[CandidateCommand], deadline: float) -> None:
        self._waiting, self._late, self._deadline = list(candidates), list[CandidateCommand](), deadline
        self._given: dict[str, float] = {}  # seconds, by candidate
        self._used: dict[str, float] = {}  # seconds, by method
        self._slow: dict[str, int] = {}  # the level that took too long, by method

    def turns(self) -> Iterator[tuple[CandidateCommand, float]]:
        """Yield each candidate to try, and its seconds; the time until the next turn is its own."""
        tried = True
        while self._waiting and tried:
            tried, self._late, self._slow = False, [], {}
            while self._waiting:
                candidate = self._waiting.pop(0)
                begin = time.monotonic()
                share = self._share(candidate, self._deadline - begin)
                # Retry a candidate only with clearly more time than before.
                enough = share >= LEAST_SHARE and share > 1.5 * self._given.get(candidate.name, 0.0)
                if candidate.level >= self._slow.get(candidate.method, math.inf) or not enough:
                    self._late.append(candidate)
                    continue
                self._given[candidate.name] = share
                tried = True
                yield candidate, share
                used = self._used.get(candidate.method, 0.0)
                self._used[candidate.method] = used + time.monotonic() - begin
            self._waiting = self._late

    def postpone(self, candidate: CandidateCommand) -> None:
        """Note that a candidate took longer than its turn."""
        self._slow[candidate.method] = candidate.level
        self._late.append(candidate)

    def late(self) -> dict[str, str]:
        """The reasons for the candidates that were not made, by name."""
        return {
            one.name: f"not finished within {self._given[one.name]:.0f} s"
            if one.name in self._given
            else "not tried within the time limit"
            for one in self._waiting
        }

    def _share(self, candidate: CandidateCommand, left: float) -> float:
        """The seconds that a candidate may take."""
        share = left if candidate.sized else max(LEAST_SHARE, SHARES * left / (len(self._waiting) + 1))
        if any(other.method != candidate.method for other in (*self._waiting, *self._late)):
            own = self._used.get(candidate.method, 0.0)
            share = min(share, max(OF_A_METHOD * (left + own) - own, 0.0 if own else LEAST_SHARE))
        return min(left, share)
