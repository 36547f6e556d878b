"""Where Python looks for modules: never in the folder that the program is run in.

``python -m`` and empty entries of ``PYTHONPATH`` put it on the path, and with it any ``numpy.py`` next to a
model. This module imports only what every Python has loaded when it starts.
"""

import os
import sys

#: The folder that holds the package.
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def without_current_folder(path: list[str]) -> list[str]:
    """The entries of an import path except the current folder, under whatever name.

    Where svmfast itself is installed in the current folder, that entry stays, as an absolute path.
    """
    found = []
    for entry in path:
        if not _same_folder(entry or os.curdir, os.curdir):
            found.append(entry)
        elif _same_folder(os.curdir, _HOME):
            found.append(_HOME)
    return found


def leave_out_current_folder() -> None:
    """Take the current folder off ``sys.path``."""
    sys.path[:] = without_current_folder(sys.path)


def _same_folder(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return one == other
