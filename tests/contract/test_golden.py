"""Every golden file of svm-predict, reproduced by `svmfast predict`; the manifest of the fixtures."""

import hashlib
import platform
from pathlib import Path

import numpy as np
import pytest
from golden import ROOT, manifest, predictions

from svmfast.cli.main import run

PREDICTIONS = predictions()
# The last digits of printed sums depend on the C library's exp and tanh.
SAME_EXP = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"


@pytest.mark.parametrize("golden", [file for file in PREDICTIONS if "precomputed" not in file])
def test_output_and_messages_are_svm_predicts(golden, tmp_path, monkeypatch, capfdbinary):
    arguments = PREDICTIONS[golden]
    monkeypatch.chdir(ROOT)
    assert run(["predict", *arguments, str(tmp_path / "out")]) == 0
    assert capfdbinary.readouterr().out == Path(golden).with_suffix(".stdout").read_bytes()
    ours, theirs = (tmp_path / "out").read_text(), Path(golden).read_text()
    prints_sums = "diabetes" in golden or (".b1." in golden and "normal" not in golden)
    if prints_sums and not SAME_EXP:
        mine, exact = (np.array(text.removeprefix("labels").split(), float) for text in (ours, theirs))
        # Probabilities are printed with six digits, of which a difference of 1e-15 may turn the last.
        np.testing.assert_allclose(mine, exact, rtol=2e-6 if theirs.startswith("label") else 1e-12, atol=0)
    else:
        assert ours == theirs


def test_the_fixtures_are_those_of_the_manifest():
    files = [path for path in ROOT.rglob("*") if path.is_file() and path.parent != ROOT]
    found = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in files}
    hashes = {name: (str(len(text)), hashlib.sha256(text).hexdigest()) for name, text in found.items()}
    assert hashes == {entry["file"]: (entry["bytes"], entry["sha256"]) for entry in manifest()}
