"""Settings shared by all tests, made before anything loads libsvm-official, our oracle."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import settings
from program import heed_signals, remember_environment

from svmfast import _core

# libsvm-official is built with OpenMP and sums a regression's terms in whatever order its threads finish;
# with one thread it sums in the order of the file, as the svm-predict program does.
os.environ["OMP_NUM_THREADS"] = "1"
remember_environment()

# Tests send signals.
heed_signals()

# Small problems use threads too (in forks as well, see forking.py), so that tests of determinism have power.
_core.set_least_threaded_work(0)

# Tests must not fail on a loaded machine: scripts measure time, not tests.
settings.register_profile("svmfast", deadline=None)
settings.load_profile("svmfast")

#: Test files that train or search for long without starting a program.
_LONG = {
    "test_approximate.py",
    "test_approximate_difference.py",
    "test_budget_runs.py",
    "test_budget_train.py",
    "test_cells.py",
    "test_certificate.py",
    "test_certificate_bounds.py",
    "test_certificate_underflow.py",
    "test_compress.py",
    "test_dcpred_statements.py",
    "test_export_certain.py",
    "test_export_certain_scaled.py",
    "test_fifty_digits.py",
    "test_fuzz.py",
    "test_single_precision.py",
    "test_interrupts.py",
    "test_lattice.py",
    "test_meka.py",
    "test_models_as_values.py",
    "test_sklearn_estimators.py",
}
_STARTS_PROGRAMS = re.compile(
    r"\bsubprocess\b|from program import [^\n]*\bsvmfast\b|\bPROGRAM\b|cli\.main|cli import main"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--fast``: the inner loop, without the files that start programs or run long."""
    parser.addoption("--fast", action="store_true", help="only quick test files")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what ``--fast`` leaves out."""
    name = collection_path.name
    if not config.getoption("--fast") or not name.startswith("test_"):
        return None
    return True if name in _LONG or _STARTS_PROGRAMS.search(collection_path.read_text()) else None
