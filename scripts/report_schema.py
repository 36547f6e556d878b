"""The JSON schema of all commands' reports, made from the declarations of their figures."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from svmfast.figures import Figures, figures_of

_NAMES = {bool: "boolean", int: "number", float: "number", str: "string"}


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
            found |= properties_of(_class(hint))
        else:
            found[one.key] = {"description": one.help, **_rule(hint)}
    return found


def required_of(cls: type) -> set[str]:
    """List the keys that every report of a class has."""
    found: set[str] = set()
    hints = typing.get_type_hints(cls)
    for one in figures_of(cls):
        if not one.optional:
            found |= required_of(_class(hints[one.name])) if one.spread else {one.key}
    return found


def _class(hint: Any) -> type:
    """The class of a figure with figures of its own, which may be None."""
    return next(kind for kind in _kinds(hint) if kind is not type(None))


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
