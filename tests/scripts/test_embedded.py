"""scripts/embedded: the labels of emulated microcontrollers are the desktop's."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from program import FIXTURES, ROOT, data

TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm", "avr-gcc", "simavr")
EMBEDDED = ROOT / "scripts" / "embedded"


@pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)) or not (ROOT / ".venv").exists(),
    reason=f"not all of {', '.join(TOOLS)} are here: scripts/embedded installs them",
)
def test_labels_on_every_board_are_svm_predicts(tmp_path: Path) -> None:
    model = FIXTURES / "frozen" / "1.4" / "polynomial_three_classes.model"
    out = tmp_path / "out.json"
    done = subprocess.run(
        [EMBEDDED, "--json", out, model, data("iris.test")], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(out.read_text())
    assert {one["board"] for one in found} == {"Cortex-M4", "Cortex-M0", "AVR"}
    for one in found:
        assert (one["rows"], one["wrong"]) == (50, 0)
        assert one["tables"] <= one["flash"] < one["tables"] + 4000
        assert 0 < one["stack"] < 500
        assert 300 < one["instructions"] < 100_000


def test_without_the_tools_it_says_so(tmp_path: Path) -> None:
    """With a PATH that has only what a shell needs, and no apt-get."""
    for tool in ("bash", "env", "dirname", "id", "sed"):
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / tool).symlink_to(found)
    done = subprocess.run(
        [shutil.which("bash") or "bash", EMBEDDED],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert done.stderr.startswith(
        "embedded: skipped, no arm-none-eabi-gcc, qemu-system-arm, avr-gcc, simavr here"
    )
