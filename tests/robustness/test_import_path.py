"""Modules in the current folder are never run, neither by the program nor by the processes it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from program import PROGRAM, data, model

from svmfast import import_path
from svmfast.frontiers.child import child_command

#: Names of modules that the program imports; a file of this name in the current folder records that it ran.
PACKAGES = ("numpy", "click", "scipy", "sklearn", "rich", "threadpoolctl", "libsvm")
STANDARD = ("json", "subprocess", "typing", "__future__", "contextlib", "sitecustomize", "usercustomize")
PLANTED = (*PACKAGES, *STANDARD, "svmfast")
#: ``python -m svmfast`` looks for these in the current folder before any code of ours: see SECURITY.md.
PYTHONS_OWN = ("svmfast", "contextlib")
TRAIN = ["train", "-q", str(data("breast.train")), "made"]
FRONTIER = [
    *("frontier", str(model("breast_c_rbf")), "--data", str(data("breast.train"))),
    *("--test", str(data("breast.test")), "--methods", "linear", "--max-diff", "50%", "-o", "made"),
]


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A folder in which every planted module writes its name to the file ``run``."""
    for name in PLANTED:
        text = f"open({str(tmp_path / 'run')!r}, 'a').write({name!r} + ' ')\nraise SystemExit(66)\n"
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def start(
    cwd: Path, *words: str | os.PathLike[str], path: str | None = None
) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if path is not None:
        environment["PYTHONPATH"] = path
    return subprocess.run([*words], cwd=cwd, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("words", [TRAIN, pytest.param(FRONTIER, marks=pytest.mark.nightly)])
def test_the_program_starts_nothing_from_the_current_folder(trap: Path, words: list[str]) -> None:
    done = start(trap, PROGRAM, *words)
    assert not (trap / "run").exists(), (trap / "run").read_text()
    assert done.returncode in (0, 1), done.stderr  # its recommendation depends on timing
    assert (trap / ("made" if words == TRAIN else "made/models/linear")).is_file()


def test_python_m_imports_nothing_from_the_current_folder(trap: Path) -> None:
    for name in PYTHONS_OWN:
        (trap / f"{name}.py").unlink()
    done = start(trap, sys.executable, "-m", "svmfast", *TRAIN)
    assert not (trap / "run").exists(), (trap / "run").read_text()
    assert done.returncode == 0, done.stderr


def test_an_empty_entry_of_pythonpath_is_ignored(trap: Path) -> None:
    """``PYTHONPATH=$PYTHONPATH:/more`` puts the current folder on the path if it was unset."""
    for name in (
        *STANDARD,
        "svmfast",
    ):  # which Python and the installed script have already imported
        (trap / f"{name}.py").unlink()
    done = start(trap, PROGRAM, *TRAIN, path=os.pathsep + str(trap.parent))
    assert not (trap / "run").exists(), (trap / "run").read_text()
    assert done.returncode == 0, done.stderr


def test_a_child_finds_modules_where_its_parent_did(trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the parent's path is not that of an installation."""
    place = trap / "elsewhere"
    place.mkdir()
    (place / "only_here.py").write_text("")
    monkeypatch.chdir(trap)
    monkeypatch.setattr(sys, "path", ["", str(place), *sys.path])
    words = child_command([])
    code = words[words.index("-c") + 1].split(";")[:-2]
    check = "import only_here, os; assert os.getcwd() not in sys.path and '' not in sys.path"
    done = start(trap, *words[: words.index("-c")], "-c", ";".join([*code, check]))
    assert (done.returncode, done.stderr) == (0, "")


def test_only_the_current_folder_leaves_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    path = ["", ".", str(tmp_path), str(link), "sub", str(tmp_path / "sub"), "/nowhere", "/usr"]
    assert import_path.without_current_folder(path) == ["sub", str(tmp_path / "sub"), "/nowhere", "/usr"]


def test_the_folder_of_the_installation_stays_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after ``pip install --target`` if the program is run in that folder."""
    home = Path(import_path.__file__).parent.parent
    monkeypatch.chdir(home)
    assert import_path.without_current_folder(["", "/usr"]) == [str(home), "/usr"]
