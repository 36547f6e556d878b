"""Every example of README.md and docs/ runs as it is typed; the exceptions are listed here."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from examples import examples, make_files
from nightly import nightly_but
from program import PATIENCE, PROGRAM, ROOT

EXAMPLES = examples()
#: Shell commands that do not run here: how the line begins, and why.
EXEMPT = {
    "pip install": "scripts/wheel installs the package; a test would download",
    "eval ": "tests/cli/test_cli_main.py completes commands in bash",
    "make -f pipeline.mk": "tests/cli/test_pipeline.py runs it",
    "svmfast frontier photos.model": "takes minutes; tests/methods/test_frontier.py runs frontier",
    "svmfast frontier exact.model": "takes minutes, as above",
    "svmfast frontier one.model": "takes minutes; tests/methods/test_frontier.py runs frontier",
    "svmfast predict --unlabelled new.txt one.frontier": "needs the result of the line before",
    "svmfast predict photos.test tried/recommended": "needs the result of the line before",
}
#: What a line says that stands for the reader's own: what takes its place here.
PLACES = {"--dask local:8": "--dask local:2", "MODEL": "ijcnn1.model"}
#: Words for the reader's files in README's table, and how they are named here.
TABLE = {
    **{"DATA MODEL OUT": "diabetes.test diabetes.model out", "--out-dir OUT": "--out-dir scored"},
    **{"MODEL": "photos.model", "EXACT": "photos.model", "DATA": "photos.test", "TEST": "photos.test"},
    **{"TRAIN": "photos.train", "FAST": "fast", "OUT": "out", "FILES...": "day-1.txt day-2.txt"},
    **{"FILE": "photos.model"},
}
#: Pages whose console blocks other tests run.
COMPARED = {
    "README.md": "tests/contract/test_docs.py",
    "docs/tutorial.md": "tests/contract/test_docs.py",
    "docs/batch.md": "tests/cli/test_pipeline.py",
}
#: Engines whose recipes tests/cli/test_pipeline.py runs and compares, each if it is installed.
RECIPES = {"duckdb", "pyspark", "ray"}


def night(cases):
    """Return examples, or pages, of which only those of README.md run always."""
    return nightly_but([one for one in cases if "README.md" in (one, getattr(one, "page", ""))], cases)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    make_files(folder)
    return folder


@pytest.fixture
def folder(files, tmp_path):
    """A copy of the files for one page."""
    return Path(shutil.copytree(files, tmp_path / "here", symlinks=True))


def run_in(folder, *words):
    """Run a command with an environment in which the shell finds the program first."""
    path = os.pathsep.join([str(PROGRAM.parent), os.environ["PATH"]])
    environment, most = {**os.environ, "PATH": path}, 120 * PATIENCE
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=most)
    assert done.returncode == 0, (words, done.stderr[-2000:])
    return done


#: What examples print, by a part of their text.
PRINTED = {
    'svmfast.approximate(exact, "photos.train")': "speed-up",
    'predictor = svmfast.Predictor("fixtures': "2.0 {2: 0.793",
    '"breast.out"': "True",
}
PYTHON = [one for one in EXAMPLES if one.language == "python"]


@pytest.mark.parametrize("example", night(PYTHON), ids=lambda one: f"{one.page} {one.number}")
def test_a_python_example_runs(example, folder):
    if example.text.split("\n")[0].removeprefix("# ") in RECIPES:
        pytest.skip("tests/cli/test_pipeline.py runs it if its engine is installed")
    done = run_in(folder, sys.executable, "-c", example.text)
    for part, word in PRINTED.items():
        assert part not in example.text or word in done.stdout
    if example.page == "README.md":
        assert done.stdout
        assert done.stderr == ""


SHELL = {
    page: [line for one in EXAMPLES if one.page == page and one.language == "sh" for line in one.commands()]
    for page in dict.fromkeys(one.page for one in EXAMPLES)
}


@pytest.mark.parametrize("page", night([page for page, commands in SHELL.items() if commands]))
def test_the_shell_examples_of_a_page_run(page, folder):
    for command in SHELL[page]:
        if command.startswith(tuple(EXEMPT)) or "tcp://" in command:  # a cluster that is not there
            continue
        if re.search(r"\|\s*jq\b", command) and shutil.which("jq") is None:
            command = command.partition("|")[0]
        if command.startswith("cc ") and shutil.which("cc") is None:
            break
        for word, place in PLACES.items():
            command = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w.])", place, command)
        run_in(folder, "bash", "-c", command)


def test_the_commands_of_the_readmes_table_run(folder):
    """All but those that take minutes and that of the tutorial's table, which is scaled first."""
    readme = (ROOT / "README.md").read_text()
    table = readme[readme.index("## I have ...") : readme.index("All commands:")]
    found = re.findall(r"`(svmfast (?!frontier|train --label)[a-z-]+ [^`]+)`", table)
    assert len(found) >= 12
    for command in found:
        for word, place in TABLE.items():
            command = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w.])", place, command)
        run_in(folder, "bash", "-c", command)


CONSOLE = [one for one in EXAMPLES if one.language == "console" and one.page not in COMPARED]


@pytest.mark.nightly
@pytest.mark.parametrize("example", CONSOLE, ids=lambda one: f"{one.page} {one.number}")
def test_a_console_example_runs(example, folder):
    """Its commands; of its output, which has times, only the exit status that it shows."""
    commands = [line.removeprefix("$ ") for line in example.text.splitlines() if line.startswith("$ ")]
    done = run_in(folder, "bash", "-c", "\n".join(commands))
    if commands[-1] == "echo $?":
        assert done.stdout.splitlines()[-1] == example.text.splitlines()[-1]


def test_exceptions_are_examples_and_examples_have_a_language():
    """Only then they are found here, and coloured on the site. C is a fragment of a program."""
    commands = [command for page in SHELL.values() for command in page]
    assert not [start for start in EXEMPT if not any(one.startswith(start) for one in commands)]
    assert not [part for part in PRINTED if not any(part in one.text for one in PYTHON)]
    assert {f"# {name}" for name in RECIPES} <= {one.text.split("\n")[0] for one in PYTHON}
    assert {one.language for one in EXAMPLES} == {"console", "python", "sh", "c", "cpp", "make"}
    for page in SHELL:
        text = re.sub(r"^( *)```\w.*?^\1```$", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
        typed = r"^(?: {4,}|```\n)(?:\$ )?(?:svmfast |import |from \w+ import ).*"
        assert not re.findall(typed, text, re.MULTILINE), page
