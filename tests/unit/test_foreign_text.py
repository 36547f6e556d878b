"""Foreign text (file names, words in files, option values) cannot control a terminal or break a line."""

import os
import shutil
from itertools import pairwise

import click
import pytest
from every_command import INPUTS, RUNS, inputs, outputs, words
from program import data, model, on_a_terminal, svmfast

from svmfast.cli.main import commands, program, run

#: Clears the screen, sets the title, reverses the line, ends it; a byte that is not UTF-8; rich's markup.
HOSTILE = "\x1b[2J\x1b]0;x\x07\x9b1m\u202e[red]$x_1$\nINJECTED\r" + os.fsdecode(b"\xff")
#: The same without blanks, as a word of a file.
WORD = HOSTILE.replace("\n", "\x0b").replace("\r", "").encode("utf-8", "surrogateescape")


def check(message, where):
    """Check that text is harmless and return its lines."""
    lines = message.decode("utf-8").split("\n")
    for before, line in pairwise(["", *lines]):
        assert line.isprintable(), (where, line)
        # A table may break a long name, but only after the escape.
        assert not line.startswith("INJECTED") or r"\n" in before, (where, line)
    return lines


@pytest.mark.nightly
@pytest.mark.parametrize("name", RUNS)
def test_file_names_cannot_control_the_terminal(name, tmp_path):
    paths = {word: tmp_path / f"{word}{HOSTILE}" for word in (*inputs(name), *outputs(name))}
    for word in inputs(name):
        shutil.copy(INPUTS[word], paths[word])
    done = svmfast(*words(name, paths))
    assert done.returncode in (0, 1), done.stderr
    reports = [path for path in tmp_path.rglob("*") if path.suffix in (".html", ".json")]
    for text in (done.stdout, done.stderr, *(report.read_bytes() for report in reports)):
        check(text, name)


@pytest.mark.parametrize("name", RUNS)
def test_names_of_missing_files_cannot_control_the_terminal(name, tmp_path, capfdbinary):
    for word in inputs(name):
        paths = {word: f"missing{HOSTILE}", "OUT": tmp_path / "out", "SAVED": tmp_path / "saved"}
        assert run(words(name, paths)) == 2
        captured = check(capfdbinary.readouterr().err, word)
        # The last line; a warning may come before.
        assert all(line.startswith("svmfast: warning: ") for line in captured[:-2])
        assert r"missing\x1b[2J" in captured[-2]
        assert r"\nINJECTED\r\xff" in captured[-2]


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in RUNS if name != "import"])
def test_words_in_files_cannot_control_the_terminal(name, tmp_path, capfdbinary):
    """The first word, one in the middle and the last word of every input."""
    broken = tmp_path / "broken"
    for word in inputs(name):
        text = INPUTS[word].read_bytes()
        middle = text.index(b" ", len(text) // 2)
        for at in (0, middle, len(text) - 1):
            broken.write_bytes(text[:at] + b" " * (at > 0) + WORD + text[at:])
            paths = {word: broken, "OUT": tmp_path / f"{word}{at}", "SAVED": tmp_path / "saved"}
            assert run(words(name, paths)) == 2
            told = [line for text in capfdbinary.readouterr() for line in check(text, word)]
            assert any(f"{broken}:" in line for line in told), told


def options():
    """Return every option of every command that takes a value."""
    return [
        (name, "-w1" if param.name == "weights" else param.opts[-1])
        for name in commands()
        for param in program.get_command(click.Context(program), name).params
        if isinstance(param, click.Option) and not param.is_flag
    ]


def test_words_of_the_command_line_cannot(capfdbinary):
    lines = [[name, option, HOSTILE] for name, option in options()]
    assert len(lines) > 80
    for line in [*lines, [HOSTILE], [f"--{HOSTILE}"], *([name, f"--{HOSTILE}"] for name in commands())]:
        assert run(line) == 2
        assert len(check(capfdbinary.readouterr().err, str(line))) == 2
    assert run(["--debug", "info", HOSTILE]) == 2
    assert "Traceback (most recent call last):" in check(capfdbinary.readouterr().err, "trace")


def test_a_table_on_a_terminal_does_not_interpret_names_as_markup(tmp_path):
    exact, rows = "[red]x[bold]\x1b[2J", "[bold]\u202erows"
    shutil.copy(model("iris_c_linear"), tmp_path / exact)
    shutil.copy(data("iris.test"), tmp_path / rows)
    words = ("compare", exact, exact, "--data", rows, "--repeats", "1")
    message = on_a_terminal(*words, cwd=tmp_path, columns=400)
    found = [part in message for part in (rb"[red]x[bold]\x1b[2J", rb"[bold]\u202erows", b"\x1b[2J")]
    assert found == [True, True, False]
