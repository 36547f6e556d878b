"""A validator for the part of JSON Schema that reports use; other keywords are errors."""

_TYPES = {
    **{"object": dict, "array": list, "string": str, "boolean": bool},
    **{"integer": int, "number": (int, float), "null": type(None)},
}
_OTHERS = {"$schema", "title", "description", "then"}


def faults(schema, value, where="report"):
    """Return what is wrong with a value; an empty list if nothing is."""
    found, parts = [], []
    members = value if isinstance(value, dict) else {}
    for keyword, rule in schema.items():
        if keyword == "type":
            names = [rule] if isinstance(rule, str) else rule
            found += [] if any(_is(value, name) for name in names) else [f"{where}: {value!r} is no {rule}"]
        elif keyword in ("const", "enum"):
            allowed = [rule] if keyword == "const" else rule
            found += [] if value in allowed else [f"{where}: {value!r} is none of {allowed}"]
        elif keyword == "required":
            found += [f"{where}: no {key}" for key in rule if isinstance(value, dict) and key not in value]
        elif keyword == "properties":
            parts += [(rule[key], members[key], f".{key}") for key in rule.keys() & members.keys()]
        elif keyword == "additionalProperties":
            others = members.keys() - schema.get("properties", {}).keys()
            found += [] if rule else [f"{where}: {key} is unknown" for key in others]
            parts += [(rule, members[key], f".{key}") for key in others if rule]
        elif keyword == "propertyNames":
            parts += [(rule, key, ": key") for key in members]
        elif keyword == "items":
            parts += [(rule, one, f"[{i}]") for i, one in enumerate(value if isinstance(value, list) else ())]
        elif keyword == "allOf":
            parts += [(part, value, "") for part in rule]
        elif keyword == "if":
            parts += [(schema["then"], value, "")] if not faults(rule, value) else []
        elif keyword not in _OTHERS:
            raise ValueError(f"keyword {keyword}")
    return found + [fault for rule, one, below in parts for fault in faults(rule, one, where + below)]


def _is(value, name):
    return isinstance(value, _TYPES[name]) and (not isinstance(value, bool) or name == "boolean")
