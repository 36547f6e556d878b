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


def methods() -> tuple[Method, ...]:
    return tuple(method(name) for name in _PACKAGES)


def method(name: str) -> Method:
    """The method with this command or function name (KeyError if there is none).

    Only its own package is imported: those of all methods would be a quarter of a short command's start-up.
    """
    package = _PACKAGES[name.replace("_", "-")]
    found: Method = import_module(f"svmfast.methods.{package}").METHOD
    return found
