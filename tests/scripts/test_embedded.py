"""scripts/embedded: the labels of emulated microcontrollers are the desktop's."""

import shutil
import subprocess

import pytest
from program import FIXTURES, ROOT, data

TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm", "avr-gcc", "simavr")
EMBEDDED = ROOT / "scripts" / "embedded"
CERTAIN = FIXTURES / "frozen/1.0/polynomial_three_classes.model"
needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)) or not (ROOT / ".venv").exists(),
    reason=f"not all of {', '.join(TOOLS)} are here: scripts/embedded installs them",
)


@pytest.mark.nightly
@needs_tools
def test_labels_on_every_board_are_svm_predicts():
    done = subprocess.run([EMBEDDED, CERTAIN, data("iris.test")], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    head, _, *lines = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if "|" in line]
    assert [line[1] for line in lines] == ["Cortex-M4", "Cortex-M0", "AVR"]
    for line in lines:
        one = dict(zip(head[2:], (int(cell.replace(",", "")) for cell in line[2:]), strict=True))
        assert (one["rows"], one["wrong"]) == (50, 0)
        assert 0.8 * one["tables"] < one["flash"] < one["tables"] + 4000
        assert one["tables"] < one["with certain"] < one["tables"] + 6000
        assert 0 < one["stack"] < 500
        assert 300 < one["instructions per row"] < 100_000
