"""Parts of an installation besides the commands: versions, manual pages, completion."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from manual import pages
from program import PROGRAM, data

from svmfast.cli.main import commands

TRAIN = str(data("iris.train"))


def test_every_command_has_a_manual_page() -> None:
    found = pages()
    assert set(found) == {"svmfast.1", *(f"svmfast-{name}.1" for name in commands())}
    for name, text in found.items():
        assert all(f".SH {part}" in text for part in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"))
        if shutil.which("groff"):
            done = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww"], input=text, capture_output=True, text=True
            )
            assert (done.returncode, done.stderr) == (0, ""), name
    assert "\\-\\-out\\-dir" in found["svmfast-predict.1"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "expected"), [(["svmfast", "pred"], "predict"), (["svmfast", "predict", "--out"], "--out-dir")]
)
def test_completion_in_bash(words: list[str], expected: str) -> None:
    """As described in docs/command-line.md: the function that bash calls fills COMPREPLY."""
    quoted = " ".join(words)
    script = (
        'complete() { :; }; compopt() { :; }; eval "$(_SVMFAST_COMPLETE=bash_source svmfast)";'
        f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _svmfast_completion svmfast;"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = {"PATH": f"{PROGRAM.parent}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)
    assert expected in done.stdout.split(), done.stderr


@pytest.mark.parametrize(
    ("module", "words", "line"),
    [
        ("libsvm", ["train", TRAIN, "OUT"], "pip install libsvm-official (it is compiled, so"),
        ("sklearn", ["dcpred", "--task", "svc", TRAIN, "-o", "OUT"], "pip install scikit-learn"),
    ],
)
def test_missing_dependencies_are_one_line(module: str, words: list[str], line: str, tmp_path: Path) -> None:
    words = [str(tmp_path / "out") if word == "OUT" else word for word in words]
    blocked = f"import sys; sys.modules[{module!r}] = None;"
    script = f"{blocked} from svmfast.cli.main import run; sys.exit(run({words!r}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1
