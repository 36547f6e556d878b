"""Every example of README.md and docs/ runs as it is typed; the exceptions are listed here."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from examples import Example, environment, examples, make_files
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
    "svmfast frontier one.model": "takes minutes; tests/methods/test_frontier_unlabelled.py runs frontier",
    "svmfast predict --unlabelled new.txt one.frontier": "needs the result of the line before",
    "svmfast predict photos.test tried/recommended": "needs the result of the line before",
}
#: What a line says that stands for the reader's own: what takes its place here.
PLACES = {"--dask local:8": "--dask local:2", "MODEL": "ijcnn1.model"}
#: Words for the reader's files in README's table.
TABLE_PLACES = {
    **{"MODEL": "photos.model", "EXACT": "photos.model", "DATA": "photos.test", "TEST": "photos.test"},
    **{"TRAIN": "photos.train", "FAST": "fast", "OUT": "out", "FILES...": "day-1.txt day-2.txt"},
    **{"FILE": "photos.model"},
}
#: Pages whose console blocks other tests run; all but the third are compared with their output.
COMPARED = {
    "README.md": "tests/contract/test_docs.py",
    "docs/tutorial.md": "tests/contract/test_site.py and tests/contract/test_from_csv.py",
    "docs/batch.md": "tests/cli/test_pipeline.py",
}
#: Engines whose recipes tests/cli/test_pipeline.py runs and compares, each if it is installed.
RECIPES = {"duckdb", "pyspark", "ray"}


def night(cases: Sequence[Any]) -> list[Any]:
    """Return examples, or pages, of which only those of README.md run always."""
    return nightly_but([one for one in cases if "README.md" in (one, getattr(one, "page", ""))], cases)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    make_files(folder)
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path) -> Path:
    """A copy of the files for one page."""
    return Path(shutil.copytree(files, tmp_path / "here", symlinks=True))


def run_in(folder: Path, words: list[str], text: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment(PROGRAM),
        capture_output=True,
        text=True,
        timeout=120 * PATIENCE,
    )
    assert done.returncode == 0, (text, done.stderr[-2000:])
    return done


#: What examples print, by a part of their text.
PRINTED = {
    'svmfast.approximate(exact, "photos.train")': "speed-up",
    'predictor = svmfast.Predictor("fixtures': "2.0 {2: 0.793",
    '"breast.out"': "True",
}

PYTHON = [one for one in EXAMPLES if one.language == "python"]


@pytest.mark.parametrize("example", night(PYTHON), ids=lambda one: f"{one.page} {one.number}")
def test_a_python_example_runs(example: Example, folder: Path) -> None:
    engine = example.text.split("\n")[0].removeprefix("# ")
    if engine in RECIPES:
        pytest.skip("tests/cli/test_pipeline.py runs it if its engine is installed")
    done = run_in(folder, [sys.executable, "-c", example.text], example.text)
    for part, word in PRINTED.items():
        assert part not in example.text or word in done.stdout
    if example.page == "README.md":
        assert done.stdout
        assert done.stderr == ""


def test_examples_whose_output_is_checked_exist() -> None:
    for part in PRINTED:
        assert any(part in one.text for one in PYTHON), part


def test_recipes_are_those_that_their_test_knows() -> None:
    firsts = {one.text.split("\n")[0] for one in PYTHON if one.page == "docs/batch.md"}
    assert {f"# {name}" for name in RECIPES} <= firsts


SHELL = {
    page: [line for one in EXAMPLES if one.page == page and one.language == "sh" for line in one.commands()]
    for page in dict.fromkeys(one.page for one in EXAMPLES)
}


def exempt(command: str) -> str | None:
    return next((why for start, why in EXEMPT.items() if command.startswith(start)), None)


@pytest.mark.parametrize("page", night([page for page, commands in SHELL.items() if commands]))
def test_the_shell_examples_of_a_page_run(page: str, folder: Path) -> None:
    for command in SHELL[page]:
        if exempt(command) is not None or "tcp://" in command:  # a cluster that is not there
            continue
        if re.search(r"\|\s*jq\b", command) and shutil.which("jq") is None:
            command = command.partition("|")[0]
        if command.startswith("cc ") and shutil.which("cc") is None:
            break
        typed = command
        for word, place in PLACES.items():
            typed = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w.])", place, typed)
        run_in(folder, ["bash", "-c", typed], command)


def test_every_exception_is_an_example() -> None:
    commands = [command for page in SHELL.values() for command in page]
    for start in EXEMPT:
        assert any(command.startswith(start) for command in commands), start


@pytest.mark.nightly
def test_the_commands_of_the_readmes_table_run(folder: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    table = readme[readme.index("## I have ...") : readme.index("All commands:")]
    commands = re.findall(r"`(svmfast [a-z-]+ [^`]+)`", table)
    assert len(commands) >= 12
    for command in commands:
        if command.startswith("svmfast frontier"):
            continue  # takes minutes; tests/methods/test_frontier.py runs it
        if command.startswith("svmfast train --label COLUMN"):
            continue  # tests/contract/test_from_csv.py runs it
        typed = command.replace("--out-dir OUT", "--out-dir scored")
        if "rows.parquet" in command or "onnx" in command:
            typed = typed.replace("MODEL", "ijcnn1.model")
        if "--tolerance" in command:
            typed = typed.replace("DATA MODEL", "diabetes.test diabetes.model")
        for word, place in TABLE_PLACES.items():
            typed = re.sub(rf"(?<![\w.-]){re.escape(word)}(?![\w.])", place, typed)
        if not needed(typed):
            continue
        run_in(folder, ["bash", "-c", typed], command)


def needed(command: str) -> bool:
    """Return whether the packages that a command needs are installed."""
    return "onnx" not in command or importlib.util.find_spec("onnxruntime") is not None


def test_examples_are_fenced_with_their_language() -> None:
    """Only then they are found here, and coloured on the site."""
    for page in dict.fromkeys(one.page for one in EXAMPLES):
        text = re.sub(r"^( *)```\w.*?^\1```$", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
        typed = r"^(?: {4,}|```\n)(?:\$ )?(?:svmfast |import |from \w+ import ).*"
        found = re.findall(typed, text, re.MULTILINE)
        assert not found, (page, found)


CONSOLE = [one for one in EXAMPLES if one.language == "console"]


@pytest.mark.parametrize(
    "example",
    night([one for one in CONSOLE if one.page not in COMPARED]),
    ids=lambda one: f"{one.page} {one.number}",
)
def test_a_console_example_runs(example: Example, folder: Path) -> None:
    """Its commands; of its output, which has times, only the exit status that it shows."""
    commands = [line.removeprefix("$ ") for line in example.text.splitlines() if line.startswith("$ ")]
    done = run_in(folder, ["bash", "-c", "\n".join(commands)], example.text)
    if commands[-1] == "echo $?":
        assert done.stdout.splitlines()[-1] == example.text.splitlines()[-1]


def test_every_language_of_a_block_is_known() -> None:
    """That of C is a fragment of a program; tests/cli runs that of make and compiles that of C++."""
    assert set(COMPARED) <= {one.page for one in CONSOLE}
    assert {one.language for one in EXAMPLES} == {"console", "python", "sh", "c", "cpp", "make"}
