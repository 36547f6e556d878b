"""The reference of the program's files: kinds of models, and the keys of the JSON files."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from markdown import code, escaped, table

from svmfast.cli.report_schema import schema
from svmfast.models.base import KINDS, model_class

_ORIGIN = "<!-- Made by scripts/site/files.py. -->\n\n"


def pages(docs: Path) -> dict[str, str]:
    """Write the reports' schema into `docs`, and make the pages by their paths in the reference."""
    known = schema()
    (docs / "report.schema.json").write_text(json.dumps(known, indent=2) + "\n")
    return {"model-kinds.md": _kinds(), "report-keys.md": _report(known)}


def _kinds() -> str:
    parts = [
        f"{_ORIGIN}# Parts of each kind of model\n",
        "The parts of a file's JSON, in their order. [Model format](../model-format.md) says what they mean, "
        "and how they are written.\n",
    ]
    for kind in map(model_class, KINDS):
        stored = [one for one in fields(kind) if one.compare]  # type: ignore[arg-type]
        needed = [one.default is one.default_factory is MISSING for one in stored]
        rows = [
            (code(one.name), code(str(one.type)), "" if required else "optional")
            for one, required in zip(stored, needed, strict=True)
        ]
        parts.append(f"## {kind.kind}\n\n{table(('name', 'type', ''), rows)}")
    return "\n".join(parts)


def _report(schema: dict[str, Any]) -> str:
    parts = [
        f"{_ORIGIN}# Keys of the JSON reports\n",
        "[Command line](../command-line.md#json-reports) has the rules; {download}`report.schema.json "
        "<../report.schema.json>` is "
        f"the schema.\n\n## Every command\n\n{_keys(schema)}",
    ]
    for rule in schema["allOf"]:
        command = rule["if"]["properties"]["command"]["const"]
        parts.append(f"## {command}\n\n{_keys(rule['then'])}")
    return "\n".join(parts)


def _keys(rule: dict[str, Any]) -> str:
    return table(
        ("key", "type", "meaning", ""),
        [
            (
                code(key),
                _type(one),
                escaped(one["description"]),
                "" if key in rule["required"] else "not always",
            )
            for key, one in rule["properties"].items()
        ],
    )


def _type(one: dict[str, Any]) -> str:
    kind = one.get("type", "")
    if "const" in one:
        return code(json.dumps(one["const"]))
    if "enum" in one:
        return "one of the commands" if len(one["enum"]) > 8 else ", ".join(map(str, one["enum"]))
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
