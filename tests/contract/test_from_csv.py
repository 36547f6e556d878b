"""The commands of the tutorial's walk from a CSV to a fast model print what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from program import PROGRAM, ROOT

PAGE = (ROOT / "docs/tutorial.md").read_text()
WALK = PAGE[PAGE.index("## From a CSV to a fast model") : PAGE.index("## Anomaly detection")]
#: Speeds and the number of threads differ from run to run; the digits of an optimized model, and so its size,
#: from one processor to another.
CLOCK = re.compile(r"~?[\d.]+x +[\d,]+$|\d+ threads?(; speed-ups of processor time)?", re.MULTILINE)


@pytest.mark.nightly
def test_the_walk_is_real(tmp_path: Path) -> None:
    path = os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    (code,) = re.findall(r"^```python\n(.*?)^```", WALK, re.DOTALL | re.MULTILINE)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True)
    lines = 0
    for block in re.findall(r"^```console\n(.*?)^```", WALK, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, printed = part.partition("\n")
            words = ["bash", "-c", f"({line}) 2>&1"]
            done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, (line, done.stdout)
            assert CLOCK.sub("#", done.stdout).split() == CLOCK.sub("#", printed).split(), line
            lines += 1
    assert lines >= 8
