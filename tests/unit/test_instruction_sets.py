"""The engines on every instruction set: their own tests, with the core limited to it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

#: Tests of every engine: bits against LIBSVM's, errors against their bounds, values against slow twins.
TESTS = {
    "budgeted_sgd": "steps_agree or merge",
    "kernels": "decisions_are_libsvms",
    "lattice": "bound_holds or labels_are",
    "libsvm_bits": "bits_are or every_tier or entries or on_the_boundary or every_label or in_fifty_digits",
    "polynomial": "nearest_center or native_bounds",
    "reduced_set": "value_and_gradient",
    "routed": "values_are_those or labels_are",
    "single_polynomial": "bounds_hold or sparse_rows",
    "single_precision": "bound_holds or labels_are or errors_are or one_hot_values or many_features",
}


def test_every_word_names_a_test():
    for name, words in TESTS.items():
        defined = re.findall(
            r"^def (test_\w+)", Path(__file__).with_name(f"test_{name}.py").read_text(), re.M
        )
        assert not [word for word in words.split(" or ") if not any(word in one for one in defined)], name


NIGHTLY = pytest.param("avx512", marks=pytest.mark.nightly)  # without VNNI, which the best one has


@pytest.mark.parametrize("isa", ["baseline", "avx2", NIGHTLY])
def test_engines(isa):
    files = [f"tests/unit/test_{name}.py" for name in TESTS]
    chosen = " or ".join(f"({name} and ({words}))" for name, words in TESTS.items())
    known = {"cwd": Path(__file__).parents[2], "capture_output": True, "text": True}
    known["env"] = {**os.environ, "SVMFAST_ISA": isa}
    code = "from svmfast import _core; print(_core.isa())"
    if subprocess.run([sys.executable, "-c", code], **known).stdout != f"{isa}\n":
        pytest.skip(f"this machine does not run {isa}")
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", chosen]
    done = subprocess.run([*words, *files], **known)
    assert done.returncode == 0, done.stdout + done.stderr
