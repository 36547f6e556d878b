"""Shares on the command line: one way to write them, and limits that are met by what just reaches them."""

from __future__ import annotations

import inspect
import re
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import click
import numpy as np
import pytest
from program import svmfast

import svmfast as package
from svmfast.cli import main
from svmfast.cli.main import run
from svmfast.errors import OptionError, SvmfastError
from svmfast.evaluation.loss import Estimate, Loss
from svmfast.frontiers.choice import Limits
from svmfast.methods.common.error_statement import ErrorStatement, labels_differing
from svmfast.methods.compress.search import doubtful
from svmfast.score import percent
from svmfast.sklearn import FastSVC, FastSVR
from svmfast.values import Bytes, Share, percentage

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


def test_seven_of_a_hundred_rows_are_within_seven_percent(tmp_path: Path) -> None:
    exact, moved, rows = tmp_path / "exact", tmp_path / "moved", tmp_path / "rows"
    exact.write_text(LINE.format(rho=0))
    moved.write_text(LINE.format(rho=15))  # rows 1 to 7 change sides
    rows.write_text("".join(f"1 1:{x}\n" for x in range(1, 101)))
    words = ("compare", "--repeats", "1", exact, moved, "--data", rows, "--max-diff")
    for limit, status in (("7%", 0), ("6.99%", 1)):
        done = svmfast(*words, limit)
        assert (done.returncode, b"7 (7%)" in done.stdout) == (status, True), limit


def test_the_share_asked_for_is_met_by_just_as_many(tmp_path: Path) -> None:
    exact, fast, rows = tmp_path / "exact", tmp_path / "fast", tmp_path / "rows"
    exact.write_text(LINE.format(rho=0))
    assert svmfast("approximate", exact, "-o", fast).returncode == 0
    rows.write_text("1 1:1\n" * 57 + "1 1:0\n" * 43)  # a value of 0 has no certain sign
    for share, status in (("57%", 0), ("57.01%", 1)):
        done = svmfast("bound-check", rows, "--model", fast, "--require-certified", share)
        assert done.returncode == status, (share, done)


def test_a_recommended_model_may_just_meet_the_limit() -> None:
    share, nothing = percent(7, 100), Estimate(0.0, 0.0, 0.0)
    lost = Loss(1000, cast(Any, None), 50, Estimate(5.0, 3.7, share), nothing, None)
    limit = percentage(Share().of_text("7%"))
    assert Limits(max_diff_percent=limit).shown_by(lost)
    assert not Limits(max_diff_percent=6.99).shown_by(lost)


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


def test_a_share_of_an_estimator_is_a_fraction() -> None:
    rows = np.arange(40.0).reshape(20, 2)
    for estimator in (FastSVC(max_diff=50.0), FastSVR(max_diff=50.0)):
        with pytest.raises(ValueError, match=r"^max_diff is 50\.0; expected a share"):
            estimator.fit(rows, np.arange(20) % 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5", "'0.5' is not a share"),
        ("1", "'1' is not a share"),
        ("99.5", "'99.5' is not a share"),
        ("101%", "'101%' is not a share"),
        ("101", "'101' is not a share"),
        ("-5%", "'-5%' is not a share"),
        ("5 percent", "is not a share"),
        ("nan", "is not a share"),
        ("1e999999999%", "is not a share"),
    ],
)
@pytest.mark.parametrize(
    "option",
    [
        ("compare", "m", "m", "--data", "d", "--max-diff"),
        ("bound-check", "d", "--model", "m", "--require-certified"),
        ("approximate", "m", "--max-diff"),
        ("compress", "m", "--max-diff"),
        ("compress", "m", "--ratio"),
        ("cascade", "f", "e", "--data", "d", "--max-diff"),
        ("cascade", "f", "e", "--data", "d", "--confidence"),
        ("frontier", "m", "--data", "d", "--max-diff"),
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_every_share_refuses_the_same_text(
    option: tuple[str, ...], text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*option, text]) == 2
    captured = capsys.readouterr().err
    assert message in captured
    assert len(captured.splitlines()) == 1


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
