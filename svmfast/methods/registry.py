"""Every method, once. The command line, the Python API, ``frontier``, the documentation and the contract
tests take them from here.
"""

from __future__ import annotations

from importlib import import_module

from svmfast.methods.method import Method

#: The package of every command, in the order of the help text and of ``frontier``'s candidates.
_PACKAGES = {
    "linear": "linear",
    "approximate": "approximate",
    "compress": "compress",
    "budget-train": "budget",
    "dcpred": "dcpred",
    "meka": "meka",
    "cascade": "cascade",
    "train": "train",
}
#: Methods that are registered at run time, after those.
_ADDED: dict[str, Method] = {}


def methods() -> tuple[Method, ...]:
    return tuple(method(name) for name in (*_PACKAGES, *_ADDED))


def method(name: str) -> Method:
    """The method with this command or function name (KeyError if there is none).

    Only its own package is imported: those of all methods would be a quarter of a short command's start-up.
    """
    command = name.replace("_", "-")
    if command in _ADDED:
        return _ADDED[command]
    found: Method = import_module(f"svmfast.methods.{_PACKAGES[command]}").METHOD
    return found


def register(one: Method) -> None:
    """Add a method (ValueError if the name is taken)."""
    if one.name in _PACKAGES or one.name in _ADDED:
        raise ValueError(f"there is already a method '{one.name}'")
    _ADDED[one.name] = one


def unregister(name: str) -> None:
    del _ADDED[name]
