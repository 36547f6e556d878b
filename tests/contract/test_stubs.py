"""The type stubs of the functions match the declarations."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from program import ROOT

import svmfast as package


def declared(text: str) -> dict[str, list[str]]:
    """Return each function, by its class, and the names of its parameters."""
    found = {}
    for node in ast.parse(text).body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for one in inner:
            if isinstance(one, ast.FunctionDef):
                found[owner + one.name] = [arg.arg for arg in (*one.args.args, *one.args.kwonlyargs)]
    return found


@pytest.fixture(scope="module")
def made() -> str:
    """The stubs as in a build, where NumPy and click are absent too and the core is not compiled."""
    script = (
        "import runpy, sys\n"
        "sys.modules.update(dict.fromkeys(['numpy', 'click', 'scipy', 'svmfast._core._native']))\n"
        f"runpy.run_path({str(ROOT / 'scripts' / 'signatures.py')!r}, run_name='__main__')\n"
    )
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout


def test_editors_see_every_option(made: str) -> None:
    found = declared(made)
    for name in dir(package):
        function = getattr(package, name)
        if hasattr(function, "__signature__"):
            own = found[f"{name}.__init__" if isinstance(function, type) else name]
            assert [one for one in own if one != "self"] == list(inspect.signature(function).parameters), name
    assert len(found) > 15


@pytest.mark.nightly
def test_mypy_accepts_the_stubs(made: str, tmp_path: Path) -> None:
    folder = tmp_path / "checked"
    folder.mkdir()
    (folder / "signatures.pyi").write_text(made)
    words = ["--strict", "--no-incremental", "--follow-imports=silent", str(folder / "signatures.pyi")]
    done = subprocess.run([sys.executable, "-m", "mypy", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
