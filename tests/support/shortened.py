"""The program, but ``frontier`` forks its commands, times models for fractions of a second and draws nothing.

For tests that start the program by name; `program.svmfast` has an argument for this.
"""

from __future__ import annotations

import sys

from forking import shorten

if __name__ == "__main__":
    if sys.argv[1:2] == ["frontier"]:
        shorten(sys.argv[0])
    sys.path.pop(0)  # this file's folder
    from svmfast.__main__ import console

    console()
