"""A short run of scripts/fuzz/inputs: 20,000 inputs for each native loop, 1,500 for each whole reader."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest
from program import ROOT

INPUTS = {
    "tokenizer": 20_000,
    "container": 1_500,
    "schema": 3_000,
    "libsvm": 1_500,
    "data": 1_500,
    "containers": 1_000,
}


@pytest.mark.parametrize("target", INPUTS)
def test_no_input_crashes_or_is_misread(target: str) -> None:
    if "SVMFAST_SANITIZED" in os.environ:
        pytest.skip("the native targets bring sanitizers of their own")
    compiler = os.environ.get("CXX", "g++")
    if INPUTS[target] == 20_000 and shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    script = ROOT / "scripts" / "fuzz" / "inputs.py"
    # Without sanitizers, whose compilation takes longer than all of these inputs; the long run has them.
    limits = ["--fast", "--runs", str(INPUTS[target]), "--model-runs", str(INPUTS[target])]
    done = subprocess.run(
        [sys.executable, script, "--only", target, *limits, "--seed", "1"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tried = re.match(rf"{target}: ([\d,]+) inputs", done.stdout)
    assert tried is not None, done.stdout
    assert int(tried[1].replace(",", "")) >= INPUTS[target]
