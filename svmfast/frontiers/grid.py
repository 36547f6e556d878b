"""The candidates of ``svmfast frontier``: a small grid of command lines for each method, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from svmfast.errors import OptionError
from svmfast.methods import registry
from svmfast.methods.grid import Grid
from svmfast.models.memory import MEMORY
from svmfast.options import options_of

if TYPE_CHECKING:
    from svmfast.frontiers.report import Missing
    from svmfast.methods.grid import Candidate
    from svmfast.methods.method import Method

#: Placeholders of paths in a candidate's arguments.
EXACT, TRAIN, OUT = "{exact}", "{train}", "{out}"
#: The order in which to try candidates that are sized to a limit: by the closeness of the methods' models at
#: equal size.
PROSPECTS = ("compress", "dcpred", "budget-train", "approximate", "meka")
#: The shortest text of a number in a file is at least this share of the longest one.
SHORTEST = 2 / 25
#: A file sized to the limit that uses less than FULL of it is followed by one that should use AIM.
FULL, AIM = 0.9, 0.95


@dataclass(frozen=True)
class CandidateCommand:
    """A command line that makes a model; the other fields are those of a Candidate."""

    name: str
    method: str
    level: int
    #: Of ``svmfast``, with :data:`EXACT`, :data:`TRAIN` and :data:`OUT` in place of paths.
    arguments: tuple[str, ...]
    most_bytes: int | None = None
    sized: bool = False

    def in_memory(self, memory: int) -> CandidateCommand:
        """This command with a memory limit, unless that is the default."""
        limited = any(one.name == "memory" for one in options_of(registry.method(self.method).options))
        if memory == MEMORY or not limited:
            return self
        return replace(self, arguments=(*self.arguments, "--memory", str(memory)))

    def filled(self, exact: str, train: str, out: str) -> list[str]:
        """The arguments with the paths filled in."""
        paths = {EXACT: exact, TRAIN: train, OUT: out}
        return [paths.get(word, word) for word in self.arguments]


def tried_methods() -> tuple[str, ...]:
    """Names of all methods that are tried."""
    declared = [one.name for one in registry.methods() if one.candidates is not None]
    return (*declared, *joining_methods())


def joining_methods() -> tuple[str, ...]:
    """Names of the methods that join the exact model with another model."""
    return tuple(one.name for one in registry.methods() if one.joins is not None)


def chosen_methods(text: str | None) -> tuple[str, ...]:
    """The methods listed in `text`, or all if it is None (OptionError for an unknown one)."""
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
    grid: Grid,
    methods: Sequence[str],
    *,
    proven: bool = False,
    labelled: bool = True,
    reading: Sequence[str] = (),
) -> tuple[list[CandidateCommand], list[Missing]]:
    """The candidates in the order in which to try them, and those that are not tried.

    Cheap ones come first. With a limit on the size, those that are sized to it come before them, the best
    prospects first, then those that are certain to fit, then those without a known bound. Those that
    may be larger are not tried, except the smallest if none is certain to fit: the report names what comes
    closest. `proven`: only methods whose models prove their labels are tried. Without labels, methods that
    train on them are not. `reading` are the options for reading the training data.
    """
    from svmfast.frontiers.report import Missing

    found: list[CandidateCommand] = []
    missing: list[Missing] = []
    larger: list[tuple[CandidateCommand, Missing]] = []
    for name in methods:
        if name in joining_methods():
            continue
        method = registry.method(name)
        if proven and not method.certifies:
            missing.append(Missing(name, name, "its models cannot prove that no label differs"))
            continue
        tried, left_out = method.grid(grid)
        if not labelled and any(map(_trains_on_labels, tried)):
            missing.append(Missing(name, name, "it trains on labels, and the rows have none"))
            tried = [one for one in tried if not _trains_on_labels(one)]
        sized = any(one.sized for one in tried)
        for one in tried:
            if too_large(one, grid.max_bytes, sized=sized):
                assert one.most_bytes is not None
                assert grid.max_bytes is not None
                reason = f"not tried: may take {one.most_bytes:,} bytes, more than {grid.max_bytes:,}"
                missing.append(Missing(one.name, name, reason, bytes=one.most_bytes))
                larger.append((_command(method, one, reading), missing[-1]))
            else:
                found.append(_command(method, one, reading))
        missing += [Missing(one.name, name, one.reason) for one in left_out]

    if larger and not any(one.sized or _fits(one, grid) for one in found):
        smallest, reported = min(larger, key=lambda pair: pair[0].most_bytes or 0)
        found.append(smallest)
        missing.remove(reported)

    def order(one: CandidateCommand) -> tuple[int, int, int]:
        if grid.max_bytes is None:
            return 0, 0, one.level
        if one.sized:
            known = one.method in PROSPECTS
            return 0, PROSPECTS.index(one.method) if known else len(PROSPECTS), 0
        return 1 if _fits(one, grid) else 2, 0, one.level

    # The sort is stable: within a level the methods keep their order.
    return sorted(found, key=order), missing


def _trains_on_labels(one: Candidate) -> bool:
    """Whether a candidate is trained on rows alone, without the exact model's values."""
    return "data" in one.inputs and not {"model", "exact"} & set(one.inputs)


def _fits(one: CandidateCommand, grid: Grid) -> bool:
    """Whether a candidate is certain to be within the limit on the size."""
    return grid.max_bytes is not None and one.most_bytes is not None and one.most_bytes <= grid.max_bytes


def too_large(one: Candidate, limit: int | None, *, sized: bool) -> bool:
    """Whether a candidate is not worth trying under a limit on the size.

    It is not if it may be too large and its method has a candidate that is `sized` to the limit, or if it is
    too large even with the shortest numbers.
    """
    if limit is None or one.most_bytes is None or one.sized:
        return False
    return one.most_bytes > limit and (sized or SHORTEST * one.most_bytes > limit)


def enlarged(
    sized: CandidateCommand, n_bytes: int, grid: Grid, *, reading: Sequence[str] = ()
) -> CandidateCommand | None:
    """A larger candidate of the same method, if the file of the sized one leaves much of the limit.

    Bounds assume the longest numbers; the measured size tells how long they are.
    """
    limit = grid.max_bytes
    if limit is None or not sized.sized or sized.most_bytes is None or n_bytes >= FULL * limit:
        return None
    method = registry.method(sized.method)
    tried, _ = method.grid(replace(grid, max_bytes=int(AIM * limit * sized.most_bytes / n_bytes)))
    for one in tried:
        if one.sized and one.most_bytes is not None and one.most_bytes > sized.most_bytes:
            return _command(method, one, reading)
    return None


def _command(method: Method, one: Candidate, reading: Sequence[str]) -> CandidateCommand:
    places = {"data": TRAIN, "exact": EXACT, "model": EXACT}
    inputs = {given: places[given] for given in one.inputs}
    arguments = method.command_words(inputs, one.options, OUT, reading)
    return CandidateCommand(one.name, method.name, one.level, tuple(arguments), one.most_bytes, one.sized)
