"""What the README tells people to type works."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program import PROGRAM, ROOT, data, model

from svmfast.cli import main

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    lines = "\n".join(blocks("sh")).splitlines()
    return [line.split("#")[0].strip() for line in lines if line.startswith("svmfast ")]


def test_the_commands_of_the_readme_run_in_order(tmp_path: Path) -> None:
    # Under the names of the README, files that come with the repository.
    shutil.copy(model("photos_c_rbf"), tmp_path / "a9a.model")
    for name, place in (("photos.train", "a9a"), ("photos.test", "a9a.t"), ("photos.test", "monday")):
        shutil.copy(data(name), tmp_path / place)
    assert len(commands()) >= 4
    for line in commands():
        name, *args = shlex.split(line)
        assert name == "svmfast"
        if args[0] == "frontier":
            args += ["--methods", "approximate,compress"]  # minutes otherwise
        done = subprocess.run([PROGRAM, *args], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode in ((0, 1) if args[0] == "bound-check" else (0,)), (line, done.stderr)


@pytest.mark.parametrize("text", blocks("python"))
def test_the_python_of_the_readme_runs(text: str, tmp_path: Path) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    environment = {**os.environ, "PATH": os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])}
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    assert "False" not in done.stdout


def test_the_readme_knows_every_command() -> None:
    for name in main.commands():
        assert f"`{name}`" in README, name


def test_paths_named_in_the_documents_exist() -> None:
    for page in (README, *(path.read_text() for path in (ROOT / "docs").glob("*.md"))):
        for path in re.findall(r"\b(?:docs|scripts|fixtures|tests)/[\w./-]*\w", page):
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize(
    "script", ["demo", "test", "_venv.sh", "cross", "matrix", "sanitize", "stubs", "warnings"]
)
def test_scripts_are_sound(script: str) -> None:
    path = ROOT / "scripts" / script
    assert subprocess.run(["bash", "-n", path]).returncode == 0
    if script != "_venv.sh":
        assert path.stat().st_mode & 0o111
        assert "set -euo pipefail" in path.read_text()
