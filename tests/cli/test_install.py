"""Parts of an installation besides the commands: versions, manual pages, completion."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program import PROGRAM, ROOT, data

from svmfast.cli.main import commands, program, run
from svmfast.cli.manual import manual_page
from svmfast.cli.report_schema import schema

TRAIN = str(data("iris.train"))


def test_every_command_has_a_manual_page() -> None:
    found = {name: manual_page(program, name) for name in (None, *commands())}
    for name, text in found.items():
        assert all(f".SH {part}" in text for part in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"))
        if shutil.which("groff"):
            done = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww"], input=text, capture_output=True, text=True
            )
            assert (done.returncode, done.stderr) == (0, ""), name
    assert "\\-\\-out\\-dir" in found["predict"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "expected"), [(["svmfast", "pred"], "predict"), (["svmfast", "predict", "--out"], "--out-dir")]
)
def test_completion_in_bash(words: list[str], expected: str) -> None:
    """As described in docs/command-line.md: the function that bash calls fills COMPREPLY."""
    quoted = " ".join(words)
    script = (
        'complete() { :; }; compopt() { :; }; eval "$(svmfast --show-completion bash)";'
        f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _svmfast_completion svmfast;"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = {"PATH": f"{PROGRAM.parent}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)
    assert expected in done.stdout.split(), done.stderr


@pytest.mark.parametrize(
    ("module", "words", "line"),
    [
        ("libsvm", ["train", TRAIN, "OUT"], "pip install 'svmfast[train]' (needs a C++ compiler)"),
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


def test_what_the_program_prints_about_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def printed(*words: str) -> str:
        assert run(words) == 0
        return capsys.readouterr().out

    assert printed("--man", "predict") == manual_page(program, "predict") != printed("--man")
    assert json.loads(printed("--show-schema")) == schema()
    assert printed("--show-makefile") == (ROOT / "svmfast/cli/pipeline.mk").read_text()
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "complete --no-files --command svmfast" in printed("--show-completion")
    assert "compdef" in printed("--show-completion", "zsh")


def test_help_names_no_file_that_an_installation_lacks() -> None:
    for name in (None, *commands()):
        text = manual_page(program, name).replace("\\", "")
        assert not re.search(r"\b(docs|scripts|tests|fixtures)/|\.md\b", text), name
