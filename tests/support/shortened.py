"""The program, but ``frontier`` times models for fractions of a second and draws no figure.

For tests that start it by name; `program.svmfast` has an argument for this.
"""

from __future__ import annotations

import sys

from forking import shorten

if __name__ == "__main__":
    if sys.argv[1:2] == ["frontier"]:
        shorten()
    sys.path.pop(0)  # this file's folder
    from svmfast.__main__ import console

    console()
