"""Option values with a unit: shares such as 5% and sizes such as 32k."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    _FloatType = click.ParamType[float]
    _IntType = click.ParamType[int]
else:
    _FloatType = _IntType = click.ParamType  # older click has no parameter there


class Share(_FloatType):
    """``5%`` or ``0.05``: a share above 0 and below 1."""

    name = "share"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        try:
            share = float(value[:-1]) / 100 if value.endswith("%") else float(value)
        except ValueError:
            self.fail(f"'{value}' is no share; write 5% or 0.05", param, ctx)
        if not 0 < share < 1:
            self.fail(f"'{value}' is not between 0 and 100%; write 5% or 0.05", param, ctx)
        return share


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
