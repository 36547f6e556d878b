"""Figures of reports, declared once: meaning, key and value in JSON, and column of the tables.

A figure is a field made by :func:`figure`, or a property made by ``@computed.figure``, of a class that
inherits :class:`Figures`. The JSON report, its schema (``svmfast --show-schema``) and the tables of
compare follow.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any

from svmfast.pages.notebook import Shown, folded, plain_table

#: In place of a figure that does not apply.
ABSENT = "-"
_KEY = "svmfast.figure"
_PLACES = itertools.count()


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of a report, and the attribute of the report that holds it."""

    #: What it means, a sentence or a clause.
    help: str
    #: Its key in JSON; by default the attribute's name.
    key: str = ""
    name: str = ""
    #: Measures it, for :func:`measure`.
    of: Callable[[Any], Any] | None = None
    #: Turns the attribute into JSON's value.
    value: Callable[[Any], Any] | None = None
    #: The attribute has figures of its own, which stand beside the others, without a key.
    spread: bool = False
    #: Left out of JSON if it is None or, for a function of the report, unless that returns True.
    optional: bool | Callable[[Any], bool] = False
    #: Head of its column; empty if it is in no table.
    head: str = ""
    #: Turns the attribute into the words of a cell.
    words: Callable[[Any], str] = str
    #: The attribute that the cell shows, if it is another one.
    shows: str = ""
    #: Shown in the narrow table too.
    main: bool = False
    #: Figures are shown in the order in which they are declared.
    place: int

    def applies(self, report: Any) -> bool:
        """Whether the JSON of `report` has this figure."""
        if callable(self.optional):
            return self.optional(report)
        return not self.optional or getattr(report, self.name) is not None

    def cell(self, report: Any) -> str:
        """The words of its cell in a table."""
        return cell(getattr(report, self.shows or self.name), self.words)


def cell(value: Any, words: Callable[[Any], str]) -> str:
    """The words of a value in a table."""
    return ABSENT if value is None or (isinstance(value, float) and math.isnan(value)) else words(value)


def figure(help: str, *, default: Any = MISSING, default_factory: Any = MISSING, **declared: Any) -> Any:
    """Declare a dataclass field as a figure; `declared` are fields of :class:`Figure`."""
    metadata = {_KEY: {"help": help, "place": next(_PLACES), **declared}}
    return field(metadata=metadata, default=default, default_factory=default_factory)


class computed(property):
    """A property that is a figure: ``@computed.figure("Percent of rows ...")``."""

    declared: Mapping[str, Any]

    @classmethod
    def figure(cls, help: str, **declared: Any) -> Callable[[Callable[[Any], Any]], computed]:
        """Make a decorator for the function that computes the figure."""

        def made(function: Callable[[Any], Any]) -> computed:
            found = cls(function, doc=function.__doc__ or help)
            found.declared = {"help": help, "place": next(_PLACES), **declared}
            return found

        return made


class Figures(Shown):
    """A report, or a part of one, whose figures are declared."""

    def declared(self) -> Iterator[tuple[str, Any, str]]:
        """Yield the key, JSON's value and the meaning of each figure that applies, those of parts too."""
        for one in figures_of(type(self)):
            if one.applies(self):
                value = getattr(self, one.name)
                if one.spread:
                    yield from value.declared()
                else:
                    yield one.key, plain(value if one.value is None else one.value(value)), one.help

    def to_dict(self) -> dict[str, Any]:
        """Figures by their keys in JSON, in plain types; docs/command-line.md explains them."""
        return {key: value for key, value, _ in self.declared()}

    def html(self) -> list[str]:
        """Its lines as a table, and all figures, with their meaning on pointing at one."""
        keys, values, notes = zip(*self.declared(), strict=True)
        rows = zip(keys, (one if isinstance(one, str) else json.dumps(one) for one in values), strict=True)
        return [*super().html(), folded("all figures", plain_table([], rows, notes))]


def figures_of(cls: type) -> tuple[Figure, ...]:
    """List the figures of a report class, fields and properties, in the order of their declarations."""
    own = fields(cls) if is_dataclass(cls) else ()
    declared = {one.name: one.metadata[_KEY] for one in own if _KEY in one.metadata}
    for base in reversed(cls.__mro__):
        declared |= {name: one.declared for name, one in vars(base).items() if isinstance(one, computed)}
    found = (Figure(**{"key": name, **one, "name": name}) for name, one in declared.items())
    return tuple(sorted(found, key=lambda one: one.place))


def measure(cls: type, subject: Any) -> dict[str, Any]:
    """Measure the figures of a report class that say how (`of`), by name."""
    return {one.name: one.of(subject) for one in figures_of(cls) if one.of is not None}


def plain(value: Any) -> Any:
    """Turn figures, mappings and sequences into JSON's types; NaN and infinity become None."""
    if isinstance(value, Figures):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
