"""The native core. Import what you need from ``svmfast._core``; only low layers may."""

import os as _os

try:
    from svmfast._core._native import *  # noqa: F403
except ModuleNotFoundError as error:
    if error.name != "svmfast._core._native":
        raise
    raise ImportError(
        f"no compiled core in {_os.path.dirname(__file__)}: these are the sources; run Python elsewhere "
        "to find the installed svmfast, or compile them by 'pip install -e .'"
    ) from None
