"""Refused command lines, each with its status and message: the lines of tests/refusals.tsv.

They run in a folder with links to the fixtures (data, models, frozen, estimators) and to attacks; with copies
D of rows and M of a model, which `D.link`, `D.hard`, `M.link` and `M.hard` name too; and if the line has a
fourth cell, with a file `typed` of that content (`typed.csv` if the line names that), in which \\n and the
like are escapes. A refusal prints one line on stderr and nothing else, leaves no file and changes none. In a
message `...` stands for any text.
"""

import re
import shlex
import shutil
import subprocess

import pytest
from program import FIXTURES, PROGRAM, ROOT, cells_of

from svmfast.cli.main import commands, run

LINKS = {
    **{name: FIXTURES / name for name in ("data", "models", "frozen", "estimators")},
    "attacks": ROOT / "tests" / "robustness" / "attacks",
}
COPIES = {"D": FIXTURES / "data/iris.test", "M": FIXTURES / "models/iris_c_poly3.model"}
#: The command, its status, its message, and the content of the file `typed`.
LINES = [(*row, "")[:4] for row in cells_of(ROOT / "tests" / "refusals.tsv")[1:]]
COLUMNS = ("command", "status", "message", "typed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, place in LINKS.items():
        (tmp_path / name).symlink_to(place)
    for name, place in COPIES.items():
        shutil.copyfile(place, tmp_path / name)
        (tmp_path / f"{name}.link").symlink_to(name)
        (tmp_path / f"{name}.hard").hardlink_to(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def left(folder):
    """Return what is in the folder: names, and the content of files."""
    return {path.name: path.read_bytes() if path.is_file() else b"" for path in folder.iterdir()}


def refuses(folder, command, status, message, typed, runs):
    """The message is all that is printed; no file is made or changed. `runs` returns status, out and err."""
    if typed:
        name = "typed.csv" if "typed.csv" in command else "typed"
        (folder / name).write_bytes(typed.encode("latin-1").decode("unicode_escape").encode("latin-1"))
    before = left(folder)
    found, out, err = runs(shlex.split(command))
    assert (str(found), out) == (status, "")
    assert re.fullmatch(".*".join(map(re.escape, message.split("..."))) + "\n", err), err
    assert left(folder) == before


@pytest.mark.parametrize(COLUMNS, LINES, ids=[str(i + 2) for i in range(len(LINES))])
def test_a_command_line_is_refused(command, status, message, typed, folder, capfd):
    refuses(folder, command, status, message, typed, lambda words: (run(words), *capfd.readouterr()))


@pytest.mark.parametrize(COLUMNS, LINES[:: max(1, len(LINES) // 12)])
def test_the_program_refuses_alike(command, status, message, typed, folder):
    def started(words):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    refuses(folder, command, status, message, typed, started)


def test_no_line_is_there_twice_and_every_command_is_given_a_directory():
    assert len({(command, typed) for command, *_, typed in LINES}) == len(LINES)
    given = {command.split()[0] for command, _, message, _ in LINES if message.endswith("Is a directory")}
    # The input of import is an estimator, tests/cli/test_cli_export.py; to the others a folder is its files.
    assert given == {*commands()} - {"import", "budget-train", "meka"}
