"""Refused command lines, each with its status and message: the lines of tests/refusals.tsv.

They run in a folder with links to the fixtures (data, models, frozen, estimators) and to attacks; with copies
D of rows and M of a model, which `D.link`, `D.hard`, `M.link` and `M.hard` name too; and if the line has a
fourth cell, with a file `typed` of that content (`typed.csv` if the line names that), in which \\n and the
like are escapes. A refusal prints one line on stderr and nothing else, leaves no file and changes none. In a
message `...` stands for any text.
"""

from __future__ import annotations

import csv
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from program import FIXTURES, PROGRAM, ROOT

from svmfast.cli.main import commands, run

TABLE = ROOT / "tests" / "refusals.tsv"
LINKS = {
    **{name: FIXTURES / name for name in ("data", "models", "frozen", "estimators")},
    "attacks": ROOT / "tests" / "robustness" / "attacks",
}
COPIES = {"D": FIXTURES / "data/iris.test", "M": FIXTURES / "models/iris_c_poly3.model"}
#: The command, its status, its message, and the content of the file `typed`.
Line = tuple[str, str, str, str]


def table() -> list[Line]:
    with TABLE.open(newline="") as file:
        _, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    return [(command, status, message, "".join(typed)) for command, status, message, *typed in rows]


LINES = table()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, place in LINKS.items():
        (tmp_path / name).symlink_to(place)
    for name, place in COPIES.items():
        shutil.copyfile(place, tmp_path / name)
        (tmp_path / f"{name}.link").symlink_to(name)
        (tmp_path / f"{name}.hard").hardlink_to(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left(folder: Path, typed: str, command: str = "") -> dict[str, bytes]:
    """Write the typed file, if any; return what must be in the folder: names, and the content of files."""
    if typed:
        name = "typed.csv" if "typed.csv" in command else "typed"
        (folder / name).write_bytes(typed.encode("latin-1").decode("unicode_escape").encode("latin-1"))
    return {path.name: path.read_bytes() if path.is_file() else b"" for path in folder.iterdir()}


def agrees(printed: str, message: str) -> bool:
    pattern = ".*".join(map(re.escape, message.split("...")))
    return re.fullmatch(pattern + "\n", printed) is not None


@pytest.mark.parametrize(
    ("command", "status", "message", "typed"), LINES, ids=[str(i + 2) for i in range(len(LINES))]
)
def test_a_command_line_is_refused(
    command: str, status: str, message: str, typed: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = left(folder, typed, command)
    found = run(shlex.split(command))
    out, err = capfd.readouterr()
    assert (str(found), out) == (status, "")
    assert agrees(err, message), err
    assert left(folder, "") == files


@pytest.mark.parametrize(("command", "status", "message", "typed"), LINES[:: max(1, len(LINES) // 12)])
def test_the_program_refuses_alike(command: str, status: str, message: str, typed: str, folder: Path) -> None:
    files = left(folder, typed, command)
    done = subprocess.run([PROGRAM, *shlex.split(command)], capture_output=True, text=True)
    assert (str(done.returncode), done.stdout) == (status, "")
    assert agrees(done.stderr, message), done.stderr
    assert left(folder, "") == files


def test_no_line_is_there_twice() -> None:
    given = [(command, typed) for command, _, _, typed in LINES]
    assert len(set(given)) == len(given)


def test_every_command_that_reads_a_file_is_given_a_directory() -> None:
    given = {command.split()[0] for command, _, message, _ in LINES if message.endswith("Is a directory")}
    assert given == {*commands()} - {"import"}  # its input is an estimator, tests/cli/test_cli_export.py
