"""An option given twice is refused; LIBSVM's letters in train, predict and scale keep its rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from program import data, model, svmfast

from svmfast.cli import main

#: The options of svm-train, svm-predict and svm-scale, for which the last value counts.
LIBSVMS = {
    "train": {f"-{letter}" for letter in "stdgrncmephbv"},
    "predict": {"-b"},
    "scale": {"-l", "-u", "-y", "-s", "-r"},
}


def forms() -> Iterator[tuple[str, list[str], click.Command]]:
    """Yield every command by its name, with the words that select one of its forms."""
    for name in main.commands():
        command = main.program.get_command(click.Context(main.program), name)
        assert command is not None
        yield name, [], command
        for form in getattr(command, "forms", ()):
            yield name, ["--out-dir", "out"], form


def options() -> list[tuple[str, list[str], click.Option]]:
    return [
        (name, words, param)
        for name, words, command in forms()
        for param in command.params
        if isinstance(param, click.Option)
    ]


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Return the exit status and the messages of a run."""
    status = main.run(words)
    return status, capsys.readouterr().err


def test_every_option_with_one_value_is_refused_when_it_is_given_twice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    refused = 0
    for name, select, param in options():
        if param.is_flag or param.multiple:
            continue
        for flag in param.opts:
            if flag in LIBSVMS.get(name, ()):
                continue
            again = [word for value in "12" for word in (flag, *[value] * param.nargs)]
            status, error = said([name, *([] if flag == "--out-dir" else select), *again], capsys)
            longest = max(param.opts, key=len)
            line = (
                f"svmfast {name}: '{longest}' is given more than once; give it once; "
                f"see 'svmfast {name} --help'\n"
            )
            assert (status, error) == (2, line), flag
            refused += 1
    assert refused > 150


def test_switches_are_refused_only_if_they_contradict_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    contradictions = 0
    for name, select, param in options():
        if not param.is_flag or param.name == "help":
            continue
        _, error = said([name, *select, param.opts[-1], param.opts[-1]], capsys)
        assert ("more than once" in error) == bool(param.secondary_opts), param.opts
        for other in param.secondary_opts:
            status, error = said([name, *select, param.opts[-1], other], capsys)
            assert status == 2
            assert f"'{param.opts[-1]}' is given more than once" in error
            contradictions += 1
    assert contradictions >= 3


def test_options_before_and_after_the_command_count_together(capsys: pytest.CaptureFixture[str]) -> None:
    twice = "'--progress' is given more than once; give it once"
    for words in (
        ["--progress", "none", "info", "--progress", "plain", "a"],
        ["--progress", "none", "--progress", "plain", "info", "a"],
    ):
        status, error = said(words, capsys)
        assert (status, twice in error) == (2, True)


def test_libsvms_letters_in_place_of_its_programs_keep_the_last_value(tmp_path: Path) -> None:
    def content(*words: object) -> bytes:
        done = svmfast(*map(str, words), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return (tmp_path / "out").read_bytes()

    rows = data("iris.train")
    once = content("train", "-q", "-c", "10", "-g", "0.5", rows, "out")
    assert content("train", "-q", "-c", "1", "-g", "9", "-c", "10", "-g", "0.5", rows, "out") == once
    assert content("train", "-q", "-c", "1", "-g", "0.5", rows, "out") != once
    test, exact = data("iris.test"), model("iris_c_rbf_prob")
    once = content("predict", "-b", "1", test, exact, "out")
    assert content("predict", "-b", "0", "-b", "1", test, exact, "out") == once
    once = content("scale", "-l", "0", rows, "-o", "out")
    assert content("scale", "-l", "-1", "-l", "0", rows, "-o", "out") == once


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["train", "--gamma", "1", "-g", "2", "rows"], "--gamma"),
        (["predict", "-b", "1", "--probability=1", "rows", "model"], "--probability"),
        (["scale", "--lower=0", "--lower=1", "rows"], "--lower"),
    ],
)
def test_their_long_names_are_not_libsvms(
    words: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, error = said(words, capsys)
    assert status == 2
    assert f"'{name}' is given more than once" in error
