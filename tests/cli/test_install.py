"""Parts of an installation besides the commands: versions, manual pages, completion."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from command import ran
from estimators import SVM
from program import PROGRAM, ROOT, data

from svmfast.cli.main import commands, program
from svmfast.cli.manual import manual_page
from svmfast.cli.report_schema import schema


@pytest.mark.parametrize("name", [None, *commands()])
def test_every_command_has_a_manual_page(name):
    """It names no file that an installation lacks."""
    text = manual_page(program, name)
    assert all(f".SH {part}" in text for part in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"))
    if shutil.which("groff"):
        command = ["groff", "-man", "-Tutf8", "-ww"]
        done = subprocess.run(command, input=text, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    assert not re.search(r"\b(docs|scripts|tests|fixtures)/|\.md\b", text.replace("\\", ""))
    assert name != "predict" or "\\-\\-out\\-dir" in text


def test_what_the_program_prints_about_itself(monkeypatch):
    def printed(*words):
        return ran(*words).stdout.decode()

    assert printed("--man", "predict") == manual_page(program, "predict") != printed("--man")
    assert json.loads(printed("--show-schema")) == schema()
    assert printed("--show-makefile") == (ROOT / "svmfast/cli/pipeline.mk").read_text()
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "complete --no-files --command svmfast" in printed("--show-completion")
    assert "compdef" in printed("--show-completion", "zsh")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "expected"), [("svmfast pred", "predict"), ("svmfast predict --out", "--out-dir")]
)
def test_completion_in_bash(words, expected):
    """As described in docs/command-line.md: the function that bash calls fills COMPREPLY."""
    script = (
        'complete() { :; }; compopt() { :; }; eval "$(svmfast --show-completion bash)";'
        f"COMP_WORDS=({words}); COMP_CWORD={words.count(' ')}; _svmfast_completion svmfast;"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = {"PATH": f"{PROGRAM.parent}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment)
    assert expected in done.stdout.split(), done.stderr


@pytest.mark.parametrize(
    ("module", "words", "line"),
    [
        ("libsvm", "train ROWS out", "pip install 'svmfast[train]' (needs a C++ compiler)"),
        ("sklearn", "dcpred --task svc ROWS -o out", "pip install scikit-learn"),
        ("skops", "import ESTIMATOR -o out", "skops, which is not installed; pip install 'svmfast[sklearn]'"),
    ],
)
def test_missing_dependencies_are_one_line(module, words, line, tmp_path):
    words = words.replace("ROWS", str(data("iris.train"))).replace("ESTIMATOR", str(SVM)).split()
    script = (
        "import sys; sys.modules[sys.argv.pop(1)] = None; from svmfast.cli.main import console; console()"
    )
    command = [sys.executable, "-c", script, module, *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1
