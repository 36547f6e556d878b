"""The types of the native core are those that its bindings have: scripts/stubs writes them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from program import ROOT

STUB = ROOT / "svmfast" / "_core" / "_native.pyi"


def declared(text: str) -> dict[str, list[str]]:
    """Return each function, by its class, and the names of what it takes."""
    found = {}
    for node in ast.parse(text).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in inner:
            if isinstance(one, ast.FunctionDef):
                found[owner + one.name] = [arg.arg for arg in one.args.args]
    return found


def test_the_stubs_are_those_of_the_bindings(tmp_path: Path) -> None:
    made = tmp_path / "native.pyi"
    words = ["--quiet", "--module", "svmfast._core._native", "--output-file", str(made)]
    words += ["--pattern-file", str(STUB.with_name("stubs.nb"))]
    subprocess.run([sys.executable, "-m", "nanobind.stubgen", *words], check=True)
    assert declared(STUB.read_text()) == declared(made.read_text()), "run scripts/stubs"
