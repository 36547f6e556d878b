"""Option values with a unit: shares such as 5%, multiples such as 12x, sizes such as 32k."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    _FloatType = click.ParamType[float]
    _IntType = click.ParamType[int]
else:
    _FloatType = _IntType = click.ParamType  # older click has no parameter there


_SHARE = re.compile(r"\s*((?:\d+(?:\.\d*)?|\.\d+)(?:[eE]-?\d{1,2})?)\s*(%?)\s*")
_MULTIPLE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*x?\s*")


def read_share(text: str) -> Fraction:
    """Read ``5%`` or ``0.05``, from 0 to 100%: the one rule for every share on the command line.

    Without the sign a number is below 1, for 1 might be meant either way. The result is exact: rounded once,
    as a share or as a percentage, it is the double that ``k / n`` or ``100 * k / n`` gives for the same
    share of n rows, and a limit is met by what just reaches it.

    Raises
    ------
    click.BadParameter
    """
    found = _SHARE.fullmatch(text)
    if not found:
        raise click.BadParameter(f"'{text}' is no share; write 5% or 0.05")
    share = Fraction(found[1]) / (100 if found[2] else 1)
    if share > 1 and found[2]:
        raise click.BadParameter(f"'{text}' is above 100%")
    if share >= 1 and not found[2]:
        raise click.BadParameter(f"'{text}' is no share; write {found[1]}% or {float(share / 100):g}")
    return share


class Share(_FloatType):
    """``5%`` or ``0.05``: a share above 0 and, unless the `whole` may be meant, below 1."""

    name = "share"

    def __init__(self, *, whole: bool = False) -> None:
        self.whole = whole

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        share = read_share(value)
        if not 0 < share <= 1 or (share == 1 and not self.whole):
            self.fail(f"'{value}' is not between 0 and 100%; write 5% or 0.05", param, ctx)
        return float(share)


def percentage(_ctx: click.Context, _param: click.Parameter, text: str | None) -> float | None:
    """Read a share from 0 to 100% as a percentage; a click callback."""
    return None if text is None else float(100 * read_share(text))


def multiple(_ctx: click.Context, _param: click.Parameter, text: str | None) -> float | None:
    """Read ``12x`` or ``12``, above 0; a click callback."""
    if text is None:
        return None
    found = _MULTIPLE.fullmatch(text)
    if not found or float(found[1]) <= 0:
        raise click.BadParameter(f"'{text}' is not a multiple such as 12x")
    return float(found[1])


class Bytes(_IntType):
    """``32k``, ``2M``, ``1G`` or a plain number; k is 1024."""

    name = "bytes"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgG]?)(?:i?[bB])?", value)
        if not found or not float(found[1]):
            self.fail(f"'{value}' is no size; write 32k, 2M, 1G or a number of bytes", param, ctx)
        return int(float(found[1]) * 1024 ** " kmg".index(found[2].lower() or " "))


class IntOrAuto(click.ParamType):  # type: ignore[type-arg]
    """A whole number of at least `least`, or ``auto``."""

    name = "number"

    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> str | int:
        if isinstance(value, int) or value == "auto":
            return value
        if not re.fullmatch(r"\d+", value) or not self.least <= int(value) <= self.most:
            self.fail(
                f"'{value}' is neither a number from {self.least} to {self.most} nor 'auto'", param, ctx
            )
        return int(value)
