"""The reference of the program's files: kinds of models, and the keys of the JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from markdown import code, escaped, table

from svmfast.models.base import KINDS, model_class

_ORIGIN = "<!-- Made by scripts/site/files.py. -->\n\n"


def pages(docs: Path) -> dict[str, str]:
    """Return the pages by their paths below the folder of the reference; `docs` has the schemas."""
    return {
        "model-kinds.md": _kinds(),
        "report-keys.md": _report(json.loads((docs / "report.schema.json").read_text())),
    }


def _kinds() -> str:
    parts = [
        f"{_ORIGIN}# Parts of each kind of model\n",
        "The lines of a file, in their order. [Model format](../model-format.md) says what they mean, and "
        "how they are written.\n",
    ]
    for kind in KINDS:
        schema = model_class(kind).schema
        rows: list[tuple[str, str, str]] = [
            (code(one.name), one.type, _presence(one)) for one in schema.scalars
        ]
        rows += [
            (code(one.name), f"{one.dtype}, {one.ndim} dimension{'s' * (one.ndim > 1)}", _presence(one))
            for one in schema.arrays
        ]
        rows += [
            (
                code(f"embedded {name}"),
                "model: LIBSVM's text or ours" if name in schema.own else "LIBSVM's text",
                "",
            )
            for name in schema.embedded
        ]
        parts.append(f"## {kind}\n\n{table(('name', 'type', ''), rows)}")
    return "\n".join(parts)


def _presence(one: Any) -> str:
    return "optional" if one.optional else ""


def _report(schema: dict[str, Any]) -> str:
    used: dict[str, list[str]] = {}
    required: set[tuple[str, str]] = set()
    for rule in schema["allOf"]:
        command = rule["if"]["properties"]["command"]["const"]
        for key in rule["then"]["propertyNames"]["enum"]:
            used.setdefault(key, []).append(command)
        required |= {(key, command) for key in rule["then"]["required"]}
    head = set(schema["required"])
    rows = []
    for key, one in schema["properties"].items():
        where = (
            "all"
            if key in head
            else ", ".join(
                command if (key, command) in required else f"{command} (not always)"
                for command in used.get(key, [])
            )
        )
        rows.append((code(key), _type(one), escaped(one.get("description", "")), where))
    return (
        f"{_ORIGIN}# Keys of the JSON reports\n\n"
        "[JSON reports](../json.md) has the rules; {download}`report.schema.json <../report.schema.json>` is "
        "the schema.\n\n" + table(("key", "type", "meaning", "commands"), rows)
    )


def _type(one: dict[str, Any]) -> str:
    kind = one.get("type", "")
    if "const" in one:
        return code(json.dumps(one["const"]))
    if "enum" in one:
        return "one of the commands" if len(one["enum"]) > 8 else ", ".join(map(str, one["enum"]))
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
