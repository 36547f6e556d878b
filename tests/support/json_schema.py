"""A validator for the part of JSON Schema that svmfast --show-schema uses; other keywords are errors."""

from __future__ import annotations

from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_NOTES = {"$schema", "title", "description"}


def faults(schema: dict[str, Any], value: Any, where: str = "report") -> list[str]:
    """Return what is wrong with a value; an empty list if nothing is."""
    found: list[str] = []
    known = schema.get("properties", {})
    for keyword, rule in schema.items():
        if keyword == "type":
            names = [rule] if isinstance(rule, str) else rule
            found += [] if any(_is(value, name) for name in names) else [f"{where}: {value!r} is no {rule}"]
        elif keyword == "const":
            found += [] if value == rule else [f"{where}: {value!r} is not {rule!r}"]
        elif keyword == "enum":
            found += [] if value in rule else [f"{where}: {value!r} is none of {rule}"]
        elif keyword == "required" and isinstance(value, dict):
            found += [f"{where}: no {key}" for key in rule if key not in value]
        elif keyword == "properties" and isinstance(value, dict):
            for key in rule.keys() & value.keys():
                found += faults(rule[key], value[key], f"{where}.{key}")
        elif keyword == "additionalProperties" and isinstance(value, dict):
            for key in value.keys() - known.keys():
                found += (
                    faults(rule, value[key], f"{where}.{key}") if rule else [f"{where}: {key} is unknown"]
                )
        elif keyword == "propertyNames" and isinstance(value, dict):
            for key in value:
                found += faults(rule, key, f"{where}: key")
        elif keyword == "items" and isinstance(value, list):
            for number, item in enumerate(value):
                found += faults(rule, item, f"{where}[{number}]")
        elif keyword == "allOf":
            for part in rule:
                found += faults(part, value, where)
        elif keyword == "if" and not faults(rule, value, where):
            found += faults(schema["then"], value, where)
        elif keyword not in _ALL:
            raise ValueError(f"keyword {keyword}")
    return found


_ALL = {
    *_NOTES,
    *("type", "const", "enum", "required", "properties", "additionalProperties", "propertyNames"),
    *("items", "allOf", "if", "then"),
}


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, _TYPES[name])
