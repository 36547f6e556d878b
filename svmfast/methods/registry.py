"""Every method, once. The command line, the Python API, ``frontier``, the documentation and the contract
tests take them from here.
"""

from __future__ import annotations

from svmfast.methods import approximate, budget, cascade, compress, dcpred, linear, meka, nystrom, train
from svmfast.methods.method import Method

#: In the order of the help text and of ``frontier``'s candidates.
_METHODS: list[Method] = [
    linear.METHOD,
    approximate.METHOD,
    compress.METHOD,
    nystrom.METHOD,
    budget.METHOD,
    dcpred.METHOD,
    meka.METHOD,
    cascade.METHOD,
    train.METHOD,
]


def methods() -> tuple[Method, ...]:
    """Return every method."""
    return tuple(_METHODS)


def method(name: str) -> Method:
    """Return the method with this command or function name (KeyError if there is none)."""
    for one in _METHODS:
        if name in (one.name, one.function_name):
            return one
    raise KeyError(name)


def register(one: Method) -> None:
    """Add a method.

    Raises
    ------
    ValueError
        The name is taken.
    """
    if any(one.name == other.name for other in _METHODS):
        raise ValueError(f"there is already a method '{one.name}'")
    _METHODS.append(one)


def unregister(name: str) -> None:
    """Remove a method."""
    _METHODS.remove(method(name))
