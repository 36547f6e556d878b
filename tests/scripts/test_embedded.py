"""scripts/embedded: the labels of emulated microcontrollers are the desktop's."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from program import FIXTURES, ROOT, data

import svmfast

#: The most bytes of code for a prediction, for roots and tangents, and for a certificate, on each board.
CODE = ((800, 0, 700), (3700, 1000, 1500), (2700, 200, 2800))
TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm", "avr-gcc", "simavr")
EMBEDDED = ROOT / "scripts" / "embedded"


needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)) or not (ROOT / ".venv").exists(),
    reason=f"not all of {', '.join(TOOLS)} are here: scripts/embedded installs them",
)
FROZEN = FIXTURES / "frozen"
FORMS = {
    "three classes": FIXTURES / "models" / "iris_c_rbf_prob.model",
    "two classes": FIXTURES / "models" / "breast_c_rbf.model",
    "sigmoid": FIXTURES / "models" / "iris_c_sigmoid.model",
    "cells": FROZEN / "1.0" / "routed_libsvm_cells.model",
    "triangle": FROZEN / "1.0" / "routed_pseudo_triangle.model",
    "polynomial": FROZEN / "1.0" / "polynomial_no_certificate.model",
    "certain": FROZEN / "1.0" / "polynomial_three_classes.model",
    "certain, scaled": FROZEN / "1.0" / "scaled_polynomial.model",
    "certain, one class": FROZEN / "1.0" / "polynomial_one_class.model",
}


@pytest.mark.nightly
@needs_tools
def test_labels_on_every_board_are_svm_predicts() -> None:
    model = FIXTURES / "frozen" / "1.0" / "polynomial_three_classes.model"
    done = subprocess.run([EMBEDDED, model, data("iris.test")], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    head, _, *lines = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if "|" in line]
    found = [
        dict(zip(head[2:], (int(cell.replace(",", "")) for cell in line[2:]), strict=True)) for line in lines
    ]
    assert [line[1] for line in lines] == ["Cortex-M4", "Cortex-M0", "AVR"]
    for one in found:
        assert (one["rows"], one["wrong"]) == (50, 0)
        assert 0.8 * one["tables"] < one["flash"] < one["tables"] + 4000
        assert one["tables"] < one["with certain"] < one["tables"] + 6000
        assert 0 < one["stack"] < 500
        assert 300 < one["instructions per row"] < 100_000


@pytest.mark.nightly
@needs_tools
@pytest.mark.parametrize("name", FORMS)
def test_code_is_as_small_as_stated(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The forms with the largest code, and a common one: docs/export.md, "A limit on flash"."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    from boards import BOARDS, flash_of

    made = svmfast.export(FORMS[name])
    assert made.report.table_bytes is not None
    certain = "MODEL_HAS_CERTAIN" in made.text
    for (predict, roots, proof), board in zip(CODE, BOARDS, strict=True):
        most = predict + roots * ("_sqrt_(" in made.text or "_tanh_(" in made.text) + proof * certain
        code = flash_of(made.text, board, tmp_path, certain=certain) - made.report.table_bytes
        assert 0.3 * most < code <= most, (board, code)


def test_missing_tools_are_reported(tmp_path: Path) -> None:
    """With a PATH that has only a shell's tools, without apt-get."""
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
