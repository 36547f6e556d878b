"""Figures of reports, declared once: the meaning of each, its key in JSON, and its value there.

A report is a dataclass that inherits :class:`Figures`; a field made by :func:`figure`, or a property made by
:func:`computed`, is a figure. The JSON report and its schema (``docs/report.schema.json``) follow from these
declarations. Other fields are for the report's lines only.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_KEY = "svmfast.figure"
_NAMES = {bool: "boolean", int: "number", float: "number", str: "string"}


@dataclass(frozen=True)
class Figure:
    """A figure of a report.

    Attributes
    ----------
    help : str
        What it means: the schema's description, a sentence or a clause.
    key : str
        Its key in JSON.
    name : str
        The attribute that holds it.
    value : callable or None
        Turns the attribute into JSON's value.
    spread : bool
        Whether the attribute has figures of its own that stand beside the others, without a key.
    """

    help: str
    key: str
    name: str
    value: Callable[[Any], Any] | None
    spread: bool


def figure(
    help: str,
    *,
    key: str = "",
    value: Callable[[Any], Any] | None = None,
    spread: bool = False,
    **more: Any,
) -> Any:
    """Declare a dataclass field as a figure; its key is the field's name unless `key` is given.

    `more` are arguments of :func:`dataclasses.field`, such as ``default``.
    """
    return dataclasses.field(metadata={_KEY: (help, key, value, spread)}, **more)


class computed(property):
    """A property that is a figure: ``@computed.figure("Percent of rows ...")``."""

    declared: tuple[str, str, Callable[[Any], Any] | None, bool]

    @classmethod
    def figure(
        cls, help: str, *, key: str = "", value: Callable[[Any], Any] | None = None
    ) -> Callable[[Callable[[Any], Any]], computed]:
        """Make a decorator for the function that computes the figure."""

        def made(function: Callable[[Any], Any]) -> computed:
            found = cls(function)
            found.declared = (help, key, value, False)
            return found

        return made


class Figures:
    """A report, or a part of one, whose figures are declared."""

    def to_dict(self) -> dict[str, Any]:
        """Figures by their keys in JSON, in plain types; docs/json.md explains them."""
        found: dict[str, Any] = {}
        for one in figures_of(type(self)):
            value = getattr(self, one.name)
            if one.spread:
                found |= value.to_dict()
            else:
                found[one.key] = plain(value) if one.value is None else plain(one.value(value))
        return found


def figures_of(cls: type) -> tuple[Figure, ...]:
    """List the figures of a report class: its fields in their order, then its properties."""
    declared = {one.name: one.metadata[_KEY] for one in dataclasses.fields(cls) if _KEY in one.metadata}
    for base in reversed(cls.__mro__):
        declared |= {name: one.declared for name, one in vars(base).items() if isinstance(one, computed)}
    return tuple(
        Figure(help, key or name, name, value, spread)
        for name, (help, key, value, spread) in declared.items()
    )


def plain(value: Any) -> Any:
    """Turn figures inside mappings and sequences into dictionaries; other values are unchanged."""
    if isinstance(value, Figures):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(one) for one in value]
    return value


def properties_of(cls: type) -> dict[str, dict[str, Any]]:
    """Describe the figures of a report class as the properties of a JSON schema."""
    hints = typing.get_type_hints(cls)
    found: dict[str, dict[str, Any]] = {}
    for one in figures_of(cls):
        hint = hints.get(one.name)
        if hint is None:
            hint = typing.get_type_hints(getattr(cls, one.name).fget)["return"]
        if one.value is not None:
            hint = typing.get_type_hints(one.value).get("return", Any)
        if one.spread:
            found |= properties_of(hint)
        else:
            found[one.key] = {"description": one.help, **_rule(hint)}
    return found


def _rule(hint: Any) -> dict[str, Any]:
    """Describe a type as a rule of JSON Schema; {} allows every value."""
    kinds = list(_kinds(hint))
    if None in kinds:
        return {}
    names: list[str] = sorted({"null" if kind is type(None) else _name(kind) for kind in kinds})
    return {"type": names[0] if len(names) == 1 else names}


def _kinds(hint: Any) -> Iterator[Any]:
    """Yield the classes of a type, those of a union one by one; None for one that allows every value."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        for one in typing.get_args(hint):
            yield from _kinds(one)
    elif origin is typing.Literal:
        yield from {type(one) for one in typing.get_args(hint)}
    elif hint is Any:
        yield None
    else:
        yield origin or hint


def _name(kind: type) -> str:
    if kind in _NAMES:
        return _NAMES[kind]
    if issubclass(kind, Figures | Mapping):
        return "object"
    assert issubclass(kind, Sequence), kind
    return "array"
