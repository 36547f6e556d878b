"""Attributes of immutable objects that are computed once and not pickled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")
R = TypeVar("R")


class cached(Generic[T, R]):
    """A property that is computed on first use.

    Unlike :func:`functools.cached_property` of Python 3.10 and 3.11, it takes no lock, which a fork would
    leave locked in the child. Threads that use it first at the same time all get the same object.
    """

    def __init__(self, function: Callable[[T], R]) -> None:
        self.function, self.name, self.__doc__ = function, "", function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached[T, R]: ...
    @overload
    def __get__(self, instance: T, owner: type) -> R: ...
    def __get__(self, instance: T | None, owner: type) -> cached[T, R] | R:
        if instance is None:
            return self
        # This is not a data descriptor, so from now on Python finds the attribute without calling it.
        value: R = instance.__dict__.setdefault(self.name, self.function(instance))
        return value


class Cacheless:
    """Base of dataclasses whose pickles and copies hold only their fields; caches are rebuilt."""

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
