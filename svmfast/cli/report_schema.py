"""The JSON schema of the reports of all commands, made from the declarations of their figures."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from svmfast.cli.json_report import VERSION, ReportHead
from svmfast.command import Verb
from svmfast.commands import command, commands
from svmfast.figures import Figure, Figures, figures_of
from svmfast.methods.method import imported

#: Of every command that writes a model.
_BYTES = {"description": "Size of the file written; null if nothing was.", "type": ["null", "number"]}
_NAMES = {bool: "boolean", int: "number", float: "number", str: "string"}


def schema() -> dict[str, Any]:
    """The schema of all reports: the head's figures, then those of each command."""
    head = properties_of(ReportHead)
    head["svmfast_report"] = {"description": head["svmfast_report"]["description"], "const": VERSION}
    head["command"] = {"description": head["command"]["description"], "enum": sorted(commands())}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The JSON report of an svmfast command, version {VERSION}",
        "description": "The head that all reports have, then the figures of each command.",
        "type": "object",
        "required": list(head),
        "properties": head,
        "allOf": [
            {"if": {"properties": {"command": {"const": name}}}, "then": _of_command(name, list(head))}
            for name in sorted(commands())
        ],
    }


def _of_command(name: str, head: list[str]) -> dict[str, Any]:
    """The rule for the reports of one command."""
    declared = command(name)
    assert declared is not None
    classes = [imported(place) for place in declared.reports]
    properties: dict[str, Any] = {} if isinstance(declared, Verb) and name != "import" else {"bytes": _BYTES}
    for cls in classes:
        properties |= {key: rule for key, rule in properties_of(cls).items() if key not in properties}
    required = set.intersection(*map(required_of, classes))
    return {
        "required": sorted(required),
        "properties": properties,
        "propertyNames": {"enum": [*head, *properties]},
    }


def properties_of(cls: type) -> dict[str, dict[str, Any]]:
    """Describe the figures of a report class as the properties of a JSON schema."""
    found: dict[str, dict[str, Any]] = {}
    for one, hint in _hinted(cls):
        if one.spread:
            found |= properties_of(_class(hint))
        else:
            found[one.key] = {"description": one.help, **_rule(hint)}
    return found


def required_of(cls: type) -> set[str]:
    """List the keys that every report of a class has."""
    found: set[str] = set()
    for one, hint in _hinted(cls):
        if not one.optional:
            found |= required_of(_class(hint)) if one.spread else {one.key}
    return found


def _hinted(cls: type) -> Iterator[tuple[Figure, Any]]:
    """Yield the figures of a class, each with the type of its value in JSON."""
    hints = typing.get_type_hints(cls)
    for one in figures_of(cls):
        hint = hints.get(one.name)
        if one.value is not None:
            hint = typing.get_type_hints(one.value).get("return", Any)
        elif hint is None:
            hint = typing.get_type_hints(getattr(cls, one.name).fget)["return"]
        yield one, hint


def _class(hint: Any) -> type:
    """The class of a figure with figures of its own, which may be None."""
    found: type = next(typing.get_origin(one) or one for one in _members(hint) if one is not type(None))
    return found


def _rule(hint: Any) -> dict[str, Any]:
    """Describe a type as a rule of JSON Schema; {} allows every value."""
    hints = [*_members(hint)]
    if Any in hints:
        return {}
    found: dict[str, Any] = {}
    names = sorted({"null" if one is type(None) else _name(typing.get_origin(one) or one) for one in hints})
    found["type"] = names[0] if len(names) == 1 else names
    for one in hints:
        kind, inner = typing.get_origin(one) or one, typing.get_args(one)
        if issubclass(kind, Figures):
            found["properties"], found["required"] = properties_of(kind), sorted(required_of(kind))
        elif issubclass(kind, Mapping) and inner and inner[1] is not Any:
            found["additionalProperties"] = _rule(inner[1])
        elif kind is not str and issubclass(kind, Sequence) and inner and inner[0] is not Any:
            found["items"] = _rule(inner[0])
    return {name: rule for name, rule in found.items() if rule != {}}


def _members(hint: Any) -> Iterable[Any]:
    """The types of a union, or the type itself."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [each for one in typing.get_args(hint) for each in _members(one)]
    if typing.get_origin(hint) is typing.Literal:
        return {type(one) for one in typing.get_args(hint)}
    return [hint]


def _name(kind: type) -> str:
    if kind in _NAMES:
        return _NAMES[kind]
    if issubclass(kind, Figures | Mapping):
        return "object"
    assert issubclass(kind, Sequence), kind
    return "array"
