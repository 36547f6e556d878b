"""What frontier tries of a method: candidates, what is not tried and why, and how results are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmfast.models.expansion import KernelExpansion


@dataclass(frozen=True)
class Candidate:
    """A way to use a method that ``frontier`` tries.

    Attributes
    ----------
    name : str
        Unique; the model's file name too.
    level : int
        Of two candidates of a method, the one of the lower level is the cheaper to make.
    options : mapping
        Options other than their defaults.
    inputs : tuple of str
        The inputs it takes.
    """

    name: str
    level: int
    options: Mapping[str, Any]
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class NotTried:
    """A candidate that ``frontier`` leaves out, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Grid:
    """The inputs of a method's grid of candidates.

    Attributes
    ----------
    exact : KernelExpansion
    seed : int
    max_bytes : int or None
        A limit on the size of the result.
    """

    exact: KernelExpansion
    seed: int
    max_bytes: int | None = None


@dataclass(frozen=True)
class Style:
    """A method's color and marker in figures; the colors can be distinguished by color-blind readers."""

    color: str
    marker: str
