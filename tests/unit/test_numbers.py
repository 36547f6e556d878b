"""Numbers, shares and sizes on the command line: one set of types, and text that all of them refuse."""

import inspect
import re
from fractions import Fraction

import click
import pytest
from command import ran, svmfast

import svmfast as package
from svmfast.cli import main
from svmfast.cli.command import Typed
from svmfast.errors import OptionError, SvmfastError
from svmfast.methods.common.error_statement import ErrorStatement, labels_differing
from svmfast.methods.compress.search import doubtful
from svmfast.score import percent
from svmfast.values import Bytes, Names, Share, percentage
from svmfast.values.files import File

NO_NUMBERS = [
    *("", " ", "nan", "inf", "-inf", "+infinity", "1e400", "-1e400", "9" * 400, "9" * 5000, "-" + "9" * 400),
    *("1_000", "0x10", "٣", "１２", "1,5,", "1e-400%", "--", "1 2", "0b1", "1e", "."),
]


def options_of(name):
    found = main.program.get_command(click.Context(main.program), name).params
    kinds = [(one, getattr(one.type, "types", [one.type])) for one in found if isinstance(one, click.Option)]
    ours = [one for one, types in kinds if any(isinstance(type_, Typed) for type_ in types)]
    return [one for one in ours if not isinstance(getattr(one.type, "value", None), File)]


@pytest.mark.parametrize("name", main.commands())
def test_every_option_refuses_what_is_no_number(name, capsys):
    types = set()
    command = main.program.get_command(click.Context(main.program), name)
    arguments = ["x" for param in command.params if isinstance(param, click.Argument)]
    for option in options_of(name):
        kind, flag = getattr(option.type, "value", None), option.opts[-1]
        if isinstance(kind, Names):
            continue
        for text in NO_NUMBERS[:: 1 if type(kind) not in types else 9]:
            # `-w1 WEIGHT` is a pair to click, but one word on the command line.
            words = ["-w1", text] if flag == "-w" else [flag, *[text] * option.nargs]
            assert main.run([name, *arguments, *words]) == 2, text[:60]
            out, err = capsys.readouterr()
            assert out == ""
            assert re.fullmatch(rf"svmfast {name}: Invalid value for .*{flag}'.*see 'svmfast.*\n", err), err
            assert len(err) < 300
        types.add(type(kind))


@pytest.mark.parametrize("n", [7, 100, 200, 1000, 1250])
def test_a_share_of_rows_equals_the_share_that_is_written(n):
    for k in range(1, n):
        digits = Fraction(100 * k, n)
        if 10**6 % digits.denominator:  # no decimal number
            continue
        text = f"{digits.numerator * 10**6 // digits.denominator / 10**6:.6f}"
        assert k / n == Share().of_text(f"{text}%")
        assert percent(k, n) == percentage(k / n)
        shown = labels_differing((k / n, 0.0, 1.0))
        assert doubtful(ErrorStatement(rows=10**9, frequent_rows=0, rows_from="data", **shown), k / n) is None


def test_the_share_asked_for_is_met_by_just_as_many(tmp_path):
    exact, fast, rows = tmp_path / "exact", tmp_path / "fast", tmp_path / "rows"
    head = "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\n"
    exact.write_text(f"{head}SV\n1 1:1\n-1 1:-1\n")  # f(x) = 2 x
    ran("approximate", exact, "-o", fast)
    rows.write_text("1 1:1\n" * 57 + "1 1:0\n" * 43)  # a value of 0 has no certain sign
    for share, status in (("57%", 0), ("57.01%", 1)):
        done = svmfast("bound-check", rows, "--model", fast, "--require-certified", share)
        assert done.returncode == status, (share, done)


#: What texts mean, None if nothing.
TEXTS = [
    (Share(zero=True), {"5%": 0.05, " 0.7 %": 0.007, ".5%": 0.005, "5e-3%": 5e-5, "0": 0, "100%": None}),
    (Share(whole=True), {"0%": None, "100%": 1, "5": None}),
    (Bytes(), {"32k": 32 << 10, "500MiB": 500 << 20, "1.5G": 3 << 29, "7": 7, "2tb": 2 << 40}),
    (Bytes(), dict.fromkeys(["0", "0x", "-1", "x", "12y", "9" * 300 + "T"])),
]


def test_texts_of_shares_and_sizes():
    for kind, values in TEXTS:
        assert {text: kind.of_text(text) for text in values} == values


OPTIONS = [(name, one) for name in main.commands() for one in options_of(name)]
SHARES = [(name, one) for name, one in OPTIONS if isinstance(getattr(one.type, "value", None), Share)]


@pytest.mark.parametrize(("name", "param"), SHARES, ids=lambda one: getattr(one, "name", one))
def test_a_share_is_a_percentage_in_words_and_a_fraction_in_python(name, param):
    assert param.type.convert("0.5%", param, None) == 0.005
    function = getattr(package, name.replace("-", "_"))
    taken = inspect.signature(function).parameters.values()
    needed = [one for one in taken if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    for value in (50.0, 1.5):
        with pytest.raises(OptionError, match=f"^`{param.name}` is {value}; expected a share"):
            function(*["missing" for _ in needed], **{param.name: value})
    with pytest.raises((SvmfastError, OSError)) as accepted:
        function(*["missing" for _ in needed], **{param.name: 0.5})
    assert "a share" not in str(accepted.value)
