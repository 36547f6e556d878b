"""The engines on every instruction set: their own tests, with the core limited to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from instruction_sets import ISAS, printed_on

#: Tests of every engine: bits against LIBSVM's, errors against their bounds, values against slow twins.
TESTS = {
    "kernels": "decisions_are_libsvms",
    "lattice": "bound_holds or labels_are",
    "libsvm_bits": "bits_are or every_tier or entries",
    "polynomial": "nearest_center or native_bounds",
    "reduced_set": "value_and_gradient",
    "routed": "values_are_those",
    "single_polynomial": "bounds_hold or sparse_rows",
    "single_precision": "bound_holds or labels_are or errors_are or one_hot_values or many_features",
}


@pytest.mark.parametrize(
    "isa", [*ISAS[:2], *(pytest.param(isa, marks=pytest.mark.nightly) for isa in ISAS[2:])]
)
def test_engines(isa: str) -> None:
    printed_on(isa, "from svmfast import _core; print(_core.isa())")  # skips where this machine lacks it
    files = [f"tests/unit/test_{name}.py" for name in TESTS]
    chosen = " or ".join(f"({name} and ({words}))" for name, words in TESTS.items())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", chosen, *files],
        env={**os.environ, "SVMFAST_ISA": isa},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
