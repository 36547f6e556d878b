"""Run code with the core limited to an instruction set."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from program import TEST_PATH

#: Those of dispatch.hpp; avx512 means without VNNI, which the machine's best has if the machine does.
ISAS = ("baseline", "avx2", "avx512")


def printed_on(isa: str, code: str) -> list[str]:
    """Run Python code that prints the core's instruction set last; return the words printed before it.

    The test is skipped where this machine does not run `isa`.
    """
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SVMFAST_ISA": isa, "PYTHONPATH": TEST_PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *words, ran = done.stdout.split()
    if ran != isa:
        pytest.skip(f"this machine does not run {isa}")
    return words
