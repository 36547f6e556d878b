"""Numbers on the command line: one set of types, and text that all of them refuse."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from program import data, svmfast

from svmfast.cli import main
from svmfast.cli.command import Typed
from svmfast.values import Names
from svmfast.values.files import File

#: Options that take words or paths.
WORDS = {
    "--dask",
    "--data",
    "--exact",
    "--from",
    "--methods",
    "--model",
    "--output",
    "--prefix",
    "--relative-to",
    "--suffix",
    "--label",
    "--test",
    "--validate",
    "-w",
}
NO_NUMBERS = [
    *("", " ", "nan", "inf", "-inf", "+infinity", "1e400", "-1e400", "9" * 400, "9" * 5000, "-" + "9" * 400),
    *("1_000", "0x10", "٣", "１２", "1,5,", "1e-400%", "--", "1 2", "0b1", "1e", "."),
]


def commands() -> list[tuple[str, click.Command]]:
    found = []
    for name in main.commands():
        command = main.program.get_command(click.Context(main.program), name)
        assert command is not None
        found.append((name, command))
    return found


def options(of: type) -> list[tuple[str, click.Command, click.Option]]:
    """Return the options that are no files and have such a type."""
    return [
        (name, command, param)
        for name, command in commands()
        for param in command.params
        if isinstance(param, click.Option)
        and not param.is_flag
        and not isinstance(getattr(param.type, "value", None), File)
        and any(isinstance(part, of) for part in getattr(param.type, "types", [param.type]))
    ]


def test_every_numeric_option_has_one_of_our_types() -> None:
    assert len(options(Typed)) > 60
    foreign = (click.types.IntParamType, click.types.FloatParamType, click.types.UUIDParameterType)
    assert not [(name, param.opts) for name, _, param in options(foreign)]  # type: ignore[arg-type]
    words = {param.opts[-1] for _, _, param in options(click.types.StringParamType)}
    assert words <= WORDS, "a new option: does it take a number?"


@pytest.mark.parametrize(
    ("name", "command", "option"),
    [
        pytest.param(*found, id=f"{found[0]} {found[2].opts[-1]}")
        for found in options(Typed)
        if not isinstance(getattr(found[2].type, "value", None), Names)
    ],
)
def test_every_option_refuses_text_that_is_not_a_number(
    name: str, command: click.Command, option: click.Option, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["x" for param in command.params if isinstance(param, click.Argument)]
    flag = option.opts[-1]
    given = "-w1" if flag == "-w" else flag
    for text in NO_NUMBERS:
        # `-w1 WEIGHT` is a pair to click, but one word on the command line.
        words = [text] * (1 if flag == "-w" else option.nargs)
        assert main.run([name, *arguments, given, *words]) == 2, text[:60]
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith(f"svmfast {name}: Invalid value for ")
        assert f"{flag}'" in printed.err
        assert "see 'svmfast" in printed.err
        assert len(printed.err.splitlines()) == 1, text[:60]
        assert len(printed.err) < 300


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dcpred", "d", "--levels", "3"], "'--levels': '3' is not 1 or 2"),
        (["compare", "m", "m", "--data", "d", "--repeats", "0"], "'0' is not a whole number from 1 to"),
        (
            ["meka", "d", "--link-threshold", "1"],
            "'1' is not a finite decimal number of at least 0 and below 1",
        ),
        (["predict", "d", "m", "--tolerance", "-1"], "'-1' is not a finite decimal number of at least 0;"),
        (["approximate", "m", "--order", "17"], "'17' is not a whole number from 0 to 16, or 'auto'"),
        (["meka", "d", "-g", "1,2^x"], "'1,2^x' is not positive numbers such as 0.5, 2^-4"),
        (["meka", "d", "-g", "2^-9999"], "'2^-9999' is not positive numbers such as"),
        (["train", "d", "m", "-g", "1e-400"], "'1e-400' is not a finite decimal number"),
        (
            ["frontier", "m", "--data", "d", "--time-limit", "90s"],
            "'90s' is not a finite decimal number",
        ),
        (["dcpred", "d", "--max-operations", "12x"], "'12x' is not a finite decimal number above 0"),
        (["compress", "m", "--max-bytes", "9" * 400], "99...' is not a size such as 32k"),
    ],
)
def test_the_message_says_what_is_expected(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(words) == 2
    assert message in capsys.readouterr().err


def test_blanks_around_a_number_are_accepted() -> None:
    # The output of "$(wc -l < file)" begins with blanks on some systems.
    done = svmfast("compress", "missing", "--sv", "      12")
    assert b"missing: cannot be read" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("meka", "--task", "ridge", "--rank", "5", "--oversampling", "1.7e308"),
        ("dcpred", "--task", "ridge", "--iterations", "3", "--lambda", "1.7e308"),
    ],
    ids=lambda words: words[0],
)
def test_the_largest_numbers_cause_no_internal_error(words: tuple[str, ...], tmp_path: Path) -> None:
    done = svmfast(words[0], data("iris.train"), "-o", tmp_path / "model", *words[1:])
    assert done.returncode == 0, done.stderr
