"""Numbers, shares and sizes on the command line: one set of types, and text that all of them refuse."""

from __future__ import annotations

import inspect
import re
from fractions import Fraction
from pathlib import Path

import click
import pytest
from command import svmfast
from program import data

import svmfast as package
from svmfast.cli import main
from svmfast.cli.command import Typed
from svmfast.errors import OptionError, SvmfastError
from svmfast.methods.common.error_statement import ErrorStatement, labels_differing
from svmfast.methods.compress.search import doubtful
from svmfast.score import percent
from svmfast.values import Bytes, Names, Share, percentage
from svmfast.values.files import File

WORDS = {
    *(
        "--dask",
        "--data",
        "--exact",
        "--from",
        "--methods",
        "--model",
        "--output",
        "--prefix",
        "--relative-to",
    ),
    *("--relative-to", "--suffix", "--label", "--test", "--validate", "-w"),
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


@pytest.mark.parametrize("name", main.commands())
def test_every_option_refuses_what_is_no_number(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """All texts for one option of each type, and a few for each option."""
    types = set()
    for own, command, option in options(Typed):
        if own != name or isinstance(kind := getattr(option.type, "value", None), Names):
            continue
        arguments = ["x" for param in command.params if isinstance(param, click.Argument)]
        flag = option.opts[-1]
        given = "-w1" if flag == "-w" else flag
        for text in NO_NUMBERS[:: 1 if type(kind) not in types else 9]:
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
        types.add(type(kind))


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


#: f(x) = 2 x - rho, labels 1 and -1.
LINE = """svm_type c_svc
kernel_type linear
nr_class 2
total_sv 2
rho {rho}
label 1 -1
nr_sv 1 1
SV
1 1:1
-1 1:-1
"""


@pytest.mark.parametrize("n", [7, 100, 200, 1000, 1250])
def test_a_share_of_rows_equals_the_share_that_is_written(n: int) -> None:
    for k in range(1, n):
        digits = Fraction(100 * k, n)
        if 10**6 % digits.denominator:  # no decimal number
            continue
        text = f"{digits.numerator * 10**6 // digits.denominator / 10**6:.6f}"
        assert k / n == Share().of_text(f"{text}%")
        assert percent(k, n) == percentage(k / n)
        shown = labels_differing((k / n, 0.0, 1.0))
        statement = ErrorStatement(rows=10**9, frequent_rows=0, rows_from="data", **shown)
        assert doubtful(statement, k / n) is None


def test_the_share_asked_for_is_met_by_just_as_many(tmp_path: Path) -> None:
    exact, fast, rows = tmp_path / "exact", tmp_path / "fast", tmp_path / "rows"
    exact.write_text(LINE.format(rho=0))
    assert svmfast("approximate", exact, "-o", fast).returncode == 0
    rows.write_text("1 1:1\n" * 57 + "1 1:0\n" * 43)  # a value of 0 has no certain sign
    for share, status in (("57%", 0), ("57.01%", 1)):
        done = svmfast("bound-check", rows, "--model", fast, "--require-certified", share)
        assert done.returncode == status, (share, done)


@pytest.mark.parametrize(
    ("text", "share"),
    [("5%", 0.05), (" 0.7 %", 0.007), (".5%", 0.005), ("5e-3%", 5e-5), ("0", 0), ("0%", 0), ("100%", 1)],
)
def test_a_share_has_its_sign(text: str, share: float) -> None:
    assert Share(zero=True, whole=True).of_text(text) == share


def shares() -> list[tuple[str, click.Option, Share]]:
    """Return every option of the command line that is a share, with its command."""
    found = []
    for name in main.commands():
        command = main.program.get_command(click.Context(main.program), name)
        assert command is not None
        for param in command.params:
            kind = getattr(param.type, "value", None)
            if isinstance(param, click.Option) and isinstance(kind, Share):
                found.append((name, param, kind))
    return found


@pytest.mark.parametrize(
    ("name", "param", "kind"), shares(), ids=lambda one: getattr(one, "name", None) or str(one)
)
def test_a_share_is_a_percentage_in_words_and_a_fraction_in_python(
    name: str, param: click.Option, kind: Share
) -> None:
    assert param.type.convert("0.5%", param, None) == 0.005
    function = getattr(package, name.replace("-", "_"))
    needed = [
        "missing"
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    for value in (50.0, 1.5):
        with pytest.raises(OptionError, match=f"^`{param.name}` is {value}; expected a share"):
            function(*needed, **{str(param.name): value})
    with pytest.raises((SvmfastError, OSError)) as accepted:
        function(*needed, **{str(param.name): 0.5})
    assert "a share" not in str(accepted.value)


def test_no_public_function_has_a_share_that_the_command_line_does_not_have() -> None:
    known = {param.name for _, param, _ in shares()}
    assert known >= {"max_diff", "max_loss", "ratio", "confidence", "require_certified"}
    looks_like_one = re.compile(r"share|(^|_)ratio$|confidence|max_(diff|loss)|_certified$")
    for name in dir(package):
        thing = getattr(package, name)
        if callable(thing) and not name.startswith("_"):
            for word in inspect.signature(thing).parameters:
                assert word in known or not looks_like_one.search(word), (name, word)


def test_sizes() -> None:
    for text, size in (
        ("32k", 32 << 10),
        ("500MiB", 500 << 20),
        ("1.5G", 3 << 29),
        ("7", 7),
        ("2tb", 2 << 40),
    ):
        assert Bytes().of_text(text) == size
    for text in ("0", "0x", "-1", "x", "12y", "9" * 300 + "T"):
        assert Bytes().of_text(text) is None
