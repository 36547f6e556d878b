"""Scripts that no other test runs must at least find their imports from svmfast."""

from __future__ import annotations

import ast
import importlib
from importlib.util import find_spec

import pytest
from program import ROOT


@pytest.mark.parametrize(
    "name", sorted(str(path.relative_to(ROOT)) for path in (ROOT / "scripts").rglob("*.py"))
)
def test_every_script_finds_its_imports(name: str) -> None:
    for node in ast.walk(ast.parse((ROOT / name).read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("svmfast"):
            module = importlib.import_module(str(node.module))
            for alias in node.names:
                known = hasattr(module, alias.name) or find_spec(f"{node.module}.{alias.name}")
                assert known, f"{node.module} has no {alias.name}"
