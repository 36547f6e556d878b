"""Types of option values on the command line: a click type for each kind of :mod:`svmfast.values`.

Every option with a numeric value has one of these types (tests/unit/test_numbers.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

# Not `from svmfast import values`, which would first look for a method of that name.
import svmfast.values as values
from svmfast.display import shown
from svmfast.values import MOST as MOST
from svmfast.values import MOST_64 as MOST_64

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # not generic in older click


class Typed(_ParamType):
    """A value of some kind, read from text."""

    def __init__(self, value: values.Value) -> None:
        self.value, self.name = value, value.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value  # a default
        found = self.value.of_text(value)
        if found is None:
            text = self.value.hint(value) or f"'{shown(value, 60)}' is not {self.value.expected()}"
            self.fail(text, param, ctx)
        return found


class NamesOrFile(Typed):
    """``A,B,C``, or ``@FILE``: a file with a name per line."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or not value.startswith("@"):
            return super().convert(value, param, ctx)
        if value in ("@", "@-"):
            self.fail(f"'{value}' names no file; expected @FILE, a file with a name per line", param, ctx)
        from svmfast.api.names import read_names

        return read_names(value[1:], distinct=True)


class WeightOfClass(Typed):
    """``LABEL:NUMBER``, into which the command line's ``-wLABEL NUMBER`` is turned, or ``balanced``."""

    def __init__(self, value: values.Weights) -> None:
        super().__init__(value)
        self._label, self._weight = value.read_label, Typed(value.weight)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or value == values.BALANCED:
            return value
        word, _, weight = value.rpartition(":")
        label = self._label(word)
        if label is None:
            self.fail(f"'{shown(word, 60)}' is not a label of LIBSVM, a 32-bit integer", param, ctx)
        return label, self._weight.convert(weight, param, ctx)


class Whole(Typed):
    """A whole number from `least` to `most`."""

    def __init__(self, least: int = 0, most: int = MOST) -> None:
        super().__init__(values.Whole(least, most))


class WholeOrAuto(Typed):
    """A whole number from `least` to `most`, or ``auto``."""

    def __init__(self, least: int = 0, most: int = MOST) -> None:
        super().__init__(values.WholeOrAuto(least, most))


class Real(Typed):
    """A finite decimal number in a range."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(values.Real(*args, **kwargs))


class Share(Typed):
    """``5%``."""

    def __init__(self, **kwargs: bool) -> None:
        super().__init__(values.Share(**kwargs))


class Multiple(Typed):
    """``12x``."""

    def __init__(self) -> None:
        super().__init__(values.Multiple())


class Bytes(Typed):
    """``32k``."""

    def __init__(self) -> None:
        super().__init__(values.Bytes())


class Duration(Typed):
    """``10m``."""

    def __init__(self) -> None:
        super().__init__(values.Duration())


class Grid(Typed):
    """``0.01,0.1,1``."""

    def __init__(self) -> None:
        super().__init__(values.Grid())
