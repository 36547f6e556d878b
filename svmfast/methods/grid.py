"""What a method tells ``frontier``: candidates to try, those left out and why, and a style for the figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svmfast.models.expansion import KernelExpansion


@dataclass(frozen=True)
class Candidate:
    """A method with options, for ``frontier`` to try.

    Attributes
    ----------
    name : str
        Unique; also names the model's file.
    level : int
        Of two candidates of a method, the one with the lower level takes less work to make.
    options : mapping
        Options that differ from their defaults.
    inputs : tuple of str
        Names of the inputs it takes.
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
    """The quantities from which a method derives its candidates.

    Attributes
    ----------
    exact : KernelExpansion
    seed : int
    max_bytes : int or None
        Limit on the size of the resulting model.
    """

    exact: KernelExpansion
    seed: int
    max_bytes: int | None = None


@dataclass(frozen=True)
class Style:
    """A method's color and marker in figures; color-blind readers can distinguish the colors."""

    color: str
    marker: str
